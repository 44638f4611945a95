package publish_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

func TestPersonOnOurBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	ours := p.want(publish.Proposed, w.simple("a")).Commit
	theirs := w.commit("fairlead/dev", "pier/gull-main/extra.yaml", "kind: Extra\n")
	for _, text := range []string{"a", "b", "b"} {
		r := p.want(publish.Edited, w.simple(text))
		if !strings.Contains(r.Reason, theirs[:12]) {
			t.Errorf("the reason is %q", r.Reason)
		}
		equal(t, "notices", strings.Count(w.list()[0].Body, "[!WARNING]"), 1)
		equal(t, "our branch", w.branch("fairlead/dev"), theirs)
	}
	equal(t, "calls when all is said", strings.Join(p.forge.calls, " "), "open pulls")
	other := w.commit("fairlead/dev", "another", "x")
	p.want(publish.Edited, w.simple("b"))
	if body := w.list()[0].Body; strings.Count(body, "[!WARNING]") != 1 || !strings.Contains(body, other[:12]) {
		t.Errorf("the body is\n%s", body)
	}

	w.git("push", "-q", "--force", "origin", ours+":fairlead/dev")
	p.want(publish.Proposed, w.simple("b"))
	if body := w.list()[0].Body; strings.Contains(body, "[!WARNING]") {
		t.Errorf("the body is\n%s", body)
	}
	equal(t, "pull requests", w.states(), "open")
}

func TestPersonOnOurBranchIsMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.want(publish.Proposed, w.simple("a"))
	w.commit("fairlead/dev", "pier/gull-main/extra.yaml", "kind: Extra\n")
	p.want(publish.Edited, w.simple("a"))
	w.merge()
	p.want(publish.Proposed, w.simple("a")) // without extra.yaml
	equal(t, "pull requests", w.states(), "merged open")
	equal(t, "commits", w.above(), "1")
}

func TestEditedBranchIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.want(publish.Proposed, w.simple("a"))
	w.commit("fairlead/dev", "extra", "x")
	p.want(publish.Edited, w.simple("a"))
	w.person.Push(":fairlead/dev")
	p.want(publish.Proposed, w.simple("a"))
	equal(t, "commits", w.above(), "1")
	if s := w.states(); !strings.HasSuffix(s, "open") {
		t.Errorf("the pull request is %s", s)
	}
}

func TestAmended(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"pier/gull-main/reconciler.yaml", "README.md", publish.RecordFile, output.TrackingFile} {
		w := newWorld(t)
		p := w.publisher()
		p.want(publish.Proposed, w.simple("a"))
		w.person.Pull("fairlead/dev")
		w.person.Write(path, "by hand\n")
		w.git("add", "-A")
		w.git("commit", "-q", "--amend", "--no-edit")
		w.person.Push("+fairlead/dev")
		theirs := w.branch("fairlead/dev")
		p.want(publish.Edited, w.simple("b"))
		equal(t, path, w.branch("fairlead/dev"), theirs)
	}
}

func TestUpdatedByTheForge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.want(publish.Proposed, w.simple("a"))
	for _, text := range []string{"one\n", "two\n"} { // twice, while we sleep
		w.commit("main", "README.md", text)
		w.person.Pull("fairlead/dev")
		w.git("merge", "-q", "-m", "Merge branch 'main' into fairlead/dev", "origin/main")
		w.person.Push("fairlead/dev")
	}
	p.want(publish.Proposed, w.simple("a"))
	equal(t, "commits", w.above(), "1")
	equal(t, "README", gittest.Show(t, w.server.Dir("out"), "fairlead/dev", "README.md"), "two\n")
	equal(t, "pull requests", w.states(), "open")
}

func TestUpdatedAndChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.want(publish.Proposed, w.simple("a"))
	w.commit("main", "README.md", "one\n")
	w.person.Pull("fairlead/dev")
	w.git("merge", "-q", "--no-commit", "origin/main")
	w.person.Write("README.md", "mine\n")
	theirs := w.person.Commit("merge, and more")
	w.person.Push("fairlead/dev")
	p.want(publish.Edited, w.simple("b"))
	equal(t, "our branch", w.branch("fairlead/dev"), theirs)
}

