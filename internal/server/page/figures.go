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
	Rows      []chartRow
	Ticks     []chartTick
	Greatest  answer.Figure // the one with the longest lead
	HasFailed bool
}

// chartTick is a date below the columns.
type chartTick struct {
	X    int
	Text string
}

// ticksApart is how many weeks are from one date to the next, and tickRoom the height of the dates.
const ticksApart, tickRoom = 4, 20

// FullHeight returns the height with the dates, and TickY where their base line is.
func (c chartView) FullHeight() int { return c.Height + tickRoom }

// TickY is described at FullHeight.
func (c chartView) TickY() int { return c.Height + tickRoom/2 }

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
			week := f.Environments[i].Weeks[c.Index]
			row.Columns = append(row.Columns, chartColumn{c, week})
			shown.HasFailed = shown.HasFailed || week.Failed > 0
			if shown.Greatest.Lead == nil || *week.Lead > *shown.Greatest.Lead {
				shown.Greatest = week
			}
		}
		shown.Rows = append(shown.Rows, row)
	}
	weeks := f.Environments[0].Weeks
	for i := 0; i < len(weeks); i += ticksApart {
		shown.Ticks = append(shown.Ticks, chartTick{shown.Left + (shown.Right-shown.Left)*i/len(weeks), weeks[i].Start.UTC().Format("2 Jan")})
	}
	return shown
}

func leadText(f answer.Figure) string {
	if f.Lead == nil {
		return "none"
	}
	return display.FormatAge(time.Duration(*f.Lead) * time.Second)
}

func failedText(f answer.Figure) string {
	if f.Deployments == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d (%d%%)", f.Failed, f.Deployments, (200*f.Failed+f.Deployments)/(2*f.Deployments))
}
