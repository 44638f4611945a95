package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/git"
)

// The exit codes, the same for all commands.
const (
	exitOK          = 0
	exitFailed      = 1 // an operation failed
	exitUsage       = 2 // the command was called wrongly, or names what does not exist
	exitProblems    = 3 // the control plane has problems
	exitDifferences = 4 // diff found differences
)

var (
	// errDiffers means that there are differences. It sets the exit code and is not printed.
	errDiffers = errors.New("there are differences")
	// errInterrupted means that a signal stopped the program.
	errInterrupted = errors.New("interrupted")
)

// usageError is the error of a command that was called wrongly.
type usageError struct {
	error
	hint string
}

func (e *usageError) Unwrap() error { return e.error }

// usageErrorf returns the error of a command that was called wrongly.
func usageErrorf(hint, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// problemsError means that problems stop an environment. List has those that have not been
// printed yet.
type problemsError struct {
	summary string
	list    problem.List
}

// Error returns the summary.
func (e *problemsError) Error() string { return e.summary }

// newProblemsError returns the error of a control plane with problems.
func newProblemsError(list problem.List) *problemsError {
	return &problemsError{"the control plane has " + display.CountProblems(list.Count()), list}
}

// settingsError means that the settings have problems.
type settingsError struct{ problemsError }

// withHint adds a hint to an error.
func withHint(err error, hint string) error { return &hintedError{err, hint} }

// hintedError is an error with a hint.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// Hint returns the hint; errors of other packages have such a method too.
func (e *hintedError) Hint() string { return e.hint }

// exitCode returns the exit code for an error; nothing else decides it.
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
		return exitDifferences
	case errors.As(err, &problems):
		return exitProblems
	case errors.As(err, &usage), errors.As(err, &query):
		return exitUsage
	}
	return exitFailed
}

// reportError prints an error with its problems and its hint.
func (a *app) reportError(err error) {
	if err == nil || errors.Is(err, errDiffers) {
		return
	}
	var problems *problemsError
	var settings *settingsError
	switch {
	case errors.As(err, &settings):
		fmt.Fprint(a.stderr, display.FormatProblems(settings.list, a.stderr))
	case errors.As(err, &problems):
		fmt.Fprint(a.stderr, display.FormatProblems(problems.list, a.stderr))
	}
	for line := range strings.Lines(err.Error()) { // one for each of several that were joined
		fmt.Fprintf(a.stderr, "fairlead: %s%s\n", a.stderr.Paint(display.Red, "error: "), display.SanitizeLine(strings.TrimRight(line, "\n")))
	}
	if hint := findHint(err); hint != "" {
		fmt.Fprintf(a.stderr, "fairlead: hint: %s\n", display.SanitizeLine(hint))
	}
}

func findHint(err error) string {
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
