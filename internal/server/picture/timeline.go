package picture

import (
	"slices"
	"time"
)

// Lane is a line of a timeline, with what was there one after the other.
type Lane struct {
	Name  string
	Marks []Mark
}

// Mark is what was there from a time to a time; until the end of the timeline if To is zero.
type Mark struct {
	Name     string
	From, To time.Time
}

// Timeline is lanes with places. Lanes are in the given order, one below the other.
type Timeline struct {
	Width, Height int
	From, To      time.Time
	Lanes         []TimelineLane
}

// TimelineLane is where a lane is.
type TimelineLane struct {
	Name string
	Y    int // of the base line of its name
	Bars []Bar
}

// Bar is where a mark is. Text is its name, if there is room.
type Bar struct {
	Name, Text    string
	X, Y          int
	Width, Height int
}

// The measures of a timeline.
const (
	laneWidth, laneHeight, laneGap = 960, 24, 12
	laneName                       = 160
	barMargin                      = 2
	letterWidth                    = 8
	// MaxBars is how many marks a timeline has at most: the newest.
	MaxBars = 200
)

// NewTimeline returns the timeline of lanes, from the earliest mark on, but for no longer than span, until a little
// after the last time that a mark has.
func NewTimeline(lanes []Lane, span time.Duration) Timeline {
	t := Timeline{Width: laneName + laneWidth}
	for _, l := range lanes {
		for _, m := range l.Marks {
			if t.From.IsZero() || m.From.Before(t.From) {
				t.From = m.From
			}
			for _, at := range []time.Time{m.From, m.To} {
				if at.After(t.To) {
					t.To = at
				}
			}
		}
	}
	t.To = t.To.Add(max(time.Minute, min(span, t.To.Sub(t.From))/10))
	if t.To.Sub(t.From) > span {
		t.From = t.To.Add(-span)
	}
	bars := 0
	for i, l := range lanes {
		y := i * (laneHeight + laneGap)
		lane := TimelineLane{Name: l.Name, Y: y + laneHeight*2/3}
		for _, m := range slices.Backward(l.Marks) {
			if b, shown := t.newBar(m, y); shown && bars < MaxBars {
				bars++
				lane.Bars = append(lane.Bars, b)
			}
		}
		slices.Reverse(lane.Bars)
		t.Lanes = append(t.Lanes, lane)
		t.Height = y + laneHeight
	}
	return t
}

func (t Timeline) newBar(m Mark, y int) (Bar, bool) {
	to := m.To
	if to.IsZero() || to.After(t.To) {
		to = t.To
	}
	from, end := t.place(m.From), t.place(to)
	if !to.After(t.From) || end-from <= barMargin {
		return Bar{}, false
	}
	b := Bar{Name: m.Name, X: from, Y: y, Width: end - from - barMargin, Height: laneHeight}
	if len(m.Name)*letterWidth < b.Width {
		b.Text = m.Name
	}
	return b, true
}

func (t Timeline) place(at time.Time) int {
	if at.Before(t.From) {
		at = t.From
	}
	return laneName + int(float64(laneWidth)*float64(at.Sub(t.From))/float64(t.To.Sub(t.From)))
}
