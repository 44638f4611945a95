package impact

import (
	"bytes"
	"slices"
)

// block replaces lines a0 to a1 of one text by lines b0 to b1 of the other. Either may
// be empty.
type block struct{ a0, a1, b0, b1 int }

// The bounds of one line diff. Beyond them, all lines between the common start and end
// count as replaced.
const (
	maxEdits = 1000
	maxSteps = 4_000_000
)

func splitLines(dst [][]byte, text []byte) [][]byte {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		dst = append(dst, text[:n])
		text = text[n:]
	}
	return dst
}

// diffLines returns the fewest different lines (Myers' algorithm) within the bounds
// above.
func diffLines(a, b [][]byte) []block {
	start := 0
	for start < len(a) && start < len(b) && bytes.Equal(a[start], b[start]) {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && bytes.Equal(a[len(a)-1-end], b[len(b)-1-end]) {
		end++
	}
	a, b = a[start:len(a)-end], b[start:len(b)-end]
	blocks := diffMiddle(a, b)
	for i := range blocks {
		blocks[i].a0 += start
		blocks[i].a1 += start
		blocks[i].b0 += start
		blocks[i].b1 += start
	}
	return blocks
}

func diffMiddle(a, b [][]byte) []block {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	if len(a) > 0 && len(b) > 0 && len(a)+len(b) > 2 {
		if t, ok := searchEdits(a, b); ok {
			return t.editBlocks(len(a), len(b))
		}
	}
	return []block{{0, len(a), 0, len(b)}}
}

// trace has a row for each number of edits d: the positions in a on the diagonals -d to
// d.
type trace struct {
	edits int
	rows  []int32
}

const usualTrace = 1 << 10

func (t *trace) row(d int) []int32 { return t.rows[d*d : (d+1)*(d+1)] }

func searchEdits(a, b [][]byte) (t trace, ok bool) {
	limit := min(maxEdits, maxSteps/(len(a)+len(b)), len(a)+len(b))
	t.rows = make([]int32, 0, min((limit+1)*(limit+1), usualTrace))
	var last []int32
	for d := 0; d <= limit; d++ {
		t.edits = d
		t.rows = append(t.rows, make([]int32, 2*d+1)...)
		reach := t.row(d)
		if d > 0 {
			last = t.row(d - 1)
		}
		for k := -d; k <= d; k += 2 {
			x := furthestReach(last, d, k)
			for x < len(a) && x-k < len(b) && bytes.Equal(a[x], b[x-k]) {
				x++
			}
			reach[k+d] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				return t, true
			}
		}
	}
	return t, false
}

// furthestReach returns the position in a after d edits on diagonal k. last is the row
// of d-1 edits.
func furthestReach(last []int32, d, k int) int {
	switch {
	case d == 0:
		return 0
	case goesDown(last, d, k):
		return int(last[k+1+d-1])
	default:
		return int(last[k-1+d-1]) + 1
	}
}

func goesDown(last []int32, d, k int) bool {
	return k == -d || (k != d && last[k-1+d-1] < last[k+1+d-1])
}

func (t *trace) editBlocks(x, y int) []block {
	var reversed []block
	for d := t.edits; d > 0; d-- {
		last, k := t.row(d-1), x-y
		edit := block{}
		if goesDown(last, d, k) {
			px := int(last[k+1+d-1])
			edit = block{px, px, px - k - 1, px - k}
		} else {
			px := int(last[k-1+d-1])
			edit = block{px, px + 1, px - k + 1, px - k + 1}
		}
		x, y = edit.a0, edit.b0
		if n := len(reversed); n > 0 && reversed[n-1].a0 == edit.a1 && reversed[n-1].b0 == edit.b1 {
			reversed[n-1].a0, reversed[n-1].b0 = edit.a0, edit.b0
			continue
		}
		reversed = append(reversed, edit)
	}
	slices.Reverse(reversed)
	return reversed
}
