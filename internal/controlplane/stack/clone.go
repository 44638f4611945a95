package stack

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
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

// BlueprintPrefix begins the name of a blueprint, in the place of a stack that is copied.
const BlueprintPrefix = "blueprint/"

// Clone copies a stack of a model under another name, "team/environment", into an environment, with some
// values set. That may be the stack's own environment; or from is [BlueprintPrefix] and a stack of the base,
// which the copy takes. Files that the stack names below a folder that is called like it are copied too, and
// all of its files into another environment. What destroys the stack, or parts of it, is left out. A copy is
// refused if the environment would have a problem with it, as render returns those of a model.
func Clone(m, into *model.Model, from, to string, set []Setting, render func(*model.Model) problem.List) (Copy, error) {
	c, err := newCloner(m, into, from, to)
	if err != nil {
		return Copy{}, err
	}
	c.render = render
	c.rename()
	c.leaveOutDestruction()
	for _, component := range c.components() {
		if err := cmp.Or(c.copyFiles(component), c.copyModule(component)); err != nil {
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

type cloner struct {
	model     *model.Model
	into      *model.Model // of the environment that gets the copy
	from      *Stack
	team, env string      // of the copy
	layer     model.Layer // of the stack
	target    model.Layer // of the copy
	document  *yaml.Node
	root      *yaml.Node
	spec      *yaml.Node
	copy      Copy
	// render returns the problems of a model when it is rendered; nil if only its stacks are resolved.
	render func(*model.Model) problem.List
}

func newCloner(m, into *model.Model, from, to string) (*cloner, error) {
	c := &cloner{model: m, into: into, copy: Copy{Files: map[string][]byte{}}, target: into.Stacks.Layers[into.Environment]}
	err := c.findStack(from)
	if err != nil {
		return nil, err
	}
	var ok bool
	c.team, c.env, ok = strings.Cut(to, "/")
	switch {
	case !ok || !validName.MatchString(c.team) || !validName.MatchString(c.env):
		return nil, problem.Refusef("as in checkout/prod-green: the teamName and the envName", "%q cannot be the name of a stack", to)
	case slices.ContainsFunc(into.Stacks.List, func(s *model.Stack) bool { return strings.EqualFold(s.Path(), to) }):
		return nil, problem.Refusef("take another name", "there is a stack %s already", to)
	}
	if err := c.readDocument(); err != nil {
		return nil, err
	}
	c.root = yamldoc.RootOf(c.document)
	c.spec = yamldoc.FindValue(c.root, "spec")
	c.copy.File = c.newFile()
	if _, taken := c.target.Files.Lookup(inLayer(c.target, c.copy.File)); taken {
		return nil, problem.Refusef("rename it, or take another name for the stack", "there is a file %s already", c.copy.File)
	}
	return c, nil
}

// findStack finds what is copied: a stack of the environment, or a blueprint.
func (c *cloner) findStack(from string) error {
	if name, is := strings.CutPrefix(from, BlueprintPrefix); is {
		blueprint, err := c.findBlueprint(name)
		c.from = &Stack{Stack: blueprint}
		return err
	}
	stacks, _ := Resolve(c.model) // its problems stop rendering, and are found there
	names := list.Convert(stacks, (*Stack).Path)
	i := slices.Index(names, from)
	if i < 0 {
		return problem.Refusef(cmp.Or(problem.DidYouMean(from, names), "fairlead stack list lists the stacks"), "there is no stack %s in %s", from, c.model.Environment)
	}
	c.from = stacks[i]
	if c.from.Pos.Layer != c.model.Environment || c.from.Pos.Line == 0 {
		return problem.Refusef("copy it by hand", "the stack %s is not written in a file of the branch of %s", from, c.model.Environment)
	}
	if b := c.from.Blueprint; b != nil {
		_, err := c.findBlueprint(b.Name)
		return err
	}
	return nil
}

func (c *cloner) findBlueprint(name string) (*model.Stack, error) {
	all := c.into.Stacks.Blueprints
	i, found := model.IndexOf(all, name)
	if !found {
		names := list.Convert(all, func(s *model.Stack) string { return s.Name })
		return nil, problem.Refusef(cmp.Or(problem.DidYouMean(name, names), "commit it to the base, and promote that to "+c.into.Environment), "the base of %s has no blueprint %s", c.into.Environment, name)
	}
	return all[i], nil
}

func (c *cloner) fromName() string {
	if c.isOfBase() {
		return BlueprintPrefix + c.from.Stack.Name
	}
	return c.from.Path()
}

func (c *cloner) isOfBase() bool { return c.from.Pos.Layer == model.BaseLayer }

func (c *cloner) crosses() bool { return c.model.Environment != c.into.Environment }

func (c *cloner) readDocument() error {
	if c.isOfBase() {
		var n yaml.Node
		text := "apiVersion: " + model.StackAPIVersions()[0] + "\nkind: Environment\nmetadata:\n  name: a\nspec:\n  teamName: a\n"
		c.document = &n
		return yaml.Unmarshal([]byte(text), &n)
	}
	c.layer = c.model.Stacks.Layers[c.from.Pos.Layer]
	e, _ := c.layer.Files.Lookup(inLayer(c.layer, c.from.Pos.File))
	if err := c.findDocument(e.Data); err != nil {
		return err
	}
	if hasAliases(c.document) {
		expandAliases(c.document)
		c.copy.Notes = append(c.copy.Notes, fmt.Sprintf("the aliases of %s are written out in the copy", c.from.Pos.File))
	}
	return nil
}

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

func inLayer(layer model.Layer, file string) string {
	return strings.Trim(strings.TrimPrefix(path.Clean("/"+file), path.Clean("/"+layer.Prefix)), "/")
}

// newFile returns the path of the file of the copy: that of the stack, with the name of the copy.
func (c *cloner) newFile() string {
	file := path.Join(c.target.Prefix, "stacks", strings.ToLower(c.team+"-"+c.env)+".yaml")
	if c.isOfBase() {
		return file
	}
	dir, name := path.Split(inLayer(c.layer, c.from.Pos.File))
	stem, extension := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	renamed := renameWord(stem, c.from.Env, c.env)
	if renamed == stem && !c.crosses() {
		renamed = strings.ToLower(c.team + "-" + c.env)
	}
	return path.Join(c.target.Prefix, dir, renamed+extension)
}

func renameWord(text, old, new string) string {
	padded := strings.Replace("-"+text+"-", "-"+old+"-", "-"+new+"-", 1)
	return padded[1 : len(padded)-1]
}

// rename gives the copy its names. Under another name than before, it still takes the same blueprint.
func (c *cloner) rename() {
	metadata := yamldoc.FindValue(c.root, "metadata")
	name := renameWord(c.from.Stack.Name, c.from.Team+"-"+c.from.Env, c.team+"-"+c.env)
	isTaken := slices.ContainsFunc(c.into.Stacks.List, func(s *model.Stack) bool { return s.Name == name })
	if isTaken || name == c.from.Stack.Name && !c.crosses() && !c.isOfBase() {
		name = strings.ToLower(c.team + "-" + c.env)
	}
	yamldoc.SetText(metadata, "name", name)
	if blueprint := c.blueprint(); blueprint != "" && blueprint != name {
		annotations := yamldoc.FindValue(metadata, "annotations")
		if annotations == nil {
			annotations = &yaml.Node{Kind: yaml.MappingNode}
			yamldoc.AddPair(metadata, "annotations", annotations)
		}
		yamldoc.SetText(annotations, model.BlueprintAnnotation, blueprint)
	}
	yamldoc.SetText(c.spec, "teamName", c.team)
	yamldoc.SetText(c.spec, "envName", c.env)
}

// blueprint returns the name of the blueprint that the copy takes; "" for none.
func (c *cloner) blueprint() string {
	switch {
	case c.isOfBase():
		return c.from.Stack.Name
	case c.from.Blueprint != nil:
		return c.from.Blueprint.Name
	}
	return ""
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

func (c *cloner) components() []*yaml.Node {
	written := yamldoc.FindValue(c.spec, "components")
	if written == nil { // all of them are in the blueprint
		return nil
	}
	var all []*yaml.Node
	for _, n := range written.Content {
		all = append(all, yamldoc.ResolveAlias(n))
	}
	return all
}

// copyFiles copies the files that a component names below a folder that is called like the stack, and
// has the copy name those.
func (c *cloner) copyFiles(component *yaml.Node) error { return c.eachPath(component, c.copyFile) }

// eachPath visits the paths of a component's files that are the control plane's own.
func (c *cloner) eachPath(component *yaml.Node, visit func(*yaml.Node) error) error {
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
			if err := visit(yamldoc.ResolveAlias(p)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cloner) isOwn(source string) bool {
	return source == "" || c.from.IsOwnRepository(c.model, source)
}

func (c *cloner) copyFile(p *yaml.Node) error {
	renamed := strings.Split(p.Value, "/")
	for i, part := range renamed {
		renamed[i] = renameWord(part, c.from.Env, c.env)
	}
	named, to := p.Value, strings.Join(renamed, "/")
	if to == named && !c.crosses() {
		if !slices.ContainsFunc(c.copy.Notes, func(n string) bool { return strings.HasPrefix(n, named+" ") }) {
			c.copy.Notes = append(c.copy.Notes, fmt.Sprintf("%s is shared with %s", named, c.from.Path()))
		}
		return nil
	}
	p.Value = to
	return c.copyTree(named, to)
}

// copyTree copies a file or a folder of the stack's layer, unless there is one in that of the copy.
func (c *cloner) copyTree(from, to string) error {
	e, found := c.layer.Files.Lookup(inLayer(c.layer, from))
	if !found {
		return problem.Refusef("", "the stack %s names the file %s, which is not there", c.from.Path(), from)
	}
	if _, there := c.target.Files.Lookup(inLayer(c.target, to)); there {
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

// copyModule copies the module of a component into another environment, if it is a folder of the stack's own.
func (c *cloner) copyModule(component *yaml.Node) error {
	folder, isOwn := ownModule(component)
	if !c.crosses() || !isOwn {
		return nil
	}
	return c.copyTree(folder, folder)
}

// ownModule returns the folder of the environment's branch that is a component's module; false if it is elsewhere.
func ownModule(component *yaml.Node) (string, bool) {
	module := &model.StackModule{Source: model.Text{Text: yamldoc.FindText(component, "module", "source")}, Path: yamldoc.FindText(component, "module", "path")}
	folder, isLocal := module.LocalFolder()
	return folder, isLocal && !module.IsOfBase()
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

// check returns the problems that the environment would have with the files of the copy, and has not without
// them; what is what they are.
func (c *cloner) check(what string) error {
	changed, err := overwriteFiles(c.target, c.copy.Files)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, p := range c.findProblems(c.target) {
		known[p.String()] = true
	}
	var found []problem.Problem
	for _, p := range c.findProblems(changed) {
		if !p.Warning && !known[p.String()] {
			known[p.String()] = true
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return problem.Refusef(found[0].Hint, "%s would have a problem: %s", what, found[0])
	}
	all := list.Convert(found, func(p problem.Problem) string { return "\n  " + p.String() })
	return problem.Refusef(found[0].Hint, "%s would have %d problems:%s", what, len(found), strings.Join(all, ""))
}

func overwriteFiles(layer model.Layer, files map[string][]byte) (model.Layer, error) {
	var b tree.Builder
	written := map[string]bool{}
	for file, text := range files {
		written[inLayer(layer, file)] = true
		if err := b.Add(inLayer(layer, file), text); err != nil {
			return layer, err
		}
	}
	for file, e := range layer.Files.Walk() {
		if written[file] {
			continue
		}
		if err := b.AddEntry(file, e); err != nil {
			return layer, err
		}
	}
	layer.Files = b.Tree()
	return layer, nil
}

func (c *cloner) findProblems(own model.Layer) problem.List {
	var layers []model.Layer
	for _, name := range slices.Sorted(maps.Keys(c.into.Stacks.Layers)) {
		layer := c.into.Stacks.Layers[name]
		if name == c.into.Environment {
			layer = own
		}
		layers = append(layers, layer)
	}
	m, problems := model.Parse(c.into.Environment, layers...)
	_, more := Resolve(m)
	problems = append(problems, more...).Sorted()
	if c.render != nil {
		problems = append(problems, c.render(m).Sorted()...)
	}
	return problems
}
