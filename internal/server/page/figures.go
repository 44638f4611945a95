package page

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/picture"
)

// Figures is the page of figures: the answer, or why there is none.
type Figures struct {
	answer.Figures
	Refusal Missing
}

// chartView is the picture of figures.
type chartView struct {
	picture.Chart
	Rows []chartRow
}

type chartRow struct {
	picture.ChartRow
	Columns []chartColumn
}

// chartColumn is the figure of a week, and where it is.
type chartColumn struct {
	picture.Column
	answer.Figure
}

// Chart returns the lead times as a picture: a row for each environment, with a column for each week; nil if there
// is none.
func (f Figures) Chart() *chartView {
	var all []picture.Series
	found := false
	for _, e := range f.Environments {
		s := picture.Series{Name: e.Environment}
		for _, w := range e.Weeks {
			value := -1
			if w.Lead != nil {
				value, found = *w.Lead, true
			}
			s.Values = append(s.Values, value)
		}
		all = append(all, s)
	}
	if !found {
		return nil
	}
	shown := &chartView{Chart: picture.NewChart(all)}
	for i, r := range shown.Chart.Rows {
		row := chartRow{ChartRow: r}
		for _, c := range r.Columns {
			row.Columns = append(row.Columns, chartColumn{c, f.Environments[i].Weeks[c.Index]})
		}
		shown.Rows = append(shown.Rows, row)
	}
	return shown
}

// leadText returns a lead time for people; "none" if there is none.
func leadText(f answer.Figure) string {
	if f.Lead == nil {
		return "none"
	}
	return display.FormatAge(time.Duration(*f.Lead) * time.Second)
}

// failedText returns how many deployments failed.
func failedText(f answer.Figure) string {
	if f.Deployments == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d (%d%%)", f.Failed, f.Deployments, (200*f.Failed+f.Deployments)/(2*f.Deployments))
}
