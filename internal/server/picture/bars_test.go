package picture

import (
	"fmt"
	"testing"
)

// TestChart: columns are within the chart, in their rows, and beside each other; there are no more than may be.
func TestChart(t *testing.T) {
	var all []Series
	for n := range 20 {
		s := Series{Name: fmt.Sprint(n)}
		for i := range 13 {
			s.Values = append(s.Values, []int{-1, 0, 1, 1 << 40}[(n+i)%4])
		}
		all = append(all, s)
	}
	c := NewChart(all)
	if len(c.Rows) != MaxColumns/13 || c.Hidden != len(all)-len(c.Rows) {
		t.Errorf("%d rows are shown and %d hidden", len(c.Rows), c.Hidden)
	}
	for n, row := range c.Rows {
		end := laneName
		for _, column := range row.Columns {
			if column.X < end || column.X+column.Width > c.Width || column.Y < row.Y-chartRow || column.Y+column.Height != row.Y || column.Height < 2 || row.Y > c.Height {
				t.Errorf("row %d: %+v is not in its place", n, column)
			}
			if v := all[n].Values[column.Index]; v == 1<<40 && column.Height != chartRow || v < 0 {
				t.Errorf("row %d: the value %d is %+v", n, v, column)
			}
			end = column.X + column.Width
		}
		if len(row.Columns) == 0 || len(row.Columns) == 13 {
			t.Errorf("row %d has %d columns", n, len(row.Columns))
		}
	}
	if empty := NewChart(nil); empty.Height != 0 || empty.Rows != nil {
		t.Errorf("a chart of nothing is %+v", empty)
	}
}
