package model

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Composed is an object that is written in the base, in the environment, or in both. Mappings are
// merged by key, and lists of mappings with names by name; the environment's value wins, and its null
// removes the base's.
type Composed struct {
	Object
	Namespace string
	// Node is the composed spec, without aliases. It must not be changed.
	Node *yaml.Node
	// InBase is the position of the part in the base, and zero if there is none.
	InBase problem.Pos

	ofBase map[*yaml.Node]bool // nodes of the base's part, if there are two
}

// Path returns the namespace and the name, which identify the object.
func (c *Composed) Path() string { return c.Namespace + "/" + c.Name }

// PositionOf returns the position of a field of the spec, or of the nearest one around it that is
// written. The path is keys of mappings (string) and indexes of lists (int).
func (c *Composed) PositionOf(path ...any) problem.Pos {
	written, _ := c.find(path)
	if written.Line == 0 {
		return c.Pos
	}
	pos := c.Pos
	if c.ofBase[written] {
		pos = c.InBase
	}
	pos.Line = written.Line
	return pos
}

// IsWritten reports whether a field of the spec is written.
func (c *Composed) IsWritten(path ...any) bool {
	_, found := c.find(path)
	return found
}

// TextOf returns the text of a scalar of the spec, and whether the field is written.
func (c *Composed) TextOf(path ...any) (text string, written bool) {
	n := c.Node
	for _, step := range path {
		_, n = findStep(n, step)
		if n == nil {
			return "", false
		}
	}
	if n.Kind != yaml.ScalarNode {
		return yamldoc.DescribeType(n), true
	}
	return n.Value, true
}

// find returns the node where a field of the spec is written, or else that of the nearest one around
// it and false.
func (c *Composed) find(path []any) (written *yaml.Node, found bool) {
	n := c.Node
	written = n
	for _, step := range path {
		at, value := findStep(n, step)
		if value == nil {
			return written, false
		}
		written, n = at, value
	}
	return written, true
}

// findStep returns the value at a key of a mapping or at an index of a list, and the node where it
// begins; nil if there is none.
func findStep(n *yaml.Node, step any) (at, value *yaml.Node) {
	switch step := step.(type) {
	case string:
		return yamldoc.FindPair(n, step)
	case int:
		if n.Kind == yaml.SequenceNode && step < len(n.Content) {
			return n.Content[step], n.Content[step]
		}
	}
	return nil, nil
}

type objectPart struct {
	Object
	namespace string
	layer     LayerKind
	spec      *yaml.Node
}

// defaultNamespace is that of an object without one: where kubectl puts it.
const defaultNamespace = "default"

// readPart reads an object of a kind that is composed, with a spec of type S.
func readPart[S any](r *reader, n *yaml.Node, kind string, d *decoder) *objectPart {
	d.pruned = true
	o, _, meta := readObject[S](r, n, kind, d)
	maps.DeleteFunc(o.Labels, func(key, _ string) bool { return strings.HasPrefix(key, OwnerLabelPrefix) })
	return &objectPart{Object: o, namespace: meta.Namespace, layer: r.layer.Kind, spec: d.expandSpec(n)}
}

// copyNode returns a copy of a node without aliases, merge keys and keys that are given twice.
func (d *decoder) copyNode(n *yaml.Node) *yaml.Node {
	n = yamldoc.ResolveAlias(n)
	c := *n
	c.Anchor, c.Content = "", nil
	if !d.spendBudget(1) {
		return &c
	}
	switch n.Kind {
	case yaml.MappingNode:
		for key, value := range d.uniquePairs(n) {
			c.Content = append(c.Content, d.copyNode(key), d.copyNode(value))
		}
	default:
		for _, item := range n.Content {
			c.Content = append(c.Content, d.copyNode(item))
		}
	}
	return &c
}

// composedPair is the parts of one object; nil where a layer has none.
type composedPair struct{ base, env *objectPart }

func composeObjects(parts []*objectPart, problems *problem.List) []Composed {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *objectPart) bool { return p.Name == "" }) // it was reported
	slices.SortFunc(parts, func(a, b *objectPart) int { return a.Pos.Compare(b.Pos) })
	base, env := map[string]*objectPart{}, map[string]*objectPart{}
	for _, p := range parts {
		path, places := namespaceOf(p, parts)+"/"+p.Name, env
		if p.layer == Base {
			places = base
		}
		if other := places[path]; other != nil {
			problems.Addf(p.Pos, p.Subject(), "remove one of them, or give it another name", "there is another %s of this name at %s", p.Kind, other.Pos)
			continue
		}
		places[path] = p
	}
	var all []Composed
	for _, path := range sortedKeys(env) {
		namespace, _, _ := strings.Cut(path, "/")
		pair := composedPair{base[namespace+"/"+blueprintName(&env[path].Object)], env[path]}
		if pair.base == nil && pair.env.Annotations[BlueprintAnnotation] != "" {
			addUnknownBlueprint(&pair.env.Object, list.Convert(sortedKeys(base), func(path string) string { return path[strings.Index(path, "/")+1:] }), problems)
		}
		all = append(all, pair.compose(namespace))
	}
	for _, path := range sortedKeys(base) {
		if env[path] == nil {
			namespace, _, _ := strings.Cut(path, "/")
			all = append(all, composedPair{base: base[path]}.compose(namespace))
		}
	}
	slices.SortFunc(all, func(a, b Composed) int { return strings.Compare(a.Path(), b.Path()) })
	return all
}

