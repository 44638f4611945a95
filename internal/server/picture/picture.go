// Package picture lays out the graphs of environments and of the components of stacks.
//
// What the package keeps true: the same graph has the same picture; no two boxes overlap; every arrow goes
// to the right, and none through a box that it does not lead to. It decides where things are and no more:
// the page draws them.
package picture

import (
	"cmp"
	"fmt"
	"slices"
)

// Node is an environment, or a component, and those that it comes directly after.
type Node struct {
	Name  string
	After []string
}

// Box is where a node is.
type Box struct {
	Name          string
	X, Y          int
	Width, Height int
}

// Arrow leads from a node to one that comes after it. Path is its line as SVG writes it, and MiddleX and
// MiddleY a point on it for a text.
type Arrow struct {
	From, To         string
	Path             string
	MiddleX, MiddleY int
}

// Picture is a graph with places. Boxes are in the order of the nodes.
type Picture struct {
	Width, Height int
	Boxes         []Box
	Arrows        []Arrow
}

// The measures of a picture, in pixels.
const (
	boxWidth, boxHeight = 184, 76
	gapX, gapY          = 60, 24
	margin              = 12
	arrowHead           = 4
	sweeps              = 4
)

// place is a node in its column, or a point where an arrow passes a column.
type place struct {
	node        int // -1 for a point
	before      []*place
	column, row int
	weight      float64
	y           int // of its middle
}

// NewPicture lays out a graph. Arrows from names that no node has, and those that would make a circle, are
// left out.
func NewPicture(nodes []Node) Picture {
	g := newGraph(nodes)
	g.orderRows()
	return g.draw(nodes)
}

// graph is nodes by their columns.
type graph struct {
	columns [][]*place
	arrows  []line
}

// line is the way of an arrow: from a node, by points, to a node.
type line []*place

func newGraph(nodes []Node) *graph {
	index := map[string]int{}
	for i, n := range nodes {
		index[n.Name] = i
	}
	depth := findDepths(nodes, index)
	places := make([]*place, len(nodes))
	g := &graph{}
	for i := range nodes {
		places[i] = g.add(i, depth[i])
	}
	for i, n := range nodes {
		for _, name := range n.After {
			from, known := index[name]
			if !known || depth[from] >= depth[i] {
				continue
			}
			way := line{places[from]}
			for column := depth[from] + 1; column < depth[i]; column++ {
				point := g.add(-1, column)
				point.before = []*place{way[len(way)-1]}
				way = append(way, point)
			}
			places[i].before = append(places[i].before, way[len(way)-1])
			g.arrows = append(g.arrows, append(way, places[i]))
		}
	}
	return g
}

func (g *graph) add(node, column int) *place {
	for len(g.columns) <= column {
		g.columns = append(g.columns, nil)
	}
	p := &place{node: node, column: column, row: len(g.columns[column])}
	g.columns[column] = append(g.columns[column], p)
	return p
}

// findDepths returns for each node how many others are before it on the longest way.
func findDepths(nodes []Node, index map[string]int) []int {
	depth := make([]int, len(nodes))
	for range nodes { // so often at most, also where there is a circle
		changed := false
		for i, n := range nodes {
			for _, name := range n.After {
				from, known := index[name]
				if known && from != i && depth[i] <= depth[from] && depth[from]+1 < len(nodes) {
					depth[i], changed = depth[from]+1, true
				}
			}
		}
		if !changed {
			break
		}
	}
	return depth
}

// orderRows puts the places of each column into the order of those that they are connected with, so that few
// arrows cross.
func (g *graph) orderRows() {
	after := map[*place][]*place{}
	for _, column := range g.columns {
		for _, p := range column {
			for _, q := range p.before {
				after[q] = append(after[q], p)
			}
		}
	}
	for range sweeps {
		for _, column := range g.columns {
			sortRows(column, func(p *place) []*place { return p.before })
		}
		for _, column := range slices.Backward(g.columns) {
			sortRows(column, func(p *place) []*place { return after[p] })
		}
	}
	for _, column := range g.columns {
		sortRows(column, func(p *place) []*place { return p.before })
	}
}

func sortRows(column []*place, neighbours func(*place) []*place) {
	for _, p := range column {
		near := neighbours(p)
		p.weight = float64(p.row)
		if len(near) == 0 {
			continue
		}
		sum := 0
		for _, q := range near {
			sum += q.row
		}
		p.weight = float64(sum) / float64(len(near))
	}
	slices.SortStableFunc(column, func(a, b *place) int { return cmp.Compare(a.weight, b.weight) })
	for i, p := range column {
		p.row = i
	}
}

func (g *graph) draw(nodes []Node) Picture {
	rows := 0
	for _, column := range g.columns {
		rows = max(rows, len(column))
	}
	p := Picture{
		Width:  2*margin + len(g.columns)*boxWidth + max(0, len(g.columns)-1)*gapX,
		Height: 2*margin + rows*boxHeight + max(0, rows-1)*gapY,
		Boxes:  make([]Box, len(nodes)),
	}
	for _, column := range g.columns {
		height := len(column)*boxHeight + (len(column)-1)*gapY
		top := (p.Height - height) / 2
		for i, one := range column {
			one.y = top + i*(boxHeight+gapY) + boxHeight/2
			if one.node >= 0 {
				p.Boxes[one.node] = Box{nodes[one.node].Name, leftOf(one), one.y - boxHeight/2, boxWidth, boxHeight}
			}
		}
	}
	for _, way := range g.arrows {
		p.Arrows = append(p.Arrows, way.draw(nodes))
	}
	return p
}

func leftOf(p *place) int { return margin + p.column*(boxWidth+gapX) }

// draw returns the arrow: a curve from column to column, and straight past the boxes of a column.
func (l line) draw(nodes []Node) Arrow {
	first, last := l[0], l[len(l)-1]
	a := Arrow{From: nodes[first.node].Name, To: nodes[last.node].Name}
	a.Path = fmt.Sprintf("M%d %d", leftOf(first)+boxWidth, first.y)
	for i, p := range l[1:] {
		from := l[i]
		x, end := leftOf(from)+boxWidth, leftOf(p)
		middle := (x + end) / 2
		if p == last {
			a.MiddleX, a.MiddleY = middle, (from.y+p.y)/2
			end -= arrowHead
		}
		a.Path += fmt.Sprintf(" C%d %d %d %d %d %d", middle, from.y, middle, p.y, end, p.y)
		if p != last {
			a.Path += fmt.Sprintf(" L%d %d", end+boxWidth, p.y)
		}
	}
	return a
}
