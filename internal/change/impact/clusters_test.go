package impact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// TestClustersMarkdownFits: whatever the number of steps and manifests, the plans take no more room than
// there is.
func TestClustersMarkdownFits(t *testing.T) {
	var r Report
	for i := range 20 {
		c := ClusterChange{Manifest: fmt.Sprintf("fleet/m-%d", i)}
		for j := range 60 {
			c.Steps = append(c.Steps, provision.Step{ID: fmt.Sprint(j), Kind: provision.AddNodes, Subject: provision.Subject{PoolRole: provision.Compute, Pool: fmt.Sprintf("p%d", j)}})
		}
		r.ClusterChanges = append(r.ClusterChanges, c)
	}
	for _, c := range []struct {
		limit int
		has   string
	}{
		{100_000, "and 20 more steps"}, {30_000, "and 50 more steps"}, {5_000, "60 steps"}, {100, "20 manifests with changes of clusters"}, {10, ""}, {0, ""},
	} {
		text := r.ClustersMarkdown(c.limit)
		if len(text) > c.limit || !strings.Contains(text, c.has) {
			t.Errorf("in %d bytes it has %d, and does not contain %q:\n%.300s", c.limit, len(text), c.has, text)
		}
	}
}

// TestClustersMarkdownIsQuoted: texts of people end neither a cell of the table nor a label of the graph.
func TestClustersMarkdownIsQuoted(t *testing.T) {
	hostile := "a|b`c\"]; <b>@all</b>\nd"
	c := ClusterChange{Manifest: hostile, Clouds: []provision.CloudChange{{Cloud: hostile}}, Steps: []provision.Step{
		{ID: hostile, Cluster: hostile, Kind: provision.AddNodes, Subject: provision.Subject{PoolRole: hostile, Pool: hostile}, Reason: []provision.Change{{Field: hostile, Old: hostile, New: hostile}}},
	}}
	text := c.Markdown(maxRows)
	for line := range strings.Lines(text) {
		if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); strings.HasPrefix(line, "|") && cells != 7 && cells != 4 {
			t.Errorf("a row has %d bars: %s", cells, line)
		}
		if strings.HasPrefix(line, "  s1[") && (strings.Count(line, `"`) != 2 || strings.ContainsAny(line, "<>;@`|")) {
			t.Errorf("a label may end early: %s", line)
		}
	}
	if !strings.Contains(text, "  s1[") {
		t.Errorf("there is no graph:\n%s", text)
	}
}
