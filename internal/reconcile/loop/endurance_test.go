package loop_test

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// usage is what a daemon uses.
type usage struct {
	heap  uint64 // bytes that live
	held  uint64 // bytes of the process that are in memory; 0 where the system does not say
	files int    // that are open
	packs int    // in all mirrors
	disk  int64  // bytes of all mirrors
	refs  int    // in both repositories
}

// measure measures this process and a data folder.
func (w *world) measure() usage {
	w.Helper()
	var u usage
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one found to be finalized is gone after the second
	runtime.ReadMemStats(&memory)
	u.heap, u.held = memory.HeapAlloc, resident()
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(open)
	}
	err := filepath.WalkDir(w.data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		u.disk += info.Size()
		if filepath.Ext(path) == ".pack" {
			u.packs++
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	for _, name := range []string{"cp", "out"} {
		u.refs += len(gittest.Refs(w, w.server.Dir(name)))
	}
	return u
}

// resident returns how much of this process is in memory, in bytes.
func resident() uint64 {
	text, _ := os.ReadFile("/proc/self/statm") // where there is none, nothing is known
	var size, pages uint64
	_, _ = fmt.Sscan(string(text), &size, &pages)
	return pages * uint64(os.Getpagesize())
}

const (
	// aloneVariable has the address of the server where TestEndurance has a process of its own.
	aloneVariable = "CYCLE_TEST_ALONE"
	// heapPerChange is how much the heap may grow with a change: mirrors keep the indexes of
	// their packs in memory, some 30 bytes for each object that a change makes.
	heapPerChange = 1 << 10
	// heapTide is how much it goes up and down as packs are added and merged.
	heapTide = 512 << 10
)

// TestEndurance: memory, open files, mirrors and references do not grow with the number of
// cycles, each of which has a change. The people who make them are in the same process: others
// take their places before memory is measured, so that it is the daemon's.
// CYCLE_TEST_ENDURANCE says how many cycles there are. The process is one of its own, which
// other tests run beside: what is measured is the process. The server is in that of the others.
func TestEndurance(t *testing.T) {
	sampleScenario(t)
	address := os.Getenv(aloneVariable)
	if address == "" {
		endureAlone(t)
		return
	}
	server := gittest.Reach(t, address)
	server.Create("cp")
	server.Create("out")
	w := worldOn(t, server, "cp", "out", scaffold.Branches, []string{"dev"})
	d := w.begin(w.data, func(o *loop.Options) { o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	d.cycle()
	people, reviewers := w.writer("cp", "dev"), w.reviewer("out")
	cycles := enduranceCycles(t)
	measureAlone := func() usage {
		people, reviewers = nil, nil
		clear(w.writers)
		u := w.measure()
		people, reviewers = w.writer("cp", "dev"), w.reviewer("out")
		return u
	}
	var early, late, begun usage
	begin := min(200, cycles/2)
	for n := range cycles {
		if n == begin {
			begun = measureAlone()
		}
		people.write("build.yaml", buildValue(n))
		d.cycle()
		s := d.state("dev")
		if s.State != status.Proposed {
			t.Fatalf("cycle %d: dev is %+v", n, s)
		}
		if n%10 != 0 {
			continue
		}
		reviewers.merge(s.Pull.Number)
		switch {
		case n >= cycles/4 && n < cycles/2:
			early = early.most(w.measure())
		case n >= cycles*3/4:
			late = late.most(w.measure())
		}
	}
	ended := measureAlone()
	t.Logf("%+v after %d changes, %+v after %d", begun, begin, ended, cycles)
	t.Logf("at most %+v in the second quarter, and %+v in the last of %d cycles", early, late, cycles)
	w.data = t.TempDir()
	w.life(w.data)
	fresh := w.measure()
	if limit := begun.heap + heapTide + uint64(cycles-begin)*heapPerChange; ended.heap > limit {
		t.Errorf("memory grows: %d bytes live after %d changes, and %d after %d, more than %d", begun.heap, begin, ended.heap, cycles, limit)
	}
	if late.files > early.files+4 {
		t.Error("open files grow")
	}
	if late.packs > 2*60 || late.disk > 4*fresh.disk+1<<20 {
		t.Errorf("the mirrors grow: new ones have %+v", fresh)
	}
	if late.refs > 180 { // 50 statuses, 100 pull requests, and some that matter
		t.Error("references grow")
	}
}

// endureAlone runs TestEndurance in a process of its own.
func endureAlone(t *testing.T) {
	t.Helper()
	t.Parallel()
	limit := time.Duration(0) // none
	if end, ok := t.Deadline(); ok {
		limit = time.Until(end)
	}
	alone := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^TestEndurance$", "-test.v", "-test.timeout="+limit.String())
	alone.Env = append(os.Environ(), aloneVariable+"="+gittest.Serve(t).Address(), "GOGC=100")
	said, err := alone.CombinedOutput()
	t.Logf("%s", said)
	if err != nil || !strings.Contains(string(said), "--- PASS: TestEndurance") {
		t.Errorf("the process of its own has failed: %v", err)
	}
}

func enduranceCycles(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("CYCLE_TEST_ENDURANCE"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 160 // packs are merged when there are 60, and 50 statuses are kept: both come round
}

func (u usage) most(v usage) usage {
	return usage{max(u.heap, v.heap), max(u.held, v.held), max(u.files, v.files), max(u.packs, v.packs), max(u.disk, v.disk), max(u.refs, v.refs)}
}

// reviewer merges pull requests.
type reviewer struct {
	*world
	remote *git.Remote
	forge  *forge.Plain
}

func (w *world) reviewer(repo string) *reviewer {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.PeopleURL(repo), Dir: filepath.Join(w.TempDir(), "reviewer")})
	if err != nil {
		w.Fatal(err)
	}
	return &reviewer{w, remote, forge.NewPlain(remote, git.Signature{Name: "person"}, func() time.Time { return w.now })}
}

func (r *reviewer) merge(number int) {
	r.Helper()
	if _, err := r.remote.Sync(r.Context()); err != nil {
		r.Fatal(err)
	}
	if err := r.forge.MergePull(r.Context(), number, ""); err != nil {
		r.Fatal(err)
	}
}
