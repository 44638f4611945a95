package stack

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

const teardownField = "teardown"

// Teardown is the file of a stack that is torn down, which is not written yet.
type Teardown struct {
	File string
	Text []byte // nil if it says so already
	// Notes are sentences about what is not destroyed, without full stops.
	Notes []string
}

// TearDown returns the file of a stack, "team/environment", with teardown: true. All other text stays.
func TearDown(m *model.Model, name string) (Teardown, error) {
	stacks, _ := Resolve(m) // its problems stop rendering, and are found there
	c := &cloner{model: m, into: m, copy: Copy{Files: map[string][]byte{}}}
	for _, s := range stacks {
		if s.Path() == name {
			c.from = s
		}
	}
	names := list.Convert(stacks, func(s *Stack) string { return s.Path() })
	switch {
	case c.from == nil:
		return Teardown{}, problem.Refusef(cmp.Or(problem.DidYouMean(name, names), "fairlead stack list lists the stacks"), "there is no stack %s in %s", name, m.Environment)
	case c.from.Pos.Layer != m.Environment || c.from.Pos.Line == 0:
		return Teardown{}, problem.Refusef("write teardown: true where it is", "the stack %s is not written in a file of the branch of %s", name, m.Environment)
	}
	t := Teardown{File: c.from.Pos.File}
	for _, component := range c.from.Components {
		if component.Protected {
			t.Notes = append(t.Notes, fmt.Sprintf("%s is protected, and is not destroyed", component.Name))
		}
	}
	if c.from.Teardown {
		return t, nil
	}
	c.layer = m.Stacks.Layers[c.from.Pos.Layer]
	c.target = c.layer
	e, _ := c.layer.Files.Lookup(inLayer(c.layer, t.File))
	err := c.findDocument(e.Data)
	if err != nil {
		return t, err
	}
	t.Text, err = setTeardown(e.Data, yamldoc.FindValue(yamldoc.RootOf(c.document), "spec"))
	if err != nil {
		return t, problem.Refusef("write teardown: true into its spec by hand", "%s: %v", t.File, err)
	}
	c.copy.Files[t.File] = t.Text
	return t, c.check("the stack")
}

// setTeardown returns a text with teardown: true in a mapping of it: in the place of the value that is there, or
// on a line of its own before the first key.
func setTeardown(text []byte, spec *yaml.Node) ([]byte, error) {
	if spec == nil || spec.Kind != yaml.MappingNode || len(spec.Content) == 0 || spec.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("the spec is not written line by line")
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	_, value := yamldoc.FindPair(spec, teardownField)
	if value != nil {
		old := lines[value.Line-1]
		at := value.Column - 1
		if value.Kind != yaml.ScalarNode || value.Style != 0 || at > len(old) || !bytes.HasPrefix(old[at:], []byte(value.Value)) {
			return nil, fmt.Errorf("the value of teardown is not a plain one")
		}
		lines[value.Line-1] = append(append(bytes.Clone(old[:at]), "true"...), old[at+len(value.Value):]...)
		return bytes.Join(lines, nil), nil
	}
	first := spec.Content[0]
	indent := lines[first.Line-1][:first.Column-1]
	if strings.TrimSpace(string(indent)) != "" {
		return nil, fmt.Errorf("the first field of the spec is not on a line of its own")
	}
	end := "\n"
	if bytes.HasSuffix(lines[first.Line-1], []byte("\r\n")) {
		end = "\r\n"
	}
	lines[first.Line-1] = append([]byte(string(indent)+teardownField+": true"+end), lines[first.Line-1]...)
	return bytes.Join(lines, nil), nil
}
