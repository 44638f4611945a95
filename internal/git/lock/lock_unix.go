//go:build unix

package lock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockPause is how long we wait before we try to take a lock again.
const lockPause = 50 * time.Millisecond

// Acquire waits until no other process, and no other caller in this one, holds the
// lock on path, or ctx ends. The file stays: removing it would let two hold it.
func Acquire(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(lockPause):
		}
	}
}
