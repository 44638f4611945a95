package page

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// blocks is a picture of what there is many of: a block for each, in the color of its state.
type blocks struct {
	Width, Height int
	Each          int // how many a block stands for
	Paths         []blockPath
}

// blockPath is the blocks of one state.
type blockPath struct {
	Tone  answer.Tone
	Title string
	Path  string
}

const (
	blocksWidth = 640
	maxBlocks   = 4000
	fewBlocks   = 60
	largeBlock  = 20
	smallBlock  = 10
	gapOfBlocks = 2
)

// newBlocks returns the blocks of states, in their order, row by row: large ones where there are few.
func newBlocks(states []answer.ClusterCount) blocks {
	all := 0
	for _, s := range states {
		all += s.Clusters
	}
	b := blocks{Width: blocksWidth, Each: 1 + (all-1)/maxBlocks}
	size := smallBlock
	if all <= fewBlocks {
		size = largeBlock
	}
	columns, at := blocksWidth/size, 0
	for _, s := range states {
		var path strings.Builder
		n := (s.Clusters + b.Each - 1) / b.Each
		for range n {
			fmt.Fprintf(&path, "M%d %dh%dv%dh-%dz", at%columns*size, at/columns*size, size-gapOfBlocks, size-gapOfBlocks, size-gapOfBlocks)
			at++
		}
		b.Paths = append(b.Paths, blockPath{s.State.Tone, fmt.Sprintf("%s %s", groupDigits(s.Clusters), stateText(s.State.Word)), path.String()})
	}
	b.Height = (at + columns - 1) / columns * size
	if at <= columns {
		b.Width = max(1, at) * size
	}
	return b
}
