package kustomize

import (
	"cmp"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

type source struct {
	dir  string // names are relative to it
	file string
	docs []*yaml.Node
}

func (s *source) subject() string { return "Kustomization/" + cmp.Or(s.dir, ".") }

type nameRef struct {
	*source
	// field is for messages; its first word is a key of the source.
	field string
	value string
}

func (s *source) newRef(field, value string) nameRef { return nameRef{s, field, value} }

func (c *checker) refuseRef(r nameRef, hint, format string, args ...any) {
	pos := problem.Pos{File: r.file, Line: r.findLine()}
	c.problems.Addf(pos, r.subject(), hint, "%s: %s", r.field, fmt.Sprintf(format, args...))
}

func (c *checker) refuseFile(r nameRef, file string, line int, hint, format string, args ...any) {
	c.problems.Addf(problem.Pos{File: file, Line: line}, r.subject(), hint, format, args...)
}

// findLine finds the value below its key: an equal text, or one that contains it, such as inline
// YAML. The default is the key's line.
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
