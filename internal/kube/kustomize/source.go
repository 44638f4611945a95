package kustomize

import (
	"cmp"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// source is a file that names other files: a kustomization, or the
// configuration of a transformer.
type source struct {
	dir  string // the kustomization's folder, from which names are looked up
	file string
	docs []*yaml.Node
}

func (s *source) subject() string { return "Kustomization/" + cmp.Or(s.dir, ".") }

// nameRef is one name in a source.
type nameRef struct {
	*source
	// field names the field for people; its first word is a key of the source.
	field string
	value string
}

func (s *source) newRef(field, value string) nameRef { return nameRef{s, field, value} }

// refuseRef reports what is wrong with the name, at its line.
func (c *checker) refuseRef(r nameRef, hint, format string, args ...any) {
	pos := problem.Pos{File: r.file, Line: r.findLine()}
	c.problems.Addf(pos, r.subject(), hint, "%s: %s", r.field, fmt.Sprintf(format, args...))
}

// refuseFile reports what is wrong with the content of a file that r names.
func (c *checker) refuseFile(r nameRef, file string, line int, hint, format string, args ...any) {
	c.problems.Addf(problem.Pos{File: file, Line: line}, r.subject(), hint, format, args...)
}

// findLine finds the value below its key: a text that is equal or, if there is none,
// one that contains it, as inline YAML does. Without either it is the key's line.
func (r nameRef) findLine() int {
	key, _, _ := strings.Cut(r.field, " ")
	scope := r.nodesUnder(key)
	if len(scope) == 0 {
		scope = r.docs
	}
	equal := func(text string) bool { return text == r.value }
	contains := func(text string) bool { return strings.Contains(text, r.value) }
	for _, matches := range []func(string) bool{equal, contains} {
		for _, n := range scope {
			if line := firstLine(n, matches); line > 0 {
				return line
			}
		}
	}
	if len(scope) == 0 {
		return 0
	}
	return scope[0].Line
}

// nodesUnder returns the top-level key and its value. The case of the key does
// not matter, as kustomize decodes keys like JSON.
func (s *source) nodesUnder(key string) []*yaml.Node {
	var found []*yaml.Node
	for _, doc := range s.docs {
		for name, value := range mappingPairs(doc) {
			if strings.EqualFold(name.Value, key) {
				found = append(found, name, value)
			}
		}
	}
	return found
}

// firstLine returns the line of the first scalar that matches, in the order of the
// text; 0 if there is none.
func firstLine(n *yaml.Node, matches func(string) bool) int {
	if n.Kind == yaml.ScalarNode && matches(n.Value) {
		return n.Line
	}
	for _, child := range n.Content {
		if line := firstLine(child, matches); line > 0 {
			return line
		}
	}
	return 0
}
