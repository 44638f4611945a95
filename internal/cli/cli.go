// Package cli is the command line: it reads what is to be rendered, calls the pure
// packages, and prints what they say.
//
// What the package keeps true: every command is one file and one line in the list
// of [commands]; results go to standard output and everything else to standard
// error; colour only on a terminal; an error is said once, as "fairlead: error: …"
// and "fairlead: hint: …"; what render writes appears as a whole or not at all; and
// [exitCode] is the one place that turns an error into an exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/display"
	"github.com/fairlead-io/fairlead/internal/problem"
)

// app is what the commands share.
type app struct {
	out, err *display.Stream
	format   string // of --output
	verbose  bool
}

// commands lists the constructors of all commands.
var commands = []func(*app) *cobra.Command{
	newRender,
	newCheck,
	newDiff,
	newExplain,
	newServe,
	newDoctor,
	newPR,
	newInit,
	newDemo,
	newSchema,
	newVersion,
}

// Main runs the program and gives its exit code. When ctx ends, what is under way
// is given up, and nothing is written.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{out: display.NewStream(stdout), err: display.NewStream(stderr), format: "text"}
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	a.report(err)
	return exitCode(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "From a control plane to every cluster of a fleet",
		Long: `Fairlead reads a control plane (environments, cluster types, scheduling policies,
workloads, configs, templates), decides what runs where, and renders the tree that
the GitOps repository of each environment should hold.

In a clone of the control plane no flags are needed: what is committed counts, and
nothing is checked out.

Exit codes: 0 fine, 1 an operation failed, 2 called wrongly, 3 the control plane has
problems, 4 diff found differences. NO_COLOR switches colours off.`,
		Example: `  fairlead check                              what is wrong, in all environments
  fairlead render -e dev -o out               the files of one environment
  fairlead diff main my-change                what merging my-change would do
  fairlead explain -e dev large/checkout-api  why it is there, with which values`,
		Version:       version().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subcommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.Flags().Bool("version", false, "print the version") // cobra's own would take -v
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say more")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: groupMain, Title: "A control plane, and what comes of it:"}, &cobra.Group{ID: groupDaemon, Title: "The daemon, and its pull requests:"})
	for _, newCommand := range commands {
		root.AddCommand(newCommand(a))
	}
	strictHelp(root)
	return root
}

// The groups of commands: those that look at a control plane, and those that have to
// do with the daemon.
const (
	groupMain   = "main"
	groupDaemon = "daemon"
)

// strictHelp makes cobra's own commands, help and completion, as strict about
// their arguments as ours.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				of, rest, err := root.Find(args)
				return errors.Join(err, subcommand(of, rest))
			}
		case "completion":
			c.Args, c.RunE = subcommand, func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = arguments(0, 0)
			}
		}
	}
}

// subcommand checks the arguments of a command that has only commands.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := c.CommandPath() + " --help lists what there is"
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", c.CommandPath()+" "+near[0])
	}
	return usagef(hint, "%s has no command %q", c.CommandPath(), args[0])
}

// arguments checks the number of arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		hint := fmt.Sprintf("call it as %q; %s --help says more", c.UseLine(), c.CommandPath())
		switch n := len(args); {
		case n > most && most == 0:
			return usagef(hint, "%s takes no arguments, and there is %q", c.CommandPath(), args[0])
		case n > most:
			return usagef(hint, "%s takes %s, and there are %d", c.CommandPath(), display.Plural(most, "argument"), n)
		case n < least:
			return usagef(hint, "%s needs %s, and there is %s", c.CommandPath(), display.Plural(least, "argument"), orNone(n))
		}
		return nil
	}
}

func orNone(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("only %d", n)
}

// flagError makes a usage error of a flag that cannot be read.
func flagError(c *cobra.Command, err error) error {
	var usage *usageError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &usage): // what one of our own flags says
		return usage
	case !c.HasParent() && c.Flags().NArg() > 0: // the flag may well be one of the command that was meant
		return subcommand(c, c.Flags().Args())
	}
	hint := c.CommandPath() + " --help lists the flags"
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := problem.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return &usageError{errors.New(strings.TrimSpace(err.Error())), hint}
}
