package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/display"
)

// checkSubcommand checks the arguments of a command that only has subcommands.
func checkSubcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := c.CommandPath() + " --help lists what there is"
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", c.CommandPath()+" "+near[0])
	}
	return usageErrorf(hint, "%s has no command %q", c.CommandPath(), args[0])
}

// checkArguments checks the number of arguments.
func checkArguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		hint := fmt.Sprintf("call it as %q; %s --help says more", c.UseLine(), c.CommandPath())
		switch n := len(args); {
		case n > most && most == 0:
			return usageErrorf(hint, "%s takes no arguments, and there is %q", c.CommandPath(), args[0])
		case n > most:
			return usageErrorf(hint, "%s takes %s, and there are %d", c.CommandPath(), display.Plural(most, "argument"), n)
		case n < least:
			return usageErrorf(hint, "%s needs %s, and there is %s", c.CommandPath(), display.Plural(least, "argument"), countOrNone(n))
		}
		return nil
	}
}

func countOrNone(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("only %d", n)
}

// newFlagError returns the usage error of a flag that cannot be parsed.
func newFlagError(c *cobra.Command, err error) error {
	var usage *usageError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &usage): // of one of our own flags
		return usage
	case !c.HasParent() && c.Flags().NArg() > 0: // the flag may belong to the command that was meant
		return checkSubcommand(c, c.Flags().Args())
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
