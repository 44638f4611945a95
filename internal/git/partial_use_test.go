package git_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// asked counts the requests for objects so far.
func asked(server *gittest.Server) (n int) {
	for _, r := range server.Requests("out") {
		if r.Service == "git-upload-pack" && r.Method == http.MethodPost {
			n++
		}
	}
	return n
}

// partialMirror is one of gitOps that has commits alone.
func partialMirror(t *testing.T) (r *git.Remote, dir string, server *gittest.Server, work *gittest.Work) {
	t.Helper()
	server = gittest.ServeGit(t)
	url, work := gitOps(t, server)
	dir = filepath.Join(t.TempDir(), "mirror")
	r = remoteOf(t, url, partially, func(o *git.RemoteOptions) { o.Dir, o.NarrowPoll = dir, true })
	return r, dir, server, work
}

func head(t *testing.T, r *git.Remote) string {
	t.Helper()
	id, err := r.Mirror().Branch("main")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func views(t *testing.T, r *git.Remote, commits ...string) []*git.View {
	t.Helper()
	var all []*git.View
	for _, c := range commits {
		v, err := r.Mirror().View(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// TestPrefetch compares two commits: the requests are as many as there are levels, and not
// as there are objects.
func TestPrefetch(t *testing.T) {
	r, dir, server, work := partialMirror(t)
	for i := range 6 {
		work.Write(fmt.Sprintf("type-%d/target-1/values.yaml", i), "other\n")
	}
	work.Commit("another change")
	work.Push("main")
	if _, err := r.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := stored(t, dir), "3 commits, 0 folders, 0 files"; got != want {
		t.Errorf("the mirror has %s, want %s", got, want)
	}
	after := head(t, r)
	rendered := treeOf(t, gittest.Files(t, work.Dir, "HEAD~1"))
	before := asked(server)
	now := views(t, r, after)[0]
	if err := r.Prefetch(context.Background(), now.Tree, rendered, 0); err != nil {
		t.Fatal(err)
	}
	if n := asked(server) - before; n != 6 { // folders and files of three levels
		t.Errorf("there were %d requests", n)
	}
	before = asked(server)
	var paths []string
	for c := range tree.Diff(rendered, now.Tree) {
		paths = append(paths, c.Path+": "+string(c.Old.Data)+string(c.New.Data))
	}
	if err := now.Err(); err != nil {
		t.Fatal(err)
	}
	if len(paths) != 6 || paths[2] != "type-2/target-1/values.yaml: type: 2\ntarget: 1\nother\n" {
		t.Errorf("what differs is %q", paths)
	}
	if n := asked(server) - before; n != 0 {
		t.Errorf("comparing made %d requests more", n)
	}
	if got, want := stored(t, dir), "3 commits, 8 folders, 4 files"; got != want {
		t.Errorf("the mirror has %s, want %s", got, want)
	}
	before = asked(server)
	brought, err := r.Mirror().LastChangedBy(after, "type-1/target-0/values.yaml", 100)
	if err != nil || len(brought.Parents) != 0 {
		t.Errorf("the file was brought by %v (%v)", brought, err)
	}
	if n := asked(server) - before; n > 4 {
		t.Errorf("history made %d requests", n)
	}
}

// TestPartialRefusedLater has a server that lets no more be left out: the mirror becomes
// whole.
func TestPartialRefusedLater(t *testing.T) {
	for _, reads := range []bool{false, true} {
		t.Run(fmt.Sprintf("reads=%v", reads), func(t *testing.T) {
			r, dir, server, work := partialMirror(t)
			gittest.Git(t, server.Dir("out"), "config", "uploadpack.allowFilter", "false")
			if reads { // nothing has moved; it is noticed when something is missed
				if v := views(t, r, head(t, r))[0]; len(v.Tree.Entries()) != 0 || !errors.Is(v.Err(), git.ErrUnreachable) {
					t.Errorf("the error is %v", v.Err())
				}
			} else {
				work.Write("x", "1")
				work.Commit("x")
				work.Push("main")
			}
			if _, err := r.Sync(context.Background()); err != nil {
				t.Fatal(err)
			}
			at := head(t, r)
			before := asked(server)
			if diff := cmp.Diff(gittest.Files(t, work.Dir, at), content(t, r, at)); diff != "" {
				t.Error(diff)
			}
			if n := asked(server) - before; n != 0 {
				t.Errorf("a whole mirror asked %d times", n)
			}
			gittest.Git(t, dir, "-c", "remote.origin.url=/nowhere", "fsck", "--strict")
		})
	}
}

// TestPartialUnreachable reads what is not there while nobody can be asked, and once
// somebody can.
func TestPartialUnreachable(t *testing.T) {
	r, dir, server, work := partialMirror(t)
	at := head(t, r)
	mend := server.Inject("out", gittest.Fault{Reset: true})
	v := views(t, r, at)[0]
	if len(v.Tree.Entries()) != 0 || !errors.Is(v.Err(), git.ErrUnreachable) || errors.Is(v.Err(), git.ErrDamaged) {
		t.Errorf("the error is %v", v.Err())
	}
	mend()
	if diff := cmp.Diff(gittest.Files(t, work.Dir, at), content(t, r, at)); diff != "" {
		t.Error(diff)
	}
	// Another process, with what was read so far and no network.
	server.Inject("out", gittest.Fault{Reset: true})
	other, err := git.NewRemote(git.RemoteOptions{URL: r.URL(), Dir: dir, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gittest.Files(t, work.Dir, at), content(t, other, at)); diff != "" {
		t.Error(diff)
	}
}

// TestPartialDamage takes packs away, one after the other: what they had comes back.
func TestPartialDamage(t *testing.T) {
	r, dir, _, work := partialMirror(t)
	at := head(t, r)
	want := gittest.Files(t, work.Dir, at)
	content(t, r, at)
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) < 3 {
		t.Fatalf("there are %d packs (%v)", len(packs), err)
	}
	for _, name := range packs {
		for _, ending := range []string{".idx", ".pack"} {
			if err := os.Remove(name[:len(name)-len(".pack")] + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		fresh, err := git.NewRemote(git.RemoteOptions{URL: r.URL(), Dir: dir, Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fresh.Mirror().Branch("main"); err != nil && !errors.Is(err, git.ErrDamaged) {
			t.Error(err)
		}
		if _, err := fresh.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, content(t, fresh, at)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPartialTidy puts the packs of a mirror together that does not have all.
func TestPartialTidy(t *testing.T) {
	if testing.Short() {
		t.Skip("-short makes no 60 packs")
	}
	r, dir, server, work := partialMirror(t)
	at := head(t, r)
	content(t, r, at)
	for i := range 50 {
		c := commitOf(treeOf(t, map[string]string{"x": fmt.Sprint(i)}))
		if _, err := push(t, r, fmt.Sprintf("dev-%d", i), "", c); err != nil {
			t.Fatal(err)
		}
	}
	work.Write("type-0/target-0/values.yaml", "unseen\n")
	work.Commit("unseen")
	work.Push("main")
	if _, err := r.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(views(t, r, head(t, r))[0].Tree.Entries()); n != 7 { // the root is there, and what is in it is not
		t.Errorf("there are %d entries", n)
	}
	if err := r.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Errorf("there are %d packs (%v)", len(packs), err)
	}
	gittest.Git(t, dir, "fsck", "--strict", "--connectivity-only")
	before := asked(server)
	if diff := cmp.Diff(gittest.Files(t, work.Dir, at), content(t, r, at)); diff != "" {
		t.Error(diff)
	}
	if n := asked(server) - before; n != 0 {
		t.Errorf("what was there is asked for again, %d times", n)
	}
	next := head(t, r)
	if diff := cmp.Diff(gittest.Files(t, work.Dir, next), content(t, r, next)); diff != "" {
		t.Error(diff)
	}
}

// TestKeepWhole reads a mirror otherwise than as an output: it has everything from the
// next look on, also for another process that began when it had not.
func TestKeepWhole(t *testing.T) {
	r, dir, server, work := partialMirror(t)
	at := head(t, r)
	other, err := git.NewRemote(git.RemoteOptions{URL: r.URL(), Dir: dir, Partial: true})
	if err != nil || head(t, other) != at {
		t.Fatal(err)
	}
	if !r.RequireWhole() {
		t.Error("the mirror is said to be whole")
	}
	if _, err := r.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r.RequireWhole() {
		t.Error("the mirror is said not to be whole")
	}
	server.Inject("out", gittest.Fault{Reset: true})
	for _, remote := range []*git.Remote{r, other} {
		if diff := cmp.Diff(gittest.Files(t, work.Dir, at), content(t, remote, at)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPartialPush changes a file where not all is there: nothing but the way to it is
// fetched, and the server has what it should.
func TestPartialPush(t *testing.T) {
	r, dir, server, work := partialMirror(t)
	at := head(t, r)
	whole := views(t, r, at)[0].Tree
	changed := func(entries []tree.Entry, name string, e tree.Entry) tree.Tree {
		entries = slices.Clone(entries)
		i := slices.IndexFunc(entries, func(e tree.Entry) bool { return e.Name == name })
		entries[i] = e
		return tree.FromEntries(entries)
	}
	folder, _ := whole.Lookup("type-5")
	target, _ := whole.Lookup("type-5/target-2")
	next := changed(target.Tree().Entries(), "same.yaml", tree.File("same.yaml", []byte("not the same\n")))
	next = changed(folder.Tree().Entries(), "target-2", tree.Dir("target-2", next))
	c := commitOf(changed(whole.Entries(), "type-5", tree.Dir("type-5", next)), at)
	c.Known = []tree.Tree{whole}
	id, err := push(t, r, "main", at, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := gittest.Show(t, server.Dir("out"), "main", "type-5/target-2/same.yaml"); got != "not the same\n" {
		t.Errorf("the file is %q", got)
	}
	gittest.Git(t, server.Dir("out"), "fsck", "--strict")
	if got, want := stored(t, dir), "3 commits, 6 folders, 5 files"; got != want {
		t.Errorf("the mirror has %s, want %s", got, want)
	}
	gittest.Git(t, dir, "fsck", "--strict", "--connectivity-only")
	if moved, err := r.Sync(context.Background()); err != nil || moved {
		t.Errorf("after the push, moved is %v (%v)", moved, err)
	}
	gittest.Git(t, work.Dir, "fetch", "-q")
	if diff := cmp.Diff(gittest.Files(t, work.Dir, id), content(t, r, id)); diff != "" {
		t.Error(diff)
	}
}
