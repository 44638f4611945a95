package loop

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
)

// TestDiskHintInReports: reports of a disk that takes no more have the hint, and other errors are as they were.
func TestDiskHintInReports(t *testing.T) {
	full := fmt.Errorf("fetch: %w", syscall.ENOSPC)
	if got := withDiskHint(full); !strings.HasPrefix(got, full.Error()) || !strings.HasSuffix(got, git.DiskHint(full)) {
		t.Errorf("it is %q", got)
	}
	if got := withDiskHint(syscall.ECONNREFUSED); got != syscall.ECONNREFUSED.Error() {
		t.Errorf("another error is %q", got)
	}
}
