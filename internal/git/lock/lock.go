// Package lock keeps two processes from writing into one folder of mirrors at a time.
//
// What the package keeps true: one caller of one process holds a lock, and the lock ends with
// the process, however it ends.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// HeldError means that another process holds a lock.
type HeldError struct {
	// PID is the process; 0 if it is not known.
	PID int
	// Address is where it listens; "" if it does not, or not yet.
	Address string
}

// Error names the process.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "another process uses it"
	}
	return fmt.Sprintf("process %d uses it", e.PID)
}

// AcquireWithPID takes a lock that is held for long: it writes the id of the process to the lock's
// file. The error is a [HeldError] if ctx ends before the lock is free.
func AcquireWithPID(ctx context.Context, path string) (unlock func(), err error) {
	unlock, err = Acquire(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		text, _ := os.ReadFile(path) // the id and the address, if there are any
		id, address, _ := strings.Cut(string(text), "\n")
		pid, _ := strconv.Atoi(strings.TrimSpace(id))
		return nil, &HeldError{pid, strings.TrimSpace(address)}
	}
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// WriteAddress writes to the file of a lock, which the caller has from [AcquireWithPID], where its process listens.
func WriteAddress(path, address string) error {
	return os.WriteFile(path, fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), address), 0o600)
}
