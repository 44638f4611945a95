package command

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
	ExitOK          = 0
	ExitFailed      = 1 // an operation failed
	ExitUsage       = 2 // the command was called wrongly, or names what does not exist
	ExitProblems    = 3 // the control plane has problems
	ExitDifferences = 4 // diff found differences
)

var (
	// ErrDiffers means that there are differences. It sets the exit code and is not printed.
	ErrDiffers = errors.New("there are differences")
	// ErrInterrupted means that a signal stopped the program.
	ErrInterrupted = errors.New("interrupted")
)

// usageError is the error of a command that was called wrongly.
type usageError struct {
	error
	hint string
}

func (e *usageError) Unwrap() error { return e.error }

// Usagef returns the error of a command that was called wrongly.
func Usagef(hint, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// ProblemsError means that problems stop an environment. List has those that have not been
// printed yet.
type ProblemsError struct {
	Summary string
	List    problem.List
}

// Error returns the summary.
func (e *ProblemsError) Error() string { return e.Summary }

// NewProblemsError returns the error of a control plane with problems.
func NewProblemsError(list problem.List) *ProblemsError {
	return &ProblemsError{"the control plane has " + display.CountProblems(list.Count()), list}
}

// SettingsError means that the settings have problems.
type SettingsError struct{ ProblemsError }

// WithHint adds a hint to an error.
func WithHint(err error, hint string) error { return &hintedError{err, hint} }

// hintedError is an error with a hint.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// Hint returns the hint; errors of other packages have such a method too.
func (e *hintedError) Hint() string { return e.hint }

// ExitCode returns the exit code for an error; nothing else decides it.
func ExitCode(err error) int {
	var usage *usageError
	var query *explain.QueryError
	var problems *ProblemsError
	var settings *SettingsError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &settings):
		return ExitUsage
	case errors.Is(err, ErrDiffers):
		return ExitDifferences
	case errors.As(err, &problems):
		return ExitProblems
	case errors.As(err, &usage), errors.As(err, &query):
		return ExitUsage
	}
	return ExitFailed
}

// ReportError prints an error with its problems and its hint.
func (a *App) ReportError(err error) {
	if err == nil || errors.Is(err, ErrDiffers) {
		return
	}
	var problems *ProblemsError
	var settings *SettingsError
	switch {
	case errors.As(err, &settings):
		fmt.Fprint(a.Err, display.FormatProblems(settings.List, a.Err))
	case errors.As(err, &problems):
		fmt.Fprint(a.Err, display.FormatProblems(problems.List, a.Err))
	}
	for line := range strings.Lines(err.Error()) { // one for each of several that were joined
		fmt.Fprintf(a.Err, "fairlead: %s%s\n", a.Err.Paint(display.Red, "error: "), display.SanitizeLine(strings.TrimRight(line, "\n")))
	}
	if hint := findHint(err); hint != "" {
		fmt.Fprintf(a.Err, "fairlead: hint: %s\n", display.SanitizeLine(hint))
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
