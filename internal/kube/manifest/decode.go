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

// Object is one YAML document, or one item of a list that a document is.
type Object struct {
	// APIVersion, Kind, Namespace and Name are "" where the text has none. A
	// document that is not a mapping has none of them.
	APIVersion, Kind, Namespace, Name string
	// Line counts from 1, from the start of the text.
	Line int
	// Node is the mapping, or whatever else the document is; never an alias.
	Node *yaml.Node
}

// displayName returns "Kind/name", as far as they are known.
func (o Object) displayName() string {
	if o.Kind != "" && o.Name != "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind
}

// Decode returns the objects of text in their order. Empty documents are left
// out, and objects whose kind ends in "List" are replaced by their items. The
// error is the finding of [Check] with its line, for text that is not UTF-8, is
// not YAML, or expands without bound; duplicate keys are no error here.
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

// cancelable is a text that ends with an error once it is canceled: the decoder reads it bit
// by bit.
type cancelable struct {
	text     io.Reader
	canceled func() bool
}

var errCanceled = errors.New("yaml: canceled")

// Read reads some of the text.
func (c *cancelable) Read(p []byte) (int, error) {
	if c.canceled() {
		return 0, errCanceled
	}
	return c.text.Read(p)
}

// Documents returns the root nodes of a text's documents that are not empty, up to the first
// document that cannot be read, with a finding about it; nil if all can be read. It ends early,
// with some finding, once canceled reports true; a nil canceled never does. The findings call the text what, as in "the
// file".
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

// messagePrefix matches the beginning of yaml.v3's messages. Its line is often
// that of the block around the mistake, and serves only where the right one
// costs too much.
var messagePrefix = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// maxSearched is the length of text up to which the line of a mistake is
// searched for, by decoding the text a dozen times or two.
const maxSearched = 1 << 20

// decodeAll turns the decoder's panics into errors: it has some left, which
// odd comments and line breaks can reach.
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

// InvalidLine returns the first line of a text that is not UTF-8; 0 if all are.
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

// errorLine finds the line that makes the decoder fail with err: the last line
// of the shortest beginning of the text that fails in the same way.
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

// splitLists returns the object that n is, or the items of the list that it is.
// Items of a list of one kind need not repeat their apiVersion and kind: an object
// without a kind gets those of its list.
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

// textAt returns the text of a key of a mapping; "" if there is none.
func textAt(n *yaml.Node, key string) string {
	_, value := yamldoc.LookUpPair(n, key)
	return scalarText(value)
}

// scalarText returns the text of a scalar; "" for null and all other nodes.
func scalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}
