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

// separator is a line at which kyaml cuts a text into documents before it parses
// them, if nothing or a comment follows; a plain one is one for YAML too. kyaml
// also trims what is a space in Unicode, and needs none before a comment. There
// the parser would see other documents than kyaml, and a check of the former would
// not cover the latter.
var (
	separator      = regexp.MustCompile(`(?m)^---.*$`)
	plainSeparator = regexp.MustCompile(`^---([ \t]*\r?$|[ \t]+[!-~])`)
)

// findOddity returns an error if kyaml might read the text otherwise than the parser does.
func findOddity(text []byte) *syntaxError {
	if !utf8.Valid(text) {
		return &syntaxError{0, "it is not UTF-8"} // the parser takes UTF-16 as well
	}
	for _, at := range separator.FindAllIndex(text, -1) {
		if !plainSeparator.Match(text[at[0]:at[1]]) {
			return &syntaxError{1 + bytes.Count(text[:at[0]], []byte("\n")), "nothing but a space may follow --- at the start of a line"}
		}
	}
	return nil
}

// parseDocuments reads YAML with the parser that krusty uses, and returns the size of the
// text with every alias written out, as krusty writes them out.
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
			line, _ := strconv.Atoi(found[1]) // 0 if there is none, or too many digits
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

// measureData returns the size of a text with every alias written out. JSON has no
// aliases, and has escapes that YAML does not know.
func measureData(text []byte) (size int, err error) {
	if json.Valid(text) {
		return len(text), nil
	}
	_, size, err = parseDocuments(text)
	return size, err
}

// expansion counts the bytes of nodes with every alias replaced by what it
// stands for.
type expansion struct {
	written int                // bytes of the nodes of the text itself
	sizes   map[*yaml.Node]int // of anchored nodes that are counted
	cycle   *yaml.Node         // an alias inside of its own target
}

const (
	// nodeCost is what a node counts besides its text: about what it takes in
	// memory, beyond what the text took that it comes from.
	nodeCost = 64
	// sizeCap is beyond every limit, and a sum of two does not overflow.
	sizeCap = 1 << 30
)

func (e *expansion) nodeSize(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		// What it stands for is before it in the text. A node that is not yet counted contains it.
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

// syntaxError is a parser's error with its line; 0 if that is not known.
type syntaxError struct {
	line    int
	message string
}

func (e *syntaxError) Error() string { return e.message }

var lineInMessage = regexp.MustCompile(`^(?:yaml: line (\d+): )?`)

const hintSyntax = "check the indentation and the quotes in and above this line"

// syntaxHint returns the hint for a text that cannot be parsed; "" for other errors.
func syntaxHint(err error) string {
	if syntax := (*syntaxError)(nil); errors.As(err, &syntax) {
		return hintSyntax
	}
	return ""
}

// errorLine returns the line of a syntax error; 0 if it is not known.
func errorLine(err error) int {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		return syntax.line
	}
	return 0
}

// mappingPairs yields the keys and values of a mapping, or of a document that is one.
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
