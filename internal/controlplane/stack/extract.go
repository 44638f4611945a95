package stack

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Extraction is a blueprint that is made of a stack, and the stack that takes it. Neither is written yet.
type Extraction struct {
	// InBase is whether the base of the environment has the blueprint, so that the stack can take it.
	InBase    bool
	Blueprint Copy // for the base; without files if InBase
	Stack     Copy // for the environment
	// After is the environment with both.
	After *model.Model
}

// Extract makes a blueprint of a stack, or has the stack take the blueprint of that name that the base has. The stack keeps
// what differs.
func Extract(m *model.Model, from, name string) (Extraction, error) {
	i := slices.IndexFunc(m.Stacks.List, func(s *model.Stack) bool { return s.Path() == from })
	switch {
	case !validName.MatchString(name):
		return Extraction{}, problem.Refusef("as in "+BlueprintPrefix+"shop", "%q cannot be the name of a blueprint", name)
	case i >= 0 && m.Stacks.List[i].Blueprint != nil && m.Stacks.List[i].Blueprint.Name != name:
		return Extraction{}, problem.Refusef("", "the stack %s takes the blueprint %s already", from, m.Stacks.List[i].Blueprint.Name)
	}
	base := m.Stacks.Layers[model.BaseLayer]
	into := *m
	into.Environment = model.BaseLayer
	c := &cloner{model: m, into: &into, target: base, copy: Copy{Files: map[string][]byte{}}}
	err := c.findStack(from)
	if err == nil {
		c.team, c.env = c.from.Team, c.from.Env
		err = c.readDocument()
	}
	if err != nil {
		return Extraction{}, err
	}
	root := yamldoc.RootOf(c.document)
	c.spec = yamldoc.FindValue(root, "spec")
	var e Extraction
	if at, found := model.IndexOf(m.Stacks.Blueprints, name); found {
		e.InBase = true
		var files []string // of which the base has copies
		err = c.stripOwn(func(component *yaml.Node) error {
			if folder, isOwn := ownModule(component); isOwn {
				files = append(files, folder)
			}
			return c.eachPath(component, func(p *yaml.Node) error {
				files = append(files, p.Value)
				return nil
			})
		})
		slices.Sort(files)
		if files != nil {
			c.copy.Notes = append(c.copy.Notes, "the base has copies of "+text.Join(slices.Compact(files), " and ")+", which the stack does not read any more: remove them from "+m.Environment+" unless others read them")
		}
		if err == nil {
			e.Stack, err = c.reduce(root, name, base, m.Stacks.Blueprints[at])
		}
	} else {
		err = c.stripOwn(func(component *yaml.Node) error {
			if err := c.copyFiles(component); err != nil {
				return err
			}
			return c.copyModule(component)
		})
		if err == nil {
			e.Blueprint, e.Stack, err = c.split(root, name)
		}
	}
	if err != nil {
		return e, err
	}
	e.After, err = c.applyExtraction(e)
	return e, err
}

// stripOwn removes the sources of files that are the control plane's own, after visit has seen the component.
func (c *cloner) stripOwn(visit func(component *yaml.Node) error) error {
	for _, component := range c.components() {
		if err := visit(component); err != nil {
			return err
		}
		files := []*yaml.Node{yamldoc.FindValue(component, "variablesFile")}
		if overlays := yamldoc.FindValue(component, "overlayFiles"); overlays != nil {
			files = append(files, overlays.Content...)
		}
		for _, f := range files {
			if f != nil && c.isOwn(yamldoc.FindText(yamldoc.ResolveAlias(f), "source")) {
				yamldoc.RemoveKey(yamldoc.ResolveAlias(f), "source")
			}
		}
	}
	return nil
}

// ownFields are what a stack and its components keep: its names, what destroys it, and whether nobody approves.
var ownFields = []string{"teamName", "envName", teardownField, "destroy", "autoApprove"}

