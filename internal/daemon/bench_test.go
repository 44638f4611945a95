package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/cycle"
	"github.com/fairlead-io/fairlead/internal/fleet"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/gittest"
	"github.com/fairlead-io/fairlead/internal/status"
	"github.com/fairlead-io/fairlead/internal/tree"
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

// rig is a fleet in Git repositories on this machine, and a daemon over them.
type rig struct {
	*testing.B
	fleet *fleet.Fleet
	dir   string
	repos map[string]*git.Remote
	loop  *cycle.Loop
	store *status.Store
	now   time.Time
}

func newRig(b *testing.B, size fleet.Size) *rig {
	b.Helper()
	r := &rig{B: b, fleet: fleet.New(size), dir: b.TempDir(), repos: map[string]*git.Remote{}, store: &status.Store{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, name := range []string{"cp", "apps", "out"} {
		gittest.Git(b, r.dir, "init", "-q", "--bare", "-b", "main", name+".git")
		remote, err := git.NewRemote(git.RemoteOptions{URL: filepath.Join(r.dir, name+".git"), Dir: filepath.Join(r.dir, "fill-"+name)})
		r.must(err)
		_, err = remote.Sync(context.Background())
		r.must(err)
		r.repos[name] = remote
	}
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
	text := fmt.Sprintf("controlPlane: {repo: %s/cp.git}\ndataDir: %[1]s/data\nwrite: true\ntimeout: 10m\nmap:\n", r.dir)
	for url, name := range map[string]string{"cp": "cp", "apps": "apps", "gitops": "out"} {
		text += fmt.Sprintf("  https://git.example.com/%s: %s/%s.git\n", url, r.dir, name)
	}
	settings, problems := config.Parse("fairlead.yaml", []byte(text), r.dir, func(string) string { return "" })
	if problems.Stops() {
		b.Fatal(problems)
	}
	r.loop, err = cycle.New(context.Background(), cycle.Options{Settings: settings, Store: r.store, Now: func() time.Time { return r.now }})
	r.must(err)
	b.Cleanup(r.loop.Close)
	return r
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

// used is the CPU time of this process and of the processes that it started and
// waited for, in seconds.
type used struct{ self, children float64 }

func cpu(b *testing.B) used {
	b.Helper()
	of := func(who int) float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	}
	return used{of(syscall.RUSAGE_SELF), of(syscall.RUSAGE_CHILDREN)}
}

// cycle runs a cycle, which must leave the environment in this state.
func (r *rig) cycle(want status.State) used {
	r.Helper()
	r.now = r.now.Add(time.Minute)
	before := cpu(r.B)
	r.must(r.loop.Cycle(context.Background()))
	after := cpu(r.B)
	e, _ := r.store.Snapshot().Environment("prod")
	if e.State != want {
		r.Fatalf("the environment is %s (%s), want %s", e.State, e.Reason, want)
	}
	return used{after.self - before.self, after.children - before.children}
}

// treeOf gives the tree of a branch of the GitOps repository.
func (r *rig) treeOf(branch string) string {
	r.Helper()
	return gittest.Git(r, filepath.Join(r.dir, "out.git"), "rev-parse", branch+"^{tree}")
}

// merge moves the output branch to what is proposed, as merging does.
func (r *rig) merge() {
	r.Helper()
	gittest.Git(r, filepath.Join(r.dir, "out.git"), "update-ref", "refs/heads/prod", "refs/heads/fairlead/prod")
}

// BenchmarkFirst goes from repositories to a pull request for a fleet that nothing is
// known of, and then has Git do the same from the files: git fast-import.
func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		r := newRig(b, fleet.Large)
		spent := r.cycle(status.Proposed)
		b.ReportMetric(spent.self, "cpu-s/fairlead")
		b.ReportMetric(spent.children, "cpu-s/git-receive-pack")
		b.ReportMetric(peak(b), "MiB-peak")
		want := r.treeOf("fairlead/prod")
		reference, got := r.fastImport()
		if got != want {
			b.Fatalf("git fast-import makes tree %s of the same files, not %s", got, want)
		}
		b.ReportMetric(reference.children, "cpu-s/fast-import")
		b.ReportMetric(spent.self/reference.children, "ratio")
	}
}

