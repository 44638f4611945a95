package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// recordedFleet is a ledger with one cluster, whose agent reads a recording, and the commits of the recording as outputs.
type recordedFleet struct {
	ledger   *ledger.Ledger
	outputs  *ledger.Outputs
	platform string
	other    string
}

func (f recordedFleet) receive(_ recordings.Step, q agentapi.Request) {
	c := q.Contact(q.Sent)
	c.Group, c.Platform = ledger.Group{Environment: "dev", ClusterType: "large"}, f.platform
	if f.other != "" {
		c.Others = []ledger.Applier{{Object: f.other}}
	}
	f.ledger.Receive(c, q.Reports(0))
}

// judge returns the verdict of a gate for the newest output at a time.
func (f recordedFleet) judge(t *testing.T, gate string, at time.Time) Verdict {
	t.Helper()
	newest, _ := f.outputs.Newest()
	fleet := rollout.Fleet{Since: newest.Merged.Add(-time.Hour)}
	all := strings.Contains(gate, "all")
	w := ledger.Wanted{Environment: "dev", Output: newest, Expected: map[string]int{"large": 1}, AllObjects: all}
	for _, one := range f.ledger.FindStandings(w, f.outputs, at) {
		s := rollout.Standing{ClusterType: one.Type, Class: one.Class, Object: one.Object.Name, Message: one.Message}
		if one.Cluster != nil {
			s.Cluster, s.LastSeen, s.SilentAt = one.Cluster.Name(), one.Cluster.LastSeen, one.Cluster.SilentAt()
		}
		fleet.Standings = append(fleet.Standings, s)
	}
	facts := Facts{Environment: "dev", OutputCommit: newest.Revision, MergedAt: newest.Merged, Now: at, Fleets: map[string]rollout.Fleet{"fleet dev": fleet, "fleet with all objects dev": fleet}}
	return made(t, gate).Evaluate(facts)
}

// TestRecordings: the verdict of the rollout gate on each commit before the next one was pushed, by what an agent reads.
// It is what the README of the recordings says of the commit: while a plan waits it does not pass, whatever Flux's conditions
// are, and a failure of Flux fails it.
func TestRecordings(t *testing.T) {
	for _, c := range []struct{ recording, platform, other, want string }{
		{"11a-destroy-auto-order-no-seal", "Kustomization/s11/stacks", "", "a9811f wait, 08c095 pass, f75211 wait, 2620ad fail"},
		{"11b-destroy-auto-order-seal", "Kustomization/s11c/stacks", "", "648896 wait, 13f3fd pass, df8879 wait, 489197 fail"},
		{"15a-kustomization-default-no-seal", "Kustomization/s15a/stacks", "", "3c0c52 wait, 7610fc pass, d9f06f wait, 4efefd wait"},
		{"15b-kustomization-default-seal", "Kustomization/s15b/stacks", "", "da3646 wait, 74c803 pass, d42850 wait, e2b542 pass"},
		{"15c-kustomization-gate-seal", "Kustomization/s15c/stacks", "", "b157b9 wait, 35f8c9 pass, c54a09 wait, 01c636 pass, 691e6a wait, 8f6534 wait, 8910d9 pass, 2e7c4b pass"},
		{"17-kustomization", "Kustomization/s17d/first", "", "9721e8 pass, 25d826 pass, 89406f fail, 89e466 fail, bcb25b fail, 5fb66a pass, 9f7603 pass, 380ba9 pass, ae582c fail, 8674aa pass"},
		{"17-kustomization", "Kustomization/s17d/second", "Kustomization/s17d/first", "9721e8 pass, 25d826 pass, 89406f fail, 89e466 fail, bcb25b fail, 5fb66a pass, 9f7603 pass, 380ba9 pass, ae582c fail, 8674aa wait"},
		{"17-kustomization", "Kustomization/s17d/second", "", "9721e8 pass, 25d826 pass, 89406f wait, 89e466 wait, bcb25b wait, 5fb66a pass, 9f7603 pass, 380ba9 pass, ae582c wait, 8674aa wait"},
		{"17x-workers-exhausted", "Kustomization/s17/first", "", "54ed57 fail, 05ac42 pass, 09b4eb fail"},
	} {
		r := recordings.Load(t, c.recording)
		gates := []string{"rollout: {of: expected}", "rollout: {of: expected, objects: all}"}
		if c.recording == "17x-workers-exhausted" { // another object gets ready in the second of a push
			gates = gates[:1]
		}
		for _, gate := range gates {
			f := recordedFleet{ledger.New(1000), &ledger.Outputs{}, c.platform, c.other}
			pushes, next, got := r.Pushes("dev"), 0, []string{}
			judge := func(until time.Time) {
				for ; next < len(pushes) && !pushes[next].Time.After(until); next++ {
					if newest, ok := f.outputs.Newest(); ok {
						got = append(got, fmt.Sprintf("%.6s %s", newest.Revision, f.judge(t, gate, pushes[next].Time).Status))
					}
					p := pushes[next]
					f.outputs.Add(ledger.Output{Revision: p.Commit, Merged: p.Time, Folders: map[string]string{"large": p.Commit}})
				}
			}
			r.Replay(time.Second, func(s recordings.Step, q agentapi.Request) {
				judge(q.Sent)
				f.receive(s, q)
			})
			end := r.Steps[len(r.Steps)-1].Time
			judge(end)
			newest, _ := f.outputs.Newest()
			got = append(got, fmt.Sprintf("%.6s %s", newest.Revision, f.judge(t, gate, end).Status))
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s of %s, %s:\n%s\nwant\n%s", c.recording, c.platform, gate, text, c.want)
			}
		}
	}
}
