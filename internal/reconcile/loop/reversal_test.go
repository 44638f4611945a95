package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// takenBack are ways in which a person takes the record of stage back, from the second
// commit to the first.
var takenBack = map[string]func(w *world, first string){
	"git revert": func(w *world, _ string) {
		w.people.Pull("stage")
		gittest.Git(w, w.people.Dir, "revert", "--no-edit", "HEAD")
		w.people.Push("stage")
	},
	"git revert, merged": func(w *world, _ string) {
		w.people.Pull("stage")
		gittest.Git(w, w.people.Dir, "checkout", "-qB", "back")
		gittest.Git(w, w.people.Dir, "revert", "--no-edit", "HEAD")
		gittest.Git(w, w.people.Dir, "checkout", "-q", "stage")
		gittest.Git(w, w.people.Dir, "merge", "-q", "--no-ff", "--no-edit", "back")
		w.people.Push("stage")
	},
	"edit": func(w *world, first string) {
		w.commitNow("stage", "back by hand", map[string]string{"base-repo.yaml": recordText(w, first)})
	},
	"commits after it": func(w *world, first string) {
		w.commitNow("stage", "back by hand", map[string]string{"base-repo.yaml": recordText(w, first)})
		w.commitNow("stage", "own change", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \"1\"")})
	},
}

// TestRevertIsARollback: who takes the record of an environment back by hand has rolled
// it back. It stays there, held, until it is released.
func TestRevertIsARollback(t *testing.T) {
	for name, takeBack := range takenBack {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
			first := w.changeNow(1)
			names := map[string]string{first: "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			old := treeOf(w, "stage")
			names[w.changeNow(2)] = "2"
			d.settle("dev", "stage")
			w.wantLine(names, "dev=2 stage=2")

			takeBack(w, first)
			again := w.begin(w.data + "-again")
			for _, d := range []*daemon{d, again} {
				d.settle("dev", "stage")
				w.wantLine(names, "dev=2 stage=1")
				d.wantNext("stage", promote.Held, "it is held: reverted by a", "(until fairlead release stage)")
				if name != "commits after it" {
					d.want(map[string]status.State{"dev": status.InSync, "stage": status.InSync})
					if now := treeOf(w, "stage"); now != old {
						t.Errorf("the output of stage is not what it was: %s, %s", now, old)
					}
				}
			}
			names[w.changeNow(3)] = "3"
			again.settle("dev", "stage")
			w.wantLine(names, "dev=3 stage=1")

			o := w.openActions()
			if r, err := o.Release(t.Context(), "stage", "it is mended"); err != nil || !r.Changed {
				t.Fatalf("%+v %v", r, err)
			}
			if r, err := o.Release(t.Context(), "stage", ""); err != nil || r.Changed {
				t.Fatalf("the second release says %+v %v", r, err)
			}
			again.settle("dev", "stage")
			w.wantLine(names, "dev=3 stage=3")
			again.want(map[string]status.State{"dev": status.InSync, "stage": status.InSync})
		})
	}
}

// treeOf gives the folders of clusters in an output.
func treeOf(w *world, branch string) string {
	w.Helper()
	return gittest.Git(w, w.server.Dir("out"), "rev-parse", branch+":cloud")
}

