package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/display"
	"github.com/fairlead-io/fairlead/internal/problem"
)

// addOutput gives a command the flag --output. All commands know text, json and
// yaml.
func (a *app) addOutput(c *cobra.Command, more ...string) {
	known := append([]string{"text", "json", "yaml"}, more...)
	c.Flags().Var(&choice{&a.format, known}, "output", "`format` of what is printed: "+display.Enumerate(known, "or"))
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
		return usagef(problem.DidYouMean(word, c.known), "--output %s: the formats are %s", word, display.Enumerate(c.known, "and"))
	}
	*c.value = word
	return nil
}

// print writes a value as the user asked for; text is how it reads for people.
func (a *app) print(value any, text func() string) error {
	var data []byte
	var err error
	switch a.format {
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
	_, err = a.out.Write(data)
	return err
}
