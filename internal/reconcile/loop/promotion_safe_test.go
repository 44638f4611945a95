package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// freezeAll is a freeze of everything.
const freezeAll = "apiVersion: fairlead.io/v1alpha1\nkind: Freeze\nmetadata: {name: all}\nspec: {reason: the books}\n"

// TestFreezeSinceThePoll: a freeze that is in Git counts, also in a cycle that asks no
// repository because a cluster has reported.
func TestFreezeSinceThePoll(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
	names := map[string]string{w.changeNow(1): "1"}
	inbox, with := w.inbox()
	d := w.begin(w.data, with)
	for range 4 {
		d.pass(time.Minute)
	}
	w.wantLine(names, "dev=1 stage=-")
	w.commitNow("main", "freeze", map[string]string{".fairlead/freezes/all.yaml": freezeAll})
	w.reports(inbox, "dev", "dev", "oslo", rollout.Ready)
	d.now = d.now.Add(time.Minute)
	if err := d.CycleOf(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.wantLine(names, "dev=1 stage=-")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	d.wantNext("stage", promote.Waiting, "the books")
}

// TestUnreadableFreeze: what cannot be read could be a freeze, and a hold.
func TestUnreadableFreeze(t *testing.T) {
	for name, file := range map[string][2]string{
		"freeze": {"main", ".fairlead/freezes/all.yaml"},
		"hold":   {"stage", ".fairlead/hold.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
			names := map[string]string{w.changeNow(1): "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.wantLine(names, "dev=1 stage=1")
			w.commitNow(file[0], "keep it as it is", map[string]string{file[1]: freezeAll + "  x: [\n"})
			names[w.changeNow(2)] = "2"
			d.settle("dev", "stage")
			want := map[string]string{"freeze": "dev=1 stage=1", "hold": "dev=2 stage=1"}[name]
			w.wantLine(names, want)
			if name == "hold" {
				d.wantNext("stage", promote.Stopped, "stage/.fairlead/hold.yaml:", "fairlead release removes it")
			}
		})
	}
}

// TestRevertedOutput: what was deployed and is reverted on the output branch proves
// nothing any more.
func TestRevertedOutput(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, proof: [soak: 3h]}\n    - {name: stage, after: [dev], proof: []}\n", "dev", "stage")
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	before := w.head("out", "dev")
	d.settle("dev", "stage")
	w.merge("dev")
	d.settle("dev", "stage")
	if d.stage("dev").Deployed.IsZero() {
		t.Fatalf("dev is not deployed: %+v", d.stage("dev").Proof)
	}
	gittest.Git(t, w.server.Dir("out"), "update-ref", "refs/heads/dev", before)
	for range 6 {
		d.pass(time.Hour)
	}
	w.wantLine(names, "dev=1 stage=-")
	d.want(map[string]status.State{"dev": status.Proposed, "stage": status.Waiting})
	if d.stage("dev").Merged {
		t.Error("what is not on the branch counts as merged")
	}
}

// TestBranchForACommit: spec.commit is the id of a commit. A branch would be followed,
// whatever keeps the environment where it is.
func TestBranchForACommit(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.commitNow("stage", "follow main", map[string]string{"base-repo.yaml": recordText(w, "main")})
	names[w.changeNow(2)] = "2"
	d.settle("dev")
	d.wantNext("stage", promote.Stopped, `names "main", which is not the id of a commit`, "fairlead rollback stage --reason TEXT mends it")
	e := d.state("stage")
	if e.State != status.Problems || !strings.Contains(e.Problems[0].String(), `spec.commit is "main"`) {
		t.Errorf("stage is %s with %v", e.State, e.Problems)
	}
}

// TestLooksInARow: of many events that come one after the other, each is not a look of
// its own, and none is lost.
func TestLooksInARow(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	w.changeNow(1)
	d := w.begin(w.data)
	d.settle("dev", "stage")
	looked := func(after time.Duration) time.Time {
		t.Helper()
		d.now = d.now.Add(after)
		if err := d.CycleOf(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return d.store.Snapshot().Chain.Checked
	}
	first := looked(time.Minute)
	if again := looked(time.Second); !again.Equal(first) {
		t.Errorf("a second later it was looked at again, at %s", again)
	}
	if again := looked(time.Second); !again.Equal(first) {
		t.Errorf("two seconds later it was looked at again, at %s", again)
	}
	if again := looked(5 * time.Second); !again.After(first) {
		t.Error("what was told meanwhile was not looked at")
	}
}
