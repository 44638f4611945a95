package answer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Timeline is what environments had and what they wait for, over time. It is a function of the state, of the history
// and of the forecast of the newest commit.
type Timeline struct {
	// From and To are its ends, and Now is when it was made, rounded up, so that it does not change each second.
	From time.Time `json:"from,omitzero"`
	Now  time.Time `json:"now,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Cursor is the time that is asked about; zero for now.
	Cursor time.Time `json:"cursor,omitzero"`
	// Lanes are the environments, in the order of promotion.
	Lanes []TimelineLane `json:"lanes"`
	// Marks are what people and Fairlead did, the newest first.
	Marks []TimelineMark `json:"marks"`
	// Steps are the times at which something changed, the oldest first: the moments that a cursor stops at.
	Steps []time.Time `json:"steps"`
}

// TimelineLane is an environment over time.
type TimelineLane struct {
	Environment string        `json:"environment"`
	Bars        []TimelineBar `json:"bars"` // the oldest first
	// Next is what it gets next; nil if nothing is on its way.
	Next *TimelineNext `json:"next,omitempty"`
	// Tracks are lanes of the base that are elsewhere than the environment; MoreTracks is how many are left out.
	Tracks     []TimelineTrack `json:"tracks,omitempty"`
	MoreTracks int             `json:"moreTracks"`
}

// TimelineBar is a commit in an environment, from a time to a time.
type TimelineBar struct {
	Commit Commit `json:"commit"`
	// Commits is how many commits the bar stands for, where there is no room for each: Commit is the newest.
	Commits int       `json:"commits"`
	State   State     `json:"state"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"` // zero while it lasts
}

// TimelineNext is the commit that an environment gets next.
type TimelineNext struct {
	Commit Commit `json:"commit"`
	State  State  `json:"state"`
	// At is when it is expected; zero if that is unknown.
	At time.Time `json:"at,omitzero"`
	// Waits are what it waits for, each with its environment.
	Waits []string `json:"waits,omitempty"`
}

