package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/display"
	"github.com/fairlead-io/fairlead/internal/explain"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/problem"
)

// The exit codes, the same for all commands.
const (
	exitOK       = 0
	exitFailed   = 1 // an operation failed
	exitUsage    = 2 // the command was called wrongly, or names what is not there
	exitProblems = 3 // the control plane has problems
	exitDiffers  = 4 // diff found differences
)

var (
	// errDiffers says that diff found differences. It is not an error to people.
	errDiffers = errors.New("there are differences")
	// errInterrupted says that somebody stopped the program.
	errInterrupted = errors.New("interrupted")
)

// usageError is a call that cannot be understood.
type usageError struct {
	error
	hint string
}

func (e *usageError) Unwrap() error { return e.error }

func usagef(hint, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// problemsError says that problems stop an environment. list has those that have
// not been printed yet.
type problemsError struct {
	summary string
	list    problem.List
}

func (e *problemsError) Error() string { return e.summary }

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// Hint gives the hint; errors of other packages have such a method too.
func (e *hinted) Hint() string { return e.hint }

func exitCode(err error) int {
	var usage *usageError
	var query *explain.QueryError
	var problems *problemsError
	var settings *settingsError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &settings):
		return exitUsage
	case errors.Is(err, errDiffers):
		return exitDiffers
	case errors.As(err, &problems):
		return exitProblems
	case errors.As(err, &usage), errors.As(err, &query):
		return exitUsage
	}
	return exitFailed
}

// report says an error to people.
func (a *app) report(err error) {
	if err == nil || errors.Is(err, errDiffers) {
		return
	}
	var problems *problemsError
	var settings *settingsError
	switch {
	case errors.As(err, &settings):
		fmt.Fprint(a.err, display.Problems(settings.list, a.err))
	case errors.As(err, &problems):
		fmt.Fprint(a.err, display.Problems(problems.list, a.err))
	}
	for line := range strings.Lines(err.Error()) { // one for each of several that were joined
		fmt.Fprintf(a.err, "fairlead: %s%s\n", a.err.Paint(display.Red, "error: "), display.Visible(strings.TrimRight(line, "\n")))
	}
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(a.err, "fairlead: hint: %s\n", display.Visible(hint))
	}
}

func hintOf(err error) string {
	var usage *usageError
	var query *explain.QueryError
	var h interface{ Hint() string }
	switch {
	case errors.As(err, &usage):
		return usage.hint
	case errors.As(err, &query):
		return query.Hint
	case errors.As(err, &h):
		return h.Hint()
	case errors.Is(err, git.ErrUnreachable):
		return "--map URL=PATH reads it elsewhere, such as in a clone"
	case errors.Is(err, git.ErrNoRevision):
		return "check the name; of a shallow clone, fetch all branches (git fetch --unshallow)"
	}
	return ""
}
