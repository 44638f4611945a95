package publish_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

func TestLifeOfAPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	first := p.want(publish.Proposed, w.simple("a"))
	equal(t, "branch", w.branch("fairlead/dev"), first.Commit)
	equal(t, "title", first.Pull.Title, "dev: add cluster type pier with gull-main")
	p.want(publish.Proposed, w.simple("a"))
	equal(t, "calls when nothing changes", strings.Join(p.forge.calls, " "), "open pulls")

	second := p.want(publish.Proposed, w.simple("b"))
	equal(t, "number", second.Pull.Number, first.Pull.Number)
	equal(t, "branch", w.branch("fairlead/dev"), second.Commit)
	equal(t, "commits", w.above(), "1")
	files := gittest.Files(t, w.server.Dir("out"), "fairlead/dev")
	equal(t, "file", files["pier/gull-main/reconciler.yaml"], "kind: Puller\nfrom: b\n")
	equal(t, "README", files["README.md"], "of people\n")

	w.merge()
	third := p.want(publish.InSync, w.simple("b"))
	equal(t, "head", third.Head, second.Commit)
	equal(t, "our branch", w.branch("fairlead/dev"), "")
	equal(t, "pull requests", w.states(), "merged")

	requests := len(w.server.Requests("out"))
	p.want(publish.InSync, w.simple("b"))
	equal(t, "calls in sync", len(p.forge.calls), 0)
	for _, r := range w.server.Requests("out")[requests:] {
		equal(t, "service in sync", r.Service, "git-upload-pack")
		equal(t, "a small request in sync", r.BytesIn+r.BytesOut < 1024, true)
	}

	p.want(publish.Proposed, w.simple("c"))
	equal(t, "pull requests", w.states(), "merged open")
	gittest.Git(t, w.server.Dir("out"), "fsck", "--strict")
}

func TestMergedInOtherWays(t *testing.T) {
	t.Parallel()
	for name, merge := range map[string][]string{
		"merge commit": {"merge", "-q", "--no-ff", "-m", "merge", "origin/fairlead/dev"}, "squash": {"cherry-pick", "origin/fairlead/dev"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.publisher()
			p.want(publish.Proposed, w.simple("a"))
			w.commit("main", "other", "x")
			w.git(merge...)
			w.person.Push("main")
			p.want(publish.InSync, w.simple("a"))
			equal(t, "our branch", w.branch("fairlead/dev"), "")
			if s := w.states(); strings.Contains(s, "open") {
				t.Errorf("the pull request is %s", s)
			}
			p.want(publish.Proposed, w.simple("b"))
		})
	}
}

func TestRevertedBeforeItIsMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.want(publish.Proposed, w.simple("a"))
	w.merge()
	p.want(publish.InSync, w.simple("a"))
	p.want(publish.Proposed, w.simple("b"))
	p.want(publish.InSync, w.simple("a"))
	equal(t, "our branch", w.branch("fairlead/dev"), "")
	equal(t, "pull requests", w.states(), "merged closed")
	if reason := w.list()[1].Reason; !strings.Contains(reason, "nothing left to propose") {
		t.Errorf("the reason is %q", reason)
	}
	p.want(publish.Proposed, w.simple("b"))
	equal(t, "pull requests", w.states(), "merged closed open")
}

func TestDeclined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	first := p.want(publish.Proposed, w.simple("a"))
	w.close(first.Pull.Number)
	refs := w.refs()
	again := p.want(publish.Declined, w.simple("a"))
	equal(t, "number", again.Pull.Number, 1)
	if !strings.Contains(again.Reason, "pull request 1 ") {
		t.Errorf("the reason is %q", again.Reason)
	}
	w.commit("main", "README.md", "changed\n")
	p.want(publish.Declined, w.proposal("2", map[string]string{"pier/gull-main/reconciler.yaml": "kind: Puller\nfrom: a\n"}))
	equal(t, "our branch", w.branch("fairlead/dev"), refs["refs/heads/fairlead/dev"])

	p.want(publish.Proposed, w.simple("b"))
	equal(t, "pull requests", w.states(), "closed open")
	equal(t, "commits", w.above(), "1")
}

