// Package cli runs the commands of the program: it parses the command line, calls the pure
// packages, and prints their results.
//
// What the package keeps true: every command is one file and one line in the list of
// [commands]; results go to standard output and everything else to standard error; an error
// is printed once, as "fairlead: error: …" and "fairlead: hint: …", and [exitCode] alone
// turns it into an exit code; colour appears only on a terminal; what render writes appears
// as a whole or not at all. Commands about promotion write only through package actions, in
// the name of the person who runs them; the state of stages is what the daemon's loop finds,
// run here or in a daemon, and showing it changes nothing.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

var commands = []func(*app) *cobra.Command{
	newRender,
	newCheck,
	newDiff,
	newExplain,
	newGet,
	newCreate,
	newSet,
	newDelete,
	newSchedule,
	newStack,
	newVerify,
	newStatus,
	newHistory,
	newSimulate,
	newWait,
	newPromote,
	newVersions,
	newApprove,
	newApprovePlan,
	newHold,
	newRelease,
	newRollback,
	newWaves,
	newFreeze,
	newEphemeral,
	newFleet,
	newCluster,
	newInstall,
	newPlugin,
	newServe,
	newDoctor,
	newTrigger,
	newOpen,
	newPR,
	newInit,
	newDemo,
	newSchema,
	newVersion,
}

// Main runs the program and returns its exit code. When ctx ends, the command stops and
// writes nothing more.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return runAs(ctx, programName, args, stdout, stderr)
}

// runAs is Main for a program that was called by a name, which the help has.
func runAs(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	a := &app{stdout: display.NewStream(stdout), stderr: display.NewStream(stderr), format: "text", version: readBuildInfo().Version, name: name}
	root := newRoot(a)
	root.SetArgs(replaceArrows(args))
	err := panics.Barrier{Report: func(_, _ string, e *panics.Error) {
		fmt.Fprintf(a.stderr, "fairlead: panic %s: %s\n%s", e.ID, e.Kind, e.Stack)
	}}.Run("", "", func() error {
		c, err := root.ExecuteContextC(ctx)
		a.hasNoMap = c.Flags().Lookup("map") == nil
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	a.reportError(err)
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
  fairlead explain -e dev large/checkout-api  why it is there, with which values
  fairlead status                             how far commits have got
  fairlead explain promotion stage            why stage has not got more`,
		Version:       a.version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: cmp.Or(a.name, programName)},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          checkSubcommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.stderr.NoProgress = !a.isText()
			return checkLocations(c)
		},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.Flags().Bool("version", false, "print the version") // cobra's own would take -v
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "verbose output")
	root.SetFlagErrorFunc(newFlagError)
	root.AddGroup(
		&cobra.Group{ID: groupMain, Title: "A control plane, and what comes of it:"},
		&cobra.Group{ID: groupPromotion, Title: "Promotion, from environment to environment:"},
		&cobra.Group{ID: groupDaemon, Title: "The daemon, and its pull requests:"},
	)
	for _, newCommand := range commands {
		root.AddCommand(newCommand(a))
	}
	disableFileCompletion(root)
	strictHelp(root)
	return root
}

// disableFileCompletion makes the shell complete no file names for the arguments of commands
// that do not complete them otherwise.
func disableFileCompletion(c *cobra.Command) {
	for _, sub := range c.Commands() {
		disableFileCompletion(sub)
	}
	if c.ValidArgsFunction == nil && c.ValidArgs == nil && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
}

func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
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
				return errors.Join(err, checkSubcommand(of, rest))
			}
		case "completion":
			c.Args, c.RunE = checkSubcommand, func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = checkArguments(0, 0)
			}
		}
	}
}
