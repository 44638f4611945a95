package stack

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Variable is an input of a component: a text, or an output of a component that it needs.
type Variable struct {
	Name  string
	Line  int
	Value string
	From  *OutputRef // nil if Value counts
}

// OutputRef is an output of a component, or an item of it.
type OutputRef struct {
	Stack     string // the name of another stack, or of a blueprint for its active stack; "" for the own stack
	Component string
	Output    string
	Index     string // as "[0][1]"; "" for all of it
	Line      int
	Of        *Component `json:"-"` // of another stack; nil if it is not known
}

// locals are the texts that ${zlocals.name} stands for.
type locals map[string]string

func (r *resolver) readLocals(s *Stack) locals {
	written := map[string]bool{}
	for _, l := range s.Zlocals {
		if written[l.Name.Text] {
			r.addf(s, l.Name.Line, "remove one of them", "there are two zlocals named %s", l.Name.Text)
		}
		written[l.Name.Text] = true
		if strings.ContainsAny(l.Name.Text, "0_-") {
			r.warnf(s, l.Name.Line, "", "CloudKnit leaves ${zlocals.%s} as it is written, because of its name: Fairlead expands it", l.Name.Text)
		}
	}
	all, wrong := s.locals()
	for _, l := range wrong {
		line, name := l.in.Name.Line, l.in.Name.Text
		switch {
		case l.name == name:
			r.addf(s, line, "write its text", "the zlocal %s refers to itself", name)
		case l.name == "":
			r.addf(s, line, "write less into it", "the zlocal %s is longer than %d KiB after the zlocals in it are expanded", name, maxLocal>>10)
		case !written[l.name]:
			r.unknownLocal(s, line, l.name)
		default:
			r.addf(s, line, "move "+name+" below it", "the zlocal %s refers to %s, which is not written above it", name, l.name)
		}
	}
	return all
}

// wrongLocal is a name in the value of a zlocal that no zlocal above it has; "" if the value is too long.
type wrongLocal struct {
	in   model.StackLocal
	name string
}

// maxLocal bounds the bytes of a zlocal that refers to others: each may double the one above it.
const maxLocal = 64 << 10

// locals returns the texts of the zlocals. A value may refer to the zlocals above it, so that no circle exists.
func (s *Stack) locals() (all locals, wrong []wrongLocal) {
	all = locals{}
	for _, l := range s.Zlocals {
		refs, size := localRef.FindAllStringSubmatch(l.Value, -1), len(l.Value)
		for _, ref := range refs {
			size += len(all[ref[2]])
		}
		if len(refs) > 0 && size > maxLocal {
			all[l.Name.Text] = l.Value
			wrong = append(wrong, wrongLocal{in: l})
			continue
		}
		all[l.Name.Text] = all.expand(l.Value, func(name string) { wrong = append(wrong, wrongLocal{l, name}) })
	}
	return all, wrong
}

var (
	localRef = regexp.MustCompile(`(\$?)\$\{zlocals\.([^}]*)\}`)
	// bareRef is one name in braces. CloudKnit refuses it, and it means nothing to Terraform.
	bareRef = regexp.MustCompile(`(\$?)\$\{([a-zA-Z1-9]*)\}`)
)

// expand replaces the zlocals in a text, and calls report for each that is unknown. One behind an
// escape ($${) is left alone.
func (l locals) expand(text string, report func(name string)) string {
	return localRef.ReplaceAllStringFunc(text, func(ref string) string {
		found := localRef.FindStringSubmatch(ref)
		value, known := l[found[2]]
		switch {
		case found[1] != "":
			return ref
		case !known:
			report(found[2])
			return ref
		}
		return value
	})
}

// ExpandFile returns a file of variables in which zlocals are replaced. It reports unknown ones with
// the line of the file on which they stand.
func (s *Stack) ExpandFile(content string, report func(line int, name string)) string {
	all, _ := s.locals()
	var b strings.Builder
	line := 0
	for text := range strings.Lines(content) {
		line++
		b.WriteString(all.expand(text, func(name string) { report(line, "zlocals."+name) }))
		for _, ref := range bareRef.FindAllStringSubmatch(text, -1) {
			if ref[1] == "" {
				report(line, ref[2])
			}
		}
	}
	return b.String()
}

func (r *resolver) unknownLocal(s *Stack, line int, name string) {
	var known []string
	for _, l := range s.Zlocals {
		known = append(known, l.Name.Text)
	}
	r.addf(s, line, cmp.Or(problem.DidYouMean(name, known), "write it in spec.zlocals"), "there is no zlocal named %s", name)
}