// split returns the blueprint with all of a stack but what belongs to the environment, and the stack with the rest.
func (c *cloner) split(root *yaml.Node, name string) (blueprint, own Copy, err error) {
	shared := &yaml.Node{Kind: yaml.MappingNode}
	rest := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(c.spec.Content); i += 2 {
		of := shared
		if slices.Contains(ownFields, c.spec.Content[i].Value) {
			of = rest
		}
		of.Content = append(of.Content, c.spec.Content[i], c.spec.Content[i+1])
	}
	var kept []*yaml.Node
	for _, component := range c.components() {
		own := &yaml.Node{Kind: yaml.MappingNode}
		yamldoc.SetText(own, "name", yamldoc.FindText(component, "name"))
		for _, field := range ownFields {
			if value := yamldoc.FindValue(component, field); value != nil {
				yamldoc.AddPair(own, field, value)
				yamldoc.RemoveKey(component, field)
			}
		}
		if len(own.Content) > 2 {
			kept = append(kept, own)
		}
	}
	if kept != nil {
		yamldoc.AddPair(rest, "components", &yaml.Node{Kind: yaml.SequenceNode, Content: kept})
	}
	metadata := &yaml.Node{Kind: yaml.MappingNode}
	yamldoc.SetText(metadata, "name", name)
	written := &yaml.Node{Kind: yaml.MappingNode}
	yamldoc.SetText(written, "apiVersion", yamldoc.FindText(root, "apiVersion"))
	yamldoc.SetText(written, "kind", "Environment")
	yamldoc.AddPair(written, "metadata", metadata)
	yamldoc.AddPair(written, "spec", shared)
	text, err := yamldoc.Encode(written)
	c.copy.File = path.Join(c.target.Prefix, "blueprints", name+".yaml")
	c.copy.Files[c.copy.File] = text
	if err != nil {
		return c.copy, own, err
	}
	own, err = c.writeTaking(root, name, rest)
	return c.copy, own, err
}

func (c *cloner) reduce(root *yaml.Node, name string, base model.Layer, blueprint *model.Stack) (Copy, error) {
	e, _ := base.Files.Lookup(inLayer(base, blueprint.Pos.File))
	documents, err := yamldoc.Parse(e.Data)
	if err != nil {
		return Copy{}, fmt.Errorf("read %s: %w", blueprint.Pos.File, err)
	}
	i := slices.IndexFunc(documents, func(d *yaml.Node) bool {
		of := yamldoc.RootOf(d)
		return of != nil && yamldoc.FindText(of, "kind") == "Environment" && yamldoc.FindText(of, "metadata", "name") == blueprint.Name
	})
	if i < 0 {
		return Copy{}, problem.Refusef("write it in a YAML document of its own", "the blueprint %s cannot be found in %s", blueprint.Name, blueprint.Pos.File)
	}
	expandAliases(documents[i])
	isTaken := c.from.Blueprint != nil
	rest := subtractMapping(c.spec, yamldoc.FindValue(yamldoc.RootOf(documents[i]), "spec"), isTaken)
	if isTaken && isSame(rest, c.spec) {
		return Copy{}, problem.Refusef("", "the stack %s takes the blueprint %s already", c.from.Path(), name)
	}
	return c.writeTaking(root, name, rest)
}

func (c *cloner) writeTaking(root *yaml.Node, name string, spec *yaml.Node) (Copy, error) {
	metadata := yamldoc.FindValue(root, "metadata")
	if c.from.Stack.Name != name {
		annotations := yamldoc.FindValue(metadata, "annotations")
		if annotations == nil {
			annotations = &yaml.Node{Kind: yaml.MappingNode}
			yamldoc.AddPair(metadata, "annotations", annotations)
		}
		yamldoc.SetText(annotations, model.BlueprintAnnotation, name)
	}
	*c.spec = *spec
	e, _ := c.layer.Files.Lookup(inLayer(c.layer, c.from.Pos.File))
	documents, err := yamldoc.Parse(e.Data)
	if err != nil {
		return Copy{}, err
	}
	if len(documents) > 1 {
		return Copy{}, problem.Refusef("write it in a file of its own", "%s has other objects than the stack %s", c.from.Pos.File, c.from.Path())
	}
	text, err := yamldoc.Encode(c.document)
	return Copy{File: c.from.Pos.File, Files: map[string][]byte{c.from.Pos.File: text}, Notes: c.copy.Notes}, err
}

