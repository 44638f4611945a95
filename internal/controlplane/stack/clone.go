package stack

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Setting is a value that differs in a copy of a stack.
type Setting struct {
	// Key is "zlocals.NAME", "COMPONENT.VARIABLE", or a field of the stack: autoApprove, description or
	// workspace.
	Key, Value string
}

// Copy is a copy of a stack that is not written yet.
type Copy struct {
	File  string            // of the stack
	Files map[string][]byte // that are new, by their paths in the repository
	// Notes are sentences about what is not as it was, without full stops.
	Notes []string
}

// Clone copies a stack under another name, "team/environment", with some values set. Files that the
// stack names below a folder that is called like it are copied too. What destroys the stack, or parts
// of it, is left out. A copy is refused if the environment would have a problem with it, as render returns those
// of a model.
func Clone(m *model.Model, from, to string, set []Setting, render func(*model.Model) problem.List) (Copy, error) {
	c, err := newCloner(m, from, to)
	if err != nil {
		return Copy{}, err
	}
	c.render = render
	c.rename()
	c.leaveOutDestruction()
	for _, component := range c.components() {
		if err := c.copyFiles(component); err != nil {
			return Copy{}, err
		}
	}
	for _, s := range set {
		if err := c.set(s); err != nil {
			return Copy{}, err
		}
	}
	text, err := yamldoc.Encode(c.document)
	if err != nil {
		return Copy{}, err
	}
	c.copy.Files[c.copy.File] = text
	return c.copy, c.check("the copy")
}

// cloner is one call of Clone.
type cloner struct {
	model     *model.Model
	from      *Stack
	team, env string // of the copy
	layer     model.Layer
	document  *yaml.Node
	root      *yaml.Node
	spec      *yaml.Node
	copy      Copy
	// render returns the problems of a model when it is rendered; nil if only its stacks are resolved.
	render func(*model.Model) problem.List
}

func newCloner(m *model.Model, from, to string) (*cloner, error) {
	stacks, _ := Resolve(m) // its problems stop rendering, and are found there
	names := make([]string, len(stacks))
	c := &cloner{model: m, copy: Copy{Files: map[string][]byte{}}}
	for i, s := range stacks {
		names[i] = s.Path()
		if names[i] == from {
			c.from = s
		}
	}
	var ok bool
	c.team, c.env, ok = strings.Cut(to, "/")
	switch {
	case c.from == nil:
		return nil, problem.Refusef(cmp.Or(problem.DidYouMean(from, names), "fairlead stack list lists the stacks"), "there is no stack %s in %s", from, m.Environment)
	case !ok || !validName.MatchString(c.team) || !validName.MatchString(c.env):
		return nil, problem.Refusef("as in checkout/prod-green: the teamName and the envName", "%q cannot be the name of a stack", to)
	case slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, to) }):
		return nil, problem.Refusef("take another name", "there is a stack %s already", to)
	case c.from.Pos.Layer != m.Environment || c.from.Pos.Line == 0:
		return nil, problem.Refusef("copy it by hand", "the stack %s is not written in a file of the branch of %s", from, m.Environment)
	}
	c.layer = m.Stacks.Layers[c.from.Pos.Layer]
	e, _ := c.layer.Files.Lookup(c.inLayer(c.from.Pos.File))
	if err := c.findDocument(e.Data); err != nil {
		return nil, err
	}
	if hasAliases(c.document) {
		expandAliases(c.document)
		c.copy.Notes = append(c.copy.Notes, fmt.Sprintf("the aliases of %s are written out in the copy", c.from.Pos.File))
	}
	c.root = yamldoc.RootOf(c.document)
	c.spec = yamldoc.FindValue(c.root, "spec")
	c.copy.File = c.newFile()
	if _, taken := c.layer.Files.Lookup(c.inLayer(c.copy.File)); taken {
		return nil, problem.Refusef("rename it, or take another name for the stack", "there is a file %s already", c.copy.File)
	}
	return c, nil
}

// findDocument finds the YAML document of a file that the stack is written in.
func (c *cloner) findDocument(text []byte) error {
	documents, err := yamldoc.Parse(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.from.Pos.File, err)
	}
	for _, d := range documents {
		root := yamldoc.RootOf(d)
		if root == nil || yamldoc.FindText(root, "kind") != "Environment" || yamldoc.FindText(root, "spec", "envName") != c.from.Env || yamldoc.FindText(root, "spec", "teamName") != c.from.Team {
			continue
		}
		c.document = d
	}
	if c.document == nil {
		return problem.Refusef("write it in a YAML document of its own", "the stack %s cannot be found in %s", c.from.Path(), c.from.Pos.File)
	}
	return nil
}

