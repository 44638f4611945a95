package model

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// annotationText is the YAML text of an annotation, or a spec that holds the same, as a decoder reads it. Problems name its
// fields below path.
type annotationText struct {
	*decoder
	pos  problem.Pos
	path string
}

// decodeAnnotation decodes the YAML text of an annotation strictly, if into is not nil, and reports whether it
// is a mapping. Problems have the lines of the file, for a text that is written as a block or on one line.
func decodeAnnotation(key string, text locatedText, subject string, at func(int) problem.Pos, problems *problem.List, into any) (annotationText, bool) {
	pos := at(text.Line)
	a := annotationText{&decoder{layer: pos.Layer, file: pos.File, subject: subject, problems: problems, budget: nodeBudget}, pos, strings.TrimPrefix(key, OwnGroup+"/")}
	roots, finding := manifest.Documents("the text", []byte(text.Text), func() bool { return false })
	if finding != nil {
		line := text.Line
		if line > 0 {
			line += max(finding.Line-1, 0)
		}
		problems.Addf(at(line), subject, cmp.Or(finding.Hint, "the annotation holds YAML"), "%s: %s", key, finding.Summary)
		return a, false
	}
	if len(roots) != 1 || yamldoc.ResolveAlias(roots[0]).Kind != yaml.MappingNode {
		example := "{cpu: 500m}"
		if key == ChooseAnnotation {
			example = "{pick: 2}"
		}
		problems.Addf(pos, subject, "write it as in \""+key+": '"+example+"'\"", "%s should be a mapping in YAML", key)
		return a, false
	}
	a.root = yamldoc.ResolveAlias(roots[0])
	shiftLines(a.root, text.Line-1, text.Line == 0)
	if into != nil {
		a.decodeValue(a.root, reflect.ValueOf(into).Elem(), a.path)
	}
	return a, true
}

func shiftLines(n *yaml.Node, by int, unknown bool) {
	n.Line += by
	if unknown {
		n.Line = 0
	}
	for _, c := range n.Content {
		shiftLines(c, by, unknown)
	}
}

func (a annotationText) addAt(field, hint, format string, args ...any) {
	at := a.root
	if key, _ := yamldoc.LookUpPair(a.root, field); key != nil {
		at = key
	}
	a.addProblem(at, hint, format, args...)
}

func (a annotationText) oneOf(field, value string, known ...string) string {
	if value == "" {
		return known[0]
	}
	if !slices.Contains(known, value) {
		a.addAt(field, cmp.Or(problem.DidYouMean(value, known), "it is "+strings.Join(known, " or ")), "%s.%s cannot be %q", a.path, field, value)
		return known[0]
	}
	return value
}

// readNumber returns a whole number within bounds, or otherwise if none is written.
func (a annotationText) readNumber(n *yaml.Node, field string, otherwise, least, most int) int {
	if n.Kind == 0 || yamldoc.IsNull(n) {
		return otherwise
	}
	number, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || number < least || number > most {
		a.addProblem(n, fmt.Sprintf("write a whole number from %d to %d", least, most), "%s.%s cannot be %s", a.path, field, showNode(n))
		return otherwise
	}
	return number
}

func (a annotationText) selector(field string, s selectorSpec) Selector {
	found, errs := s.parseSelector()
	for _, err := range errs {
		a.addAt(field, fmt.Sprintf("the operators are %q, %q, %q, %q", In, NotIn, Exists, DoesNotExist), "%s.%s: %v", a.path, field, err)
	}
	return found
}

func (a annotationText) labelKey(field, key string) string {
	if err := kubename.CheckLabelKey(key); key != "" && err != nil {
		a.addAt(field, "", "%s.%s.by: %v", a.path, field, err)
	}
	return key
}
