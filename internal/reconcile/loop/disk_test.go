//go:build unix

package loop_test

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// limitVariable bounds the files of a daemon's process, in bytes: to write more fails
// as on a disk that is full.
const limitVariable = "CYCLE_TEST_LIMIT"

// limitFiles sets the bound.
func limitFiles() error {
	text := os.Getenv(limitVariable)
	if text == "" {
		return nil
	}
	limit, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
}

// TestFullDisk: a disk that takes no more is said to, nothing is published in part,
// and all goes on when there is room again.
func TestFullDisk(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.now = w.now.Add(time.Hour)
	before := w.save()
	w.life(w.data)
	want := w.outcome()
	for _, begun := range []string{"with nothing", "with mirrors"} {
		w.restore(before)
		if begun == "with mirrors" { // and something new to fetch, but for the wanted end
			w.life(w.data)
			w.level("debug", "warning")
			w.level("warning", "debug")
			before := w.save()
			w.life(w.data)
			want = w.outcome()
			w.restore(before)
		}
		refs := gittest.Refs(t, w.server.Dir("out"))
		for _, limit := range []int{200, 600, 1000} {
			out, _ := w.command(w.data, limitVariable+"="+strconv.Itoa(limit)).CombinedOutput() // what it says is what counts
			if !strings.Contains(string(out), "file too large") {
				t.Errorf("%s, with %d bytes: the process says %q", begun, limit, out)
			}
			if now := gittest.Refs(t, w.server.Dir("out")); len(now) < len(refs) {
				t.Errorf("%s: the references were %v and are %v", begun, refs, now)
			}
		}
		w.life(w.data)
		w.wantOutcome("after a full disk, "+begun, want)
	}
}