// openActions opens the control plane for a person.
func (w *world) openActions() *actions.Session {
	w.Helper()
	d, err := actions.Open(w.Context(), actions.Options{
		ControlPlane: w.place, Mirrors: &repos.Mirrors{Dir: w.TempDir()}, Prefix: "fairlead/", Author: git.Signature{Name: "a", Email: person}, Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// TestNoReversal: what takes no record back holds nothing.
func TestNoReversal(t *testing.T) {
	for name, change := range map[string]func(w *world, first, second string){
		"comment": func(w *world, _, second string) {
			w.commitNow("stage", "comment", map[string]string{"base-repo.yaml": "# why\n" + recordText(w, second)})
		},
		"there and back in one push": func(w *world, first, second string) {
			w.commitNow("stage", "back", map[string]string{"base-repo.yaml": recordText(w, first)})
			w.commitNow("stage", "forth", map[string]string{"base-repo.yaml": recordText(w, second)})
		},
		"rollback and release": func(w *world, _, _ string) {
			for _, pull := range []func() (actions.Result, error){
				func() (actions.Result, error) {
					return w.openActions().Rollback(w.Context(), actions.Rollback{Environment: "stage", Reason: "slow"})
				},
				func() (actions.Result, error) { return w.openActions().Release(w.Context(), "stage", "mended") },
			} {
				if r, err := pull(); err != nil || !r.Changed {
					w.Fatalf("%+v %v", r, err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
			first := w.changeNow(1)
			d := w.begin(w.data)
			d.settle("dev", "stage")
			second := w.changeNow(2)
			names := map[string]string{first: "1", second: "2"}
			d.settle("dev", "stage")
			change(w, first, second)
			names[w.changeNow(3)] = "3"
			d.settle("dev", "stage")
			w.wantLine(names, "dev=3 stage=3")
			if hold := d.stage("stage").Hold; hold != "" {
				t.Errorf("stage is held: %s", hold)
			}
		})
	}
}

// TestRollbackIsMerged: the hold of a rollback lets its own commit be merged where we
// merge, also if the environment's branch has another commit meanwhile, and nothing
// after it.
func TestRollbackIsMerged(t *testing.T) {
	for name, between := range map[string]bool{"at once": false, "with a commit between": true} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
			names := map[string]string{w.changeNow(1): "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			old := treeOf(w, "stage")
			names[w.changeNow(2)] = "2"
			d.settle("dev", "stage")
			if _, err := w.openActions().Rollback(t.Context(), actions.Rollback{Environment: "stage", Reason: "slow"}); err != nil {
				t.Fatal(err)
			}
			if between {
				w.commitNow("stage", "own change", map[string]string{"notes.md": "what people do"})
			}
			again := w.begin(w.data + "-again")
			again.pass(time.Minute)
			w.wantLine(names, "dev=2 stage=1")
			if turns := again.stage("stage").Turns; len(turns) < 2 || !turns[0].RolledBack || turns[0].Reason != "slow" || turns[0].Who == "" || names[turns[0].Commit]+names[turns[1].Commit] != "12" {
				t.Errorf("it is not known that it was rolled back from 2 to 1: %+v", turns)
			}
			if now := treeOf(w, "stage"); now != old {
				t.Errorf("one cycle later the output is not what it was: %+v", again.state("stage"))
			}
			head := w.head("out", "stage")
			w.commitNow("stage", "own change", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \"1\"")})
			names[w.changeNow(3)] = "3"
			again.settle("dev", "stage")
			w.wantLine(names, "dev=3 stage=1")
			if e := again.state("stage"); w.head("out", "stage") != head || !strings.Contains(e.Reason, "held: slow (by "+person) {
				t.Errorf("after the rollback it is %s: %s", e.State, e.Reason)
			}
		})
	}
}

// TestUnrenderedHead: it is known of the newest commit that it changes nothing that is rendered, and so is no
// newer than those that environments have for being listed last.
func TestUnrenderedHead(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	w.changeNow(1)
	d := w.begin(w.data)
	d.settle("dev", "stage")
	if s := d.stage("dev"); !s.FirstCommit || !s.AsksNobody || !d.stage("stage").FirstCommit {
		t.Errorf("of its first commit is known %+v", s)
	}
	head := w.commitNow("main", "freeze later", map[string]string{".fairlead/freeze.yaml": own("Freeze", "later", "{reason: the sale, from: 2099-01-01T00:00:00Z, to: 2099-01-02T00:00:00Z}")})
	d.settle("dev", "stage")
	chain := d.store.Snapshot().Chain
	i, has := chain.IndexCommit(head), chain.IndexCommit(d.stage("dev").Commit)
	if chain.Head != head || i < 0 || has < 0 || !chain.Commits[i].Unrendered || chain.Contains(has, i) || !chain.Contains(i, has) {
		t.Errorf("%s is %d of %+v, and dev has %d", head, i, chain.Commits, has)
	}
	w.changeNow(2)
	d.settle("dev", "stage")
	if s := d.stage("dev"); s.FirstCommit {
		t.Errorf("of its second commit is known %+v", s)
	}
	chain = d.store.Snapshot().Chain
	i, has = chain.IndexCommit(head), chain.IndexCommit(d.stage("dev").Commit)
	if before := has + 1; i < 0 || !chain.Commits[i].Unrendered || !chain.Contains(has, i) || !chain.Contains(i, before) {
		t.Errorf("when it is the head no longer, %s is %d of %+v, and dev has %d", head, i, chain.Commits, has)
	}
}
