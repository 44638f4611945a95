package kustomize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// kyaml cuts a text into documents at lines that match separator, even with Unicode spaces or a
// comment without space. Only plainSeparator is also a separator in YAML. For others, the parser
// would check other documents than kyaml reads.
var (
	separator      = regexp.MustCompile(`(?m)^---.*$`)
	plainSeparator = regexp.MustCompile(`^---([ \t]*\r?$|[ \t]+[!-~])`)
)

// findOddity returns an error if kyaml may read the text differently from the parser.
func findOddity(text []byte) *syntaxError {
	if !utf8.Valid(text) {
		return &syntaxError{0, "it is not UTF-8"} // the parser also accepts UTF-16
	}
	for _, at := range separator.FindAllIndex(text, -1) {
		if !plainSeparator.Match(text[at[0]:at[1]]) {
			return &syntaxError{1 + bytes.Count(text[:at[0]], []byte("\n")), "nothing but a space may follow --- at the start of a line"}
		}
	}
	return nil
}

// parseDocuments uses krusty's parser, and returns the size with all aliases expanded, as krusty
// does.
func parseDocuments(text []byte) (docs []*yaml.Node, size int, err error) {
	if odd := findOddity(text); odd != nil {
		return nil, 0, odd
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		doc := &yaml.Node{}
		if err := decoder.Decode(doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			found := lineInMessage.FindStringSubmatch(err.Error())
			line, _ := strconv.Atoi(found[1])
			return nil, 0, &syntaxError{line, err.Error()[len(found[0]):]}
		}
		docs = append(docs, doc)
	}
	e := expansion{sizes: map[*yaml.Node]int{}}
	for _, doc := range docs {
		size = min(size+e.nodeSize(doc), sizeCap)
	}
	if e.cycle != nil {
		return nil, 0, &syntaxError{e.cycle.Line, fmt.Sprintf("alias %q stands for something that contains it", e.cycle.Value)}
	}
	return docs, len(text) + size - e.written, nil
}

// measureData returns the size with all aliases expanded. JSON has none, and has escapes that YAML
// lacks.
func measureData(text []byte) (size int, err error) {
	if json.Valid(text) {
		return len(text), nil
	}
	_, size, err = parseDocuments(text)
	return size, err
}

type expansion struct {
	written int
	sizes   map[*yaml.Node]int // of counted anchors
	cycle   *yaml.Node         // an alias in its own target
}

const (
	// nodeCost is a node's memory in addition to its text.
	nodeCost = 64
	// sizeCap is above every limit; twice it does not overflow.
	sizeCap = 1 << 30
)

func (e *expansion) nodeSize(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		// An anchor precedes its aliases. One that is not counted yet contains the alias.
		size, counted := e.sizes[n.Alias]
		if !counted {
			e.cycle = n
		}
		return size
	}
	size := nodeCost + len(n.Value)
	e.written = min(e.written+size, sizeCap)
	for _, child := range n.Content {
		size = min(size+e.nodeSize(child), sizeCap)
	}
	if n.Anchor != "" {
		e.sizes[n] = size
	}
	return size
}

type syntaxError struct {
	line    int
	message string
}

func (e *syntaxError) Error() string { return e.message }

var lineInMessage = regexp.MustCompile(`^(?:yaml: line (\d+): )?`)

const hintSyntax = "check the indentation and the quotes in and above this line"

func syntaxHint(err error) string {
	if syntax := (*syntaxError)(nil); errors.As(err, &syntax) {
		return hintSyntax
	}
	return ""
}

func errorLine(err error) int {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		return syntax.line
	}
	return 0
}

func mappingPairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			n = n.Content[0]
		}
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}
