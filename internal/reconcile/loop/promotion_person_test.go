package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// onRecord are what people do on the branch that proposes a record.
var onRecord = map[string]struct {
	do   func(w *world)
	kept bool
}{
	"a commit": {func(w *world) {
		w.people.Write("notes.md", "theirs\n")
		w.people.Commit("theirs")
	}, true},
	"an amendment": {func(w *world) {
		w.people.Write("notes.md", "theirs\n")
		gittest.Git(w, w.people.Dir, "add", "-A")
		gittest.Git(w, w.people.Dir, "commit", "-q", "--amend", "--no-edit")
	}, true},
	"a commit with our trailer": {func(w *world) {
		w.people.Write("notes.md", "theirs\n")
		w.people.Commit("theirs\n\nFairlead-Promotion: stage")
	}, true},
	"a merge of another branch": {func(w *world) {
		gittest.Git(w, w.people.Dir, "checkout", "-qB", "other", "origin/stage")
		w.people.Write("notes.md", "theirs\n")
		w.people.Commit("theirs")
		gittest.Git(w, w.people.Dir, "checkout", "-q", recordBranch)
		gittest.Git(w, w.people.Dir, "merge", "-q", "-m", "other", "other")
	}, true},
	"an update": {func(w *world) {
		gittest.Git(w, w.people.Dir, "merge", "-q", "--no-ff", "-m", "update", "origin/stage")
	}, false},
}

const recordBranch = "fairlead/promotion/stage"

// TestPersonOnRecord: a commit of a person on the branch that proposes a record is never
// lost: it is neither replaced by the next proposal nor removed when that is withdrawn.
func TestPersonOnRecord(t *testing.T) {
	for name, test := range onRecord {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two("record: pull-request, gates: [approval: {}]"), "dev", "stage")
			w.changeNow(1)
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.commitNow("stage", "own change", map[string]string{"notes-of-stage.md": "x"})
			w.people.Pull(recordBranch)
			test.do(w)
			w.people.Push("+HEAD:" + recordBranch)
			theirs := w.head("cp", recordBranch)

			second := w.changeNow(2)
			d.settle("dev", "stage")
			if kept := w.head("cp", recordBranch) == theirs; kept != test.kept {
				t.Fatalf("what the person did is kept: %v; %s", kept, w.logs.String())
			}
			if test.kept {
				d.wantNext("stage", promote.Waiting, theirs[:12]+" on "+recordBranch+" is not ours")
			} else {
				d.wantNext("stage", promote.Waiting, "approval")
				if has := gittest.Show(t, w.server.Dir("cp"), recordBranch, "base-repo.yaml"); !strings.Contains(has, second) {
					t.Errorf("it proposes %s", has)
				}
			}

			w.commitNow("main", "freeze", map[string]string{".fairlead/freezes/all.yaml": freezeAll})
			d.settle("dev", "stage")
			if _, there := gittest.Refs(t, w.server.Dir("cp"))["refs/heads/"+recordBranch]; there != test.kept {
				t.Errorf("the branch is there: %v", there)
			}
			all, err := w.plain("cp").AllPulls()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range all {
				if p.Head == recordBranch && (p.State != forge.Closed || test.kept && !strings.Contains(p.Reason, theirs[:12]+" on it is not ours")) {
					t.Errorf("the pull request is %s: %s", p.State, p.Reason)
				}
			}
			if test.kept { // the person is done with it
				w.commitNow("main", "thaw", map[string]string{".fairlead/freezes/all.yaml": ""})
				gittest.Git(t, w.server.Dir("cp"), "update-ref", "-d", "refs/heads/"+recordBranch)
				d.pass(time.Hour)
				d.settle("dev", "stage")
				d.wantNext("stage", promote.Waiting, "approval")
			}
		})
	}
}

// TestPersonOnProposal: who only reads sees the commit of a person on the branch that proposes a record, and says what to
// do, as the daemon does; and that a proposal waits for its merge.
func TestPersonOnProposal(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two("record: pull-request"), "dev", "stage")
	w.changeNow(1)
	d := w.begin(w.data)
	d.settle("dev", "stage")
	look := func() *daemon {
		t.Helper()
		reader := w.begin(w.TempDir(), func(o *loop.Options) { o.Settings.Write = false })
		defer reader.Close()
		reader.cycle()
		return reader
	}
	d.wantNext("stage", promote.Waiting, "is not merged")
	look().wantNext("stage", promote.Waiting, "is not merged")

	w.people.Pull(recordBranch)
	w.people.Write("notes.md", "theirs\n")
	w.people.Commit("theirs")
	w.people.Push("+HEAD:" + recordBranch)
	theirs := w.head("cp", recordBranch)
	w.changeNow(2)
	d.settle("dev", "stage")
	d.wantNext("stage", promote.Waiting, theirs[:12]+" on "+recordBranch+" is not ours", "remove the commit or the branch")
	look().wantNext("stage", promote.Waiting, theirs[:12]+" on "+recordBranch+" is not ours", "remove the commit or the branch")
	if w.head("cp", recordBranch) != theirs {
		t.Error("what the person did is lost")
	}
}
