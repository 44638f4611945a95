package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// app is the state of one run of the program.
type app struct {
	stdout, stderr *display.Stream
	format         string // of --output: one of outputFormats, or what the command has besides
	verbose        bool
	version        string // of the program
	credentials    credentialReader
	dryRun         bool
	rehearsal      *rehearsal // of a command with --dry-run
	hasNoMap       bool       // the command has no flag --map
}

// The groups of commands in the help: about a control plane, about promotion, and about the
// daemon.
const (
	groupMain      = "main"
	groupPromotion = "promotion"
	groupDaemon    = "daemon"
)

// outputFormats are the formats of every command that prints objects.
var outputFormats = []string{"text", "wide", "json", "yaml", "name"}

// addOutputFlag adds the flag --output to a command: the formats of all, and those in more.
func (a *app) addOutputFlag(c *cobra.Command, more ...string) {
	known := slices.Concat(outputFormats, more)
	shorthand := "o"
	if c.Flags().ShorthandLookup(shorthand) != nil { // that of render is where it writes
		shorthand = ""
	}
	c.Flags().VarP(&choice{&a.format, known}, "output", shorthand, "`format` of what is printed: "+text.Join(known, " or "))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// addTableFlag adds the flag --output to a command that prints one table.
func (a *app) addTableFlag(c *cobra.Command) { a.addOutputFlag(c, "csv") }

// choice is a flag whose value is one of a few words.
type choice struct {
	value *string
	known []string
}

// String returns the value.
func (c *choice) String() string { return *c.value }

// Type returns the word for the value in the help.
func (c *choice) Type() string { return "format" }

// Set sets the value; an unknown word is an error.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.known, word) {
		return usageErrorf(problem.DidYouMean(word, c.known), "--output %s: the formats are %s", word, text.Join(c.known, " and "))
	}
	*c.value = word
	return nil
}

// isText reports whether the format of --output is for people.
func (a *app) isText() bool { return a.format == "text" || a.format == "wide" }

// printValue writes a value to standard output in the format of --output: names are those of the
// objects in it, as other commands take them, and text returns it for people. With --dry-run that is
// what the command would do.
func (a *app) printValue(value any, names []string, text func() string) error {
	if a.dryRun {
		says := text
		a.rehearsal.Result, text = value, func() string { return a.rehearsal.reportText(says()) }
		value = a.rehearsal
	}
	return a.encodeValue(value, names, text)
}

// encodeValue writes a value in the format of --output.
func (a *app) encodeValue(value any, names []string, text func() string) error {
	var data []byte
	var err error
	switch a.format {
	case "name":
		for _, name := range names {
			data = append(data, display.SanitizeLine(name)+"\n"...)
		}
	case "json":
		data, err = display.EncodeJSON(value)
	case "yaml":
		data, err = display.EncodeYAML(value)
	default:
		data = []byte(text())
	}
	if err == nil {
		_, err = a.stdout.Write(data)
	}
	return err
}
