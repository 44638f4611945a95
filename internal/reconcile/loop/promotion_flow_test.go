package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestFanOut: a commit gets to two environments at once, and to the one behind them
// when it is proven in both.
func TestFanOut(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: prod, after: [east, west], merge: direct, proof: []}
    - {name: east, after: [dev], merge: direct}
    - {name: west, after: [dev], merge: direct}
    - {name: dev, merge: direct, proof: []}
`, "dev", "east", "west", "prod")
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	all := []string{"dev", "east", "west", "prod"}
	d.settle(all...)
	w.wantLine(names, "dev=1 east=1 west=1 prod=-")
	w.says("east", "kustomization/apps/1", forge.Success, "ready")
	d.settle(all...)
	d.wantNext("prod", promote.Waiting, "not verified in west yet")
	w.says("west", "kustomization/apps/2", forge.Success, "ready")
	d.settle(all...)
	w.wantLine(names, "dev=1 east=1 west=1 prod=1")

	// A commit of which one of them thinks otherwise goes no further.
	names[w.changeNow(2)] = "2"
	d.settle(all...)
	w.says("east", "kustomization/apps/1", forge.Success, "ready")
	w.says("west", "kustomization/apps/2", forge.Failure, "no memory")
	d.settle(all...)
	w.wantLine(names, "dev=2 east=2 west=2 prod=1")
	d.wantNext("prod", promote.Waiting, "failed in west")
}

// TestNoOp: a commit that changes nothing that is rendered passes at once, without a
// pull request, if the environment is well.
func TestNoOp(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, proof: [rollout, soak: 1h]}
    - {name: stage, after: [dev], proof: [rollout]}
`, "dev", "stage")
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.merge("dev")
	d.pass(time.Minute)
	w.says("dev", "kustomization/dev/1", forge.Success, "ready")
	d.pass(time.Minute)
	d.pass(2 * time.Hour)
	d.pass(time.Minute)
	w.merge("stage")
	w.says("stage", "kustomization/stage/1", forge.Success, "ready")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=1")

	second := w.commitNow("main", "notes", map[string]string{"notes.txt": "nothing that is rendered"})
	names[second] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=1")
	d.want(map[string]status.State{"dev": status.InSync, "stage": status.InSync})
	w.wantTold(second, "dev environment: success Deployed")
	d.wantNext("stage", promote.Waiting, "soaks")
	d.pass(2 * time.Hour)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
	w.wantTold(second, "dev environment: success Deployed\nstage environment: success Deployed")

	// Its health counts all the same.
	third := w.commitNow("main", "notes", map[string]string{"notes.txt": "nothing either"})
	names[third] = "3"
	w.says("dev", "kustomization/dev/1", forge.Failure, "it went bad")
	d.settle("dev", "stage")
	d.pass(2 * time.Hour)
	w.wantLine(names, "dev=3 stage=2")
	w.wantTold(third, "dev environment: failure Failed to deploy: kustomization/dev failed: it went bad")
}

// TestSuperseded: a commit that nobody has merged is replaced by a newer one, in the
// same pull request.
func TestSuperseded(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev}\n    - {name: stage, after: [dev]}\n", "dev", "stage")
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data)
	d.settle("dev")
	before := w.open("dev")
	second := w.changeNow(2)
	names[second] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=-")
	if after := w.open("dev"); after.Number != before.Number || after.Commit == before.Commit {
		t.Errorf("the pull request is %d at %s, and was %d at %s", after.Number, after.Commit, before.Number, before.Commit)
	}
	w.wantTold(first, "dev environment: pending Promoted")
	w.merge("dev")
	w.says("dev", "kustomization/apps/1", forge.Success, "ready")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
	w.wantTold(second, "dev environment: success Deployed\nstage environment: pending Promoted")
}

