package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// StyleGuide is the page that shows each part of pages in all of its states. It is for those who change them.
type StyleGuide struct{}

// styleGuideView is the data of styleguide.html.
type styleGuideView struct {
	States       []answer.State
	Environments []answer.Environment
	Chain        chainView
	Gates        []gate.Verdict
	Fleet        Fleet
	Pager        pager
	Levers       []LeverLink
	Missing      Missing
	Late         []answer.AssignmentPart
}

// guideTime is when all in the style guide has happened.
var guideTime = time.Date(2026, time.November, 23, 9, 0, 0, 0, time.UTC)

func newStyleGuideView() styleGuideView {
	v := styleGuideView{
		Missing: Missing{Error: `there is no environment "pord"`, List: "environments", Nearest: "prod", NearestPath: "environments/prod"},
		Pager:   pager{Page: 2, Pages: 3, Newer: "styleguide", Later: "styleguide", First: 51, Last: 100, All: 1234, What: "workloads"},
		Levers:  []LeverLink{{Lever: "approve", Allowed: true}, {Lever: "rollback", Allowed: true}, {Lever: "hold", Reason: "only group sre may hold in prod"}},
	}
	words := map[answer.Tone]string{answer.Good: "verified", answer.Busy: "rolling out", answer.Waiting: "waits", answer.Unknown: "no report", answer.Stopped: "held", answer.Bad: "failed"}
	before := []string(nil)
	for i, tone := range answer.AllTones() {
		state := answer.State{Tone: tone, Word: words[tone]}
		v.States = append(v.States, state)
		e := answer.Environment{
			Name: "stage-" + string(tone), After: before, Promoted: true, State: state, Reason: "a sentence that says why, and until when", Since: guideTime, Behind: i,
			Merged: tone != answer.Busy, Commit: &answer.Commit{Commit: status.Commit{ID: fmt.Sprintf("%d%039d", i+1, i), Subject: "Less noise", Author: "alice", When: guideTime}, URL: "https://github.com/acme/fleet/commit/9f31c07"},
		}
		v.Environments, before = append(v.Environments, e), []string{e.Name}
		if i == 2 {
			before = before[:0]
		}
		v.Late = append(v.Late, answer.AssignmentPart{Environment: "prod", ClusterType: "large", Target: "checkout", Wanted: "4.2.1", Runs: "4.1.9", State: &state, Clusters: 3})
	}
	v.Chain, _ = newChainView(newGuideTimeline(v.Environments), v.Environments, nil, Frame{HasPast: true})
	v.Gates = []gate.Verdict{
		{Gate: "proof", Status: gate.Pass, Reason: "all clusters are ready"},
		{Gate: "approval", Status: gate.Wait, Reason: "1 of 2 approvals", ValidUntil: guideTime, Parts: []gate.Verdict{{Gate: "window", Status: gate.Pass, Reason: "open until 17:00"}, {Gate: "http", Status: gate.Fail, Reason: "the answer is 503"}}},
	}
	v.Fleet = newGuideFleet(v.States)
	return v
}

// newGuideTimeline returns a timeline with a lane for each state, in which a commit travels.
func newGuideTimeline(all []answer.Environment) answer.Timeline {
	t := answer.Timeline{From: guideTime.Add(-6 * time.Hour), Now: guideTime, To: guideTime.Add(2 * time.Hour)}
	older := answer.Commit{Commit: status.Commit{ID: strings.Repeat("a", 40), Subject: "Raise limits", Author: "bob", When: t.From}}
	newer := answer.Commit{Commit: status.Commit{ID: strings.Repeat("b", 40), Subject: "Less noise", Author: "alice", When: t.From}}
	for i, e := range all {
		at := t.From.Add(time.Duration(i+1) * 50 * time.Minute)
		lane := answer.TimelineLane{Environment: e.Name, Bars: []answer.TimelineBar{{Commit: older, Commits: 1, State: all[0].State, From: t.From, To: at}, {Commit: newer, Commits: 1, State: e.State, From: at}}}
		if e.State.Tone == answer.Stopped {
			lane.Bars[0].To = time.Time{}
			lane.Bars, lane.Next = lane.Bars[:1], &answer.TimelineNext{Commit: newer, State: e.State, Waits: []string{e.Name + ": its hold to be released"}}
		}
		if e.State.Tone == answer.Unknown {
			lane.Bars[0].To = time.Time{}
			lane.Bars, lane.Next = lane.Bars[:1], &answer.TimelineNext{Commit: newer, State: answer.State{Tone: answer.Busy, Word: "expected"}, At: guideTime.Add(time.Hour)}
		}
		t.Lanes, t.Steps = append(t.Lanes, lane), append(t.Steps, at)
		t.Marks = append(t.Marks, answer.TimelineMark{Time: at, Environment: e.Name, Action: []string{"merge", "hold", "rollback", "approve"}[i%4], Who: "alice", Commit: &newer})
	}
	return t
}

func newGuideFleet(states []answer.State) Fleet {
	f := Fleet{Fleet: answer.Fleet{Rows: answer.ByWorkload, Columns: answer.ByEnvironment, Ledger: true, Environments: 2, Heads: []answer.FleetHead{{Name: "stage", State: &states[0]}, {Name: "prod", State: &states[5]}}}}
	for i, s := range states {
		f.Items = append(f.Items, answer.FleetRow{Name: fmt.Sprintf("checkout-%d", i), Cells: []answer.FleetCell{
			{Assignments: 40, Versions: []answer.VersionCount{{Version: "4.2.1", Assignments: 40}}, State: &s, Worst: i + 1},
			{Assignments: 3 * i, Versions: []answer.VersionCount{{Version: "4.1.9", Assignments: 2 * i}, {Version: "4.1.7", Assignments: i}}, MoreVersions: i / 4},
		}})
	}
	return f
}
