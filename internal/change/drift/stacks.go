package drift

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// compareStacks compares stacks of one name: what they take from their blueprints, and what each environment
// writes itself. Their teams and names are meant to differ.
func (c *comparison) compareStacks(f *findings) {
	compareObjects(c, f, sortStacks(c.from.Model), sortStacks(c.to.Model), whyOnly, func(changes *fieldChanges, a, b *model.Stack) {
		changes.addText("blueprint", blueprintOf(a), blueprintOf(b))
		from, to := stackFields(c.from.Model, a), stackFields(c.to.Model, b)
		for _, name := range keysOf(from, to) {
			before := len(*changes)
			changes.addText(name, from[name].text, to[name].text)
			if len(*changes) > before {
				(*changes)[before].Because = c.whyField(from[name], to[name])
			}
		}
	})
}

func sortStacks(m *model.Model) []*model.Stack {
	return slices.SortedStableFunc(slices.Values(m.Stacks.List), func(a, b *model.Stack) int { return cmp.Compare(a.Name, b.Name) })
}

func blueprintOf(s *model.Stack) string {
	if s.Blueprint == nil {
		return ""
	}
	return s.Blueprint.Name
}

// stackField is the text of a field, and the file that has it, with its layer; "" for one that is not written.
type stackField struct {
	text, file string
	ofBase     bool
}

// whyField returns the place that makes a field differ: what an environment writes itself, or the base.
func (c *comparison) whyField(from, to stackField) string {
	var own []string
	for _, side := range []stackField{from, to} {
		if side.file != "" && !side.ofBase {
			own = append(own, side.file)
		}
	}
	switch {
	case len(own) > 0:
		return "written in " + strings.Join(own, " and ")
	case c.from.Base != c.to.Base:
		return "the commits of the base differ: " + cmp.Or(from.file, to.file)
	}
	return "written in " + cmp.Or(from.file, to.file)
}

// stackFields returns the fields of a stack that environments may have in common, by their names. What is as in
// its blueprint is written there; what it lacks of that, its own file removes.
func stackFields(m *model.Model, s *model.Stack) map[string]stackField {
	all := writtenFields(m, s)
	if s.Blueprint == nil {
		return all
	}
	if i, ok := model.IndexOf(m.Stacks.Blueprints, s.Blueprint.Name); ok {
		for name, field := range writtenFields(m, m.Stacks.Blueprints[i]) {
			switch own, has := all[name]; {
			case !has:
				all[name] = stackField{showFalse(field.text), s.Pos.Layer + "/" + s.Pos.File, s.Pos.Layer == model.BaseLayer}
			case own.text == field.text:
				all[name] = field
			}
		}
		if b := m.Stacks.Blueprints[i]; b.Annotations[model.ActiveAnnotation] != "" {
			all["active"] = stackField{b.Annotations[model.ActiveAnnotation], b.Pos.Layer + "/" + b.Pos.File, b.Pos.Layer == model.BaseLayer}
		}
	}
	return all
}

// writtenFields returns the fields of a stack by their names. One without a line of its own counts as the stack's.
func writtenFields(m *model.Model, s *model.Stack) map[string]stackField {
	all := map[string]stackField{}
	add := func(name string, line int, value string) {
		pos := s.PositionAt(line)
		if value != "" {
			all[name] = stackField{value, pos.Layer + "/" + pos.File, pos.Layer == model.BaseLayer}
		}
	}
	for _, l := range s.Zlocals {
		add("zlocals."+l.Name.Text, l.Name.Line, l.Value)
	}
	add("workspace", s.Pos.Line, s.Workspace)
	add("autoApprove", s.Pos.Line, showTrue(s.AutoApprove))
	add("teardown", s.Pos.Line, showTrue(s.Teardown))
	for _, component := range s.Components {
		if component != nil {
			addComponent(m, s, component, func(name string, line int, value string) {
				add(component.Name.Text+"."+name, line, value)
			})
		}
	}
	return all
}

func addComponent(m *model.Model, s *model.Stack, c *model.StackComponent, add func(name string, line int, value string)) {
	line := c.Name.Line
	add("type", c.Type.Line, c.Type.Text)
	add("subtype", c.Subtype.Line, c.Subtype.Text)
	add("cronSchedule", c.CronSchedule.Line, c.CronSchedule.Text)
	if c.AWS != nil {
		add("aws.region", line, c.AWS.Region)
		if c.AWS.AssumeRole != nil {
			add("aws.assumeRole", line, c.AWS.AssumeRole.RoleARN)
		}
	}
	add("outputs", line, strings.Join(list.Convert(c.Outputs, func(o model.StackOutput) string { return o.Name.Text }), ", "))
	for _, secret := range c.Secrets {
		add("secrets."+secret.Name.Text, secret.Name.Line, secret.Scope.Text+" "+secret.Key)
	}
	if c.Module != nil {
		add("module", c.Module.Source.Line, strings.TrimSuffix(c.Module.Source.Text+"//"+c.Module.Path, "//"))
		add("version", c.Module.Version.Line, c.Module.Version.Text)
		add("module files", c.Module.Source.Line, moduleDigest(m, s, c.Module))
	}
	if c.Source != nil {
		add("chart", c.Source.Repo.Line, strings.Join(slices.DeleteFunc([]string{c.Source.Repo.Text, c.Source.Path, c.Source.Chart, c.Source.Ref, c.Source.Version}, isEmptyText), " "))
	}
	add("dependsOn", line, strings.Join(list.Convert(c.DependsOn, func(t model.Text) string { return t.Text }), ", "))
	if c.AutoApprove != nil {
		add("autoApprove", line, strconv.FormatBool(*c.AutoApprove))
	}
	add("destroy", line, showTrue(c.IsToBeDestroyed()))
	add("destroyProtection", line, showTrue(c.DestroyProtection))
	if c.VariablesFile != nil {
		add("variablesFile", c.VariablesFile.Path.Line, c.VariablesFile.Path.Text)
		if c.VariablesFile.Source.Text == "" {
			add("variablesFile content", c.VariablesFile.Path.Line, digestAt(m, s.LayerAt(c.VariablesFile.Path.Line), c.VariablesFile.Path.Text))
		}
	}
	for _, v := range c.Variables {
		switch {
		case v.ValueFrom != nil && v.ValueFrom.Text != "":
			add("variables."+v.Name.Text, v.ValueFrom.Line, "from "+v.ValueFrom.Text)
		case v.Value != nil:
			add("variables."+v.Name.Text, v.Value.Line, strconv.Quote(v.Value.Text))
		}
	}
}

func isEmptyText(text string) bool { return text == "" }

func showTrue(value bool) string {
	if value {
		return "true"
	}
	return ""
}

func showFalse(other string) string {
	if other == "true" {
		return "false"
	}
	return ""
}

// moduleDigest returns the beginning of the id of a folder of the base that a component has its module in; "" if
// that is elsewhere.
func moduleDigest(m *model.Model, s *model.Stack, module *model.StackModule) string {
	folder, isLocal := module.LocalFolder()
	if !isLocal || !module.IsOfBase() && s.LayerAt(module.Source.Line) != model.BaseLayer {
		return ""
	}
	return digestAt(m, model.BaseLayer, folder)
}

// digestAt returns the beginning of the id of a file or folder of a layer; "" if it is not there.
func digestAt(m *model.Model, layer, name string) string {
	of := m.Stacks.Layers[layer]
	name = strings.Trim(strings.TrimPrefix(path.Join("/", name), path.Join("/", of.Prefix)), "/")
	e, ok := of.Files.Lookup(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.7s", e.ID)
}
