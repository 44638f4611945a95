// Package lock keeps two processes from writing to one folder of mirrors.
//
// What the package keeps true: one caller in one process holds a lock, and the lock ends with the
// process.
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
	// PID is 0 if unknown.
	PID int
	// Address is where the process listens; "" if unknown.
	Address string
}

// Error names the process.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "another process uses it"
	}
	return fmt.Sprintf("process %d uses it", e.PID)
}

// AcquireWithPID takes a lock and records the process id. The error is a [HeldError] if the
// deadline passes first.
func AcquireWithPID(ctx context.Context, path string) (unlock func(), err error) {
	unlock, err = Acquire(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		text, _ := os.ReadFile(path)
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

// WriteAddress records where the lock's holder, the caller, listens.
func WriteAddress(path, address string) error {
	return os.WriteFile(path, fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), address), 0o600)
}