// namespaceOf returns the namespace of an object. What an environment writes without one has that of
// its blueprint, if there is one only.
func namespaceOf(p *objectPart, parts []*objectPart) string {
	if p.namespace != "" || p.layer == Base {
		return cmp.Or(p.namespace, defaultNamespace)
	}
	var found []string
	for _, other := range parts {
		if other.layer == Base && other.Name == blueprintName(&p.Object) {
			found = append(found, other.namespace)
		}
	}
	if len(found) == 1 {
		return cmp.Or(found[0], defaultNamespace)
	}
	return defaultNamespace
}

func (p composedPair) compose(namespace string) Composed {
	switch {
	case p.base == nil:
		return Composed{Object: p.env.Object, Namespace: namespace, Node: p.env.spec}
	case p.env == nil:
		return Composed{Object: p.base.Object, Namespace: namespace, Node: p.base.spec, InBase: p.base.Pos}
	}
	c := Composed{Object: p.env.Object, Namespace: namespace, InBase: p.base.Pos, ofBase: map[*yaml.Node]bool{}}
	c.Labels, c.Annotations = maps.Clone(p.base.Labels), maps.Clone(p.base.Annotations)
	maps.Copy(c.Labels, p.env.Labels)
	maps.Copy(c.Annotations, p.env.Annotations)
	markNodes(p.base.spec, c.ofBase)
	c.Node = mergeNodes(p.base.spec, p.env.spec)
	return c
}

// isOfEnvironment reports whether a part of the object is written on the environment's branch.
func (c *Composed) isOfEnvironment() bool { return c.Pos != c.InBase }

func markNodes(n *yaml.Node, marked map[*yaml.Node]bool) {
	marked[n] = true
	for _, child := range n.Content {
		markNodes(child, marked)
	}
}

func mergeNodes(base, over *yaml.Node) *yaml.Node {
	switch {
	case base.Kind == yaml.MappingNode && over.Kind == yaml.MappingNode:
		return mergeMappings(base, over)
	case isNamedList(base) && isNamedList(over):
		return mergeLists(base, over)
	}
	return over
}

func mergeMappings(base, over *yaml.Node) *yaml.Node {
	merged := *over
	merged.Content = nil
	for i := 0; i+1 < len(base.Content); i += 2 {
		key, value := yamldoc.FindPair(over, base.Content[i].Value)
		switch {
		case key == nil:
			merged.Content = append(merged.Content, base.Content[i], base.Content[i+1])
		case !yamldoc.IsNull(value):
			merged.Content = append(merged.Content, key, mergeNodes(base.Content[i+1], value))
		}
	}
	for i := 0; i+1 < len(over.Content); i += 2 {
		if key, _ := yamldoc.FindPair(base, over.Content[i].Value); key == nil {
			merged.Content = append(merged.Content, over.Content[i], over.Content[i+1])
		}
	}
	return &merged
}

// mergeLists merges two lists of mappings with names: those of base come first.
func mergeLists(base, over *yaml.Node) *yaml.Node {
	merged := *over
	merged.Content = nil
	taken := map[int]bool{}
	for _, item := range base.Content {
		name := yamldoc.FindText(item, "name")
		i := slices.IndexFunc(over.Content, func(o *yaml.Node) bool { return yamldoc.FindText(o, "name") == name })
		if i >= 0 && !taken[i] {
			taken[i] = true
			item = mergeNodes(item, over.Content[i])
		}
		merged.Content = append(merged.Content, item)
	}
	for i, item := range over.Content {
		if !taken[i] {
			merged.Content = append(merged.Content, item)
		}
	}
	return &merged
}

func isNamedList(n *yaml.Node) bool {
	return n.Kind == yaml.SequenceNode && len(n.Content) > 0 && !slices.ContainsFunc(n.Content, func(item *yaml.Node) bool { return yamldoc.FindText(item, "name") == "" })
}

// decodeNode decodes a composed spec. What is wrong with it was reported where its parts were read.
func decodeNode[S any](n *yaml.Node) (s S) {
	d := &decoder{problems: &problem.List{}, root: n, budget: nodeBudget}
	d.decodeValue(n, reflect.ValueOf(&s).Elem(), "spec")
	return s
}