// TestRecordByPull: the record is proposed, and who merges that has decided. While
// nobody does, the daemon is at rest.
func TestRecordByPull(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two("record: pull-request"), "dev", "stage")
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	d.quiet("cp", "out")
	d.quiet("cp", "out")

	second := w.changeNow(2)
	names[second] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=-")
	d.wantNext("stage", promote.Waiting, "is not merged")
	w.mergeRecord("stage")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
	refs := gittest.Refs(t, w.server.Dir("cp"))
	if _, ok := refs["refs/heads/fairlead/promotion/stage"]; ok {
		t.Errorf("the branch of the pull request is still there: %v", refs)
	}
	d.quiet("cp", "out")
}

// TestRecordWithApproval: the pull request of the record is opened so that people can
// approve, and merged by the daemon when they have.
func TestRecordWithApproval(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two("record: pull-request, gates: [approval: {by: [a@example.com]}]"), "dev", "stage")
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	all, err := w.plain("cp").AllPulls()
	if err != nil || len(all) != 1 || all[0].State != forge.Open || !strings.Contains(all[0].Title, text.ShortCommit(first)) {
		t.Fatalf("the pull requests of the control plane are %v, %v", all, err)
	}
	w.commitNow("stage", "approve", map[string]string{".fairlead/approvals/a.yaml": own("Approval", "a", "{commit: \""+first+"\"}")})
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=1")
	w.wantTold(first, "dev environment: success Deployed\nstage environment: success Deployed")
	if all, err := w.plain("cp").AllPulls(); err != nil || len(all) != 1 || all[0].State != forge.Merged {
		t.Errorf("the pull requests of the control plane are %v, %v", all, err)
	}
}

// TestRollback: an environment that a person sets back stays there until the hold goes,
// and what it was set back from is no longer what was verified in it.
func TestRollback(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, merge: direct, proof: [soak: 2h]}
    - {name: stage, after: [dev], merge: direct, proof: []}
`, "dev", "stage")
	names := map[string]string{}
	d := w.begin(w.data)
	both := []string{"dev", "stage"}
	var commits []string
	level := func(n int) {
		commits = append(commits, w.changeNow(n))
		names[commits[n-1]] = fmt.Sprint(n)
		d.settle(both...)
		d.pass(3 * time.Hour)
		d.settle(both...)
	}
	level(1)
	w.wantLine(names, "dev=1 stage=1")
	w.commitNow("stage", "hold", map[string]string{"hold.yaml": own("Hold", "hold", "{reason: later}")})
	level(2)
	w.wantLine(names, "dev=2 stage=1")
	d.wantNext("stage", promote.Held, "later")

	// The second is proven in dev, and stage is only held. Then dev is set back.
	w.commitNow("dev", "roll back", map[string]string{"base-repo.yaml": recordText(w, commits[0]), "hold.yaml": own("Hold", "hold", "{reason: 2 is bad, commit: "+commits[0]+"}")})
	w.commitNow("stage", "release", map[string]string{"hold.yaml": ""})
	d.settle(both...)
	w.wantLine(names, "dev=1 stage=1")
	d.wantNext("dev", promote.Held, "2 is bad")
	w.wantTold(commits[0], "dev environment: success Deployed\nstage environment: success Deployed")
	if text := gittest.Show(t, w.server.Dir("out"), "dev", "cloud/hello-web/platform-config.yaml"); !strings.Contains(text, `LEVEL: "1"`) {
		t.Errorf("the output of dev is not what it was:\n%s", text)
	}
	if proof := d.stage("dev").Proof; proof.Status != "wait" {
		t.Errorf("it does not soak anew: %+v", proof)
	}
	d.pass(3 * time.Hour)
	d.settle(both...)
	if proof := d.stage("dev").Proof; proof.Status != "pass" {
		t.Errorf("it soaks for ever: %+v", proof)
	}
	w.wantLine(names, "dev=1 stage=1")

	// A newer one comes, and dev is released: it alone goes on.
	w.commitNow("dev", "release", map[string]string{"hold.yaml": ""})
	level(3)
	w.wantLine(names, "dev=3 stage=3")
}
