package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	gogitconfig "github.com/go-git/go-git/v5/config"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// environmentFile puts the fleet's environment where the daemon looks for it.
const environmentFile = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata:
  name: prod
spec:
  controlPlane:
    repo: https://git.example.com/cp
    branch: prod
    path: .
`

// rig is a fleet in Git repositories, and a daemon over them.
type rig struct {
	testing.TB
	fleet   *fleet.Fleet
	dir     string
	server  *gittest.Server
	out     string // where the daemon finds the GitOps repository
	repos   map[string]*git.Remote
	loop    *loop.Loop
	store   *status.Store
	now     time.Time
	changes int // made so far
	changed int // the workload that they are of
	// fetched, written and pushed are when the last cycle had what has moved, and when its
	// pack was written and pushed.
	fetched, written, pushed used
}

// newRig fills the repositories. The daemon reaches them over HTTP, or else as folders of
// this machine.
func newRig(t testing.TB, size fleet.Size, overHTTP bool) *rig {
	t.Helper()
	r := &rig{
		TB: t, fleet: fleet.New(size), dir: t.TempDir(), server: gittest.ServeGit(t), repos: map[string]*git.Remote{}, store: &status.Store{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), changed: 7,
	}
	place, forges := r.server.Dir, ""
	if overHTTP {
		place = r.server.URL
		host := strings.TrimPrefix(strings.TrimSuffix(r.server.URL("out"), "/out.git"), "http://")
		forges = fmt.Sprintf("forges:\n- {host: %q, kind: git}\n", host)
	}
	r.out = place("out")
	r.create()
	layers := r.fleet.Layers()
	base, err := tree.Union(layers[0].Files, r.one(".environments/prod.yaml", environmentFile))
	r.must(err)
	r.push("cp", "main", base)
	var settled []tree.Entry // without the promoted commit, which is not in this repository
	for _, e := range layers[1].Files.Entries() {
		if e.Name != "base-repo.yaml" {
			settled = append(settled, e)
		}
	}
	r.push("cp", "prod", tree.FromEntries(settled))
	r.push("apps", "main", layers[2].Files)
	r.push("out", "prod", r.one("README.md", "Ours.\n"))
	text := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: %s/data\nwrite: true\nverify: 0%%\ntimeout: 10m\n%smap:\n", place("cp"), r.dir, forges)
	for url, name := range map[string]string{"cp": "cp", "apps": "apps", "gitops": "out"} {
		text += fmt.Sprintf("  https://git.example.com/%s: %q\n", url, place(name))
	}
	settings, problems := config.Parse("fairlead.yaml", []byte(text), r.dir, func(string) string { return "" })
	if problems.Stops() {
		t.Fatal(problems)
	}
	r.loop, err = loop.New(context.Background(), loop.Options{
		Settings: settings, Store: r.store, Now: func() time.Time { return r.now }, Logger: slog.New(r),
		BeforeEffect: func(what string) {
			switch what {
			case "push our branch":
				r.written = cpu(r.TB)
			case "open the pull request", "edit the pull request":
				r.pushed = cpu(r.TB)
			}
		},
	})
	r.must(err)
	t.Cleanup(r.loop.Close)
	return r
}

// create makes the repositories.
func (r *rig) create() {
	r.Helper()
	for _, name := range []string{"cp", "apps", "out"} {
		r.server.Create(name)
		remote, err := git.NewRemote(git.RemoteOptions{URL: r.server.Dir(name), Dir: filepath.Join(r.dir, "fill-"+name)})
		r.must(err)
		_, err = remote.Sync(context.Background())
		r.must(err)
		r.repos[name] = remote
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) one(path, text string) tree.Tree {
	r.Helper()
	t, err := tree.FromFiles(map[string][]byte{path: []byte(text)})
	r.must(err)
	return t
}

// push makes a branch hold files.
func (r *rig) push(repo, branch string, files tree.Tree) {
	r.Helper()
	remote := r.repos[repo]
	r.now = r.now.Add(time.Minute)
	c := git.Commit{Tree: files, Message: "edit\n", When: r.now, Author: git.Signature{Name: "a", Email: "a@example.com"}}
	old, err := remote.Mirror().Branch(branch)
	if err == nil {
		c.Parents = []string{old}
	}
	pack, err := remote.Write(context.Background(), c)
	r.must(err)
	r.must(remote.Push(context.Background(), pack, git.RefUpdate{Ref: "refs/heads/" + branch, Old: old, New: pack.Commits[0]}))
}

// Enabled takes all messages.
func (r *rig) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs is of no effect.
func (r *rig) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup is of no effect.
func (r *rig) WithGroup(string) slog.Handler { return r }

// Handle waits for the message that all is fetched.
func (r *rig) Handle(_ context.Context, message slog.Record) error {
	if message.Message == "there is something to do" {
		r.fetched = cpu(r.TB)
	}
	return nil
}

// cycle runs a cycle, which must leave the environment in this state.
func (r *rig) cycle(want status.State) used {
	r.Helper()
	r.now = r.now.Add(time.Minute)
	before := cpu(r.TB)
	r.must(r.loop.Cycle(context.Background()))
	after := cpu(r.TB)
	e, _ := r.store.Snapshot().FindEnvironment("prod")
	if e.State != want {
		r.Fatalf("the environment is %s (%s), want %s: %v", e.State, e.Reason, want, e.Problems)
	}
	return used{
		self: after.self - before.self, children: after.children - before.children,
		pack: r.written.self - before.self, decide: r.written.self - r.fetched.self, push: r.pushed.self - r.written.self, packed: r.written.at.Sub(before.at),
	}
}

// treeOf gives the tree of a branch of the GitOps repository.
func (r *rig) treeOf(branch string) string {
	r.Helper()
	return gittest.Git(r, r.server.Dir("out"), "rev-parse", branch+"^{tree}")
}

// settle merges what was proposed, and has Git check out the output.
func (r *rig) settle() {
	r.Helper()
	r.merge()
	r.cycle(status.InSync)
	r.clone()
}

// merge moves the output branch to what is proposed, as merging does.
func (r *rig) merge() {
	r.Helper()
	gittest.Git(r, r.server.Dir("out"), "update-ref", "refs/heads/prod", "refs/heads/fairlead/prod")
}

// fastImport commits the files of the pull request with git fast-import, in a
// repository of its own.
func (r *rig) fastImport() (used, string) {
	r.Helper()
	// The daemon's own mirror, which it does not write to now.
	mirror, err := git.NewRemote(git.RemoteOptions{URL: r.out, Dir: filepath.Join(r.dir, "data", "git", giturl.FolderName(r.out))})
	r.must(err)
	proposed, err := mirror.Mirror().Branch("fairlead/prod")
	r.must(err)
	view, err := mirror.Mirror().View(proposed)
	r.must(err)
	dir := filepath.Join(r.dir, "fast.git")
	gittest.Git(r, r.dir, "init", "-q", "--bare", "-b", "main", dir)
	before := cpu(r.TB)
	command := exec.Command("git", "fast-import", "--quiet", "--done")
	command.Dir = dir
	in, err := command.StdinPipe()
	r.must(err)
	r.must(command.Start())
	out := bufio.NewWriterSize(in, 1<<20)
	fmt.Fprintf(out, "commit refs/heads/main\ncommitter a <a@example.com> 0 +0000\ndata 0\n")
	for path, data := range view.Tree.All() {
		fmt.Fprintf(out, "M 100644 inline %s\ndata %d\n%s\n", path, len(data), data)
	}
	fmt.Fprintln(out, "done")
	r.must(out.Flush())
	r.must(in.Close())
	r.must(command.Wait())
	r.must(view.Err())
	after := cpu(r.TB)
	return used{self: after.self - before.self, children: after.children - before.children, packed: after.at.Sub(before.at)}, gittest.Git(r, dir, "rev-parse", "main^{tree}")
}

// change changes one workload.
func (r *rig) change() {
	r.Helper()
	r.changes++
	r.fleet.SetBranch(r.changed, fmt.Sprintf("release-%d", r.changes))
	r.push("apps", "main", r.fleet.Layers()[2].Files)
}

// clone makes the work tree for commit. Its index is dated later than its files: Git reads those again that
// were written in the same second as the index, which are all of them or none.
func (r *rig) clone() {
	r.Helper()
	work, later := filepath.Join(r.dir, "work"), time.Now().Add(time.Minute)
	gittest.Git(r, r.dir, "clone", "-q", "-b", "prod", r.server.Dir("out"), work)
	r.must(os.Chtimes(filepath.Join(work, ".git", "index"), later, later))
}

// commit has Git do the last change in the work tree: git add -A and git commit. It
// gives the CPU time in seconds, and checks that the tree is the same.
func (r *rig) commit() float64 {
	r.Helper()
	dir := filepath.Join(r.dir, "work")
	gittest.Git(r, dir, "fetch", "-q", "origin", "fairlead/prod")
	want := gittest.Git(r, dir, "rev-parse", "FETCH_HEAD^{tree}")
	gittest.Git(r, dir, "restore", "--source=FETCH_HEAD", "--worktree", "--", ":/")
	before := cpu(r.TB)
	gittest.Git(r, dir, "add", "-A")
	gittest.Git(r, dir, "commit", "-qm", "change")
	after := cpu(r.TB)
	if got := gittest.Git(r, dir, "rev-parse", "HEAD^{tree}"); got != want {
		r.Fatalf("git makes tree %s of the same change, not %s", got, want)
	}
	return after.children - before.children
}

// idle commits a config to the environment that nothing reads. The daemon may have written
// to its branch as well.
func (r *rig) idle() {
	r.Helper()
	r.changes++
	r.fleet.SetIdle(fmt.Sprintf("value-%d", r.changes))
	const file = "configs/idle.yaml"
	idle, _ := r.fleet.Layers()[1].Files.Lookup(file)
	_, err := r.repos["cp"].Sync(context.Background())
	r.must(err)
	head, err := r.repos["cp"].Mirror().Branch("prod")
	r.must(err)
	view, err := r.repos["cp"].Mirror().View(head)
	r.must(err)
	files := maps.Collect(view.Tree.All())
	r.must(view.Err())
	files[file] = idle.Data
	next, err := tree.FromFiles(files)
	r.must(err)
	r.push("cp", "prod", next)
}

// largestPack gives the size of the largest pack of the daemon's mirror of the GitOps
// repository, in MiB.
func (r *rig) largestPack() (size float64) {
	r.Helper()
	packs, err := filepath.Glob(filepath.Join(r.dir, "data", "git", giturl.FolderName(r.out), "objects", "pack", "*.pack"))
	r.must(err)
	for _, pack := range packs {
		info, err := os.Stat(pack)
		r.must(err)
		size = max(size, float64(info.Size())/(1<<20))
	}
	return size
}

// goGitPush has go-git push the last proposal to a copy of the repository that does not
// have it yet. It gives the CPU time of this process in seconds.
func (r *rig) goGitPush() float64 {
	r.Helper()
	target, work := filepath.Join(r.server.Root, "copy.git"), filepath.Join(r.dir, "push.git")
	gittest.Git(r, r.dir, "clone", "-q", "--bare", "--single-branch", "-b", "prod", r.server.Dir("out"), target)
	gittest.Git(r, target, "config", "http.receivepack", "true")
	gittest.Git(r, r.dir, "clone", "-q", "--bare", r.server.Dir("out"), work)
	repo, err := gogit.PlainOpen(work)
	r.must(err)
	remote, err := repo.CreateRemote(&gogitconfig.RemoteConfig{Name: "copy", URLs: []string{r.server.URL("copy")}})
	r.must(err)
	before := cpu(r.TB)
	r.must(remote.Push(&gogit.PushOptions{RemoteName: "copy", RefSpecs: []gogitconfig.RefSpec{"refs/heads/fairlead/prod:refs/heads/fairlead/prod"}}))
	return cpu(r.TB).self - before.self
}
