package answer

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestClusterCommits: a cluster that has the newest output runs the commit that its environment has, though that changed
// nothing of the output, and one that has an older output runs the commit that this was rendered from.
func TestClusterCommits(t *testing.T) {
	newest := fleetview.Overview{Standing: fleetview.Standing{Environment: "prod", Output: "out2", Base: "mid"}}
	for name, c := range map[string]struct {
		stage          status.Stage
		head           string
		cluster        fleetview.Cluster
		runs, attempts string
	}{
		"it has the newest":                  {stageAt("prod", nil, got("new")), "out2", fleetview.Cluster{Revision: "prod@sha1:out2", Base: "mid"}, "new", ""},
		"it has all of the newest":           {stageAt("prod", nil, got("new")), "out2", fleetview.Cluster{Revision: "prod@sha1:out1", Base: "old", HasNewest: true}, "new", ""},
		"it is at work on the newest":        {stageAt("prod", nil, got("new")), "out2", fleetview.Cluster{Revision: "prod@sha1:out1", Base: "old", Attempted: "prod@sha1:out2", AttemptedBase: "mid"}, "old", "new"},
		"the ledger has not read the branch": {stageAt("prod", nil, got("new")), "out3", fleetview.Cluster{Revision: "prod@sha1:out2", Base: "mid"}, "mid", ""},
		"the newer commit is not merged":     {status.Stage{Environment: "prod", Commit: "new"}, "out2", fleetview.Cluster{Revision: "prod@sha1:out2", Base: "mid"}, "mid", ""},
		"it is not promoted to":              {status.Stage{Environment: "dev"}, "out2", fleetview.Cluster{Revision: "prod@sha1:out2", Base: "mid"}, "mid", ""},
		"its outputs are not known":          {stageAt("prod", nil, got("new")), "out2", fleetview.Cluster{Revision: "prod@sha1:gone", Attempted: "prod@sha1:gone2"}, "", ""},
	} {
		s := Source{
			Snapshot: status.Snapshot{
				Chain:        status.Chain{Stages: []status.Stage{c.stage}, Commits: lineOf("new", "mid", "old")},
				Environments: []status.Environment{{Name: "prod", Output: status.Output{Head: c.head}}},
			},
			Clusters: []fleetview.Overview{newest},
		}
		c.cluster.Name, c.cluster.Environment = "eu-1", "prod"
		s.Reported = []fleetview.Cluster{c.cluster}
		one, _ := s.Cluster("eu-1")
		id := func(c *Commit) string {
			if c == nil {
				return ""
			}
			return c.ID
		}
		if runs, attempts := id(one.Standings[0].Commit), id(one.Standings[0].AttemptedCommit); runs != c.runs || attempts != c.attempts {
			t.Errorf("%s: it runs %q and is at work on %q, want %q and %q", name, runs, attempts, c.runs, c.attempts)
		}
	}
}
