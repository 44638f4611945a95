package daemon_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// The benchmark has 1,000 clusters, each the only one of its type, and 1,000 workloads.
const promotions = 100

var tenByTen = fleet.Size{Workloads: 10, ClusterTypes: 10, Configs: 5}

// BenchmarkPromotions promotes a commit that changes every file of the output from one environment to 100 others at
// once: from the merge of the first one's pull request until all others have the commit and a branch to merge.
func BenchmarkPromotions(b *testing.B) {
	program := program(b)
	for b.Loop() {
		s := newSite(b, tenByTen, 1+promotions)
		p := s.start(program)
		p.merge()
		p.wakeUntil("in-sync")

		var order strings.Builder
		order.WriteString("apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  environments:\n    - {name: prod0, proof: [merged]}\n")
		others := make([]int, promotions)
		for i := range others {
			others[i] = i + 1
			fmt.Fprintf(&order, "    - {name: %s, after: [prod0], proof: [merged]}\n", environmentName(i+1))
		}
		files, err := tree.Union(s.base, s.one(".fairlead/promotion.yaml", order.String()))
		s.must(err)
		s.push("cp", "main", files)
		p.wakeUntil("in-sync")

		s.push("cp", "main", s.relabel(files))
		p.wakeUntil("proposed", 0)
		p.is("in-sync", others...)
		gittest.Git(b, s.server.Dir("out"), "update-ref", "refs/heads/prod0", "refs/heads/fairlead/prod0")
		started, before := time.Now(), p.cpu()
		p.wakeUntil("proposed", others...)
		b.ReportMetric(time.Since(started).Seconds(), "wall-s")
		b.ReportMetric(p.cpu()-before, "cpu-s")
		b.ReportMetric(p.memory("VmHWM"), "MiB-peak")
	}
}

// relabel returns the base with another label in a template of what every assignment has.
func (s *site) relabel(base tree.Tree) tree.Tree {
	s.Helper()
	const label = "          platform.example.com/workload:"
	files := maps.Collect(base.All())
	files["templates.yaml"] = bytes.Replace(files["templates.yaml"], []byte(label), []byte("          platform.example.com/owner: platform\n"+label), 1)
	changed, err := tree.FromFiles(files)
	s.must(err)
	return changed
}

// wakeUntil has the daemon do cycles until environments are in a state: all, or those that are named.
func (p *process) wakeUntil(want string, environments ...int) {
	p.Helper()
	for range 20 {
		p.wake()
		if !slices.ContainsFunc(p.selected(environments), func(i int) bool { state, _ := p.stateOf(i); return state != want }) {
			return
		}
	}
	p.is(want, environments...)
}
