package git_test

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
)

// TestDiskHint: a disk that is full or read-only has a hint, however deep the error is.
func TestDiskHint(t *testing.T) {
	for cause, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EROFS: true, syscall.EACCES: false, fs.ErrNotExist: false} {
		err := fmt.Errorf("take the data folder: %w", &fs.PathError{Op: "open", Path: "data/lock", Err: cause})
		if got := git.DiskHint(err); (got != "") != want {
			t.Errorf("the hint of %v is %q", err, got)
		}
	}
}
