package answer

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// LaneRow is a part of the base that is promoted by itself, in all environments that have a commit.
type LaneRow struct {
	Name         string      `json:"name"`
	Environments []LanePlace `json:"environments"` // in the order of promotion
}

// LanePlace is a lane in an environment.
type LanePlace struct {
	Lane        string `json:"lane"`
	Environment string `json:"environment"`
	State       State  `json:"state"`
	// Commit is the one that the environment has of the lane. The others are as in status.Lane.
	Commit *Commit `json:"commit,omitempty"`
	Next   *Commit `json:"next,omitempty"`
	// Release, Versions and Change are in the place of Commit and Next where the lane moves versions of applications.
	Release  string   `json:"release,omitempty"`
	Versions []string `json:"versions,omitempty"`
	Change   []string `json:"change,omitempty"`

	Waiting int    `json:"waiting,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Hold    string `json:"hold,omitempty"`
}

// listLanes returns the lanes that wait or are held first.
func listLanes(s Source) []LaneRow {
	lanes := []LaneRow{}
	for _, name := range status.LaneNames(s.Snapshot.Chain) {
		l := LaneRow{Name: name, Environments: []LanePlace{}}
		for _, stage := range s.Snapshot.Chain.Stages {
			if stage.Commit != "" {
				l.Environments = append(l.Environments, newLanePlace(s, stage, stage.FindLane(name)))
			}
		}
		lanes = append(lanes, l)
	}
	isUrgent := func(p LanePlace) bool {
		return p.State.Tone == Waiting || p.State.Tone == Stopped || p.State.Tone == Bad
	}
	slices.SortStableFunc(lanes, func(a, b LaneRow) int {
		return compareFlags(slices.ContainsFunc(a.Environments, isUrgent), slices.ContainsFunc(b.Environments, isUrgent))
	})
	return lanes
}

func listReleases(s Source) (lanes []LaneRow) {
	var names []string
	for _, stage := range s.Snapshot.Chain.Stages {
		for _, r := range stage.Releases {
			names = append(names, r.Lane)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		row := LaneRow{Name: name}
		for _, stage := range s.Snapshot.Chain.Stages {
			r, _ := stage.FindRelease(name)
			row.Environments = append(row.Environments, newReleasePlace(stage, r))
		}
		lanes = append(lanes, row)
	}
	return lanes
}

func listReleasePlaces(stage status.Stage) []LanePlace {
	return list.Convert(stage.Releases, func(r status.Release) LanePlace { return newReleasePlace(stage, r) })
}

func newReleasePlace(stage status.Stage, r status.Release) LanePlace {
	p := LanePlace{
		Lane: r.Lane, Environment: stage.Environment, State: State{Good, "has"}, Release: cmp.Or(r.Name, "none"), Versions: r.Versions, Change: r.Change, Hold: r.Hold,
	}
	if r.Verdict.Status != gate.Pass {
		p.Reason = r.Verdict.Reason
	}
	if r.Next != "" {
		p.Next = &Commit{Commit: status.Commit{ID: r.NextCommit, Subject: r.Next}}
	}
	switch {
	case r.State == status.StageFailed:
		p.State, p.Reason = State{Bad, string(r.State)}, cmp.Or(r.Failure, p.Reason)
	case r.State == status.StageStopped, r.Hold != "":
		p.State = State{Stopped, cmp.Or(map[bool]string{true: string(status.StageHeld)}[r.Hold != ""], string(r.State))}
	case r.Next != "":
		p.State = State{Waiting, "waits"}
	case r.State == status.StageProposed, r.State == status.StageRollingOut:
		p.State = State{Busy, string(r.State)}
	}
	return p
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func listPlaces(s Source, stage status.Stage) (places []LanePlace) {
	for _, l := range stage.Lanes {
		places = append(places, newLanePlace(s, stage, l))
	}
	return places
}

// TimelineTrack is a lane of the base over time, in an environment.
type TimelineTrack struct {
	Place LanePlace     `json:"place"`
	Bars  []TimelineBar `json:"bars"` // the oldest first
}

// maxTracks bounds the tracks of all environments; each may have one.
const maxTracks = 60

// listTracks returns the lanes that an environment has another commit of, or gets another one of next, or that are held
// there: those that are not well first, and at most a number of them.
func listTracks(s Source, e Environment, t Timeline, most int) (tracks []TimelineTrack, left int) {
	stage, _ := s.Snapshot.Chain.FindStage(e.Name)
	for _, p := range listPlaces(s, stage) {
		isApart := p.Commit != nil && p.Commit.ID != stage.Commit || p.Next != nil && p.Next.ID != stage.Next.Candidate
		if isApart || p.State.Tone == Stopped || p.State.Tone == Bad {
			tracks = append(tracks, TimelineTrack{Place: p})
		}
	}
	slices.SortStableFunc(tracks, func(a, b TimelineTrack) int {
		return compareFlags(a.Place.State.Tone != Good, b.Place.State.Tone != Good)
	})
	left = max(0, len(tracks)-most)
	tracks = tracks[:len(tracks)-left]
	for i := range tracks {
		tracks[i].Bars = fitBars(listLaneBars(s, e, tracks[i].Place), t.From, t.Now, minBars)
		for j, b := range tracks[i].Bars {
			tracks[i].Bars[j].Commit = *s.describeCommit(b.Commit.ID)
		}
	}
	return tracks, left
}

// listLaneBars returns the commits that an environment had of a lane, the oldest first: by actions on the lane alone, and
// with the whole base.
func listLaneBars(s Source, e Environment, p LanePlace) (bars []TimelineBar) {
	turns := s.listTurns(e)
	for _, a := range s.Actions {
		for _, l := range a.Lanes {
			if a.Environment == e.Name && a.To == "" && l.Lane == p.Lane && l.Commit != "" && (a.Action == history.PromoteAction || a.Action == history.RollbackAction) {
				turns = append(slices.Clip(turns), status.Turn{Commit: l.Commit, When: a.Time})
			}
		}
	}
	slices.SortStableFunc(turns, func(a, b status.Turn) int { return a.When.Compare(b.When) })
	for _, turn := range turns {
		last := len(bars) - 1
		if last >= 0 && bars[last].Commit.ID == turn.Commit {
			continue
		}
		if last >= 0 {
			bars[last].To = turn.When
		}
		bars = append(bars, TimelineBar{Commit: *commitOf(turn.Commit), Commits: 1, State: State{Good, "had"}, From: turn.When})
	}
	if last := len(bars) - 1; last >= 0 && (p.State.Tone == Bad || p.State.Tone == Stopped) {
		bars[last].State = p.State
	}
	return bars
}

func newLanePlace(s Source, stage status.Stage, l status.Lane) LanePlace {
	p := LanePlace{
		Lane: l.Name, Environment: stage.Environment, State: State{Good, "has"}, Commit: s.describeCommit(cmp.Or(l.Commit, stage.Commit)),
		Next: s.describeCommit(l.Next), Waiting: l.Waiting, Reason: l.Reason, Hold: l.Hold,
	}
	switch {
	case l.State == status.StageFailed:
		p.State, p.Reason = State{Bad, string(l.State)}, cmp.Or(l.Failure, l.Reason)
	case l.Hold != "":
		p.State = State{Stopped, string(status.StageHeld)}
	case l.Reason != "":
		p.State = State{Waiting, "waits"}
	case l.Next != "":
		p.State = State{Busy, "moves"}
	}
	return p
}
