package picture

import (
	"image"
	"image/color"
)

// Map is rows of cells, each of which is in a state, one letter.
type Map struct {
	Rows    []string
	Columns int
}

// The measures of a map.
const (
	mapWidth, mapHeight = 1000, 800
	maxCell             = 16
)

// mapColors are the colors of states; cells in no other one are left out.
var mapColors = map[byte]color.NRGBA{
	'g': {0x8f, 0xcf, 0xb9, 255}, 'b': {0x3f, 0x7c, 0xc4, 255}, 'w': {0x8b, 0x8e, 0xd6, 255}, 'u': {0x9a, 0xa4, 0xb0, 255}, 's': {0xd9, 0xa4, 0x2b, 255}, 'x': {0xa3, 0x12, 0x3a, 255},
}

// CellSize returns the width and the height of a cell, in points.
func (m Map) CellSize() (width, height int) {
	return max(1, min(maxCell, mapWidth/max(1, m.Columns))), max(1, min(maxCell, mapHeight/max(1, len(m.Rows))))
}

// Size returns the size of the picture.
func (m Map) Size() (width, height int) {
	w, h := m.CellSize()
	return max(1, w*m.Columns), max(1, h*len(m.Rows))
}

// Find returns the row and the column of the cell at a point of the picture, and false if there is none.
func (m Map) Find(x, y int) (row, column int, ok bool) {
	w, h := m.CellSize()
	row, column = y/h, x/w
	return row, column, x >= 0 && y >= 0 && row < len(m.Rows) && column < m.Columns
}

// Draw returns the picture, whose cells of no state are transparent.
func (m Map) Draw() *image.Paletted {
	palette, index := color.Palette{color.NRGBA{}}, map[byte]uint8{}
	for _, letter := range []byte("gbwusx") {
		index[letter] = uint8(len(palette))
		palette = append(palette, mapColors[letter])
	}
	w, h := m.Size()
	cellWidth, cellHeight := m.CellSize()
	p := image.NewPaletted(image.Rect(0, 0, w, h), palette)
	for i, row := range m.Rows {
		for j := range min(len(row), m.Columns) {
			at := index[row[j]]
			if at == 0 {
				continue
			}
			for y := i * cellHeight; y < i*cellHeight+max(1, cellHeight-cellHeight/6); y++ {
				for x := j * cellWidth; x < j*cellWidth+max(1, cellWidth-cellWidth/6); x++ {
					p.SetColorIndex(x, y, at)
				}
			}
		}
	}
	return p
}
