package git_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// remoteOf returns a remote of a served repository, synced.
func remoteOf(t *testing.T, url string, more ...func(*git.RemoteOptions)) *git.Remote {
	t.Helper()
	o := git.RemoteOptions{URL: url, Dir: filepath.Join(t.TempDir(), "mirror")}
	for _, f := range more {
		f(&o)
	}
	r, err := git.NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r
}

func treeOf(t *testing.T, files map[string]string) tree.Tree {
	t.Helper()
	contents := map[string][]byte{}
	for path, text := range files {
		contents[path] = []byte(text)
	}
	made, err := tree.FromFiles(contents)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func commitOf(t tree.Tree, parents ...string) git.Commit {
	return git.Commit{Tree: t, Parents: parents, Author: git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}, When: noon, Message: "subject\n\nbody\n"}
}

// push writes commits and moves a branch to the last of them.
func push(t *testing.T, r *git.Remote, branch, old string, commits ...git.Commit) (string, error) {
	t.Helper()
	pack, err := r.Write(context.Background(), commits...)
	if err != nil {
		t.Fatal(err)
	}
	id := pack.Commits[len(pack.Commits)-1]
	return id, r.Push(context.Background(), pack, git.RefUpdate{Ref: "refs/heads/" + branch, Old: old, New: id})
}

func TestPush(t *testing.T) {
	server := gittest.ServeGit(t)
	url := server.Create("out")
	r := remoteOf(t, url)
	files := map[string]string{"a/b.yaml": "one\n", "a/c/d.yaml": strings.Repeat("long\n", 1000), "empty": "", "same": "one\n"}
	first := commitOf(treeOf(t, files))
	want, err := first.ID()
	if err != nil {
		t.Fatal(err)
	}
	id, err := push(t, r, "dev", "", first)
	if err != nil || id != want {
		t.Fatalf("the first commit is %s (%v), want %s", id, err, want)
	}
	files["a/c/d.yaml"], files["new/e"] = "short\n", "e"
	delete(files, "empty")
	second := commitOf(treeOf(t, files), id)
	second.Known = []tree.Tree{first.Tree}
	pack, err := r.Write(context.Background(), second)
	if err != nil {
		t.Fatal(err)
	}
	if pack.Objects != 7 { // two blobs, four trees, the commit
		t.Errorf("the second commit takes %d objects, want 7", pack.Objects)
	}
	if err := r.Push(context.Background(), pack, git.RefUpdate{Ref: "refs/heads/dev", Old: id, New: pack.Commits[0]}); err != nil {
		t.Fatal(err)
	}
	if got := gittest.Files(t, server.Dir("out"), "dev"); fmt.Sprint(got) != fmt.Sprint(files) {
		t.Errorf("the branch has %q, want %q", got, files)
	}
	for _, dir := range []string{server.Dir("out"), mirrorDir(t, r, url)} {
		if out := gittest.Git(t, dir, "fsck", "--full", "--strict"); strings.Contains(out, "error") {
			t.Errorf("fsck of %s: %s", dir, out)
		}
	}
	// The mirror knows what it has sent, and fetches nothing.
	before := len(server.Requests("out"))
	if moved, err := r.Sync(context.Background()); moved || err != nil {
		t.Errorf("after a push there is something to fetch (%v)", err)
	}
	if n := len(server.Requests("out")) - before; n != 1 {
		t.Errorf("a poll takes %d requests, want 1", n)
	}
	if info, err := r.Mirror().Commit(pack.Commits[0]); err != nil || info.Message != "subject\n\nbody\n" || info.Parents[0] != id || !info.When.Equal(noon) {
		t.Errorf("the commit reads as %+v (%v)", info, err)
	}
}

// mirrorDir finds the folder of a remote made by remoteOf through a second mirror.
func mirrorDir(t *testing.T, _ *git.Remote, url string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "again")
	remoteOf(t, url, func(o *git.RemoteOptions) { o.Dir = dir })
	return dir
}

