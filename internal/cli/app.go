package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type app struct {
	stdout, stderr *display.Stream
	format         string // of --output: one of outputFormats, or a command's own
	verbose        bool
	version        string
	name           string // by which it was called: programName, or fluxName; "" is programName
	credentials    credentialReader
	dryRun         bool
	rehearsal      *rehearsal // of a command with --dry-run
	hasNoMap       bool       // the command lacks --map
}

const (
	groupMain      = "main"
	groupPromotion = "promotion"
	groupDaemon    = "daemon"
)

var outputFormats = []string{"text", "wide", "json", "yaml", "name"}

func (a *app) addOutputFlag(c *cobra.Command, more ...string) {
	known := slices.Concat(outputFormats, more)
	shorthand := "o"
	if c.Flags().ShorthandLookup(shorthand) != nil { // render uses it for the path
		shorthand = ""
	}
	c.Flags().VarP(&choice{&a.format, known}, "output", shorthand, "`format` of what is printed: "+text.Join(known, " or "))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) addTableFlag(c *cobra.Command) { a.addOutputFlag(c, "csv") }

type choice struct {
	value *string
	known []string
}

func (c *choice) String() string { return *c.value }

func (c *choice) Type() string { return "format" }

func (c *choice) Set(word string) error {
	if !slices.Contains(c.known, word) {
		return usageErrorf(problem.DidYouMean(word, c.known), "--output %s: the formats are %s", word, text.Join(c.known, " and "))
	}
	*c.value = word
	return nil
}

func (a *app) isText() bool { return a.format == "text" || a.format == "wide" }

// printValue writes a value in the format of --output. names are object names as other
// commands take them; text returns human-readable text. With --dry-run it writes the
// rehearsal.
func (a *app) printValue(value any, names []string, text func() string) error {
	if a.dryRun {
		says := text
		a.rehearsal.Result, text = value, func() string { return a.rehearsal.reportText(says()) }
		value = a.rehearsal
	}
	return a.encodeValue(value, names, text)
}

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
