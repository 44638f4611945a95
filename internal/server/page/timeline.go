package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// chainView is a timeline with its lanes beside what is said of the environments.
type chainView struct {
	answer.Timeline
	Rows  []rowView
	Ticks []tickView
	// NowX and CursorX are where those times are: of the cursor, too, that of now if it is nowhere else.
	NowX, CursorX string
	// Earlier and Later are the steps before and after the cursor, zero for none; after the last one is now.
	Earlier, Later time.Time
	// Hidden are how many environments are not shown.
	Hidden int
	// HasPast reports whether there are pages about the past.
	HasPast bool
}

// rowView is an environment, its lane, and what it needs besides the reason that it has.
type rowView struct {
	answer.Environment
	Bars  []spanView
	Marks []markView
	Next  *answer.TimelineNext
	// Tracks are its lanes that are elsewhere.
	Tracks     []trackView
	MoreTracks int
	// Own is the need whose reason is that of the environment; nil for none. Needs are the others.
	Own   *needActions
	Needs []needActions
	// IsNeed reports whether it needs attention.
	IsNeed bool
}

// trackView is a lane of the base in an environment.
type trackView struct {
	answer.LanePlace
	Bars []spanView
}

// spanView is a bar: places are in percent.
type spanView struct {
	X, Width string
	Class    string
	Label    string
	Title    string
	Commit   string // its id; "" where it leads nowhere
	// IsLater reports whether the bar begins after the cursor: then its commit may not have been there at that time.
	IsLater bool
	// IsHatched reports whether a person has stopped what the bar is about.
	IsHatched bool
	share     float64 // of the whole width
}

// markView is something that was done.
type markView struct{ X, Class, Title string }

// tickView is a time on the axis.
type tickView struct{ X, Text string }

// maxRows is how many environments are shown: those that need attention before the others.
const maxRows = 40

// maxRepeated is how long a reason may be that is shown twice.
const maxRepeated = 80

// hues is how many colors tell commits apart.
const hues = 6

func newChainView(t answer.Timeline, all []answer.Environment, needs []answer.Need, f Frame) (v chainView, others []answer.Need) {
	v = chainView{Timeline: t, NowX: placeIn(t, t.Now), HasPast: f.HasPast, Ticks: newTicks(t)}
	v.CursorX = placeIn(t, v.moment())
	v.findSteps()
	hue := findHues(t.Lanes)
	for _, e := range all {
		row := rowView{Environment: e}
		i := slices.IndexFunc(t.Lanes, func(l answer.TimelineLane) bool { return l.Environment == e.Name })
		if i >= 0 {
			lane := t.Lanes[i]
			row.Bars, row.Next, row.MoreTracks = newBars(t, lane.Bars, lane.Next, hue), lane.Next, lane.MoreTracks
			for _, track := range lane.Tracks {
				row.Tracks = append(row.Tracks, newTrackView(t, track, hue))
			}
		}
		for _, m := range t.Marks {
			if m.Environment == e.Name && (m.Action != history.PromoteAction || m.Forced) { // others are where a bar begins
				row.Marks = append(row.Marks, markView{placeIn(t, m.Time), markClass(m), markTitle(m)})
			}
		}
		v.Rows = append(v.Rows, row)
	}
	for _, n := range needs {
		i := slices.IndexFunc(v.Rows, func(row rowView) bool { return row.Name == n.Environment })
		if i < 0 {
			others = append(others, n)
			continue
		}
		row, of := &v.Rows[i], newNeedActions(n, slices.Concat(f.Levers[n.Environment], f.StackLevers[n.Environment]))
		row.IsNeed = true
		if n.Stack == "" && n.Reason == row.Reason {
			row.Own = &of
		} else {
			row.Needs = append(row.Needs, of)
		}
	}
	v.foldRows()
	return v, others
}

func newTrackView(t answer.Timeline, track answer.TimelineTrack, hue map[string]int) trackView {
	var next *answer.TimelineNext
	if track.Place.Next != nil {
		next = &answer.TimelineNext{Commit: *track.Place.Next, State: track.Place.State}
	}
	return trackView{track.Place, newBars(t, track.Bars, next, hue)}
}

// foldRows leaves out rows for which there is no room, and the long causes that a row above has.
func (v *chainView) foldRows() {
	urgent := 0
	for _, row := range v.Rows {
		if row.IsNeed {
			urgent++
		}
	}
	room := max(0, maxRows-urgent)
	shown := v.Rows[:0:0]
	for _, row := range v.Rows {
		if !row.IsNeed {
			room--
		}
		if len(shown) < maxRows && (row.IsNeed || room >= 0) {
			shown = append(shown, row)
		}
	}
	v.Hidden = len(v.Rows) - len(shown)
	v.Rows = shown
	for i := range v.Rows {
		row := &v.Rows[i]
		for _, above := range v.Rows[:i] {
			_, cause, _ := strings.Cut(above.Reason, ": ") // after what is to be done
			if len(cause) <= maxRepeated {
				continue
			}
			row.Reason = strings.Replace(row.Reason, cause, "see "+above.Name, 1)
			for j := range row.Tracks {
				row.Tracks[j].Reason = strings.Replace(row.Tracks[j].Reason, cause, "see "+above.Name, 1)
			}
		}
	}
}

