package daemon_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

// BenchmarkColdStart makes the mirror of a GitOps repository from nothing, until what it
// holds can be compared with what was rendered, and then has Git clone the same.
func BenchmarkColdStart(b *testing.B) { eachSize(b, coldStart) }

func coldStart(b *testing.B, size fleet.Size) {
	r := newRig(b, size, true)
	r.cycle(status.Proposed)
	r.merge()
	var cold, whole, cloned, received float64
	requests := 0
	for b.Loop() {
		before := len(r.server.Requests("out"))
		cold += r.cold(true, size)
		for _, q := range r.server.Requests("out")[before:] {
			requests++
			received += float64(q.BytesOut)
		}
		whole += r.cold(false, size)
		cloned += r.cloned()
	}
	n := float64(b.N)
	b.ReportMetric(float64(requests)/n, "requests")
	b.ReportMetric(received/n/1e6, "MB")
	b.ReportMetric(cold/n, "cpu-s/fairlead")
	b.ReportMetric(whole/n, "cpu-s/fairlead-whole")
	b.ReportMetric(cloned/n, "cpu-s/git-clone")
	b.ReportMetric(cold/cloned, "ratio")
}

// cold gives the CPU time, in seconds, of making a mirror of the GitOps repository and
// looking into all folders of cluster types. That of the server's part of the transport,
// in this process, is in it.
func (r *rig) cold(partial bool, size fleet.Size) float64 {
	r.Helper()
	dir := filepath.Join(r.TempDir(), "mirror")
	runtime.GC()
	before := cpu(r.TB)
	remote, err := git.NewRemote(git.RemoteOptions{URL: r.out, Dir: dir, Partial: partial})
	r.must(err)
	_, err = remote.Sync(context.Background())
	r.must(err)
	head, err := remote.Mirror().Branch("prod")
	r.must(err)
	view, err := remote.Mirror().View(head)
	r.must(err)
	r.must(remote.Prefetch(context.Background(), view.Tree, tree.Tree{}, 1))
	folders := 0
	for _, e := range view.Tree.Entries() {
		if e.IsDir() && len(e.Tree().Entries()) > 0 {
			folders++
		}
	}
	r.must(view.Err())
	after := cpu(r.TB)
	if folders < size.ClusterTypes {
		r.Fatalf("there are %d folders", folders)
	}
	r.must(os.RemoveAll(dir))
	return after.self - before.self
}

// cloned gives the CPU time, in seconds, of git clone --depth 1 of the same, with the
// programs that it starts.
func (r *rig) cloned() float64 {
	r.Helper()
	dir := filepath.Join(r.TempDir(), "clone.git")
	command := exec.Command("git", "clone", "-q", "--bare", "--depth", "1", "-b", "prod", r.out, dir)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "no_proxy=*")
	if out, err := command.CombinedOutput(); err != nil {
		r.Fatalf("%v: %s", err, out)
	}
	r.must(os.RemoveAll(dir))
	return (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()
}
