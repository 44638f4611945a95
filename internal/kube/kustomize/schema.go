package kustomize

import (
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

const (
	hintRef = "write the referenced type out, up to the depth that is needed"
	// maxTypes bounds the types of a CRD file with references expanded: krusty follows each.
	maxTypes = 10_000
)

// plainRef is unchanged by normalization.
var plainRef = regexp.MustCompile(`^(#/definitions/)?\w[\w.-]*(/\w[\w.-]*)*$`)

var definition = regexp.MustCompile(`^#/definitions/\w[\w.-]*$`)

func (c *checker) checkSchemaFiles(k kustomization) int {
	size := 0
	for _, name := range k.spec.Configurations {
		_, n := c.checkData(k.newRef("configurations", name))
		size += n
	}
	for _, name := range k.spec.Crds {
		r := k.newRef("crds", name)
		docs, n := c.checkData(r)
		size += n
		c.checkTypes(r, docs)
	}
	if len(k.spec.OpenAPI) > 0 {
		c.setsSchema = true
	}
	if name, ok := k.spec.OpenAPI["path"]; ok {
		r := k.newRef("openapi path", name)
		docs, n := c.checkData(r)
		size += n
		c.checkDefinitions(r, docs)
	}
	return size
}

// checkTypes reports cyclic references in a CRD file: krusty would follow them until the stack
// overflows, which ends the process.
func (c *checker) checkTypes(r nameRef, docs []*yaml.Node) {
	types := map[string][]string{}
	for _, doc := range docs {
		for name, schema := range mappingPairs(doc) {
			refs, ok := collectReferences(schema, plainRef)
			if !ok {
				c.refuseRef(r, hintRef, "type %q of the file has a reference that is not a plain name, or an alias", text.Shorten(name.Value, 80))
				return
			}
			types[name.Value] = append(types[name.Value], refs...)
		}
	}
	c.checkCircles(r, "types", types)
}

func (c *checker) checkCircles(r nameRef, what string, types map[string][]string) {
	w := typeWalk{types: types, sizes: map[string]int{}}
	for name := range types {
		if w.typeSize(name) > maxTypes {
			c.refuseRef(r, hintRef, "the %s of %q refer to each other without end", what, r.value)
			return
		}
	}
}

type typeWalk struct {
	types map[string][]string
	sizes map[string]int
}

func (w *typeWalk) typeSize(name string) int {
	if size, known := w.sizes[name]; known {
		return size
	}
	w.sizes[name] = maxTypes + 1 // a cycle counts as too many
	size := 1
	for _, target := range w.types[name] {
		size = min(size+w.typeSize(target), maxTypes+1)
	}
	w.sizes[name] = size
	return size
}

// checkDefinitions reports cycles of definitions that are only references: kyaml resolves such
// chains to the end. Other references are resolved on demand.
func (c *checker) checkDefinitions(r nameRef, docs []*yaml.Node) {
	targets := map[string][]string{}
	for _, doc := range docs {
		if _, ok := collectReferences(doc, definition); !ok {
			c.refuseRef(r, "refer to whole definitions, as in #/definitions/NAME, and use no YAML aliases",
				"the schema %q has a reference that is not to one of its definitions, or an alias", r.value)
			return
		}
		for key, definitions := range mappingPairs(doc) {
			if !strings.EqualFold(key.Value, "definitions") {
				continue
			}
			for name, schema := range mappingPairs(definitions) {
				for field, value := range mappingPairs(schema) {
					if field.Value == "$ref" {
						targets[name.Value] = append(targets[name.Value], strings.TrimPrefix(value.Value, "#/definitions/"))
					}
				}
			}
		}
	}
	c.checkCircles(r, "definitions", targets)
}

// collectReferences returns all $ref values, or false if one is not allowed or behind an alias.
func collectReferences(n *yaml.Node, allowed *regexp.Regexp) (refs []string, ok bool) {
	if n.Kind == yaml.AliasNode {
		return nil, false
	}
	for key, value := range mappingPairs(n) {
		if strings.EqualFold(key.Value, "$ref") && value.Kind == yaml.ScalarNode {
			if !allowed.MatchString(value.Value) {
				return nil, false
			}
			refs = append(refs, value.Value)
		}
	}
	for _, child := range n.Content {
		more, ok := collectReferences(child, allowed)
		if !ok {
			return nil, false
		}
		refs = append(refs, more...)
	}
	return refs, true
}
