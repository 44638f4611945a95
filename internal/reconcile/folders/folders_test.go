package folders_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/folders"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// world is a repository of a fleet on a server, and a person who works in it.
type world struct {
	*testing.T
	server *gittest.Server
	person *gittest.Work
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{T: t, server: gittest.Serve(t)}
	w.server.Create("fleet")
	w.person = w.server.Work(t, "fleet")
	w.person.Switch("main")
	w.commit("main", files)
	return w
}

// commit has the person write files, or remove those that are "".
func (w *world) commit(branch string, files map[string]string) {
	w.Helper()
	if w.branch(branch) != "" {
		w.person.Pull(branch)
	}
	for path, text := range files {
		if text == "" {
			w.person.Remove(path)
			continue
		}
		w.person.Write(path, text)
	}
	w.person.Commit("by hand")
	w.person.Push("HEAD:" + branch)
}

func (w *world) branch(name string) string {
	return gittest.Refs(w, w.server.Dir("fleet"))["refs/heads/"+name]
}

// ours gives the name of the one branch of ours; "" if there is none.
func (w *world) ours() string {
	w.Helper()
	found := ""
	for ref := range gittest.Refs(w, w.server.Dir("fleet")) {
		if name := strings.TrimPrefix(ref, "refs/heads/"); strings.HasPrefix(name, "fairlead/copy/") {
			if found != "" {
				w.Errorf("there are %s and %s", found, name)
			}
			found = name
		}
	}
	return found
}

// copier is one who copies, with a mirror of its own.
type copier struct {
	*world
	publish.Options
	reason string
}

func (w *world) copier() *copier {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.URL("fleet"), Dir: filepath.Join(w.TempDir(), "mirror")})
	if err != nil {
		w.Fatal(err)
	}
	who := git.Signature{Name: "Alice", Email: "alice@example.com"}
	f := forge.NewPlain(remote, who, func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) })
	return &copier{world: w, Options: publish.Options{Remote: remote, Forge: f, Prefix: "fairlead/", Author: who, Write: true}}
}

func (c *copier) plan(from, to string) (folders.Copy, error) {
	c.Helper()
	if _, err := c.Remote.Sync(context.Background()); err != nil {
		c.Fatal(err)
	}
	return folders.PlanCopy(folders.Location{Remote: c.Remote, Branch: "main", Folder: from}, folders.Location{Remote: c.Remote, Branch: "main", Folder: to})
}

// propose copies staging to production.
func (c *copier) propose() (folders.Result, error) {
	c.Helper()
	plan, err := c.plan("staging", "production")
	if err != nil {
		c.Fatal(err)
	}
	return plan.Propose(context.Background(), c.Options, c.reason)
}

func (c *copier) want(state publish.State) forge.Pull {
	c.Helper()
	got, err := c.propose()
	if err != nil || got.State != state {
		c.Fatalf("it is %q (%v), want %q", got.State, err, state)
	}
	return got.Pull
}

var fleet = map[string]string{
	"README.md":                        "of people\n",
	"staging/app.yaml":                 "image: 2\n",
	"staging/deep/er/new.yaml":         "new\n",
	"staging/flux-system/sync.yaml":    "of staging\n",
	"staging/more/flux-system/a.yaml":  "of staging\n",
	"production/app.yaml":              "image: 1\n",
	"production/old/er/gone.yaml":      "old\n",
	"production/flux-system/sync.yaml": "of production\n",
}

// TestByteForByte: what the folder holds after it is merged, with modes, links and large
// files.
func TestByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fleet)
	w.commit("main", map[string]string{
		"production/.fairlead-keep": "# its own\n/secrets/\n*.local\n!shared.local\nflux-system/\n!flux-system/\n",
		"production/secrets/a.yaml": "of production\n", "production/x/b.local": "of production\n", "production/shared.local": "of production\n",
		"staging/secrets/z.yaml": "of staging\n", "staging/x/c.local": "of staging\n", "staging/shared.local": "of staging\n", "staging/.fairlead-keep": "*\n",
		"staging/large.yaml": strings.Repeat("# 32 bytes of a large file .....\n", 200_000), "staging/binary": "\x00\xff\r\n",
	})
	w.person.Pull("main")
	gittest.Git(t, w.person.Dir, "update-index", "--chmod=+x", "staging/app.yaml")
	gittest.Git(t, w.person.Dir, "commit", "-qm", "mode")
	w.person.Push("HEAD:main")
	c := w.copier()
	before := gittest.Files(t, w.server.Dir("fleet"), "main")
	c.want(publish.Proposed)
	after := gittest.Files(t, w.server.Dir("fleet"), w.ours())
	want := map[string]string{}
	for path, text := range before {
		if !strings.HasPrefix(path, "production/") {
			want[path] = text
		}
	}
	for _, kept := range []string{".fairlead-keep", "secrets/a.yaml", "x/b.local", "flux-system/sync.yaml"} {
		want["production/"+kept] = before["production/"+kept]
	}
	for _, brought := range []string{"app.yaml", "deep/er/new.yaml", "shared.local", "large.yaml", "binary"} {
		want["production/"+brought] = before["staging/"+brought]
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("the branch (-want +got):\n%s", diff)
	}
	if mode := gittest.Git(t, w.server.Dir("fleet"), "ls-tree", w.ours(), "production/app.yaml"); !strings.HasPrefix(mode, "100755 ") {
		t.Errorf("the mode is lost: %s", mode)
	}
}

