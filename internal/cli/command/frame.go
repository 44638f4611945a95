// Package command is what all commands share: where they print, in which format, which
// errors they end with, and how their arguments are checked.
//
// What the package keeps true: results go to standard output and everything else to
// standard error; an error is said once, as "fairlead: error: …" and "fairlead: hint:
// …"; [ExitCode] is the one place that turns an error into an exit code.
package command

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/display"
)

// App is what a run of the program has for its command.
type App struct {
	Out, Err *display.Stream
	Format   string // of --output: "text", "json", "yaml", or what the command has besides
	Verbose  bool
	Version  string // of the program
}

// The groups of commands: those that look at a control plane, those that have to do
// with promotion, and those that have to do with the daemon.
const (
	GroupMain      = "main"
	GroupPromotion = "promotion"
	GroupDaemon    = "daemon"
)

// AddOutput gives a command the flag --output. All commands know text, json and yaml.
func (a *App) AddOutput(c *cobra.Command, more ...string) {
	known := append([]string{"text", "json", "yaml"}, more...)
	c.Flags().Var(&choice{&a.Format, known}, "output", "`format` of what is printed: "+display.Enumerate(known, "or"))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	known []string
}

// String gives the value; it is part of pflag.Value, as are the others.
func (c *choice) String() string { return *c.value }

// Type names what the flag takes.
func (c *choice) Type() string { return "format" }

// Set takes a word that is known.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.known, word) {
		return Usagef(problem.DidYouMean(word, c.known), "--output %s: the formats are %s", word, display.Enumerate(c.known, "and"))
	}
	*c.value = word
	return nil
}

// Print writes a value as the user asked for; text is how it reads for people.
func (a *App) Print(value any, text func() string) error {
	var data []byte
	var err error
	switch a.Format {
	case "json":
		data, err = display.JSON(value)
	case "yaml":
		data, err = display.YAML(value)
	default:
		data = []byte(text())
	}
	if err != nil {
		return err
	}
	_, err = a.Out.Write(data)
	return err
}