// IsPast reports whether the cursor is at a time in the past.
func (v chainView) IsPast() bool { return !v.Cursor.IsZero() }

func (v chainView) moment() time.Time {
	if v.IsPast() {
		return v.Cursor
	}
	return v.Now
}

func (v *chainView) findSteps() {
	at := v.moment()
	for _, step := range v.Steps {
		switch {
		case step.Before(at):
			v.Earlier = step
		case step.After(at) && v.Later.IsZero():
			v.Later = step
		}
	}
}

func placeIn(t answer.Timeline, at time.Time) string {
	return formatPercent(at.Sub(t.From), t.To.Sub(t.From))
}

func formatPercent(part, all time.Duration) string {
	if all <= 0 {
		return "0%"
	}
	share := min(max(0, float64(part)/float64(all)), 1)
	return strconv.FormatFloat(float64(int(share*10000))/100, 'f', -1, 64) + "%"
}

// findHues returns the color of each commit: the commits follow each other as the lanes have them.
func findHues(lanes []answer.TimelineLane) map[string]int {
	hue := map[string]int{}
	add := func(commit string) {
		if _, known := hue[commit]; !known {
			hue[commit] = len(hue) % hues
		}
	}
	for _, lane := range lanes {
		for _, b := range lane.Bars {
			add(b.Commit.ID)
		}
	}
	for _, lane := range lanes {
		if lane.Next != nil {
			add(lane.Next.Commit.ID)
		}
		for _, track := range lane.Tracks {
			for _, b := range track.Bars {
				add(b.Commit.ID)
			}
		}
	}
	return hue
}

func newBars(t answer.Timeline, had []answer.TimelineBar, next *answer.TimelineNext, hue map[string]int) (bars []spanView) {
	for _, b := range had {
		to := b.To
		if to.IsZero() {
			to = t.Now
		}
		bar := newBar(t, b.From, to, b.Commit, fmt.Sprintf("is-%s hue-%d", b.State.Tone, hue[b.Commit.ID]))
		if b.State.Tone == answer.Stopped {
			bar.IsHatched = true
		}
		bar.Title = titleCommit(b.Commit) + ": " + stateText(b.State.Word) + ", from " + plainTime(b.From)
		if !b.To.IsZero() {
			bar.Title += " to " + plainTime(b.To)
		}
		if b.Commits > 1 {
			bar.Label, bar.Title = text.Count(b.Commits, "commit"), text.Count(b.Commits, "commit")+", the last "+bar.Title
		}
		bars = append(bars, bar)
	}
	labelWidest(bars, had)
	if n := next; n != nil {
		until := n.At
		if until.IsZero() || until.After(t.To) {
			until = t.To
		}
		waits := newBar(t, t.Now, until, n.Commit, "comes is-"+string(n.State.Tone))
		waits.IsHatched = n.State.Tone == answer.Stopped
		words := strings.Join(append([]string{stateText(n.State.Word)}, n.Waits...), ", ")
		waits.Label, waits.Title = text.ShortCommit(n.Commit.ID)+" "+words, titleCommit(n.Commit)+": "+words
		bars = append(bars, waits)
		if until.Before(t.To) {
			expected := newBar(t, until, t.To, n.Commit, fmt.Sprintf("expected hue-%d", hue[n.Commit.ID]))
			expected.Title = titleCommit(n.Commit) + ": expected " + plainTime(n.At)
			bars = append(bars, expected)
		}
	}
	return bars
}

// minLabel is how wide a bar is, as a part of all, that has room for the id of a commit.
const minLabel = 0.09

func labelWidest(bars []spanView, of []answer.TimelineBar) {
	for i := range bars {
		isWidest := bars[i].share >= minLabel
		for j := range bars {
			if j != i && of[j].Commit.ID == of[i].Commit.ID && (bars[j].share > bars[i].share || bars[j].share == bars[i].share && j < i) {
				isWidest = false
			}
		}
		if !isWidest {
			bars[i].Label = ""
		}
	}
}

func newBar(t answer.Timeline, from, to time.Time, of answer.Commit, class string) spanView {
	b := spanView{X: placeIn(t, from), Width: formatPercent(to.Sub(from), t.To.Sub(t.From)), Class: class, Label: labelCommit(of)}
	b.IsLater = !t.Cursor.IsZero() && from.After(t.Cursor)
	if t.To.After(t.From) {
		b.share = float64(to.Sub(from)) / float64(t.To.Sub(t.From))
	}
	if !of.When.IsZero() {
		b.Commit = of.ID
	}
	return b
}

