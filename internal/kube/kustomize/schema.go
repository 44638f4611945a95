package kustomize

import (
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	hintRef = "write the referenced type out, up to the depth that is needed"
	// maxTypes is how many types a file of CRDs may come to, when each counts as
	// often as it is referenced. krusty follows every reference.
	maxTypes = 10_000
)

// plainRef is a reference that means itself, however it is normalised.
var plainRef = regexp.MustCompile(`^(#/definitions/)?\w[\w.-]*(/\w[\w.-]*)*$`)

// definition is a reference to a whole definition of the same file.
var definition = regexp.MustCompile(`^#/definitions/\w[\w.-]*$`)

// schemaFiles checks configurations, CRDs and OpenAPI schemas.
func (c *check) schemaFiles(k kustomization) int {
	size := 0
	for _, name := range k.spec.Configurations {
		_, n := c.data(k.ref("configurations", name))
		size += n
	}
	for _, name := range k.spec.Crds {
		r := k.ref("crds", name)
		docs, n := c.data(r)
		size += n
		c.endlessTypes(r, docs)
	}
	if len(k.spec.OpenAPI) > 0 {
		c.schemas = true
	}
	if name, ok := k.spec.OpenAPI["path"]; ok {
		r := k.ref("openapi path", name)
		docs, n := c.data(r)
		size += n
		c.endlessDefinitions(r, docs)
	}
	return size
}

// endlessTypes reports references between the types of a CRD file that krusty
// would follow for ever: it follows all of them, and the stack that overflows
// takes the process with it.
func (c *check) endlessTypes(r ref, docs []*yaml.Node) {
	types := map[string][]string{}
	for _, doc := range docs {
		for name, schema := range pairs(doc) {
			refs, ok := references(schema, plainRef)
			if !ok {
				c.refuse(r, hintRef, "type %q of the file has a reference that is not a plain name, or an alias", shorten(name.Value, 80))
				return
			}
			types[name.Value] = append(types[name.Value], refs...)
		}
	}
	w := typeWalk{types: types, sizes: map[string]int{}}
	for name := range types {
		if w.size(name) > maxTypes {
			c.refuse(r, hintRef, "the types of %q refer to each other without end", r.value)
			return
		}
	}
}

// typeWalk counts types with every reference followed.
type typeWalk struct {
	types map[string][]string
	sizes map[string]int
}

func (w *typeWalk) size(name string) int {
	if size, known := w.sizes[name]; known {
		return size
	}
	w.sizes[name] = maxTypes + 1 // what it is to its own references
	size := 1
	for _, target := range w.types[name] {
		size = min(size+w.size(target), maxTypes+1)
	}
	w.sizes[name] = size
	return size
}

// endlessDefinitions reports definitions of an OpenAPI schema that are only a
// reference to each other: kyaml resolves such a chain to its end. Other
// references are resolved one by one, as an object needs them.
func (c *check) endlessDefinitions(r ref, docs []*yaml.Node) {
	targets := map[string][]string{}
	for _, doc := range docs {
		if _, ok := references(doc, definition); !ok {
			c.refuse(r, "refer to whole definitions, as in #/definitions/NAME, and use no YAML aliases",
				"the schema %q has a reference that is not to one of its definitions, or an alias", r.value)
			return
		}
		for key, definitions := range pairs(doc) {
			if !strings.EqualFold(key.Value, "definitions") {
				continue
			}
			for name, schema := range pairs(definitions) {
				for field, value := range pairs(schema) {
					if field.Value == "$ref" {
						targets[name.Value] = append(targets[name.Value], strings.TrimPrefix(value.Value, "#/definitions/"))
					}
				}
			}
		}
	}
	w := typeWalk{types: targets, sizes: map[string]int{}}
	for name := range targets {
		if w.size(name) > maxTypes {
			c.refuse(r, hintRef, "the definitions of %q refer to each other without end", r.value)
			return
		}
	}
}

// references returns the values of all $ref in a node; false if one of them is
// not allowed, or hidden behind an alias.
func references(n *yaml.Node, allowed *regexp.Regexp) (refs []string, ok bool) {
	if n.Kind == yaml.AliasNode {
		return nil, false
	}
	for key, value := range pairs(n) {
		if strings.EqualFold(key.Value, "$ref") && value.Kind == yaml.ScalarNode {
			if !allowed.MatchString(value.Value) {
				return nil, false
			}
			refs = append(refs, value.Value)
		}
	}
	for _, child := range n.Content {
		more, ok := references(child, allowed)
		if !ok {
			return nil, false
		}
		refs = append(refs, more...)
	}
	return refs, true
}
