package git_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
)

// run calls Git in dir and gives what it prints.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, path, text string) {
	t.Helper()
	full := filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, dir, message string) string {
	t.Helper()
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-qm", message)
	return run(t, dir, "rev-parse", "HEAD")
}

// example is a repository with two commits on main, a branch, and a tag.
func example(t *testing.T) (dir, first, second string) {
	t.Helper()
	dir = t.TempDir()
	run(t, dir, "init", "-qb", "main")
	write(t, dir, "a/b.yaml", "one\n")
	write(t, dir, "a.b", "")
	write(t, dir, "run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a/b.yaml", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	first = commit(t, dir, "first")
	run(t, dir, "tag", "-am", "the first", "v1")
	run(t, dir, "branch", "dev")
	write(t, dir, "a/b.yaml", "two\n")
	second = commit(t, dir, "second")
	return dir, first, second
}

func everything(string, int64) bool { return true }

// files returns the files of a revision.
func files(t *testing.T, r *git.Repository, revision string) tree.Tree {
	t.Helper()
	id, err := r.Resolve(revision)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := r.ReadTree(id)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := r.LoadFiles(listed, tree.Tree{}, everything)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.ID() != listed.ID() {
		t.Errorf("with contents the tree is %s, without %s", loaded.ID(), listed.ID())
	}
	return loaded
}

func open(t *testing.T, path string) *git.Repository {
	t.Helper()
	r, err := git.FindRepository(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTree reads one commit in all the forms that a local repository has: loose,
// packed, bare, as a linked work tree, and from a folder inside.
func TestTree(t *testing.T) {
	dir, _, _ := example(t)
	packed := filepath.Join(t.TempDir(), "packed")
	run(t, dir, "clone", "-q", "--bare", dir, packed)
	run(t, packed, "gc", "-q")
	linked := filepath.Join(t.TempDir(), "linked")
	run(t, dir, "worktree", "add", "-q", "--detach", linked, "main")
	want := run(t, dir, "rev-parse", "main^{tree}")
	for name, path := range map[string]string{"loose": dir, "packed": packed, "linked": linked, "inside": filepath.Join(dir, "a")} {
		got := files(t, open(t, path), "main")
		if got.ID().String() != want {
			t.Errorf("%s: the tree is %s, want %s", name, got.ID(), want)
		}
		for path, want := range map[string]tree.Entry{
			"a/b.yaml": {Mode: tree.ModeFile, Data: []byte("two\n")},
			"run.sh":   {Mode: tree.ModeExecutable, Data: []byte("#!/bin/sh\n")},
			"link":     {Mode: tree.ModeSymlink, Data: []byte("a/b.yaml")},
		} {
			e, ok := got.Lookup(path)
			if !ok || e.Mode != want.Mode || string(e.Data) != string(want.Data) {
				t.Errorf("%s: %s is %o %q, want %o %q", name, path, e.Mode, e.Data, want.Mode, want.Data)
			}
		}
	}
}

// TestLoadBefore loads two commits, the second with the help of what was loaded of the first: it
// has the same contents as without, and a folder that is as it was is the same.
func TestLoadBefore(t *testing.T) {
	dir, _, _ := example(t)
	write := func(files map[string]string) {
		for file, text := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run(t, dir, "add", "-A")
		run(t, dir, "commit", "-qm", "edit")
	}
	write(map[string]string{"still/a.yaml": "one", "moves/b.yaml": "two", "moves/c.yaml": "", "turns": "a file"})
	first := files(t, open(t, dir), "HEAD")
	run(t, dir, "rm", "-q", "turns")
	write(map[string]string{"moves/b.yaml": "three", "moves/d.yaml": "one", "turns/a.yaml": "two"})
	repo := open(t, dir)
	want := files(t, repo, "HEAD")
	listed, err := repo.ReadTree(run(t, dir, "rev-parse", "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := repo.LoadFiles(listed, first, everything)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(maps.Collect(want.All()), maps.Collect(got.All())); diff != "" || got.ID() != want.ID() {
		t.Errorf("%s is %s (-without +with)\n%s", want.ID(), got.ID(), diff)
	}
	if got.Sub("still") != first.Sub("still") || got.Sub("moves") == first.Sub("moves") {
		t.Error("a folder that is as it was is another, or one that is not is the same")
	}
	if same, err := repo.LoadFiles(listed, got, everything); err != nil || same != got {
		t.Errorf("what was loaded before is loaded again (%v)", err)
	}
	if nothing, err := repo.LoadFiles(listed, tree.Tree{}, func(string, int64) bool { return false }); err != nil || nothing != listed {
		t.Errorf("where nothing is wanted, the tree is another (%v)", err)
	}
}

func TestResolve(t *testing.T) {
	dir, first, second := example(t)
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, dir, "clone", "-q", dir, clone)
	r := open(t, clone)
	for revision, want := range map[string]string{
		"main": second, "HEAD": second, second: second, second[:9]: second, "v1": first, "main~1": first, "main^": first,
		"refs/heads/main": second, "dev": first, "origin/dev": first,
	} {
		if got, err := r.Resolve(revision); got != want || err != nil {
			t.Errorf("%s is %s (%v), want %s", revision, got, err, want)
		}
	}
	for _, revision := range []string{"", "nope", "main~7", "-x", "0123456789012345678901234567890123456789", "a b", "main:a/b.yaml"} {
		if got, err := r.Resolve(revision); !errors.Is(err, git.ErrNoRevision) {
			t.Errorf("%q is %s (%v), want ErrNoRevision", revision, got, err)
		}
	}
	if got := r.Remotes(); len(got) != 1 || got[0] != dir {
		t.Errorf("the remotes are %q, want %q", got, dir)
	}
	if got := r.DefaultBranch(); got != "main" {
		t.Errorf("the default branch is %q", got)
	}
}

func second(_ *git.Repository, err error) error { return err }

func TestNotFound(t *testing.T) {
	dir, _, _ := example(t)
	for name, err := range map[string]error{
		"an empty folder": second(git.Open(t.TempDir())), "a folder inside": second(git.Open(filepath.Join(dir, "a"))),
		"no folder": second(git.FindRepository(filepath.Join(dir, "typo"))),
	} {
		if !errors.Is(err, git.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	if _, err := git.Open("--upload-pack=x"); err == nil {
		t.Error("a path that begins with - is opened")
	}
}

// serve serves repositories over HTTP with Git's own server. It asks for the
// password if there is one, and notes what it was told.
func serve(t *testing.T, root, password string) (server *httptest.Server, told *[]string) {
	t.Helper()
	backend := filepath.Join(run(t, root, "--exec-path"), "git-http-backend")
	handler := &cgi.Handler{Path: backend, Env: []string{
		"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "PATH=" + os.Getenv("PATH"),
	}}
	told = &[]string{}
	var mu sync.Mutex
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, given, _ := req.BasicAuth()
		mu.Lock()
		*told = append(*told, given)
		mu.Unlock()
		if given != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return server, told
}

// bare puts a bare clone of the example where it can be served.
func bare(t *testing.T) (work, root string) {
	t.Helper()
	work, _, _ = example(t)
	root = t.TempDir()
	run(t, work, "clone", "-q", "--bare", work, filepath.Join(root, "cp.git"))
	run(t, work, "remote", "add", "origin", filepath.Join(root, "cp.git"))
	return work, root
}

// mirror returns the mirror of a remote as it is now.
func mirror(ctx context.Context, url, dir string, who git.Credentials) (*git.Repository, error) {
	remote, err := git.NewRemote(git.RemoteOptions{URL: url, Dir: dir, Credentials: func(context.Context) (git.Credentials, error) { return who, nil }})
	if err != nil {
		return nil, err
	}
	if _, err := remote.Sync(ctx); err != nil {
		return nil, err
	}
	return remote.Mirror(), nil
}

func TestMirror(t *testing.T) {
	work, root := bare(t)
	server, _ := serve(t, root, "")
	dir := filepath.Join(t.TempDir(), "cache", "cp")
	now := func() *git.Repository {
		r, err := mirror(context.Background(), server.URL+"/cp.git", dir, git.Credentials{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if got, want := files(t, now(), "main").ID().String(), run(t, work, "rev-parse", "main^{tree}"); got != want {
		t.Errorf("the tree is %s, want %s", got, want)
	}
	write(t, work, "new.yaml", "new\n")
	third := commit(t, work, "third")
	run(t, work, "push", "-q", "origin", "main", ":dev")
	r := now()
	if got, err := r.Resolve("main"); got != third || err != nil {
		t.Errorf("after a push main is %s (%v), want %s", got, err, third)
	}
	if _, err := r.Resolve("dev"); !errors.Is(err, git.ErrNoRevision) {
		t.Errorf("a deleted branch: %v, want ErrNoRevision", err)
	}
	run(t, work, "push", "-qf", "origin", "v1^{}:refs/heads/main")
	if got, _ := now().Resolve("main"); got != run(t, work, "rev-parse", "v1^{}") {
		t.Errorf("after a forced push main is %s", got)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".mirror-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}

// TestMirrorAtOnce makes one mirror several times at once.
func TestMirrorAtOnce(t *testing.T) {
	work, root := bare(t)
	server, _ := serve(t, root, "")
	dir := filepath.Join(t.TempDir(), "cp")
	want := run(t, work, "rev-parse", "main")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			r, err := mirror(context.Background(), server.URL+"/cp.git", dir, git.Credentials{})
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := r.Resolve("main"); got != want {
				t.Errorf("main is %s (%v), want %s", got, err, want)
			}
			if _, err := r.ReadTree(want); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestMirrorRefused(t *testing.T) {
	_, root := bare(t)
	server, told := serve(t, root, "secret")
	url := server.URL + "/cp.git"
	dir := func() string { return filepath.Join(t.TempDir(), "cp") }
	if _, err := mirror(context.Background(), url, dir(), git.Credentials{}); !errors.Is(err, git.ErrAccess) {
		t.Errorf("without a token: %v, want ErrAccess", err)
	}
	if _, err := mirror(context.Background(), url, dir(), git.Credentials{Username: "x", Secret: "secret"}); err != nil {
		t.Errorf("with the token: %v", err)
	}
	if last := (*told)[len(*told)-1]; last != "secret" {
		t.Errorf("the server was told %q", last)
	}
	kept := dir()
	if _, err := mirror(context.Background(), strings.Replace(url, "http://", "http://x:secret@", 1), kept, git.Credentials{}); err != nil {
		t.Errorf("with the password in the URL: %v", err)
	}
	if settings, err := os.ReadFile(filepath.Join(kept, "config")); err != nil || strings.Contains(string(settings), "secret") {
		t.Errorf("the mirror's settings hold the password, or cannot be read: %v", err)
	}
	_, err := mirror(context.Background(), strings.Replace(url, "http://", "http://x:hunter2@", 1), dir(), git.Credentials{})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an error shows the password, or there is none: %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := mirror(stopped, url, dir(), git.Credentials{Secret: "secret"}); err == nil {
		t.Error("a fetch went on after it was stopped")
	}
}

// TestNastyTrees: a repository is somebody else's, and may be made to do harm.
func TestNastyTrees(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "-qb", "main")
	write(t, dir, "f", "x")
	id, err := hex.DecodeString(run(t, dir, "hash-object", "-w", "f"))
	if err != nil {
		t.Fatal(err)
	}
	folder := func(lines string) string {
		write(t, dir, "lines", lines)
		return run(t, dir, "hash-object", "-w", "-t", "tree", "--literally", "lines")
	}
	file := "\x00" + string(id)
	twice := folder("100644 a" + file + "100644 a" + file)
	level := folder("100644 a" + file)
	for range 8 {
		sub, err := hex.DecodeString(level)
		if err != nil {
			t.Fatal(err)
		}
		lines := ""
		for c := 'a'; c < 'k'; c++ {
			lines += "40000 " + string(c) + "\x00" + string(sub)
		}
		level = folder(lines)
	}
	nasty := map[string]string{"two entries named": twice, "more than 2000000 files": level}
	for _, name := range []string{"..", ".", ".git", ".GIT", "a/b", "/a", "a/", "/"} {
		nasty[fmt.Sprintf("%q", name)] = folder("100644 " + name + file)
	}
	for want, root := range nasty {
		commit := run(t, dir, "commit-tree", root, "-m", "nasty")
		if _, err := open(t, dir).ReadTree(commit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestDamagedMirror: a mirror that cannot be read is made anew.
func TestDamagedMirror(t *testing.T) {
	work, root := bare(t)
	server, _ := serve(t, root, "")
	want := run(t, work, "rev-parse", "main^{tree}")
	for name, damage := range map[string]func(t *testing.T, dir string){
		"no HEAD": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "HEAD")); err != nil {
				t.Fatal(err)
			}
		},
		"no objects": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "objects", "pack")); err != nil {
				t.Fatal(err)
			}
		},
		"a pack that is cut off": func(t *testing.T, dir string) {
			packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
			if err != nil || len(packs) == 0 {
				t.Fatal("there is no pack", err)
			}
			for _, p := range packs {
				if err := errors.Join(os.Chmod(p, 0o600), os.Truncate(p, 100)); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cp")
			remote, err := git.NewRemote(git.RemoteOptions{URL: server.URL + "/cp.git", Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := remote.Sync(context.Background()); err != nil {
				t.Fatal(err)
			}
			damage(t, dir)
			// Programs that end after each round mend it too.
			for range 2 {
				r := reopened(t, server.URL+"/cp.git", dir)
				if _, err := r.Sync(context.Background()); err != nil {
					t.Fatal(err)
				}
				if id, err := r.Mirror().Resolve("main"); err == nil {
					_, _ = r.Mirror().ReadTree(id)
				}
			}
			if got := files(t, reopened(t, server.URL+"/cp.git", dir).Mirror(), "main").ID().String(); got != want {
				t.Errorf("after three programs the tree is %s, want %s", got, want)
			}
			for _, r := range []*git.Remote{remote, reopened(t, server.URL+"/cp.git", dir)} {
				if _, err := remote.Sync(context.Background()); err != nil {
					t.Fatal(err)
				}
				damage(t, dir)
				for range 2 { // the first round may be the one that finds it
					if _, err := r.Sync(context.Background()); err != nil {
						t.Fatal(err)
					}
					if id, err := r.Mirror().Resolve("main"); err == nil {
						if _, err := r.Mirror().ReadTree(id); err != nil && !errors.Is(err, git.ErrDamaged) {
							t.Errorf("the error does not say that the mirror is damaged: %v", err)
						}
					}
				}
				if got := files(t, r.Mirror(), "main").ID().String(); got != want {
					t.Errorf("the tree is %s, want %s", got, want)
				}
			}
		})
	}
}

func reopened(t *testing.T, url, dir string) *git.Remote {
	t.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: url, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return remote
}
