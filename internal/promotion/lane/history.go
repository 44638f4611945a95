package lane

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// Step is a commit of the base's line.
type Step struct {
	Commit string
	// Lanes are the lanes that it changes, with Platform if it changes other files.
	Lanes []string
}

// History is the line of the base, by lanes.
type History struct {
	steps  []Step // newest first
	index  map[string]int
	line   promote.Line
	byLane map[string]promote.Line
}

// NewHistory returns the history of a line of the base whose commits change some lanes. The oldest commit is a version of
// each lane.
func NewHistory(line promote.Line, changed func(commit, before string) ([]string, error)) (History, error) {
	h := History{line: line, index: map[string]int{}, byLane: map[string]promote.Line{}}
	commits := line.Commits()
	versions := map[string][]string{}
	for i, commit := range commits {
		s := Step{Commit: commit}
		if i+1 < len(commits) {
			var err error
			s.Lanes, err = changed(commit, commits[i+1])
			if err != nil {
				return History{}, err
			}
		}
		for _, lane := range s.Lanes {
			versions[lane] = append(versions[lane], commit)
		}
		h.index[commit] = i
		h.steps = append(h.steps, s)
	}
	for lane, all := range versions {
		h.byLane[lane] = promote.NewLine(append(all, commits[len(commits)-1]))
	}
	return h, nil
}

// Lanes returns the lanes that have changed, sorted.
func (h History) Lanes() []string {
	var lanes []string
	for lane := range h.byLane {
		lanes = append(lanes, lane)
	}
	slices.Sort(lanes)
	return lanes
}

// Line returns the line of a lane: the commits that change it, and the oldest one.
func (h History) Line(lane string) promote.Line { return h.byLane[lane] }

// Version returns the version of a lane that a commit of the base contains; "" if that is older than all.
func (h History) Version(lane, commit string) string {
	i, known := h.index[commit]
	if !known {
		_, older, beside := h.line.Position(commit)
		if !beside {
			return ""
		}
		i = older
	}
	for ; i < len(h.steps); i++ {
		if i == len(h.steps)-1 || slices.Contains(h.steps[i].Lanes, lane) {
			return h.steps[i].Commit
		}
	}
	return ""
}

// Changed returns the lanes that a commit of the line changes.
func (h History) Changed(commit string) []string {
	i, known := h.index[commit]
	if !known {
		return nil
	}
	return h.steps[i].Lanes
}

func (h History) contains(commit, older string) bool {
	return commit == older || h.line.IsNewer(commit, older)
}

func (h History) includes(version, commit string) bool { return h.index[version] <= h.index[commit] }

// JoinedLanes returns the other lanes that commits of a lane change too, which are newer than one version and not newer than
// another one, each with the newest of these commits.
func (h History) JoinedLanes(lane, from, to string) map[string]string {
	joined := map[string]string{}
	for _, s := range h.stepsBetween(lane, from, to) {
		for _, other := range s.Lanes {
			if other != lane && joined[other] == "" {
				joined[other] = s.Commit
			}
		}
	}
	return joined
}

func (h History) stepsBetween(lane, from, to string) []Step {
	var found []Step
	for i := h.index[to]; i < h.index[from]; i++ {
		if slices.Contains(h.steps[i].Lanes, lane) {
			found = append(found, h.steps[i])
		}
	}
	return found
}

// Settle returns the same base with as few lanes of their own as there can be: with the newest commit of the platform of
// which it has everything.
func (h History) Settle(c Composition) Composition {
	at, known := h.index[c.Platform]
	if !known {
		return c
	}
	has, newest := map[string]string{}, at
	for _, lane := range h.Lanes() {
		commit := cmp.Or(c.Lanes[lane], c.Platform)
		has[lane] = h.Version(lane, commit)
		if has[lane] == "" {
			return c
		}
		newest = min(newest, h.index[has[lane]])
	}
	has[Platform] = h.Version(Platform, c.Platform)
	lacks := func(step Step) bool {
		return slices.ContainsFunc(step.Lanes, func(lane string) bool { return !h.includes(has[lane], step.Commit) })
	}
	for at > newest && !lacks(h.steps[at-1]) {
		at--
	}
	settled := Composition{Platform: h.steps[at].Commit, Lanes: map[string]string{}}
	for lane, version := range has {
		if version != h.Version(lane, settled.Platform) {
			settled.Lanes[lane] = version
		}
	}
	return settled
}
