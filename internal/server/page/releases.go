package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/picture"
)

const (
	// maxReleases is how many releases are listed, and timelineSpan how long the timeline is at most.
	maxReleases  = 50
	timelineSpan = 30 * 24 * time.Hour
	// maxLane is how many letters the name of a lane has.
	maxLane = 20
)

// timelineView is the picture of releases.
type timelineView struct {
	picture.Timeline
	Lanes []laneView
}

type laneView struct {
	picture.TimelineLane
	Bars []barView
}

// barView is a bar, with the place of its text.
type barView struct{ picture.Bar }

// TextX and TextY are where the text is.
func (b barView) TextX() int { return b.X + 6 }

// TextY is described at TextX.
func (b barView) TextY() int { return b.Y + b.Height*2/3 }

// IsEven reports whether the index of a bar is even.
func (b barView) IsEven(i int) bool { return i%2 == 0 }

// Timeline returns the releases as lanes, one for each environment and deployment target; nil for none.
func (v workloadView) Timeline() *timelineView {
	var lanes []picture.Lane
	index := map[[2]string]int{}
	for _, name := range v.releasedIn() {
		for _, r := range slices.Backward(v.Releases) {
			if r.Environment != name {
				continue
			}
			key := [2]string{r.Environment, r.Target}
			i, known := index[key]
			if !known {
				i, index[key] = len(lanes), len(lanes)
				lanes = append(lanes, picture.Lane{Name: v.laneName(r)})
			}
			lanes[i].Marks = append(lanes[i].Marks, picture.Mark{Name: shortVersion(r.Version), From: r.Since, To: r.Until})
		}
	}
	if len(lanes) == 0 {
		return nil
	}
	made := picture.NewTimeline(lanes, timelineSpan)
	shown := &timelineView{Timeline: made}
	for _, l := range made.Lanes {
		lane := laneView{TimelineLane: l}
		for _, b := range l.Bars {
			lane.Bars = append(lane.Bars, barView{b})
		}
		shown.Lanes = append(shown.Lanes, lane)
	}
	return shown
}

// releasedIn returns the environments with releases: in the order of promotion, then those of which nothing else
// is known.
func (v workloadView) releasedIn() (names []string) {
	for _, h := range v.Where.Heads {
		names = append(names, h.Name)
	}
	for _, r := range v.Releases {
		if !slices.Contains(names, r.Environment) {
			names = append(names, r.Environment)
		}
	}
	return names
}

func (v workloadView) laneName(r fleetview.Release) string {
	if v.TargetCount() == 1 {
		return text.Limit(r.Environment, maxLane)
	}
	return text.Limit(r.Environment+" "+r.Target, maxLane)
}

// TargetCount returns how many deployment targets have releases.
func (v workloadView) TargetCount() int {
	names := map[string]bool{}
	for _, r := range v.Releases {
		names[r.Target] = true
	}
	return len(names)
}

// shownRelease is a release in the list.
type shownRelease struct{ fleetview.Release }

// FailedState returns how many of its clusters report a failure.
func (r shownRelease) FailedState() answer.State {
	return answer.State{Tone: answer.Bad, Word: fmt.Sprintf("failed %d/%d", r.Failed, r.Clusters)}
}

// ShownReleases returns the releases that are listed.
func (v workloadView) ShownReleases() (all []shownRelease) {
	for _, r := range v.Releases[:min(len(v.Releases), maxReleases)] {
		all = append(all, shownRelease{r})
	}
	return all
}

// HiddenReleases returns how many are not listed.
func (v workloadView) HiddenReleases() int { return max(0, len(v.Releases)-maxReleases) }