// TestDryRunSeesPullRequests: what only reads knows the pull request that a daemon has opened, who
// merges it, and that a person has closed it.
func TestDryRunSeesPullRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	a := w.simple("a")
	a.LocationChosen = true
	p.want(publish.Proposed, a)
	p.Write = false
	seen := p.want(publish.DryRun, a)
	equal(t, "number", seen.Pull.Number, 1)
	equal(t, "reason", seen.Reason, "")
	direct := a
	direct.Merge = publish.Direct
	equal(t, "reason of one that we merge", p.want(publish.DryRun, direct).Reason, "the daemon merges it (merge: direct)")
	direct.Withheld = []publish.Withholding{{Cause: publish.CauseHold, Reason: "held: incident 7"}}
	equal(t, "reason of one that is withheld", p.want(publish.DryRun, direct).Reason, "held: incident 7")
	w.close(1)
	equal(t, "number of the closed one", p.want(publish.Declined, a).Pull.Number, 1)
	equal(t, "pull request of other content", p.want(publish.DryRun, w.simple("b")).Pull, nil)
	equal(t, "pull requests", w.states(), "closed")
}

func TestReopened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	for n, text := range []string{"a", "b"} {
		p.want(publish.Proposed, w.simple(text))
		w.close(n + 1)
	}
	p.want(publish.Declined, w.simple("b"))
	if err := p.forge.ReopenPull(context.Background(), 1, ""); err != nil {
		t.Fatal(err)
	}
	r := p.want(publish.Proposed, w.simple("b"))
	equal(t, "number", r.Pull.Number, 1)
}

func TestMissingBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	what := w.simple("a")
	what.Branch = "clusters/it's-dev"
	_, err := p.try(what)
	var missing *problem.Refusal
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), what.Branch) {
		t.Fatalf("the error is %v", err)
	}
	_, command, _ := strings.Cut(missing.Hint(), "in any clone: ")
	run := exec.Command("sh", "-c", command)
	run.Dir = w.person.Dir
	run.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	r := p.want(publish.Proposed, what)
	equal(t, "files", len(gittest.Files(t, w.server.Dir("out"), r.Commit)), 2)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	what := w.simple("a")
	what.Branch = "new"
	a, b := w.publisher(), w.publisher()
	a.Create, b.Create = true, true
	a.Write = false
	a.want(publish.DryRun, what)
	equal(t, "branch", w.branch("new"), "")
	a.Write = true
	if _, err := b.Remote.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	first := a.want(publish.Proposed, what)
	root := w.branch("new")
	equal(t, "files of the root commit", gittest.Git(t, w.server.Dir("out"), "ls-tree", root), "")
	// b still knows nothing of it.
	second, err := publish.Publish(context.Background(), optionsOf(b), what)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "commit", second.Commit, first.Commit)
	equal(t, "branch", w.branch("new"), root)
	equal(t, "pull requests", w.states(), "open")
}

