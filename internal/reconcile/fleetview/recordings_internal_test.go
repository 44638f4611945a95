package fleetview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// TestRecordedRows: the row of an environment, and that of its cluster, for each commit of a recording before the next one
// was pushed: a plan that waits is no failure, and what fails is named as the cause.
func TestRecordedRows(t *testing.T) {
	for _, c := range []struct{ recording, platform, want string }{
		{"11b-destroy-auto-order-seal", "Kustomization/s11c/stacks", "648896 approval, 13f3fd ready, df8879 approval, 489197 failed"},
		{"15a-kustomization-default-no-seal", "Kustomization/s15a/stacks", "3c0c52 approval, 7610fc ready, d9f06f approval, 4efefd waiting"},
		{"15b-kustomization-default-seal", "Kustomization/s15b/stacks", "da3646 approval, 74c803 ready, d42850 approval, e2b542 ready"},
		{"15c-kustomization-gate-seal", "Kustomization/s15c/stacks", "b157b9 approval, 35f8c9 ready, c54a09 approval, 01c636 ready, 691e6a dependency, 8f6534 approval, 8910d9 ready, 2e7c4b ready"},
		{"17-kustomization", "Kustomization/s17d/first", "9721e8 ready, 25d826 ready, 89406f failed, 89e466 failed, bcb25b failed, 5fb66a ready, 9f7603 ready, 380ba9 ready, ae582c failed, 8674aa ready"},
		{"17-kustomization", "Kustomization/s17d/second", "9721e8 ready, 25d826 ready, 89406f dependency, 89e466 dependency, bcb25b dependency, 5fb66a ready, 9f7603 ready, 380ba9 ready, ae582c dependency, 8674aa unknown"},
		{"17x-workers-exhausted", "Kustomization/s17/first", "54ed57 failed, 05ac42 waiting, 09b4eb failed"},
	} {
		r := recordings.Load(t, c.recording)
		l, outputs, pushes, next, got := ledger.New(1000), &ledger.Outputs{}, r.Pushes("dev"), 0, []string{}
		describe := func(at time.Time) {
			newest, ok := outputs.Newest()
			if !ok {
				return
			}
			w := ledger.Wanted{Environment: "dev", Output: newest, Expected: map[string]int{"large": 1}, AllObjects: true}
			found := situations{all: l.FindSituations(w, outputs, at), wants: ledgerdb.Wants{Newest: newest}, now: at}
			row := newStanding("dev", found)
			word := "ready"
			for _, one := range newLaggards(found, Query{}) {
				word = one.Cause
			}
			got = append(got, fmt.Sprintf("%.6s %s", newest.Revision, word))
			if row.Expected != 1 || (row.Ready == 1) != (word == "ready") || (row.Waiting == 1) != (word == "approval") || row.Failed == 1 && word != "failed" {
				t.Errorf("%s: the row of %s is %+v, and its cluster is %s", c.recording, newest.Revision, row, word)
			}
		}
		visit := func(until time.Time) {
			for ; next < len(pushes) && !pushes[next].Time.After(until); next++ {
				describe(pushes[next].Time)
				outputs.Add(ledger.Output{Revision: pushes[next].Commit, Merged: pushes[next].Time, Folders: map[string]string{"large": pushes[next].Commit}})
			}
		}
		r.Replay(time.Second, func(_ recordings.Step, q agentapi.Request) {
			visit(q.Sent)
			contact := q.Contact(q.Sent)
			contact.Group, contact.Platform = ledger.Group{Environment: "dev", ClusterType: "large"}, c.platform
			l.Receive(contact, q.Reports(0))
		})
		end := r.Steps[len(r.Steps)-1].Time
		visit(end)
		describe(end)
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s of %s:\n%s\nwant\n%s", c.recording, c.platform, text, c.want)
		}
	}
}