// peak is the most memory that the process has had, in MiB.
func peak(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}

// fastImport commits the files of the pull request with git fast-import, in a
// repository of its own.
func (r *rig) fastImport() (used, string) {
	r.Helper()
	view, err := r.repos["out"].Mirror().View(r.fetch("refs/heads/fairlead/prod"))
	r.must(err)
	dir := filepath.Join(r.dir, "fast.git")
	gittest.Git(r, r.dir, "init", "-q", "--bare", "-b", "main", dir)
	before := cpu(r.B)
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
	after := cpu(r.B)
	return used{after.self - before.self, after.children - before.children}, gittest.Git(r, dir, "rev-parse", "main^{tree}")
}

// fetch brings the rig's own mirror of the GitOps repository up to date.
func (r *rig) fetch(ref string) string {
	r.Helper()
	_, err := r.repos["out"].Sync(context.Background())
	r.must(err)
	refs, err := r.repos["out"].Mirror().Refs(ref)
	r.must(err)
	return refs[ref]
}

// BenchmarkChange changes one workload of a fleet that is running: 200 assignments.
func BenchmarkChange(b *testing.B) {
	r := newRig(b, fleet.Large)
	r.cycle(status.Proposed)
	r.merge()
	r.cycle(status.InSync)
	runtime.GC()
	var self, children float64
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		r.fleet.SetBranch(7, fmt.Sprintf("release-%d", n))
		r.push("apps", "main", r.fleet.Layers()[2].Files)
		b.StartTimer()
		spent := r.cycle(status.Proposed)
		self += spent.self
		children += spent.children
	}
	b.ReportMetric(self/float64(b.N)*1e3, "cpu-ms/fairlead")
	b.ReportMetric(children/float64(b.N)*1e3, "cpu-ms/git-receive-pack")
	b.StopTimer()
	reference := r.commit()
	b.ReportMetric(reference*1e3, "cpu-ms/git-add-commit")
	b.ReportMetric(self/float64(b.N)/reference, "ratio")
}

// commit has Git do the last change in a work tree: git add -A and git commit. It
// gives the CPU time in seconds, and checks that the tree is the same.
func (r *rig) commit() float64 {
	r.Helper()
	dir := filepath.Join(r.dir, "work")
	gittest.Git(r, r.dir, "clone", "-q", "-b", "prod", "out.git", dir)
	gittest.Git(r, dir, "fetch", "-q", "origin", "fairlead/prod")
	want := gittest.Git(r, dir, "rev-parse", "FETCH_HEAD^{tree}")
	for path := range strings.Lines(gittest.Git(r, dir, "diff", "--name-only", "HEAD", "FETCH_HEAD")) {
		path = strings.TrimSpace(path)
		r.must(os.WriteFile(filepath.Join(dir, path), []byte(gittest.Show(r, dir, "FETCH_HEAD", path)), 0o644))
	}
	before := cpu(r.B)
	gittest.Git(r, dir, "add", "-A")
	gittest.Git(r, dir, "commit", "-qm", "change")
	after := cpu(r.B)
	if got := gittest.Git(r, dir, "rev-parse", "HEAD^{tree}"); got != want {
		r.Fatalf("git makes tree %s of the same change, not %s", got, want)
	}
	return after.children - before.children
}

// BenchmarkQuiet polls when nothing has happened.
func BenchmarkQuiet(b *testing.B) {
	r := newRig(b, fleet.Large)
	r.cycle(status.Proposed)
	r.cycle(status.Proposed)
	var self, children float64
	for b.Loop() {
		spent := r.cycle(status.Proposed)
		self += spent.self
		children += spent.children
	}
	b.ReportMetric(self/float64(b.N)*1e3, "cpu-ms/fairlead")
	b.ReportMetric(children/float64(b.N)*1e3, "cpu-ms/git")
}
