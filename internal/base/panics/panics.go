// Package panics turns a panic into an error with an id and a stack, so that it ends one piece of
// work and not the process.
//
// What the package keeps true: a [Barrier] reports each panic once, with its stack. The error has
// an id and a kind, but never the panic's value, which may quote a file. The same panic at the same
// place has the same id. A [Relay] passes a panic on to the waiting goroutine.
package panics

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// Error is a recovered panic.
type Error struct {
	// ID is equal for the same panic at the same place.
	ID string
	// Kind is the text of a runtime error, which quotes no data, or else the type of the panic's
	// value.
	Kind string
	// Stack has each call's function and line, innermost first.
	Stack string
}

// Error includes the id.
func (e *Error) Error() string {
	return fmt.Sprintf("internal error %s (%s); this is a defect of Fairlead, and its log has the stack under this id", e.ID, e.Kind)
}

// Barrier confines panics to the work in which they occur. The zero value is ready to use.
type Barrier struct {
	// Before, if not nil, is called before each piece of work. Tests panic in it.
	Before func(work, owner string)
	// Report, if not nil, is called with each recovered panic.
	Report func(work, owner string, e *Error)
}

// Run calls do and returns its error, or a panic as an [*Error].
func (b Barrier) Run(work, owner string, do func() error) (err error) {
	defer func() {
		if e := toError(recover()); e != nil {
			err = e
			if b.Report != nil {
				b.Report(work, owner, e)
			}
		}
	}()
	if b.Before != nil {
		b.Before(work, owner)
	}
	return do()
}

// RunLibrary calls do, which parses user input with a library. The error of a panic does not quote
// the input. A stack overflow is not recoverable: bound the depth first.
func RunLibrary(name string, do func() error) error {
	err := Barrier{}.Run(name, "", do)
	var panicked *Error
	if errors.As(err, &panicked) {
		return fmt.Errorf("%s cannot cope with it (%s)", name, panicked.Kind)
	}
	return err
}

// Is reports whether err is or wraps a panic.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// Relay passes the first panic of several goroutines to the waiting one. The zero value is ready to
// use.
type Relay struct {
	mu    sync.Mutex
	first *Error
}

// Run calls do and keeps the first panic.
func (r *Relay) Run(do func()) {
	defer func() {
		if e := toError(recover()); e != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.first == nil {
				r.first = e
			}
		}
	}()
	do()
}

// Raise repeats the kept panic, if any, with its original stack.
func (r *Relay) Raise() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first != nil {
		panic(r.first)
	}
}

func toError(value any) *Error {
	if value == nil {
		return nil
	}
	if e, ok := value.(*Error); ok {
		return e
	}
	e := &Error{Kind: fmt.Sprintf("panic with a %T", value), Stack: formatStack()}
	if err, ok := value.(runtime.Error); ok {
		e.Kind = err.Error()
	}
	within, _, _ := strings.Cut(e.Stack, barrierName) // the id does not depend on the caller of Run
	sum := sha256.Sum256([]byte(e.Kind + "\n" + within))
	e.ID = hex.EncodeToString(sum[:6])
	return e
}

const barrierName = "panics.Barrier.Run\n"

const maxFrames = 100

func formatStack() string {
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var b strings.Builder
	panicked := false
	for {
		f, more := frames.Next()
		if panicked {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return b.String()
		}
	}
}
