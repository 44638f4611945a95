package git

import (
	"errors"
	"syscall"
)

// DiskHint returns advice for a full or read-only disk; "" for other errors.
func DiskHint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on that disk, or write another dataDir into the settings"
	case errors.Is(err, syscall.EROFS):
		return "mount that disk for writing, or write another dataDir into the settings"
	}
	return ""
}