// TestStable: one branch and one pull request, brought up to date in place, and gone when
// there is nothing left.
func TestStable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fleet)
	c := w.copier()
	first := c.want(publish.Proposed)
	if !strings.Contains(first.Body, "`old/er/gone.yaml`") || !strings.Contains(first.Body, "-image: 1\n+image: 2\n") {
		t.Errorf("the pull request does not say what it means:\n%s", first.Body)
	}
	at := w.branch(w.ours())
	c.want(publish.Proposed)
	w.copier().want(publish.Proposed)
	if now := w.branch(w.ours()); now != at {
		t.Errorf("the same change made another commit: %s, and before %s", now, at)
	}
	w.commit("main", map[string]string{"staging/app.yaml": "image: 3\n"})
	second := c.want(publish.Proposed)
	if second.Number != first.Number || w.branch(w.ours()) == at {
		t.Errorf("pull request %d, and before %d; the branch is at %s", second.Number, first.Number, w.branch(w.ours()))
	}
	w.commit("main", map[string]string{
		"production/app.yaml": "image: 3\n", "production/deep/er/new.yaml": "new\n", "production/old/er/gone.yaml": "",
	})
	c.want(publish.InSync)
	if left := w.ours(); left != "" {
		t.Errorf("%s is left", left)
	}
	if pulls, err := c.Forge.Pulls(t.Context(), second.Head, "main"); err != nil || pulls[0].State != forge.Closed {
		t.Errorf("the pull request is left: %+v (%v)", pulls, err)
	}
	c.want(publish.InSync)
}

// TestDeclined: one that somebody has closed stays closed until the content is another.
func TestDeclined(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fleet)
	c := w.copier()
	pull := c.want(publish.Proposed)
	if err := c.Forge.ClosePull(t.Context(), pull.Number, "not now"); err != nil {
		t.Fatal(err)
	}
	if again := c.want(publish.Declined); again.Number != pull.Number {
		t.Errorf("pull request %d was opened", again.Number)
	}
	w.commit("main", map[string]string{"README.md": "something else\n"})
	c.want(publish.Declined)
	w.commit("main", map[string]string{"staging/app.yaml": "image: 3\n"})
	if again := c.want(publish.Proposed); again.Number == pull.Number {
		t.Errorf("the closed one is said to propose it")
	}
}

// TestForeignWork: a commit of somebody else on our branch stays, whatever is to be done.
func TestForeignWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fleet)
	c := w.copier()
	c.want(publish.Proposed)
	ours := w.ours()
	w.commit(ours, map[string]string{"production/app.yaml": "image: mine\n"})
	theirs := w.branch(ours)
	w.commit("main", map[string]string{"staging/app.yaml": "image: 3\n"})
	if _, err := c.propose(); err == nil || !strings.Contains(err.Error(), "is not ours") {
		t.Errorf("it goes over the work of others: %v", err)
	}
	w.commit("main", map[string]string{
		"production/app.yaml": "image: 3\n", "production/deep/er/new.yaml": "new\n", "production/old/er/gone.yaml": "",
	})
	c.want(publish.InSync)
	if now := w.branch(ours); now != theirs {
		t.Errorf("the branch is at %q, and was at %s", now, theirs)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fleet)
	w.commit("main", map[string]string{"production/.fairlead-keep": "d/e\n", "production/d/e": "1\n", "odd/d": "1\n", "only/flux-system/x": "1\n"})
	c := w.copier()
	for _, test := range []struct{ from, to, want string }{
		{"staging", "staging/", "is both the source and the target"},
		{"", "staging", "is in the other"},
		{"staging", ".", "is in the other"},
		{"staging/deep", "staging", "is in the other"},
		{"staging", "staging/deep", "is in the other"},
		{"nosuch", "production", "there is no folder nosuch of branch main with a file"},
		{"staging/app.yaml", "production", "there is no folder staging/app.yaml of branch main with a file"},
		{"only", "production", "nothing is left of only"},
		{"odd", "production", "is in the way of"},
		{"/staging", "production", "cannot be a folder"},
		{"staging", "../production", "cannot be a folder"},
		{"staging", "a/.git/b", "cannot be a folder"},
	} {
		_, err := c.plan(test.from, test.to)
		var refusal interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s to %s: %v, want %q", test.from, test.to, err, test.want)
			continue
		}
		if refusal, _ = err.(interface{ Hint() string }); refusal == nil || refusal.Hint() == "" {
			t.Errorf("%s to %s: there is no hint", test.from, test.to)
		}
	}
	if _, err := c.plan("staging", "productions"); err != nil {
		t.Errorf("a folder that is new, and whose name begins as another's: %v", err)
	}
	missing := folders.Location{Remote: c.Remote, Branch: "nosuch", Folder: "x"}
	if _, err := folders.PlanCopy(folders.Location{Remote: c.Remote, Branch: "main", Folder: "staging"}, missing); err == nil || !strings.Contains(err.Error(), "has no branch nosuch") {
		t.Errorf("a branch that is missing: %v", err)
	}
}
