// Package lock keeps two processes from writing into one folder of mirrors at a time.
//
// What the package keeps true: a lock is held by one caller of one process, and ends with
// it, however it ends.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// HeldError says that another process has a lock.
type HeldError struct {
	// PID is the process; 0 if it has not said who it is.
	PID int
}

// Error names the process.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "another process uses it"
	}
	return fmt.Sprintf("process %d uses it", e.PID)
}

// Claim is Take for a lock that is held for long: its file names the process that has it,
// for others to tell. The error is a [HeldError] if ctx ends before the lock is free.
func Claim(ctx context.Context, path string) (unlock func(), err error) {
	unlock, err = Take(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		text, _ := os.ReadFile(path) // it says who, or it does not
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &HeldError{pid}
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
