package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/problem"
)

// checkFormat reports a value of --output that the command does not know.
func (a *app) checkFormat(more ...string) error {
	known := append(slices.Clone(formats), more...)
	if slices.Contains(known, a.format) {
		return nil
	}
	return usagef(problem.DidYouMean(a.format, known), "--output %s: the formats are %s", a.format, strings.Join(known, ", "))
}

// print writes a value as the user asked for; text is how it reads for people.
func (a *app) print(value any, text func() string) error {
	var data []byte
	var err error
	switch a.format {
	case "json":
		data, err = marshalJSON(value)
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

func marshalJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// asYAML writes the YAML that says the same as the value's JSON: types have `json`
// tags only.
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
	return yaml.Marshal(&node)
}

// plain takes the flow style and the quotes off that JSON has.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

func (a *app) paint(colour, text string) string {
	if !a.colour {
		return text
	}
	return colour + text + reset
}

// problemText writes problems for people: the place, the object and the sentence
// in one line, and the hint below.
func (a *app) problemText(list problem.List) string {
	var b strings.Builder
	for _, p := range list {
		word := a.paint(red, "error: ")
		if p.Warning {
			word = a.paint(yellow, "warning: ")
		}
		place := p.Pos.String()
		if place != "" {
			place += ": "
		}
		if p.Subject != "" {
			place += p.Subject + ": "
		}
		fmt.Fprintf(&b, "%s%s%s\n", word, place, p.Summary)
		if p.Hint != "" {
			b.WriteString(a.paint(dim, "  hint: "+p.Hint) + "\n")
		}
	}
	return b.String()
}

// counted says how many problems and warnings there are: "3 problems and 1 warning".
func counted(list problem.List) string {
	problems, warnings := list.Count()
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