func TestPushStale(t *testing.T) {
	server := gittest.ServeGit(t)
	a, b := remoteOf(t, server.Create("out")), remoteOf(t, server.URL("out"))
	id, err := push(t, a, "dev", "", commitOf(treeOf(t, map[string]string{"x": "1"})))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := push(t, b, "dev", "", commitOf(treeOf(t, map[string]string{"x": "1"}))); err != nil || again != id {
		t.Errorf("the same commit once more: %s (%v), want %s", again, err, id)
	}
	if _, err := push(t, b, "dev", "", commitOf(treeOf(t, map[string]string{"x": "2"}))); !errors.Is(err, git.ErrStale) {
		t.Errorf("another commit over it: %v, want ErrStale", err)
	}
	// Somebody is faster between the look and the push.
	work := server.Work(t, "out")
	remove := server.Inject("out", gittest.Fault{Service: "git-receive-pack", Method: http.MethodPost, Times: 1, Before: func() {
		work.Pull("dev")
		work.Write("y", "theirs")
		work.Commit("theirs")
		gittest.Git(t, server.Dir("out"), "fetch", "-q", work.Dir, "dev:dev")
	}})
	defer remove()
	if _, err := push(t, a, "dev", id, commitOf(treeOf(t, map[string]string{"x": "3"}), id)); !errors.Is(err, git.ErrStale) {
		t.Errorf("somebody was faster: %v, want ErrStale", err)
	}
	if got := gittest.Show(t, server.Dir("out"), "dev", "y"); got != "theirs" {
		t.Errorf("their file is %q", got)
	}
}

// TestPushTaken: the answer to a push is lost, and the push was taken.
func TestPushTaken(t *testing.T) {
	server := gittest.ServeGit(t)
	r := remoteOf(t, server.Create("out"))
	server.Inject("out", gittest.Fault{Service: "git-receive-pack", Method: http.MethodPost, Times: 1, CutAfter: 5})
	id, err := push(t, r, "dev", "", commitOf(treeOf(t, map[string]string{"x": "1"})))
	if err != nil {
		t.Errorf("a push that was taken: %v", err)
	}
	if got := gittest.Refs(t, server.Dir("out"))["refs/heads/dev"]; got != id {
		t.Errorf("dev is %s, want %s", got, id)
	}
}

