package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/problem"
)

// addOutput gives a command the flag --output. All commands know text, json and
// yaml.
func (a *app) addOutput(c *cobra.Command, more ...string) {
	known := append([]string{"text", "json", "yaml"}, more...)
	c.Flags().Var(&choice{&a.format, known}, "output", "`format` of what is printed: "+enumerate(known, "or"))
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
		return usagef(problem.DidYouMean(word, c.known), "--output %s: the formats are %s", word, enumerate(c.known, "and"))
	}
	*c.value = word
	return nil
}

// enumerate writes "a, b or c".
func enumerate(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// print writes a value as the user asked for; text is how it reads for people.
func (a *app) print(value any, text func() string) error {
	var data []byte
	var err error
	switch a.format {
	case "json":
		data, err = asJSON(value)
	case "yaml":
		data, err = asYAML(value)
	default:
		data = []byte(text())
	}
	if err != nil {
		return err
	}
	_, err = a.out.Write(data)
	return err
}

func asJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// asYAML writes the YAML that says the same as the value's JSON, in the same
// order: types have `json` tags only.
func asYAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, err
	}
	plain(&node)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&node); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// plain takes the flow style and the quotes off that JSON has.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

// problemText writes problems for people: the place, the object and the sentence
// in one line, and the hint below. Problems in a row that have the same hint share
// it.
func problemText(list problem.List, to *stream) string {
	var b strings.Builder
	for i, p := range list {
		word := to.paint(red, "error: ")
		if p.Warning {
			word = to.paint(yellow, "warning: ")
		}
		fmt.Fprintf(&b, "%s%s\n", word, visible(p.String()))
		if p.Hint != "" && (i == len(list)-1 || list[i+1].Hint != p.Hint) {
			b.WriteString(to.paint(dim, "  hint: "+visible(p.Hint)) + "\n")
		}
	}
	return b.String()
}

// counted says how many problems and warnings there are: "3 problems and 1 warning".
func counted(problems, warnings int) string {
	switch {
	case problems == 0 && warnings == 0:
		return "no problems"
	case warnings == 0:
		return plural(problems, "problem")
	case problems == 0:
		return plural(warnings, "warning")
	}
	return plural(problems, "problem") + " and " + plural(warnings, "warning")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
