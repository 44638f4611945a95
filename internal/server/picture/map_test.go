package picture

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

// TestMap: each cell is where it is found, has the color of its state, and those without one are transparent; a
// hundred thousand cells take little room.
func TestMap(t *testing.T) {
	m := Map{Rows: []string{"g.x", "u", "zbw"}, Columns: 3}
	p := m.Draw()
	w, h := m.CellSize()
	for i, row := range []string{"g.x", "u..", ".bw"} {
		for j := range row {
			x, y := j*w+w/2, i*h+h/2
			if r, c, ok := m.Find(x, y); r != i || c != j || !ok {
				t.Errorf("at %d, %d is the cell %d, %d (%v), want %d, %d", x, y, r, c, ok, i, j)
			}
			_, _, _, alpha := p.At(x, y).RGBA()
			if want, is := mapColors[row[j]]; (alpha > 0) != is || is && p.At(x, y) != want {
				t.Errorf("the cell %d, %d has the color %v, want %v", i, j, p.At(x, y), want)
			}
		}
	}
	for _, at := range [][2]int{{-1, 0}, {0, -1}, {3 * w, 0}, {0, 3 * h}} {
		if _, _, ok := m.Find(at[0], at[1]); ok {
			t.Errorf("at %v is a cell", at)
		}
	}
	large := Map{Columns: 500}
	for i := range 200 {
		large.Rows = append(large.Rows, strings.Repeat("g", i)+strings.Repeat("gxu.b", 100)[:500-i])
	}
	var buffer bytes.Buffer
	if err := png.Encode(&buffer, large.Draw()); err != nil || buffer.Len() > 40<<10 {
		t.Errorf("the picture has %d bytes (%v)", buffer.Len(), err)
	}
	if w, h := (Map{}).Size(); w != 1 || h != 1 {
		t.Errorf("without cells the picture has %d × %d points", w, h)
	}
}