func TestPushRefused(t *testing.T) {
	server := gittest.ServeGit(t)
	r := remoteOf(t, server.Create("out"))
	hook := filepath.Join(server.Dir("out"), "hooks", "update")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho protected >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := push(t, r, "dev", "", commitOf(treeOf(t, map[string]string{"x": "1"})))
	if !errors.Is(err, git.ErrRefused) || !strings.Contains(err.Error(), "hook declined") {
		t.Errorf("%v, want ErrRefused with the reason", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(server.Dir("out")), "tmp_*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault gittest.Fault
		want  error
		says  string
	}{
		"401":       {gittest.Fault{Status: 401}, git.ErrAccess, ""},
		"403":       {gittest.Fault{Status: 403, Body: "no\nentry"}, git.ErrAccess, "no entry"},
		"404":       {gittest.Fault{Status: 404}, git.ErrNotFound, ""},
		"500":       {gittest.Fault{Status: 500, Body: strings.Repeat("x", 1000)}, git.ErrUnreachable, "HTTP status 500 xxx"},
		"reset":     {gittest.Fault{Reset: true}, git.ErrUnreachable, ""},
		"cut":       {gittest.Fault{Method: http.MethodPost, CutAfter: 200}, git.ErrUnreachable, ""},
		"truncated": {gittest.Fault{Method: http.MethodPost, Truncate: 200}, git.ErrUnreachable, ""},
		"stalled":   {gittest.Fault{Stall: true}, git.ErrUnreachable, "too long after 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			server := gittest.ServeGit(t)
			url := server.Create("cp")
			work := server.Work(t, "cp")
			work.Switch("main")
			for i := range 50 {
				work.Write(fmt.Sprint(i), strings.Repeat(fmt.Sprint(i), i))
			}
			work.Commit("first")
			work.Push("main")
			remove := server.Inject("cp", c.fault)
			o := git.RemoteOptions{URL: url, Dir: filepath.Join(t.TempDir(), "mirror"), Timeout: time.Minute}
			if c.fault.Stall { // the only one that ends by the limit: others must not meet it on a busy machine
				o.Timeout = 300 * time.Millisecond
			}
			r, err := git.NewRemote(o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Sync(context.Background()); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 700 {
				t.Errorf("%v, want %q and %q", err, c.want, c.says)
			}
			remove()
			o.Timeout = time.Minute
			r, err = git.NewRemote(o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Sync(context.Background()); err != nil {
				t.Errorf("without the fault: %v", err)
			}
			if got, want := files(t, r.Mirror(), "main").ID().String(), gittest.Git(t, work.Dir, "rev-parse", "main^{tree}"); got != want {
				t.Errorf("the tree is %s, want %s", got, want)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	server := gittest.ServeGit(t)
	r := remoteOf(t, server.Create("cp"))
	date := noon.Format(http.TimeFormat)
	for after, want := range map[string]time.Duration{
		"7": 7 * time.Second, noon.Add(time.Minute).Format(http.TimeFormat): time.Minute, "": 0, "soon": 0,
		"31536000": time.Hour, "99999999999999999999": time.Hour, "-5": 0, noon.AddDate(1, 0, 0).Format(http.TimeFormat): time.Hour,
	} {
		remove := server.Inject("cp", gittest.Fault{Status: 429, Header: http.Header{"Retry-After": {after}, "Date": {date}}})
		_, err := r.Sync(context.Background())
		var busy *git.BusyError
		if !errors.As(err, &busy) || busy.After != want {
			t.Errorf("Retry-After %q: %v, want %s", after, err, want)
		}
		remove()
	}
}

// TestMaintain: many packs become one, and nothing that is used is lost.
func TestMaintain(t *testing.T) {
	if testing.Short() {
		t.Skip("-short makes no 60 packs")
	}
	server := gittest.ServeGit(t)
	url := server.Create("cp")
	dir := filepath.Join(t.TempDir(), "mirror")
	r := remoteOf(t, url, func(o *git.RemoteOptions) { o.Dir = dir })
	work := server.Work(t, "cp")
	work.Switch("main")
	old, files := "", map[string]string{}
	for i := range 60 { // some come from here, some from elsewhere, some are given up
		files[fmt.Sprintf("d%d/f", i%7)] = strings.Repeat(fmt.Sprintf("line %d\n", i), 50)
		c := commitOf(treeOf(t, files))
		var err error
		old, err = push(t, r, "ours", old, c)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 > 0 {
			continue
		}
		work.Write("big", strings.Repeat("all the same\n", 500)+fmt.Sprint(i))
		work.Commit(fmt.Sprint(i))
		work.Push("+main")
		if _, err := r.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*"))
	if err != nil || len(packs) != 2 {
		t.Errorf("there are %q (%v), want one pack and its index", packs, err)
	}
	if out := gittest.Git(t, dir, "fsck", "--full", "--strict", "--unreachable"); out != "" {
		t.Errorf("fsck: %s", out)
	}
	for _, branch := range []string{"main", "ours"} {
		if got, want := gittest.Git(t, dir, "rev-list", "--objects", branch), gittest.Git(t, server.Dir("cp"), "rev-list", "--objects", branch); got != want {
			t.Errorf("%s leads to\n%s\nwant\n%s", branch, got, want)
		}
	}
	if _, err := r.Mirror().ReadTree(old); err != nil {
		t.Errorf("the mirror is read after it was tidied: %v", err)
	}
}

// TestMaintainBeside: what another process has brought and pointed a branch to since this
// one looked is kept.
func TestMaintainBeside(t *testing.T) {
	server := gittest.ServeGit(t)
	url := server.Create("cp")
	dir := filepath.Join(t.TempDir(), "mirror")
	in := func(o *git.RemoteOptions) { o.Dir = dir }
	ours, theirs := remoteOf(t, url, in), remoteOf(t, url, in)
	old := ""
	for i := range 60 {
		var err error
		old, err = push(t, ours, "ours", old, commitOf(treeOf(t, map[string]string{"f": fmt.Sprint(i)})))
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ours.Mirror().Refs(""); err != nil {
		t.Fatal(err)
	}
	brought, err := push(t, theirs, "theirs", "", commitOf(treeOf(t, map[string]string{"g": "theirs"})))
	if err != nil {
		t.Fatal(err)
	}
	if err := ours.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "fsck", "--full", "--strict")
	if _, err := ours.Mirror().ReadTree(brought); err != nil {
		t.Error(err)
	}
}

// TestReferences compares the references of a mirror with those that Git sees in it, where
// Git has packed some of them, and with those of the remote.
func TestReferences(t *testing.T) {
	server := gittest.ServeGit(t)
	url := server.Create("cp")
	work := server.Work(t, "cp")
	work.Switch("main")
	dir := filepath.Join(t.TempDir(), "mirror")
	r := remoteOf(t, url, func(o *git.RemoteOptions) { o.Dir = dir })
	same := func() {
		t.Helper()
		if _, err := r.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		got, err := r.Mirror().Refs("")
		if err != nil {
			t.Fatal(err)
		}
		for what, dir := range map[string]string{"Git": dir, "the remote": server.Dir("cp")} {
			if diff := cmp.Diff(gittest.Refs(t, dir), got); diff != "" {
				t.Errorf("the references that %s sees (-) are not those of the mirror (+):\n%s", what, diff)
			}
		}
	}
	for i, name := range []string{"main", "team/a/one", "team/b"} {
		work.Write("f", fmt.Sprint(i))
		work.Commit(name)
		work.Push("+HEAD:refs/heads/" + name)
		gittest.Git(t, work.Dir, "tag", "-a", "-m", "m", fmt.Sprintf("v%d", i))
		work.Push("--tags")
		same()
		gittest.Git(t, dir, "pack-refs", "--all")
		same()
	}
	work.Write("f", "again")
	work.Commit("again")
	work.Push("+HEAD:refs/heads/main") // it is packed, and a file of its own
	same()
	work.Push("--delete", "team/a/one", "team/b")
	work.Push("HEAD:refs/heads/team") // where a folder was
	same()
}

func TestSSH(t *testing.T) {
	server := gittest.ServeGit(t)
	server.Create("out")
	ssh := gittest.ServeSSH(t, server.Root)
	key, err := os.ReadFile(ssh.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	with := func(known string) func(*git.RemoteOptions) {
		return func(o *git.RemoteOptions) {
			o.Credentials = func(context.Context) (git.Credentials, error) {
				return git.Credentials{Key: key, KnownHosts: known}, nil
			}
		}
	}
	r := remoteOf(t, ssh.URL("out"), with(ssh.KnownHosts))
	id, err := push(t, r, "dev", "", commitOf(treeOf(t, map[string]string{"x": "1"})))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := remoteOf(t, ssh.URL("out"), with(ssh.KnownHosts)).Mirror().Branch("dev"); got != id || err != nil {
		t.Errorf("dev is %s (%v), want %s", got, err, id)
	}
	nobody := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(nobody, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := git.RemoteOptions{URL: ssh.URL("out"), Dir: filepath.Join(t.TempDir(), "m")}
	with(nobody)(&o)
	stranger, err := git.NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Sync(context.Background()); err == nil || !strings.Contains(err.Error(), "key is unknown") {
		t.Errorf("a server that nobody knows: %v", err)
	}
}

func TestLocalRemote(t *testing.T) {
	server := gittest.ServeGit(t)
	server.Create("out")
	for _, url := range []string{server.Dir("out"), "file://" + server.Dir("out")} {
		r := remoteOf(t, url)
		old, err := r.Mirror().Branch("dev")
		if err != nil && !errors.Is(err, git.ErrNoRevision) {
			t.Fatal(err)
		}
		if _, err := push(t, r, "dev", old, commitOf(treeOf(t, map[string]string{"x": url}))); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestFetchCommits: a pull request's commit is under a reference that mirrors do not
// have, and is fetched when it is asked for.
func TestFetchCommits(t *testing.T) {
	server := gittest.ServeGit(t)
	url := server.Create("cp")
	work := server.Work(t, "cp")
	work.Switch("main")
	work.Write("a", "1")
	base := work.Commit("base")
	work.Push("main")
	r := remoteOf(t, url)
	before := r.ProposalDigest()
	gittest.Git(t, work.Dir, "checkout", "-qb", "change")
	work.Write("a", "2")
	change := work.Commit("change")
	work.Push("HEAD:refs/pull/1/head")
	gittest.Git(t, work.Dir, "checkout", "-q", "main")
	work.Write("b", "3")
	main := work.Commit("more")
	work.Push("main")
	if _, err := r.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r.ProposalDigest() == before {
		t.Error("the head of a pull request came, and nothing tells")
	}
	if _, err := r.Mirror().Commit(change); !errors.Is(err, git.ErrNoRevision) {
		t.Errorf("before it is fetched: %v, want ErrNoRevision", err)
	}
	if err := r.Fetch(context.Background(), change); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Mirror().MergeBase(change, main); got != base || err != nil {
		t.Errorf("the merge base is %s (%v), want %s", got, err, base)
	}
	if got, err := r.Mirror().MergeBase(main, main); got != main || err != nil {
		t.Errorf("the merge base with itself is %s (%v), want %s", got, err, main)
	}
	if err := r.Fetch(context.Background(), strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that is nowhere is fetched")
	}
}

// TestOnExchange: a fetch and a push begin and end, also one that fails, and name the repository without a
// password.
func TestOnExchange(t *testing.T) {
	server := gittest.Serve(t)
	var told []string
	tell := func(op, url string) func() {
		told = append(told, "begin "+op+" "+strings.ReplaceAll(url, server.URL("out"), "out"))
		return func() { told = append(told, "end "+op) }
	}
	r := remoteOf(t, server.Create("out"), func(o *git.RemoteOptions) { o.OnExchange = tell })
	if _, err := push(t, r, "main", "", commitOf(treeOf(t, map[string]string{"a": "1\n"}))); err != nil {
		t.Fatal(err)
	}
	missing, err := git.NewRemote(git.RemoteOptions{URL: "http://ada:secret@127.0.0.1:1/out", Dir: filepath.Join(t.TempDir(), "mirror"), OnExchange: tell})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Sync(t.Context()); err == nil {
		t.Error("nothing serves it, and it is fetched")
	}
	want := []string{"begin fetch out", "end fetch", "begin push to out", "end push to", "begin fetch http://127.0.0.1:1/out", "end fetch"}
	if !slices.Equal(told, want) {
		t.Errorf("it says %q, want %q", told, want)
	}
}
