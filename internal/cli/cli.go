// Package cli runs the commands of the program: it parses the command line, calls the pure
// packages, and prints their results.
//
// What the package keeps true: every command is one file and one line in the list of
// [commands]; colour appears only on a terminal; what render writes appears as a whole or
// not at all. Package command holds what all commands share, and package operate the
// commands about promotion.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/cli/audit"
	"github.com/fairlead-io/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/cli/operate"
)

// commands lists the constructors of all commands.
var commands = []func(*command.App) *cobra.Command{
	newRender,
	newCheck,
	newDiff,
	newExplain,
	audit.NewVerify,
	newServe,
	newDoctor,
	newPR,
	newInit,
	newDemo,
	newSchema,
	newVersion,
}

// Main runs the program and returns its exit code. When ctx ends, the command stops and
// writes nothing more.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &command.App{Out: display.NewStream(stdout), Err: display.NewStream(stderr), Format: "text", Version: readBuildInfo().Version}
	root := newRoot(a)
	root.SetArgs(operate.ReplaceArrows(args))
	err := panics.Barrier{Report: func(_, _ string, e *panics.Error) {
		fmt.Fprintf(a.Err, "fairlead: panic %s: %s\n%s", e.ID, e.Kind, e.Stack)
	}}.Run("", "", func() error { return root.ExecuteContext(ctx) })
	if err != nil && ctx.Err() != nil {
		err = command.ErrInterrupted
	}
	a.ReportError(err)
	return command.ExitCode(err)
}

func newRoot(a *command.App) *cobra.Command {
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
  fairlead explain -e dev large/checkout-api  why it is there, with which values
  fairlead status                             how far commits have got
  fairlead explain promotion stage            why stage has not got more`,
		Version:       a.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          command.CheckSubcommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.Flags().Bool("version", false, "print the version") // cobra's own would take -v
	root.PersistentFlags().BoolVarP(&a.Verbose, "verbose", "v", false, "say more")
	root.SetFlagErrorFunc(command.NewFlagError)
	root.AddGroup(
		&cobra.Group{ID: command.GroupMain, Title: "A control plane, and what comes of it:"},
		&cobra.Group{ID: command.GroupPromotion, Title: "Promotion, from environment to environment:"},
		&cobra.Group{ID: command.GroupDaemon, Title: "The daemon, and its pull requests:"},
	)
	for _, newCommand := range slices.Concat(commands, operate.Commands) {
		root.AddCommand(newCommand(a))
	}
	strictHelp(root)
	return root
}

// strictHelp makes cobra's own commands, help and completion, check their arguments as
// ours do.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				of, rest, err := root.Find(args)
				return errors.Join(err, command.CheckSubcommand(of, rest))
			}
		case "completion":
			c.Args, c.RunE = command.CheckSubcommand, func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = command.CheckArguments(0, 0)
			}
		}
	}
}