func optionsOf(p *publisher) publish.Options {
	p.Forge = p.forge
	return p.Options
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.Write = false
	refs := w.refs()
	r := p.want(publish.DryRun, w.simple("a"))
	p.Write = true
	equal(t, "commit", r.Commit, p.want(publish.Proposed, w.simple("a")).Commit)
	equal(t, "references", len(refs), 1)

	// There is something to update, and something to withdraw.
	p.Write = false
	refs = w.refs()
	requests := len(w.server.Requests("out"))
	p.want(publish.DryRun, w.simple("b"))
	empty := w.simple("")
	empty.Rendered = tree.Tree{}
	p.want(publish.InSync, empty)
	equal(t, "references", len(w.refs()), len(refs))
	for ref, id := range refs {
		equal(t, ref, w.refs()[ref], id)
	}
	for _, request := range w.server.Requests("out")[requests:] {
		equal(t, "service", request.Service, "git-upload-pack")
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	proposal := func(environment, text string) publish.Proposal {
		what := w.simple(text)
		what.Environment, what.Folder = environment, "./clusters//"+environment+"/"
		return what
	}
	for _, env := range []string{"dev", "prod"} {
		p.want(publish.Proposed, proposal(env, env))
	}
	w.merge()
	p.want(publish.InSync, proposal("dev", "dev"))
	p.want(publish.Proposed, proposal("prod", "prod")) // on top of dev's
	w.git("fetch", "-q")
	w.git("push", "-q", "origin", "origin/fairlead/prod:main")
	for _, env := range []string{"dev", "prod"} {
		p.want(publish.InSync, proposal(env, env))
		file := "clusters/" + env + "/pier/gull-main/reconciler.yaml"
		equal(t, file, gittest.Show(t, w.server.Dir("out"), "main", file), "kind: Puller\nfrom: "+env+"\n")
	}
	equal(t, "README", gittest.Show(t, w.server.Dir("out"), "main", "README.md"), "of people\n")
	if record := gittest.Show(t, w.server.Dir("out"), "main", "clusters/dev/"+publish.RecordFile); strings.Contains(record, "folder:") {
		t.Errorf("the record says that it is somewhere else:\n%s", record)
	}
}

func TestPromotedLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	proposal := func(commit, text string) publish.Proposal {
		return w.proposal("1", map[string]string{output.TrackingFile: commit, "pier/a/b": text})
	}
	label := func(r publish.Result) string { return strings.Join(r.Pull.Labels, " ") }
	equal(t, "labels of the first", label(p.want(publish.Proposed, proposal("1111", "a"))), "promoted")
	w.merge()
	p.want(publish.InSync, proposal("1111", "a"))
	p.want(publish.InSync, proposal("2222", "a"))
	equal(t, "labels of the same commit", label(p.want(publish.Proposed, proposal("1111", "b"))), "")
	equal(t, "labels of another commit", label(p.want(publish.Proposed, proposal("2222", "b"))), "promoted")
	equal(t, "labels of the same commit", label(p.want(publish.Proposed, proposal("1111", "b"))), "")
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	hinted := func(p *publisher, what publish.Proposal, want string) {
		t.Helper()
		refs := p.refs()
		_, err := p.try(what)
		var b *problem.Refusal
		if !errors.As(err, &b) || !strings.Contains(err.Error(), want) || b.Hint() == "" {
			t.Errorf("the error is %v, want %s", err, want)
		}
		equal(t, "references", len(p.refs()), len(refs))
	}
	w := newWorld(t)
	p := w.publisher()
	for folder, want := range map[string]string{"README.md": "file README.md", "README.md/x": "file README.md", "a/.git/b": ".git"} {
		what := w.simple("a")
		what.Folder = folder
		hinted(p, what, want)
	}
	what := w.simple("a")
	what.Branch = "fairlead/dev"
	hinted(p, what, "branch fairlead/dev is the one")
	what.Branch, p.Create = "main/new", true
	hinted(p, what, "there can be no branch main/new beside the branch main")
	w.git("push", "-q", "origin", "main:refs/heads/fairlead/dev/x")
	hinted(p, w.simple("a"), "there can be no branch fairlead/dev beside the branch fairlead/dev/x")
	w.git("push", "-q", "origin", ":fairlead/dev/x")
	w.git("push", "-q", "origin", "main:refs/heads/fairlead")
	hinted(p, w.simple("a"), "there can be no branch fairlead/dev beside the branch fairlead")
	w.git("push", "-q", "origin", ":fairlead")
	p.want(publish.Proposed, w.simple("a"))
}

func TestProtectedBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	hook := filepath.Join(w.server.Dir("out"), "hooks", "update")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in refs/heads/fairlead/*) echo protected >&2; exit 1;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	refs := w.refs()
	if _, err := p.try(w.simple("a")); !errors.Is(err, git.ErrRefused) || !strings.Contains(err.Error(), "fairlead/dev") {
		t.Errorf("the error is %v", err)
	}
	equal(t, "calls", strings.Join(p.forge.calls, " "), "open pulls pulls")
	equal(t, "references", len(w.refs()), len(refs))
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	p.want(publish.Proposed, w.simple("a"))
	equal(t, "pull requests", w.states(), "open")
}

func TestPullRequestOfAnotherAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.forge.fail = forge.ErrExists
	_, err := p.try(w.simple("a"))
	if err == nil || !strings.Contains(err.Error(), "another account has opened a pull request from fairlead/dev to main") {
		t.Errorf("the error is %v", err)
	}
	p.forge.fail = nil
	p.want(publish.Proposed, w.simple("a"))
}

// TestRounds is Kalypso's case rounds-open-pr, but for what is unsafe in it: pull
// requests of people, and their branches, stay.
func TestRounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.want(publish.Proposed, w.simple("a"))
	w.git("checkout", "-q", "-b", "of-a-person")
	theirs := w.commit("of-a-person", "other", "x")
	if _, err := p.Remote.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, err := p.forge.Plain.OpenPull(context.Background(), forge.Proposal{Mark: "person", Head: "of-a-person", Base: "main", Title: "of a person"})
	if err != nil {
		t.Fatal(err)
	}
	p.want(publish.Proposed, w.simple("b"))
	equal(t, "pull requests", strings.Join(w.pulls(), "\n"),
		"open dev: add cluster type pier with gull-main\nopen of a person")
	equal(t, "branch", w.branch("of-a-person"), theirs)
}

// TestRecordLost removes the record from a branch that we write to, which then looks as if Kalypso
// had written it: folders of people stay all the same.
func TestRecordLost(t *testing.T) {
	t.Parallel()
	for name, merge := range map[string][]string{"merge": {"merge", "-q", "--no-ff", "-m", "merge", "origin/fairlead/dev"}, "squash": {"merge", "-q", "--squash", "origin/fairlead/dev"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.publisher()
			what := w.proposal("1", map[string]string{"pier/README.md": output.ReadmeText, "pier/gull-main/reconciler.yaml": "kind: Puller\n"})
			p.want(publish.Proposed, what)
			w.commit("main", "team/a/x.yaml", "mine\n")
			w.git(merge...)
			if name == "squash" {
				w.git("commit", "-qm", "squashed")
			}
			w.person.Push("main")
			p.want(publish.InSync, what)
			w.git("rm", "-q", publish.RecordFile)
			w.git("commit", "-qm", "lost")
			w.person.Push("main")
			p.want(publish.InSync, what)
			what = w.proposal("2", map[string]string{"pier/README.md": output.ReadmeText, "pier/gull-main/reconciler.yaml": "kind: Pusher\n"})
			what.Merge = publish.Direct
			r := p.want(publish.Proposed, what) // without a record it is as if nothing had been there
			w.merge()
			adoption := r.Adoption
			r = p.want(publish.InSync, what)
			files := gittest.Files(t, w.server.Dir("out"), "main")
			equal(t, "the team's file", files["team/a/x.yaml"], "mine\n")
			equal(t, "our file", files["pier/gull-main/reconciler.yaml"], "kind: Pusher\n")
			equal(t, "the head that is reported", r.Head, w.branch("main"))
			equal(t, "what was there before", strings.Join(adoption.Folders, " "), "pier")
			if record := files[publish.RecordFile]; adoption.Kalypso || !strings.Contains(record, "- pier\n") || strings.Contains(record, "team") {
				t.Errorf("adopted: %+v; the record is\n%s", adoption, record)
			}
		})
	}
}
