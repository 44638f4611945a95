package manifest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Object is a YAML document, or an item of a list.
type Object struct {
	// APIVersion, Kind, Namespace and Name are "" if missing.
	APIVersion, Kind, Namespace, Name string
	Line                              int
	// Node is never an alias. It is not a mapping if the document is not.
	Node *yaml.Node
}

func (o Object) displayName() string {
	if o.Kind != "" && o.Name != "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind
}

// Decode returns the objects of text, without empty documents and with lists replaced by their
// items. The error is a [Finding] for text that is not UTF-8, is not YAML, or expands without
// bound. Duplicate keys are allowed.
func Decode(text []byte) ([]Object, error) {
	documents, err := Documents("the text", text, nil)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, root := range documents {
		if err := checkExpansion(root); err != nil {
			return nil, err
		}
		objects = append(objects, splitLists(root, "", "")...)
	}
	return objects, nil
}

// cancelable makes the decoder fail once canceled.
type cancelable struct {
	text     io.Reader
	canceled func() bool
}

var errCanceled = errors.New("yaml: canceled")

func (c *cancelable) Read(p []byte) (int, error) {
	if c.canceled() {
		return 0, errCanceled
	}
	return c.text.Read(p)
}

// Documents returns the root nodes of non-empty documents, and a finding about the first one that
// cannot be read. It ends early once canceled, if not nil, reports true. Findings call the text
// what, such as "the file".
func Documents(what string, text []byte, canceled func() bool) ([]*yaml.Node, *Finding) {
	if line := InvalidLine(text); line > 0 {
		return nil, &Finding{Line: line, Summary: what + " is not UTF-8", Hint: hintEncoding}
	}
	var in io.Reader = bytes.NewReader(text)
	if canceled != nil {
		in = &cancelable{in, canceled}
	}
	roots, err := decodeAll(in)
	if err == nil {
		return roots, nil
	}
	if canceled != nil && canceled() {
		return roots, &Finding{Line: 1, Summary: what + " was not read to the end", Hint: hintSyntax}
	}
	if line := yamldoc.ConflictLine(text); line > 0 {
		return roots, &Finding{Line: line, Summary: what + " has a merge conflict", Hint: yamldoc.ConflictHint}
	}
	place := messagePrefix.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(place[1])
	if len(text) <= maxSearched {
		line = errorLine(text, err)
	}
	return roots, &Finding{Line: max(line, 1), Summary: what + " is not YAML: " + err.Error()[len(place[0]):], Hint: hintSyntax}
}

// messagePrefix matches yaml.v3's prefix. Its line often belongs to the enclosing block, so it is
// used only for large texts.
var messagePrefix = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// maxSearched bounds texts that are decoded repeatedly to find the line of an error.
const maxSearched = 1 << 20

// decodeAll recovers the decoder's panics on odd comments and line breaks.
func decodeAll(text io.Reader) (roots []*yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: the decoder gave up on it")
		}
	}()
	decoder := yaml.NewDecoder(text)
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err == io.EOF {
			return roots, nil
		} else if err != nil {
			return roots, err
		}
		if err := yamldoc.CheckAliases(&document); err != nil {
			return roots, err
		}
		if root := document.Content[0]; root.ShortTag() != "!!null" {
			roots = append(roots, root)
		}
	}
}

// InvalidLine returns the first line that is not UTF-8, or 0.
func InvalidLine(text []byte) int {
	if utf8.Valid(text) {
		return 0
	}
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		text = text[size:]
	}
	return line
}

func errorLine(text []byte, err error) int {
	var ends []int
	for i, c := range text {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	before := sort.Search(len(ends), func(i int) bool {
		_, e := decodeAll(bytes.NewReader(text[:ends[i]]))
		return e != nil && e.Error() == err.Error()
	})
	return before + 1
}

// splitLists returns n, or the items of the list n. Items without a kind get their list's
// apiVersion and kind.
func splitLists(n *yaml.Node, apiVersion, kind string) []Object {
	n = yamldoc.ResolveAlias(n)
	_, metadata := yamldoc.LookUpPair(n, "metadata")
	o := Object{
		APIVersion: textAt(n, "apiVersion"), Kind: textAt(n, "kind"), Namespace: textAt(metadata, "namespace"), Name: textAt(metadata, "name"),
		Line: n.Line, Node: n,
	}
	if o.Node.Kind == yaml.MappingNode && o.Kind == "" && kind != "" {
		o.APIVersion, o.Kind = apiVersion, kind
	}
	itemKind, isList := strings.CutSuffix(o.Kind, "List")
	_, items := yamldoc.LookUpPair(o.Node, "items")
	if !isList || items == nil || items.Kind != yaml.SequenceNode {
		return []Object{o}
	}
	var objects []Object
	for _, item := range items.Content {
		objects = append(objects, splitLists(item, o.APIVersion, itemKind)...)
	}
	return objects
}

func textAt(n *yaml.Node, key string) string {
	_, value := yamldoc.LookUpPair(n, key)
	return scalarText(value)
}

func scalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}