func (r *resolver) readVariables(c *Component, all locals) []Variable {
	s, seen := c.Stack, map[string]int{}
	out := make([]Variable, 0, len(c.StackComponent.Variables))
	for _, v := range c.StackComponent.Variables {
		name := v.Name
		name.Text = all.expand(name.Text, func(local string) { r.unknownLocal(s, name.Line, local) })
		if first, twice := seen[name.Text]; twice {
			r.addf(s, name.Line, "remove one of them", "component %s has the variable %s twice, the first time at line %d", c.Name, name.Text, first)
			continue
		}
		seen[name.Text] = name.Line
		variable := Variable{Name: name.Text, Line: name.Line}
		switch {
		case v.ValueFrom != nil:
			if v.Value != nil {
				r.warnf(s, name.Line, "remove one of them", "component %s: the variable %s has a value and a valueFrom; valueFrom counts", c.Name, name.Text)
			}
			variable.From = r.parseOutputRef(c, *v.ValueFrom)
		case v.Value != nil:
			variable.Value = all.expand(v.Value.Text, func(local string) { r.unknownLocal(s, v.Value.Line, local) })
			for _, ref := range bareRef.FindAllStringSubmatch(variable.Value, -1) {
				if ref[1] == "" {
					r.addf(s, v.Value.Line, "a zlocal is written ${zlocals.name}, and the text itself $${name}", "component %s: the variable %s contains %s, which refers to nothing", c.Name, name.Text, ref[0])
				}
			}
		default:
			r.addf(s, name.Line, "write value: \"\" for an empty text", "component %s: the variable %q has neither a value nor a valueFrom", c.Name, name.Text)
		}
		out = append(out, variable)
	}
	return out
}

var (
	outputRef = regexp.MustCompile(`^(?:([a-zA-Z][a-zA-Z0-9-]*)/)?([a-zA-Z][a-zA-Z0-9-]*)\.([a-zA-Z_][a-zA-Z0-9_-]*)((?:\[[0-9]+\])*)$`)
	// legacyRef is how an old page of CloudKnit's documentation writes it, and admission refuses it.
	legacyRef = regexp.MustCompile(`^data\.terraform_remote_state\.([^.]+)\.outputs\.(.+)$`)
)

func (r *resolver) parseOutputRef(c *Component, written model.Text) *OutputRef {
	ref := written.Text
	if legacy := legacyRef.FindStringSubmatch(ref); legacy != nil {
		ref = legacy[1] + "." + legacy[2]
		r.warnf(c.Stack, written.Line, "write it as "+ref, "component %s: valueFrom is in an old form", c.Name)
	}
	found := outputRef.FindStringSubmatch(ref)
	if found == nil {
		r.addf(c.Stack, written.Line, "it is component.output, stack/component.output for that of another stack, or an item of a list as in component.output[0]", "component %s: valueFrom cannot be %q", c.Name, text.Shorten(ref, 100))
		return nil
	}
	return &OutputRef{Stack: found[1], Component: found[2], Output: found[3], Index: found[4], Line: written.Line}
}

func (r *resolver) checkOutputRef(c *Component, ref *OutputRef) {
	s, from := c.Stack, c.Stack.FindComponent(ref.Component)
	checkOutput(r, c, ref, s, from)
	if from != nil && !slices.Contains(c.Needs, from) {
		r.addf(s, ref.Line, "add "+from.Name+" to dependsOn", "component %s takes a value from %s, and does not depend on it", c.Name, from.Name)
	}
}

func checkOutput(r *resolver, c *Component, ref *OutputRef, of *Stack, from *Component) {
	s, stack := c.Stack, "this stack"
	if of != s {
		stack = "the stack " + of.Path()
	}
	if from == nil {
		names := of.componentNames()
		r.addf(s, ref.Line, cmp.Or(problem.DidYouMean(ref.Component, names), "the components are "+strings.Join(names, ", ")),
			"component %s: valueFrom names %s, which is no component of %s", c.Name, ref.Component, stack)
		return
	}
	outputs := make([]string, len(from.Outputs))
	for i, o := range from.Outputs {
		outputs[i] = o.Name.Text
	}
	switch {
	case from.Type == Helm || from.Type == ArgoCD:
		r.addf(s, ref.Line, "name a component of type terraform", "component %s: valueFrom names %s, which is of type %s and has no outputs", c.Name, from.Name, from.Type)
	case !slices.Contains(outputs, ref.Output):
		r.addf(s, ref.Line, cmp.Or(problem.DidYouMean(ref.Output, outputs), "add it to the outputs of "+from.Name), "component %s: valueFrom names the output %s, which %s does not have", c.Name, ref.Output, from.Name)
	}
}

func (r *resolver) readTags(c *Component, all locals) map[string]string {
	tags := map[string]string{}
	for _, t := range c.StackComponent.Tags {
		value := all.expand(t.Value, func(local string) { r.unknownLocal(c.Stack, t.Name.Line, local) })
		if HasSecret(value) || HasSecret(t.Name.Text) {
			r.addf(c.Stack, t.Name.Line, "remove it, and change it: it is in the history of the repository", "component %s: the tag %s holds a secret in clear", c.Name, text.Shorten(t.Name.Text, 20))
			continue
		}
		if _, twice := tags[t.Name.Text]; twice {
			r.warnf(c.Stack, t.Name.Line, "remove one of them", "component %s has the tag %s twice: the last one becomes its label, and selectiveReconcile looks at both", c.Name, t.Name.Text)
		}
		err := cmp.Or(kubename.CheckLabelKey("x/"+t.Name.Text), kubename.CheckLabelValue(value))
		if err != nil {
			r.warnf(c.Stack, c.StackComponent.Name.Line, "", "component %s: the tag %q does not become a label: %v", c.Name, t.Name.Text, err)
			continue
		}
		tags[t.Name.Text] = value
	}
	return tags
}
