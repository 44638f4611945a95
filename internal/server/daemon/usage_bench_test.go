package daemon_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// used is the CPU time of this process and of the processes that it started and
// waited for, in seconds.
type used struct {
	self, children float64
	pack, push     float64 // of self: until the pack was written, and the push of it
	decide         float64 // of pack: what comes after fetching
	at             time.Time
	packed         time.Duration // by the clock, until the pack was written
}

func cpu(t testing.TB) used {
	t.Helper()
	of := func(who int) float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	}
	return used{self: of(syscall.RUSAGE_SELF), children: of(syscall.RUSAGE_CHILDREN), at: time.Now()}
}

// memory is a figure of a process in MiB: VmRSS, the memory that it has, or VmHWM, the most
// that it had.
func memory(pid int, which string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, which+": %f kB", &kib); n == 1 {
			return kib / 1024, nil
		}
	}
	return 0, fmt.Errorf("there is no %s of process %d", which, pid)
}