// TimelineMark is one thing that a person or Fairlead did.
type TimelineMark struct {
	Time        time.Time `json:"time"`
	Environment string    `json:"environment"`
	Action      string    `json:"action"` // as in the history
	Who         string    `json:"who,omitempty"`
	Commit      *Commit   `json:"commit,omitempty"` // of the base, or of the environment's own branch
	Pull        int       `json:"pull,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Forced      bool      `json:"forced,omitempty"`
	Lanes       []string  `json:"lanes,omitempty"` // that it is about alone: Commit is that of the first
}

// HeadForecast is when the newest commit gets to each environment: the future of the timeline.
type HeadForecast struct {
	Commit   string
	Arrivals []promote.Arrival
}

const (
	// maxBars bounds the bars of all lanes, maxMarks the marks, and maxSteps the steps.
	maxBars, maxMarks, maxSteps = 240, 60, 48
	// minBars is how many bars a lane may have however many lanes there are.
	minBars = 6
	// shownChanges is how many of the last changes the timeline reaches back to, or as many as changesOfLane for each lane.
	shownChanges, changesOfLane = 24, 4
	// parts is how many parts the past has: times are rounded to one.
	parts = 120
)

// spans are the lengths that the past of a timeline may have.
var spans = []time.Duration{
	2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 30 * 24 * time.Hour, 90 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// Timeline returns what environments had over time, with the cursor at a time, or at none.
func (s Source) Timeline(cursor time.Time) Timeline {
	all := s.listEnvironments()
	t := Timeline{Cursor: cursor, Lanes: []TimelineLane{}, Marks: s.listMarks(all), Steps: []time.Time{}}
	changes := s.listChanges(all, t.Marks)
	if len(changes) > 0 { // else nothing is known to have happened
		t.setEnds(s.Now, changes, max(shownChanges, changesOfLane*len(all)))
	}
	room, merges := max(minBars, maxBars/max(1, len(all))), s.listMerges()
	for _, e := range all {
		lane := TimelineLane{Environment: e.Name, Bars: fitBars(s.listBars(e, merges[e.Name], t.From), t.From, t.Now, room), Next: s.findComing(e)}
		for i, b := range lane.Bars {
			lane.Bars[i].Commit = *s.describeCommit(b.Commit.ID)
		}
		lane.Tracks, lane.MoreTracks = listTracks(s, e, t, max(1, maxTracks/len(all)))
		t.Lanes = append(t.Lanes, lane)
	}
	t.Marks = slices.DeleteFunc(t.Marks, func(m TimelineMark) bool { return m.Time.Before(t.From) })
	t.Marks = t.Marks[:min(len(t.Marks), maxMarks)]
	for i, m := range t.Marks {
		if m.Commit == nil {
			continue
		}
		t.Marks[i].Commit = s.describeCommit(s.findRendered(m.Commit.ID))
		stage, edit := s.Snapshot.Chain.FindEdit(m.Commit.ID)
		if edit >= 0 {
			c := describeEdit(s, stage.Environment, stage.Edits[edit])
			if !cursor.IsZero() { // it has no page as of then
				c.When = time.Time{}
			}
			t.Marks[i].Commit, t.Marks[i].Reason = &c, ""
		}
	}
	t.setSteps()
	t.setEnd()
	return t
}

// setEnds finds the past that is shown: the shortest that has the last of the changes, which come newest first, and the
// cursor.
func (t *Timeline) setEnds(now time.Time, changes []time.Time, shown int) {
	now = laterTime(now, changes[0]) // another clock may be ahead
	oldest := changes[min(len(changes), shown)-1]
	if !t.Cursor.IsZero() && t.Cursor.Before(oldest) {
		oldest = t.Cursor
	}
	span := spans[len(spans)-1]
	for _, one := range slices.Backward(spans) {
		if now.Sub(oldest) <= one-one/parts { // the oldest is not at the edge
			span = one
		}
	}
	t.Now = now.Add(span / parts).Truncate(span / parts)
	t.From = t.Now.Add(-span)
}

// setEnd finds the future that is shown: until a little after the last arrival that is expected, but not longer than
// half of the past.
func (t *Timeline) setEnd() {
	span := t.Now.Sub(t.From)
	last := t.Now.Add(span / 6)
	for _, lane := range t.Lanes {
		if lane.Next != nil && lane.Next.At.Add(span/12).After(last) {
			last = lane.Next.At.Add(span / 12)
		}
	}
	t.To = last
	if longest := t.Now.Add(span / 2); last.After(longest) {
		t.To = longest
	}
}

// setSteps finds the moments at which something changed: of several within one part the last.
func (t *Timeline) setSteps() {
	var all []time.Time
	for _, lane := range t.Lanes {
		for _, b := range lane.Bars {
			if !b.From.Before(t.From) {
				all = append(all, b.From)
			}
		}
	}
	for _, m := range t.Marks {
		all = append(all, m.Time)
	}
	slices.SortFunc(all, time.Time.Compare)
	least := t.Now.Sub(t.From) / parts
	for _, at := range slices.Backward(all) {
		if len(t.Steps) == maxSteps {
			break
		}
		if len(t.Steps) == 0 || t.Steps[len(t.Steps)-1].Sub(at) >= least {
			t.Steps = append(t.Steps, at)
		}
	}
	slices.Reverse(t.Steps)
}

// listChanges returns when environments got commits, and when something was done, the newest first.
func (s Source) listChanges(all []Environment, marks []TimelineMark) (changes []time.Time) {
	for _, e := range all {
		for _, turn := range s.listTurns(e) {
			changes = append(changes, turn.When)
		}
	}
	for _, m := range marks {
		if m.Action != history.PromoteAction && m.Action != history.RollbackAction {
			changes = append(changes, m.Time)
		}
	}
	slices.SortFunc(changes, func(a, b time.Time) int { return b.Compare(a) })
	return changes
}

func (s Source) listTurns(e Environment) []status.Turn {
	stage, promoted := s.Snapshot.Chain.FindStage(e.Name)
	if !promoted || e.Commit == nil || e.Since.IsZero() {
		return nil
	}
	if len(stage.Turns) == 0 || stage.Turns[0].Commit != stage.Commit { // a person may have written it
		return []status.Turn{{Commit: stage.Commit, When: e.Since}}
	}
	return stage.Turns
}

// listMarks returns what was done, the newest first. Where the history is not read, it is what environments got.
func (s Source) listMarks(all []Environment) []TimelineMark {
	marks := []TimelineMark{}
	type promotion struct {
		environment, commit string
		when                int64
	}
	known := map[promotion]bool{}
	for _, e := range s.Actions {
		on := []string{e.Environment}
		if e.IsAboutFreeze() && e.Environment == "" {
			on = e.Environments
		}
		for _, name := range on {
			if name == "" || !slices.ContainsFunc(all, func(one Environment) bool { return one.Name == name }) {
				continue
			}
			known[promotion{name, e.To, e.Time.Unix()}] = true
			if e.Action == history.ChangeAction {
				e.Reason, e.To = e.Title, cmp.Or(e.To, e.Commit)
			}
			m := TimelineMark{e.Time, name, e.Action, e.Who, commitOf(e.To), e.Pull, cmp.Or(e.Forced, e.Reason), e.Forced != "", nil}
			if len(e.Lanes) > 0 && e.To == "" {
				m.Lanes, m.Commit = list.Convert(e.Lanes, func(l history.LaneVersion) string { return l.Lane }), commitOf(e.Lanes[0].Commit)
			}
			marks = append(marks, m)
		}
	}
	for _, e := range all {
		for _, turn := range s.listTurns(e) {
			action := history.PromoteAction
			if turn.RolledBack {
				action = history.RollbackAction
			}
			if !known[promotion{e.Name, turn.Commit, turn.When.Unix()}] {
				marks = append(marks, TimelineMark{turn.When, e.Name, action, turn.Who, commitOf(turn.Commit), 0, cmp.Or(turn.Forced, turn.Reason), turn.Forced != "", nil})
			}
		}
	}
	slices.SortStableFunc(marks, func(a, b TimelineMark) int { return b.Time.Compare(a.Time) })
	return marks
}

// commitOf returns a commit of which nothing is known but the id; nil for none.
func commitOf(id string) *Commit {
	if id == "" {
		return nil
	}
	return &Commit{Commit: status.Commit{ID: id}}
}

// listBars returns the commits that an environment had after a time, the oldest first.
func (s Source) listBars(e Environment, merges []time.Time, from time.Time) (bars []TimelineBar) {
	turns := s.listTurns(e)
	for i, turn := range slices.Backward(turns) {
		if i > 0 && turns[i-1].When.Before(from) {
			continue
		}
		bar := TimelineBar{Commit: *commitOf(turn.Commit), Commits: 1, State: State{Good, "had"}, From: turn.When}
		isUnmerged := i == 0 && !e.Merged
		if i > 0 {
			after := turns[i-1]
			bar.To, isUnmerged = after.When, after.Unmerged == turn.Commit
			if after.RolledBack {
				bar.State = State{Bad, "rolled back"}
			}
		} else {
			bar.State = s.findBarState(e)
		}
		proposed := State{Waiting, string(status.StageProposed)}
		merged := findMerge(merges, bar)
		switch {
		case isUnmerged && bar.State.Tone != Bad && bar.State.Tone != Stopped:
			bar.State = proposed
		case !isUnmerged && merged.After(bar.From):
			before := bar
			before.State, before.To, bar.From = proposed, merged, merged
			bars = append(bars, before)
		}
		bars = append(bars, bar)
	}
	since, state := s.findStop(e)
	return cutLast(bars, since, state)
}

// findBarState returns the state of the commit that an environment has: that of the environment where it is about the
// commit.
func (s Source) findBarState(e Environment) State {
	if e.State.Tone == Bad || e.CommitState.Tone == "" {
		return e.State
	}
	return e.CommitState
}

// findStop returns since when an environment fails, or is held, and the state since then; zero if that is unknown, or it
// is neither.
func (s Source) findStop(e Environment) (since time.Time, state State) {
	stage, _ := s.Snapshot.Chain.FindStage(e.Name)
	if stage.Hold != "" {
		for _, a := range s.Actions { // the newest first
			if a.Environment == e.Name && (a.Action == history.HoldAction || a.Action == history.RollbackAction) {
				return a.Time, State{Stopped, string(status.StageHeld)}
			}
		}
	}
	report, _ := s.Snapshot.FindEnvironment(e.Name)
	if e.State.Tone == Bad && !e.StateSince.IsZero() {
		return e.StateSince, e.State
	}
	if e.State.Tone == Bad && e.State.Word == report.StateWord() {
		return report.Since, e.State
	}
	return time.Time{}, State{}
}

// cutLast has the last bar be in a state only since a time, if that is known.
func cutLast(bars []TimelineBar, since time.Time, state State) []TimelineBar {
	if since.IsZero() || len(bars) == 0 {
		return bars
	}
	last := bars[len(bars)-1]
	if !since.After(last.From) {
		bars[len(bars)-1].State = state
		return bars
	}
	stopped := last
	stopped.From, stopped.State, last.To = since, state, since
	if last.State.Tone == Bad {
		last.State = State{Good, "had"}
	}
	return append(bars[:len(bars)-1], last, stopped)
}

func (s Source) listMerges() map[string][]time.Time {
	merges := map[string][]time.Time{}
	for _, a := range slices.Backward(s.Actions) {
		if a.Pull > 0 && a.Action == forge.MergeAction {
			merges[a.Environment] = append(merges[a.Environment], a.Time)
		}
	}
	return merges
}

func findMerge(merges []time.Time, of TimelineBar) time.Time {
	i, _ := slices.BinarySearchFunc(merges, of.From, time.Time.Compare)
	if i == len(merges) || !of.To.IsZero() && merges[i].After(of.To) {
		return time.Time{}
	}
	return merges[i]
}

// fitBars returns the bars of a lane that are there after a time, not more than a number of them: neighbours for which
// there is no room are one bar.
func fitBars(bars []TimelineBar, from, now time.Time, room int) []TimelineBar {
	fit := []TimelineBar{}
	bars = slices.DeleteFunc(slices.Clone(bars), func(b TimelineBar) bool { return !b.To.IsZero() && !b.To.After(from) })
	least := now.Sub(from) / time.Duration(room)
	if len(bars) <= room/2 { // there is room for all
		least = now.Sub(from) / (2 * parts)
	}
	for _, b := range bars {
		b.From = laterTime(b.From, from)
		last := len(fit) - 1
		isNarrow := func(one TimelineBar) bool { return !one.To.IsZero() && one.To.Sub(one.From) < least }
		if last < 0 || !isNarrow(fit[last]) || b.To.IsZero() {
			fit = append(fit, b)
			continue
		}
		if fit[last].Commit.ID != b.Commit.ID {
			fit[last].Commits++
		}
		fit[last].Commit, fit[last].To = b.Commit, b.To
		if isStop := fit[last].State.Tone == Bad || fit[last].State.Tone == Stopped; !isStop { // which can still be seen
			fit[last].State = b.State
		}
	}
	return fit
}

func laterTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (s Source) findComing(e Environment) *TimelineNext {
	chain := s.Snapshot.Chain
	stage, promoted := chain.FindStage(e.Name)
	i := slices.IndexFunc(s.HeadForecast.Arrivals, func(a promote.Arrival) bool { return a.Environment == e.Name })
	if !promoted || e.Commit != nil && e.Commit.ID == chain.Head {
		return nil
	}
	stopped := State{}
	switch {
	case e.isHeld(), e.isFrozen():
		stopped = e.State
	case stage.Hold != "":
		stopped = State{Stopped, string(status.StageHeld)}
	}
	if i < 0 || s.HeadForecast.Commit != chain.Head || len(s.HeadForecast.Arrivals[i].Lanes) > 0 { // the whole still waits
		if e.Next == nil {
			return nil
		}
		next := &TimelineNext{Commit: *e.Next, State: arrivalStates[promote.ArrivalWaits]}
		if stopped.Tone != "" {
			next.State = stopped
		}
		return next
	}
	a := s.HeadForecast.Arrivals[i]
	if a.State != promote.ArrivalExpected && a.State != promote.ArrivalWaits && a.State != promote.ArrivalNever {
		return nil
	}
	next := &TimelineNext{Commit: *s.describeCommit(cmp.Or(a.With, chain.Head)), State: arrivalStates[a.State]}
	if a.State == promote.ArrivalExpected {
		next.At = a.Time
	}
	next.Waits = list.Convert(slices.Concat(a.WaitsFor, a.Delays), func(w promote.ArrivalWait) string { return cleanWait(w).String() })
	if a.State == promote.ArrivalNever {
		next.Waits = []string{CleanText(strings.TrimSpace(a.Reason))}
	}
	if stopped.Tone != "" && a.State != promote.ArrivalExpected {
		next.State = stopped
	}
	return next
}