func (c *cloner) applyExtraction(e Extraction) (*model.Model, error) {
	var layers []model.Layer
	for _, name := range slices.Sorted(maps.Keys(c.model.Stacks.Layers)) {
		layer := c.model.Stacks.Layers[name]
		var written map[string][]byte
		switch name {
		case model.BaseLayer:
			written = e.Blueprint.Files
		case c.model.Environment:
			written = e.Stack.Files
		}
		changed, err := overwriteFiles(layer, written)
		if err != nil {
			return nil, err
		}
		layers = append(layers, changed)
	}
	m, problems := model.Parse(c.model.Environment, layers...)
	if p, stops := problems.FindStopping(c.from.Path()).FirstStopping(); stops {
		return nil, problem.Refusef(p.Hint, "with the blueprint, %s would have a problem: %s", c.from.Path(), p)
	}
	return m, nil
}

func subtractNodes(own, of *yaml.Node, isTaken bool) *yaml.Node {
	own, of = yamldoc.ResolveAlias(own), yamldoc.ResolveAlias(of)
	switch {
	case isSame(own, of):
		return nil
	case own.Kind == yaml.MappingNode && of.Kind == yaml.MappingNode:
		if rest := subtractMapping(own, of, isTaken); len(rest.Content) > 0 {
			return rest
		}
		return nil
	case len(own.Content) > 0 && own.Kind == yaml.SequenceNode && of.Kind == yaml.SequenceNode:
		return subtractList(own, of, isTaken)
	}
	return own
}

// subtractMapping returns what has to be merged over a mapping to get another one. What a stack lacks that takes the
// blueprint already is inherited, and not removed.
func subtractMapping(own, of *yaml.Node, isTaken bool) *yaml.Node {
	rest := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(own.Content); i += 2 {
		value := own.Content[i+1]
		if _, shared := yamldoc.FindPair(of, own.Content[i].Value); shared != nil {
			value = subtractNodes(value, shared, isTaken)
		}
		if value != nil {
			rest.Content = append(rest.Content, own.Content[i], value)
		}
	}
	for i := 0; i+1 < len(of.Content); i += 2 {
		if key, _ := yamldoc.FindPair(own, of.Content[i].Value); key == nil && !isTaken {
			yamldoc.SetScalar(rest, of.Content[i].Value, yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"})
		}
	}
	return rest
}

// subtractList does so for lists whose items have names; others are replaced.
func subtractList(own, of *yaml.Node, isTaken bool) *yaml.Node {
	rest := &yaml.Node{Kind: yaml.SequenceNode}
	for _, n := range own.Content {
		item := yamldoc.ResolveAlias(n)
		name := yamldoc.FindText(item, "name")
		if name == "" {
			return own
		}
		i := slices.IndexFunc(of.Content, func(o *yaml.Node) bool { return yamldoc.FindText(yamldoc.ResolveAlias(o), "name") == name })
		if i >= 0 {
			item = subtractNodes(item, of.Content[i], isTaken)
			if item == nil {
				continue
			}
			if named := (&yaml.Node{Kind: yaml.MappingNode}); item.Kind == yaml.MappingNode {
				yamldoc.SetText(named, "name", name)
				yamldoc.RemoveKey(item, "name")
				named.Content = append(named.Content, item.Content...)
				item = named
			}
		}
		rest.Content = append(rest.Content, item)
	}
	if rest.Content == nil {
		return nil
	}
	return rest
}

func isSame(a, b *yaml.Node) bool {
	a, b = yamldoc.ResolveAlias(a), yamldoc.ResolveAlias(b)
	return a.Kind == b.Kind && a.Value == b.Value && a.ShortTag() == b.ShortTag() && slices.EqualFunc(a.Content, b.Content, isSame)
}