func labelCommit(c answer.Commit) string {
	return strings.TrimSpace(text.ShortCommit(c.ID) + " " + text.Limit(c.Subject, 40))
}

func titleCommit(c answer.Commit) string {
	title := labelCommit(c)
	if c.Author != "" {
		title += " by " + c.Author
	}
	return title
}

func markClass(m answer.TimelineMark) string {
	switch {
	case m.Forced:
		return "forced"
	case m.Action == forge.MergeAction, m.Action == status.RecoveredAction, m.Action == status.DriftEndedAction:
		return "merge"
	case m.Action == history.RollbackAction, m.Action == status.FailedAction, m.Action == status.DriftAction:
		return "rollback"
	case m.Action == history.HoldAction, m.Action == history.FreezeAction, m.Action == forge.CloseAction:
		return "stop"
	}
	return "act"
}

func markTitle(m answer.TimelineMark) string {
	title := actionText(m.Action)
	if m.Pull > 0 {
		title += fmt.Sprintf(" pull request %d", m.Pull)
	}
	if len(m.Lanes) > 0 {
		title += " " + laneNames(m.Lanes)
	}
	if m.Commit != nil {
		title += " " + labelCommit(*m.Commit)
	}
	return strings.TrimSpace(plainTime(m.Time) + ": " + strings.TrimSpace(m.Who+" "+title))
}

var tickSteps = []struct{ past, step time.Duration }{
	{5 * time.Minute, time.Minute}, {10 * time.Minute, 2 * time.Minute}, {30 * time.Minute, 5 * time.Minute}, {time.Hour, 10 * time.Minute}, {3 * time.Hour, 30 * time.Minute}, {6 * time.Hour, time.Hour}, {24 * time.Hour, 4 * time.Hour}, {3 * 24 * time.Hour, 12 * time.Hour}, {7 * 24 * time.Hour, 24 * time.Hour},
	{14 * 24 * time.Hour, 2 * 24 * time.Hour}, {30 * 24 * time.Hour, 5 * 24 * time.Hour}, {90 * 24 * time.Hour, 15 * 24 * time.Hour}, {365 * 24 * time.Hour, 60 * 24 * time.Hour},
}

func newTicks(t answer.Timeline) (ticks []tickView) {
	past, step := t.Now.Sub(t.From), time.Duration(0)
	for _, one := range slices.Backward(tickSteps) {
		if past <= one.past {
			step = one.step
		}
	}
	if step == 0 {
		return nil
	}
	for at := t.From.UTC().Truncate(step).Add(step); at.Before(t.To); at = at.Add(step) {
		if gap := at.Sub(t.Now).Abs(); gap < t.To.Sub(t.From)/12 { // now is there
			continue
		}
		layout := "15:04"
		if at.Equal(at.Truncate(24 * time.Hour)) {
			layout = "2 Jan"
		}
		ticks = append(ticks, tickView{placeIn(t, at), at.Format(layout)})
	}
	return ticks
}

// Scale is how many places the slider has, and SliderAt where it is.
const sliderScale = 1000

// Scale returns how many places the slider of the cursor has.
func (v chainView) Scale() int { return sliderScale }

// SliderAt returns where the slider is.
func (v chainView) SliderAt() int {
	if !v.To.After(v.From) {
		return 0
	}
	return int(sliderScale * v.moment().Sub(v.From) / v.To.Sub(v.From))
}

// StepTexts returns the steps for the script, which moves the cursor to the near ones.
func (v chainView) StepTexts() string {
	var all []string
	for _, step := range v.Steps {
		all = append(all, exactTime(step))
	}
	return strings.Join(all, " ")
}

// maxChanges is how many of the last changes are listed.
const maxChanges = 8

// Changes returns what was done last, the newest first: as far as the cursor, if there is one.
func (v chainView) Changes() []answer.TimelineMark {
	all := v.Marks
	if v.IsPast() {
		first := slices.IndexFunc(all, func(m answer.TimelineMark) bool { return !m.Time.After(v.Cursor) })
		if first < 0 {
			return nil
		}
		all = all[first:]
	}
	return all[:min(len(all), maxChanges)]
}

// Reason returns what is said of one of the last changes: the gates that an ordinary promotion passed are in the history,
// and why an environment needs attention now stands above.
func (v chainView) Reason(m answer.TimelineMark) string {
	isEvent := func(one answer.TimelineMark) bool {
		return one.Environment == m.Environment && eventState(one.Action) != nil
	}
	isAbove := slices.ContainsFunc(v.Rows, func(row rowView) bool { return row.Name == m.Environment && row.IsNeed })
	newest := slices.IndexFunc(v.Marks, isEvent)
	switch {
	case m.Action == history.PromoteAction && !m.Forced, isAbove && !v.IsPast() && isEvent(m) && v.Marks[newest].Time.Equal(m.Time):
		return ""
	}
	return stateText(m.Reason)
}