// inLayer returns the path in the layer of a path in the repository.
func (c *cloner) inLayer(file string) string {
	return strings.Trim(strings.TrimPrefix(path.Clean("/"+file), path.Clean("/"+c.layer.Prefix)), "/")
}

// newFile returns the path of the file of the copy: that of the stack, with the name of the copy.
func (c *cloner) newFile() string {
	dir, name := path.Split(c.from.Pos.File)
	stem, extension := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	renamed := renameWord(stem, c.from.Env, c.env)
	if renamed == stem {
		renamed = strings.ToLower(c.team + "-" + c.env)
	}
	return dir + renamed + extension
}

// renameWord replaces a word in a text of words with hyphens between them.
func renameWord(text, old, new string) string {
	padded := strings.Replace("-"+text+"-", "-"+old+"-", "-"+new+"-", 1)
	return padded[1 : len(padded)-1]
}

// setText sets a key of a mapping to a text.
func setText(mapping *yaml.Node, key, value string) {
	var scalar yaml.Node
	scalar.SetString(value)
	yamldoc.SetScalar(mapping, key, scalar)
}

func (c *cloner) rename() {
	metadata := yamldoc.FindValue(c.root, "metadata")
	name := renameWord(c.from.Stack.Name, c.from.Team+"-"+c.from.Env, c.team+"-"+c.env)
	if name == c.from.Stack.Name {
		name = strings.ToLower(c.team + "-" + c.env)
	}
	setText(metadata, "name", name)
	setText(c.spec, "teamName", c.team)
	setText(c.spec, "envName", c.env)
}

// leaveOutDestruction removes what destroys the stack or components of it: the copy is to be made.
func (c *cloner) leaveOutDestruction() {
	if c.from.Teardown {
		c.copy.Notes = append(c.copy.Notes, fmt.Sprintf("%s is torn down; the copy is made", c.from.Path()))
	}
	yamldoc.RemoveKey(c.spec, teardownField)
	for _, component := range c.components() {
		if name := yamldoc.FindText(component, "name"); yamldoc.RemoveKey(component, "destroy") == "true" {
			c.copy.Notes = append(c.copy.Notes, fmt.Sprintf("the component %s of %s is destroyed; that of the copy is made", name, c.from.Path()))
		}
	}
}

// components returns the nodes of the components.
func (c *cloner) components() []*yaml.Node {
	list := yamldoc.FindValue(c.spec, "components")
	var all []*yaml.Node
	for _, n := range list.Content {
		all = append(all, yamldoc.ResolveAlias(n))
	}
	return all
}

