package manifest

import "gopkg.in/yaml.v3"

// maxRepeated is how many nodes a document may gain through its aliases. Files
// that people mean have a few hundred; a few lines of aliases to aliases make
// billions.
const maxRepeated = 100_000

// checkExpansion returns an error if a document expands without bound. It must be called before a
// document is walked through its aliases.
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

// expansion counts nodes with every alias replaced by what it stands for.
type expansion struct {
	written int                // nodes in the text
	sizes   map[*yaml.Node]int // of anchored nodes; underWay while they are counted
	cycle   *yaml.Node         // an alias inside of its own target
}

const (
	counting = -1
	// sizeCap is far beyond maxRepeated, and doubles without overflow.
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

// aliasSize returns the size of the node that an alias stands for. An anchor stands before its
// aliases, so that the size is known or being counted; unless the anchor is in an earlier
// document, which yaml.v3 allows.
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
