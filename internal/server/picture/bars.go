package picture

// Series is a row of a chart: a value for each part of time; negative where there is none.
type Series struct {
	Name   string
	Values []int
}

// Chart is series with places, one below the other.
type Chart struct {
	Width, Height int
	Left, Right   int // of the columns
	Rows          []ChartRow
	Hidden        int // how many series have no place
}

// ChartRow is where a series is. Columns are those of its values that are not negative.
type ChartRow struct {
	Name    string
	Y       int // of its base line
	Columns []Column
}

// Column is where a value is: Index is its place in the series, and the top is at Y.
type Column struct{ Index, X, Y, Width, Height int }

// The measures of a chart, and the most columns that it has.
const (
	chartWidth, chartRow, chartGap = 720, 48, 16
	MaxColumns                     = 200
)

// NewChart returns the chart of series, of equal lengths. All have the same scale: the greatest value is as high as a
// row, and a value that is not 0 can be seen.
func NewChart(all []Series) Chart {
	c := Chart{Width: laneName + chartWidth, Left: laneName, Right: laneName + chartWidth}
	greatest, columns := 1, 0
	for _, s := range all {
		for _, v := range s.Values {
			greatest = max(greatest, v)
		}
	}
	for _, s := range all {
		if columns+len(s.Values) > MaxColumns {
			c.Hidden++
			continue
		}
		columns += len(s.Values)
		row := ChartRow{Name: s.Name, Y: (len(c.Rows)+1)*(chartRow+chartGap) - chartGap}
		for i, v := range s.Values {
			if v >= 0 {
				left, right := chartWidth*i/len(s.Values), chartWidth*(i+1)/len(s.Values)
				height := max(2, int(int64(chartRow)*int64(v)/int64(greatest)))
				row.Columns = append(row.Columns, Column{i, laneName + left, row.Y - height, right - left - barMargin, height})
			}
		}
		c.Rows = append(c.Rows, row)
	}
	c.Height = len(c.Rows) * (chartRow + chartGap)
	return c
}