// copyFiles copies the files that a component names below a folder that is called like the stack, and
// has the copy name those.
func (c *cloner) copyFiles(component *yaml.Node) error {
	files := []*yaml.Node{yamldoc.FindValue(component, "variablesFile")}
	if overlays := yamldoc.FindValue(component, "overlayFiles"); overlays != nil {
		for _, o := range overlays.Content {
			files = append(files, yamldoc.ResolveAlias(o))
		}
	}
	for _, f := range files {
		if f == nil || !c.isOwn(yamldoc.FindText(f, "source")) {
			continue
		}
		paths := []*yaml.Node{yamldoc.FindValue(f, "path")}
		if list := yamldoc.FindValue(f, "paths"); list != nil {
			paths = append(paths, list.Content...)
		}
		for _, p := range paths {
			if p == nil {
				continue
			}
			if err := c.copyFile(yamldoc.ResolveAlias(p)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOwn reports whether files are in the repository of the stack.
func (c *cloner) isOwn(source string) bool {
	return source == "" || c.from.IsOwnRepository(c.model, source)
}

// copyFile copies what a path names, and changes the path.
func (c *cloner) copyFile(p *yaml.Node) error {
	renamed := strings.Split(p.Value, "/")
	for i, part := range renamed {
		renamed[i] = renameWord(part, c.from.Env, c.env)
	}
	to := strings.Join(renamed, "/")
	if to == p.Value {
		if !slices.ContainsFunc(c.copy.Notes, func(n string) bool { return strings.HasPrefix(n, p.Value+" ") }) {
			c.copy.Notes = append(c.copy.Notes, fmt.Sprintf("%s is shared with %s", p.Value, c.from.Path()))
		}
		return nil
	}
	e, found := c.layer.Files.Lookup(c.inLayer(p.Value))
	if !found {
		return problem.Refusef("", "the stack %s names the file %s, which is not there", c.from.Path(), p.Value)
	}
	p.Value = to
	if _, there := c.layer.Files.Lookup(c.inLayer(to)); there {
		c.copy.Notes = append(c.copy.Notes, fmt.Sprintf("%s is there already, and stays as it is", to))
		return nil
	}
	if !e.IsDir() {
		return c.addFile(to, e)
	}
	for file, inner := range e.Tree().Walk() {
		if err := c.addFile(path.Join(to, file), inner); err != nil {
			return err
		}
	}
	return nil
}

// addFile adds a copy of a file. An empty one is not nil, which would remove it.
func (c *cloner) addFile(to string, e tree.Entry) error {
	isLink := e.Mode == tree.ModeSymlink || e.Mode == tree.ModeSubmodule
	if isLink || e.Data == nil && e.ID != tree.HashBlob(nil) {
		return problem.Refusef("write it by hand first", "%s cannot be copied: what it is a copy of is a link, or too large to be read", to)
	}
	c.copy.Files[to] = append([]byte{}, e.Data...)
	return nil
}

// fields are the fields of a stack that can be set.
var fields = []string{"autoApprove", "description", "workspace"}

// set sets a value in the copy.
func (c *cloner) set(s Setting) error {
	of, name, nested := strings.Cut(s.Key, ".")
	switch {
	case s.Key == "autoApprove":
		if s.Value != "true" && s.Value != "false" {
			return problem.Refusef("it is true or false", "autoApprove cannot be %q", s.Value)
		}
		yamldoc.SetScalar(c.spec, s.Key, yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: s.Value})
		return nil
	case slices.Contains(fields, s.Key):
		setText(c.spec, s.Key, s.Value)
		return nil
	case !nested || name == "":
		return problem.Refusef("a key is zlocals.NAME, COMPONENT.VARIABLE, "+strings.Join(fields, ", "), "%q cannot be set", s.Key)
	case of == "zlocals":
		return c.setLocal(name, s.Value)
	}
	var known []string
	for _, component := range c.components() {
		if yamldoc.FindText(component, "name") == of {
			return setVariable(component, name, s.Value)
		}
		known = append(known, yamldoc.FindText(component, "name"))
	}
	return problem.Refusef(cmp.Or(problem.DidYouMean(of, known), "the components are "+strings.Join(known, ", ")), "%s has no component %s", c.from.Path(), of)
}

func (c *cloner) setLocal(name, value string) error {
	var known []string
	if list := yamldoc.FindValue(c.spec, "zlocals"); list != nil {
		for _, n := range list.Content {
			local := yamldoc.ResolveAlias(n)
			if yamldoc.FindText(local, "name") == name {
				setText(local, "value", value)
				return nil
			}
			known = append(known, yamldoc.FindText(local, "name"))
		}
	}
	return problem.Refusef(problem.DidYouMean(name, known), "%s has no zlocal %s", c.from.Path(), name)
}

// setVariable sets a variable of a component, which need not have it.
func setVariable(component *yaml.Node, name, value string) error {
	list := yamldoc.FindValue(component, "variables")
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		yamldoc.AddPair(component, "variables", list)
	}
	for _, n := range list.Content {
		if v := yamldoc.ResolveAlias(n); yamldoc.FindText(v, "name") == name {
			yamldoc.RemoveKey(v, "valueFrom")
			setText(v, "value", value)
			return nil
		}
	}
	v := &yaml.Node{Kind: yaml.MappingNode}
	setText(v, "name", name)
	setText(v, "value", value)
	list.Content = append(list.Content, v)
	return nil
}

// check returns the first problem that the environment would have with the files of the copy, and has not without
// them; what is what they are.
func (c *cloner) check(what string) error {
	var b tree.Builder
	written := map[string]bool{}
	for file := range c.copy.Files {
		written[c.inLayer(file)] = true
	}
	for file, e := range c.layer.Files.Walk() {
		if written[file] {
			continue
		}
		if err := b.AddEntry(file, e); err != nil {
			return err
		}
	}
	for file, text := range c.copy.Files {
		if err := b.Add(c.inLayer(file), text); err != nil {
			return err
		}
	}
	known := map[string]bool{}
	for _, p := range c.findProblems(c.layer) {
		known[p.String()] = true
	}
	changed := c.layer
	changed.Files = b.Tree()
	for _, p := range c.findProblems(changed) {
		if !p.Warning && !known[p.String()] {
			return problem.Refusef(p.Hint, "%s would have a problem: %s", what, p)
		}
	}
	return nil
}

// findProblems returns the problems of the environment with another layer in the place of that of the
// stack.
func (c *cloner) findProblems(own model.Layer) problem.List {
	var layers []model.Layer
	for _, name := range slices.Sorted(maps.Keys(c.model.Stacks.Layers)) {
		layer := c.model.Stacks.Layers[name]
		if name == c.from.Pos.Layer {
			layer = own
		}
		layers = append(layers, layer)
	}
	m, problems := model.Parse(c.model.Environment, layers...)
	_, more := Resolve(m)
	problems = append(problems, more...).Sorted()
	if c.render != nil {
		problems = append(problems, c.render(m).Sorted()...)
	}
	return problems
}
