package manifest

import "gopkg.in/yaml.v3"

// maxRepeated bounds the nodes that aliases add. Real files have a few hundred; nested aliases make
// billions.
const maxRepeated = 100_000

// checkExpansion must be called before following aliases.
func checkExpansion(root *yaml.Node) *Finding {
	e := expansion{sizes: map[*yaml.Node]int{}}
	size := e.nodeSize(root)
	if e.cycle != nil {
		return &Finding{Line: e.cycle.Line, Summary: "a YAML alias refers to a node that contains it", Hint: hintAliases}
	}
	if size-e.written > maxRepeated {
		return &Finding{Line: root.Line, Summary: "the YAML aliases of the document expand to too much", Hint: hintAliases}
	}
	return nil
}

type expansion struct {
	written int
	sizes   map[*yaml.Node]int // of anchors; counting while in progress
	cycle   *yaml.Node
}

const (
	counting = -1
	// sizeCap is far above maxRepeated, and doubles without overflow.
	sizeCap = 1 << 30
)

func (e *expansion) nodeSize(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return e.aliasSize(n)
	}
	anchored := n.Anchor != ""
	if anchored {
		e.sizes[n] = counting
	}
	e.written = min(e.written+1, sizeCap)
	size := 1
	for _, child := range n.Content {
		size = min(size+e.nodeSize(child), sizeCap)
	}
	if anchored {
		e.sizes[n] = size
	}
	return size
}

// aliasSize handles anchors of an earlier document, which yaml.v3 allows. Otherwise an anchor
// precedes its aliases.
func (e *expansion) aliasSize(n *yaml.Node) int {
	size, known := e.sizes[n.Alias]
	if !known {
		written := e.written
		size = e.nodeSize(n.Alias)
		e.written = written
	}
	if size == counting {
		e.cycle = n
		return 1
	}
	return size
}
