package loop_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// TestFirstFollowsBase: an environment that comes after none gets every commit of the base once the last
// one is merged, also where no cluster reports; what comes after it still needs proof. That no
// cluster has reported is said until one has.
func TestFirstFollowsBase(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct}\n", "dev", "stage")
	inbox, with := w.inbox()
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data, with)
	wantUnconnected := func(want bool) {
		t.Helper()
		if got := d.store.Snapshot().Chain.Unconnected; got != want {
			t.Fatalf("unconnected is %t, want %t; the log:\n%s", got, want, w.logs.String())
		}
	}
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	d.wantNext("stage", promote.Waiting, "no cluster has reported")
	wantUnconnected(true)

	second := w.changeNow(2)
	names[second] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=-")
	wantUnconnected(true)

	w.reports(inbox, "dev", "dev", "east-1", rollout.Ready)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
	wantUnconnected(false)

	// A cluster that is busy with the last commit does not keep the next one back, and a new
	// process knows that there are clusters.
	w.reports(inbox, "dev", "dev", "east-1", rollout.Progressing)
	third := w.changeNow(3)
	names[third] = "3"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=3 stage=2")
	d.wantNext("stage", promote.Waiting, "0 of 1 cluster ready")
	wantUnconnected(false)
}

// TestEachInFirst: with queue: every, the first environment is done with a commit before it gets the next.
func TestEachInFirst(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, queue: every}\n", "dev")
	inbox, with := w.inbox()
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data, with)
	d.settle("dev")
	names[w.changeNow(2)] = "2"
	d.settle("dev")
	w.wantLine(names, "dev=1")
	d.wantNext("dev", promote.Waiting, "is not verified yet")
	w.reports(inbox, "dev", "dev", "east-1", rollout.Ready)
	d.settle("dev")
	w.wantLine(names, "dev=2")
}

// TestProofWithoutReports: proof may name what a team without reports wants, and then nothing says that
// a cluster should report.
func TestProofWithoutReports(t *testing.T) {
	for _, proof := range []string{"[merged]", "[]", "[{soak: 1h}]", "[merged, {soak: 1h}]"} {
		t.Run(proof, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: "+proof+"}\n    - {name: stage, after: [dev], merge: direct, proof: [merged]}\n", "dev", "stage")
			names := map[string]string{w.changeNow(1): "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			d.pass(2 * time.Hour)
			d.settle("dev", "stage")
			w.wantLine(names, "dev=1 stage=1")
			if d.store.Snapshot().Chain.Unconnected {
				t.Error("it is said that no cluster has reported")
			}
		})
	}
}
