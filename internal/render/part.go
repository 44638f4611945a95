package render

import (
	"bytes"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

type part struct {
	literal []byte
	field   *fieldPart
	block   *blockPart
}

// fieldPart is {{ .Field }} or {{ .Manifests.key }}, optionally with quote. These
// frequent actions skip text/template.
type fieldPart struct {
	text  func(*Data) (string, bool)
	quote bool
	alone bool // the whole value of a key; see Shape
	line  int
	name  string
}

// blockPart is everything else. The fields that it reads decide which assignments share
// its text.
type blockPart struct {
	index int // unique in the engine
	set   *templateSet
	name  string // in the set
	uses  *analysis
	line  int
}

// cutManifest splits a manifest into parts. After a top-level variable the rest is one
// part, since all of it sees the variable.
func cutManifest(s *templateSet, text string) []part {
	var parts []part
	nodes := s.parsed.Root.Nodes
	for i, n := range nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			parts = append(parts, part{literal: n.Text})
			continue
		case *parse.CommentNode:
			continue
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 {
				return append(parts, newBlock(s, nodes[i:], text))
			}
			if f := newField(n, text); f != nil {
				parts = append(parts, part{field: f})
				continue
			}
		}
		parts = append(parts, newBlock(s, nodes[i:i+1], text))
	}
	return parts
}

func newBlock(s *templateSet, nodes []parse.Node, text string) part {
	t := s.parsed
	list := &parse.ListNode{NodeType: parse.NodeList, Pos: nodes[0].Position(), Nodes: nodes}
	name := t.Name() + "#" + strconv.Itoa(int(nodes[0].Position()))
	tree := &parse.Tree{Name: name, ParseName: t.ParseName, Root: list}
	if _, err := t.AddParseTree(name, tree); err != nil {
		panic("render: a part of a parsed template cannot be added: " + err.Error())
	}
	return part{block: &blockPart{
		set: s, name: name, uses: analyseTemplate(t, list), line: lineAt(text, nodes[0].Position()),
	}}
}

func lineAt(text string, pos parse.Pos) int {
	return 1 + strings.Count(text[:min(int(pos), len(text))], "\n")
}

func newField(n *parse.ActionNode, text string) *fieldPart {
	cmds := n.Pipe.Cmds
	if len(cmds) == 0 || len(cmds) > 2 || len(cmds[0].Args) != 1 {
		return nil
	}
	f := &fieldPart{line: lineAt(text, n.Position())}
	if len(cmds) == 2 {
		if len(cmds[1].Args) != 1 || cmds[1].Args[0].String() != "quote" {
			return nil
		}
		f.quote = true
	}
	node, ok := cmds[0].Args[0].(*parse.FieldNode)
	if !ok {
		return nil
	}
	f.name = node.String()
	f.text = textAccessor(node.Ident, f.quote)
	if f.text == nil {
		return nil
	}
	return f
}

var (
	textFields = map[string]func(*Data) string{
		"DeploymentTargetName": func(d *Data) string { return d.DeploymentTargetName },
		"Namespace":            func(d *Data) string { return d.Namespace },
		"Environment":          func(d *Data) string { return d.Environment },
		"Workspace":            func(d *Data) string { return d.Workspace },
		"Workload":             func(d *Data) string { return d.Workload },
		"ClusterType":          func(d *Data) string { return d.ClusterType },
	}
	textMaps = map[string]func(*Data) map[string]string{
		"Manifests": func(d *Data) map[string]string { return d.Manifests },
		"Labels":    func(d *Data) map[string]string { return d.Labels },
	}
)

// textAccessor returns a reader of a text field or a key of a text map, else nil.
// Missing keys with a pipe are for text/template: quote turns them into an empty text.
func textAccessor(ident []string, piped bool) func(*Data) (string, bool) {
	if field := textFields[ident[0]]; field != nil && len(ident) == 1 {
		return func(d *Data) (string, bool) { return field(d), true }
	}
	if texts := textMaps[ident[0]]; texts != nil && len(ident) == 2 && !piped {
		return func(d *Data) (string, bool) { text, ok := texts(d)[ident[1]]; return text, ok }
	}
	return nil
}

func (f *fieldPart) appendText(dst []byte, d *Data, o Options) ([]byte, bool) {
	text, ok := f.text(d)
	if !ok && o.PublishMissing {
		return append(dst, noValue...), true
	}
	if f.quote {
		return strconv.AppendQuote(dst, text), ok
	}
	return append(dst, text...), ok
}

// HasMissing reports whether a text shows a null or missing value.
func HasMissing(text []byte) bool { return bytes.Contains(text, noValue) }

var noValue = []byte("<no value>")

const missingHint = "give it a value, or write {{ … | default \"…\" }} or {{ with … }}; https://github.com/fairlead-io/fairlead/blob/main/docs/reference/kalypso.md says how to publish it as Kalypso does meanwhile"

// boundedBuffer fails writes beyond the limits, which stops the template.
type boundedBuffer struct {
	text  bytes.Buffer
	meter *templatefunc.Meter
}

// maxSteps bounds an expansion. A write costs one step, and one for every bytesPerStep
// bytes. Each loop round and template call writes at least once: see countSteps.
// Functions use the same meter.
const maxSteps = 1 << 20

// bytesPerStep is the text written in the time of a step.
const bytesPerStep = 256

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if err := b.meter.Spend(1 + len(p)/bytesPerStep); err != nil {
		return 0, err
	}
	if b.text.Len()+len(p) > maxOutput {
		return 0, errTooLong
	}
	return b.text.Write(p)
}

// countSteps makes every loop round and template call write, since only a failed write
// stops text/template. It also weighs compared texts.
func countSteps(t *template.Template) {
	for _, named := range t.Templates() {
		if named.Tree == nil || named.Root == nil {
			continue
		}
		countNode(named.Root)
		if named.Name() != t.Name() {
			named.Root.Nodes = append([]parse.Node{emptyText(named.Root.Pos)}, named.Root.Nodes...)
		}
	}
}

func emptyText(at parse.Pos) parse.Node { return &parse.TextNode{NodeType: parse.NodeText, Pos: at} }

func countNode(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, item := range n.Nodes {
			countNode(item)
		}
	case *parse.ActionNode:
		weighPipe(n.Pipe)
	case *parse.TemplateNode:
		weighPipe(n.Pipe)
	case *parse.IfNode:
		countBranch(&n.BranchNode)
	case *parse.WithNode:
		countBranch(&n.BranchNode)
	case *parse.RangeNode:
		countBranch(&n.BranchNode)
		n.List.Nodes = append([]parse.Node{emptyText(n.List.Pos)}, n.List.Nodes...)
	}
}

func countBranch(n *parse.BranchNode) {
	weighPipe(n.Pipe)
	countNode(n.List)
	countNode(n.ElseList)
}
