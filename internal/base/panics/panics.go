// Package panics turns a panic into an error with an id and a stack, so that it ends one piece
// of work and not the process.
//
// What the package keeps true: a [Barrier] reports each panic once, with its stack; the error
// that people see has an id and a kind, and never the value of the panic, which may quote a
// file; the same panic at the same place has the same id; a [Relay] passes a panic in a
// goroutine on to the one that waits for it.
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

// Error is a panic that was recovered.
type Error struct {
	// ID is the same for the same panic at the same place.
	ID string
	// Kind is the text of an error of the runtime, which quotes no data, and otherwise the
	// type of what the program panicked with.
	Kind string
	// Stack has a function and its line for each call, the innermost first.
	Stack string
}

// Error names the panic by its id.
func (e *Error) Error() string {
	return fmt.Sprintf("internal error %s (%s); this is a defect of Fairlead, and its log has the stack under this id", e.ID, e.Kind)
}

// Barrier keeps a panic inside of the work that it happens in. The zero Barrier is ready.
type Barrier struct {
	// Before, unless nil, is called before each piece of work with its name and its owner.
	// Tests panic in it.
	Before func(work, owner string)
	// Report, unless nil, is called with each recovered panic.
	Report func(work, owner string, e *Error)
}

// Run calls do and returns its error, or the panic in it as an [*Error].
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

// RunLibrary calls do, in which a library parses what users wrote, and returns its error. A panic
// becomes an error about the text that does not quote it. A stack overflow cannot be recovered:
// bound the depth before.
func RunLibrary(name string, do func() error) error {
	err := Barrier{}.Run(name, "", do)
	var panicked *Error
	if errors.As(err, &panicked) {
		return fmt.Errorf("%s cannot cope with it (%s)", name, panicked.Kind)
	}
	return err
}

// Is reports whether an error is, or comes of, a panic.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// Relay passes the first panic of several goroutines on to the one that waits for them. The
// zero Relay is ready.
type Relay struct {
	mu    sync.Mutex
	first *Error
}

// Run calls do and keeps its panic, if it is the first.
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

// Raise panics with the panic that Run kept, if any, with the stack of its goroutine.
func (r *Relay) Raise() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first != nil {
		panic(r.first)
	}
}

// toError returns what recover returned as an error, or nil for nil. An [*Error] that a Relay
// raised is returned as it is.
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
	within, _, _ := strings.Cut(e.Stack, barrierName) // wherever the work began, it is the same panic
	sum := sha256.Sum256([]byte(e.Kind + "\n" + within))
	e.ID = hex.EncodeToString(sum[:6])
	return e
}

// barrierName is the function that begins a piece of work, as a stack names it.
const barrierName = "panics.Barrier.Run\n"

// maxFrames bounds the calls that a stack shows.
const maxFrames = 100

// formatStack returns the calls that led to the panic that is being recovered.
func formatStack() string {
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var b strings.Builder
	panicked := false // the calls before are those of recovering
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
