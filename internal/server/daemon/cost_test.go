package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// tenth is a tenth of the fleet of the figures: a change of one workload touches as many
// assignments, 200.
var tenth = fleet.Size{Workloads: 50, ClusterTypes: 200, Configs: 120}

// cost is what a cycle asks of the Git server, what it pushes, and what this process writes: to
// files, and to both ends of its connections.
type cost struct {
	requests      map[string]int // by repository
	pushed, wrote int64          // bytes; wrote is 0 where the system does not count
}

// count runs a cycle, and returns its cost.
func (r *rig) count(want status.State) cost {
	r.Helper()
	before := map[string]int{}
	for name := range r.repos {
		before[name] = len(r.server.Requests(name))
	}
	c := cost{requests: map[string]int{}, wrote: -written()}
	r.cycle(want)
	c.wrote += written()
	for name := range r.repos {
		for _, request := range r.server.Requests(name)[before[name]:] {
			c.requests[name]++
			if request.Service == "git-receive-pack" && request.Method == "POST" {
				c.pushed += request.BytesIn
			}
		}
	}
	return c
}

// written returns how many bytes this process has written.
func written() (n int64) {
	text, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// TestCosts: how often each repository is asked, and how much is pushed and written, for the first pull request of a fleet,
// for a change of one workload, and for a cycle in which nothing moved. The benchmarks measure how long that takes.
func TestCosts(t *testing.T) {
	const clusterTypes, workloads = 40, 50
	r := newRig(t, fleet.Size{Workloads: workloads, ClusterTypes: clusterTypes, Configs: 24}, true)
	quiet := map[string]int{"cp": 1, "apps": 1, "out": 1}
	first := r.count(status.Proposed)
	first.check(t, "the first pull request", map[string]int{"cp": 10, "apps": 3, "out": 9}, clusterTypes*workloads*400, clusterTypes*workloads*2000)
	r.merge()
	r.cycle(status.InSync)
	for range 2 { // the first of its kind in a folder is stored whole
		r.change()
		r.cycle(status.Proposed)
	}
	r.cycle(status.Proposed)
	r.change()
	r.count(status.Proposed).check(t, "a change of one workload", map[string]int{"cp": 1, "apps": 4, "out": 5}, clusterTypes*600, clusterTypes*8000)
	r.count(status.Proposed).check(t, "a cycle in which nothing moved", quiet, 0, 25_000)
}

// check compares a cost with how often each repository may be asked, and how many bytes may be pushed and written.
func (c cost) check(t *testing.T, what string, requests map[string]int, pushed, wrote int64) {
	t.Helper()
	t.Logf("%s: %+v", what, c)
	if diff := cmp.Diff(requests, c.requests); diff != "" {
		t.Errorf("%s: requests (-want +got)\n%s", what, diff)
	}
	if c.pushed > pushed || c.wrote > wrote {
		t.Errorf("%s: %d bytes are pushed and %d written, want at most %d and %d", what, c.pushed, c.wrote, pushed, wrote)
	}
}

// crowd gives each repository a thousand tags, and as many references that mean nothing
// to us.
func (r *rig) crowd() {
	r.Helper()
	for name := range r.repos {
		dir := r.server.Dir(name)
		id, _, _ := strings.Cut(gittest.Git(r, dir, "rev-parse", "--branches"), "\n")
		var updates strings.Builder
		for n := range 1000 {
			fmt.Fprintf(&updates, "create refs/tags/v%d %s\ncreate refs/changes/%d %[2]s\n", n, id, n)
		}
		command := exec.Command("git", "update-ref", "--stdin")
		command.Dir, command.Stdin = dir, strings.NewReader(updates.String())
		r.must(command.Run())
		gittest.Git(r, dir, "pack-refs", "--all")
	}
}

// TestQuietRound asks each repository once when nothing has moved, in less than 1 kB,
// however many tags and other references it has.
func TestQuietRound(t *testing.T) {
	r := newRig(t, fleet.Size{Workloads: 2, ClusterTypes: 2, Configs: 2}, true)
	r.crowd()
	r.cycle(status.Proposed)
	r.cycle(status.Proposed)
	before := map[string]int{}
	for name := range r.repos {
		before[name] = len(r.server.Requests(name))
	}
	r.must(r.loop.Cycle(context.Background()))
	for name := range r.repos {
		asked := r.server.Requests(name)[before[name]:]
		if len(asked) != 1 || asked[0].BytesIn+asked[0].BytesOut >= 1024 {
			t.Errorf("%s is asked %+v, want one request of less than 1 kB", name, asked)
		}
	}
}