func TestForeignBranch(t *testing.T) {
	t.Parallel()
	begin := map[string]func(*world){
		"from the output branch": func(w *world) { w.person.Pull("main") },
		"from what we proposed before": func(w *world) {
			p := w.publisher()
			p.want(publish.Proposed, w.simple("a"))
			w.merge()
			p.want(publish.InSync, w.simple("a"))
			w.person.Pull("main")
		},
		"from nothing":           func(w *world) { w.person.Switch("orphan") },
		"of another environment": func(w *world) { other(w, "prod", "main") },
		"with trailers in its text": func(w *world) {
			w.person.Pull("main")
			w.person.Write("x", "y")
			w.person.Commit("Fairlead-Environment: dev")
		},
	}
	for name, f := range begin {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f(w)
			w.person.Write("mine", "x")
			w.person.Commit("mine")
			w.git("push", "-q", "origin", "HEAD:refs/heads/fairlead/dev")
			p := w.publisher()
			refs := w.refs()
			r := p.want(publish.Foreign, w.simple("b"))
			if !strings.Contains(r.Reason, "fairlead/dev") {
				t.Errorf("the reason is %q", r.Reason)
			}
			for ref, id := range w.refs() {
				equal(t, ref, id, refs[ref])
			}
		})
	}
}

// other has another environment propose something, and checks its branch out.
func other(w *world, environment, branch string) {
	w.Helper()
	what := w.simple("x")
	what.Environment, what.Branch = environment, branch
	w.publisher().want(publish.Proposed, what)
	w.person.Pull("fairlead/" + environment)
}

// merges are commits with two parents on our branch that a person made. README.md of the
// output branch is changed on it, and reconciler.yaml by us.
var merges = map[string]struct {
	make  func(w *world)
	wants publish.State
}{
	"an update": {func(w *world) {
		w.git("merge", "-q", "-m", "update", "origin/main")
	}, publish.Proposed},
	"an update that takes back what we proposed": {func(w *world) {
		w.git("merge", "-q", "--no-commit", "origin/main")
		w.git("rm", "-qrf", "pier")
		w.person.Commit("update")
	}, publish.Edited},
	"an update that takes back what the output branch has": {func(w *world) {
		w.git("merge", "-q", "-s", "ours", "-m", "update", "origin/main")
	}, publish.Edited},
	"an update that takes all of the output branch": {func(w *world) {
		w.git("merge", "-q", "--no-commit", "origin/main")
		w.git("read-tree", "-u", "--reset", "origin/main")
		w.person.Commit("update")
	}, publish.Edited},
	"another branch": {func(w *world) {
		w.git("checkout", "-qB", "other", "origin/main")
		w.person.Write("theirs.md", "theirs\n")
		w.person.Commit("theirs")
		w.git("checkout", "-q", "fairlead/dev")
		w.git("merge", "-q", "-m", "other", "other")
	}, publish.Edited},
	"another branch, of which nothing is left": {func(w *world) {
		w.git("checkout", "-qB", "other", "origin/main")
		w.person.Write("theirs.md", "theirs\n")
		w.person.Commit("theirs")
		w.git("checkout", "-q", "fairlead/dev")
		w.git("merge", "-q", "-s", "ours", "-m", "other", "other")
	}, publish.Edited},
	"ours into another branch": {func(w *world) {
		w.git("checkout", "-qB", "other", "origin/main")
		w.person.Write("theirs.md", "theirs\n")
		w.person.Commit("theirs")
		w.git("merge", "-q", "-m", "ours", "fairlead/dev")
		w.git("checkout", "-qB", "fairlead/dev", "other")
	}, publish.Edited},
	"an update above a commit of a person": {func(w *world) {
		w.person.Write("theirs.md", "theirs\n")
		w.person.Commit("theirs")
		w.git("merge", "-q", "-m", "update", "origin/main")
	}, publish.Edited},
	"an update above a commit that was taken back": {func(w *world) {
		w.person.Write("theirs.md", "theirs\n")
		w.person.Commit("theirs")
		w.git("revert", "--no-edit", "HEAD")
		w.git("merge", "-q", "-m", "update", "origin/main")
	}, publish.Edited},
}

// TestMergesOnOurBranch: only what merges the output branch into ours and does nothing
// else is replaced; any other merge is a person's work, and stays.
func TestMergesOnOurBranch(t *testing.T) {
	t.Parallel()
	for name, test := range merges {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.publisher()
			p.want(publish.Proposed, w.simple("a"))
			w.commit("main", "README.md", "one\n")
			w.person.Pull("fairlead/dev")
			test.make(w)
			w.person.Push("+HEAD:fairlead/dev")
			theirs := w.branch("fairlead/dev")
			p.want(test.wants, w.simple("b"))
			if kept := w.branch("fairlead/dev") == theirs; kept != (test.wants == publish.Edited) {
				t.Errorf("their commit is kept: %v", kept)
			}
		})
	}
}
