// Package cli is the command line: it reads what is to be rendered, calls the pure
// packages, and prints what they say.
//
// What the package keeps true: every command is one file and one line in the list
// of [commands]; results go to standard output and everything else to standard
// error; colour only on a terminal; an error is said once, as "fairlead: error: …"
// and "fairlead: hint: …"; and [exitCode] is the one place that turns an error into
// an exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fairlead-io/fairlead/internal/explain"
	"github.com/fairlead-io/fairlead/internal/problem"
)

// The exit codes, the same for all commands.
const (
	exitOK       = 0
	exitFailed   = 1 // an operation failed
	exitUsage    = 2 // the command was called wrongly
	exitProblems = 3 // the control plane has problems
	exitDiffers  = 4 // diff found differences
)

// app is what the commands share.
type app struct {
	out, err io.Writer
	colour   bool
	format   string // of --output
	verbose  bool
}

// commands lists the constructors of all commands.
var commands = []func(*app) *cobra.Command{
	newRender,
	newCheck,
	newDiff,
	newExplain,
	newSchema,
	newVersion,
}

// Main runs the program and gives its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{out: stdout, err: stderr, colour: isTerminal(stdout) && os.Getenv("NO_COLOR") == ""}
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.report(err)
	return exitCode(err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "From a control plane to every cluster of a fleet",
		Long: `Fairlead reads a control plane (environments, cluster types, scheduling policies,
workloads, configs, templates), decides what runs where, and renders the tree that
the GitOps repository of each environment should hold.

Exit codes: 0 fine, 1 an operation failed, 2 wrong usage, 3 the control plane has
problems, 4 diff found differences.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.format, "output", "text", "format of what is printed: text, json or yaml")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say more")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usageError{err, "fairlead " + strings.TrimPrefix(c.CommandPath(), "fairlead ") + " --help lists the flags"}
	})
	for _, newCommand := range commands {
		root.AddCommand(newCommand(a))
	}
	return root
}

// usageError is a call that cannot be understood.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(hint, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// usageArgs makes the mistakes that an argument check finds usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return &usageError{err, c.CommandPath() + " --help says how to call it"}
		}
		return nil
	}
}

// problemsError says that problems stop an environment. list has those that have
// not been printed yet.
type problemsError struct {
	summary string
	list    problem.List
}

func (e *problemsError) Error() string {
	if e.summary == "" {
		return "the control plane has " + counted(e.list)
	}
	return e.summary
}

// errDiffers says that diff found differences. It is not an error to people.
var errDiffers = errors.New("there are differences")

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

func exitCode(err error) int {
	var usage *usageError
	var problems *problemsError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDiffers):
		return exitDiffers
	case errors.As(err, &problems):
		return exitProblems
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command "):
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
	if errors.As(err, &problems) {
		fmt.Fprint(a.err, a.problemText(problems.list))
	}
	summary, rest, _ := strings.Cut(err.Error(), "\n")
	fmt.Fprintf(a.err, "fairlead: error: %s\n", summary)
	hint := strings.Join(strings.Fields(rest), " ")
	var usage *usageError
	var query *explain.QueryError
	var h *hinted
	switch {
	case errors.As(err, &usage):
		hint = usage.hint
	case errors.As(err, &query):
		hint = query.Hint
	case errors.As(err, &h):
		hint = h.hint
	}
	if hint != "" {
		fmt.Fprintf(a.err, "fairlead: hint: %s\n", hint)
	}
}

// formats of --output that all commands know.
var formats = []string{"text", "json", "yaml"}
