package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

var timelineNoon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// ago returns the time so many minutes before noon.
func ago(minutes int) time.Time { return timelineNoon.Add(-time.Duration(minutes) * time.Minute) }

// gotAt returns how an environment got a commit so many minutes ago.
func gotAt(commit string, minutes int) status.Turn {
	return status.Turn{Commit: commit, When: ago(minutes)}
}

// describeLane returns a lane as one line: each bar with its state and its ends, in minutes before noon, and what comes.
func describeLane(lane TimelineLane) string {
	minutes := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return fmt.Sprint(int(timelineNoon.Sub(at).Minutes()))
	}
	var all []string
	for _, b := range lane.Bars {
		one := fmt.Sprintf("%s %s %s %s-%s", b.Commit.ID, b.State.Tone, b.State.Word, minutes(b.From), minutes(b.To))
		if b.Commits > 1 {
			one = fmt.Sprintf("%d×%s", b.Commits, one)
		}
		all = append(all, one)
	}
	if n := lane.Next; n != nil {
		all = append(all, strings.TrimSpace(fmt.Sprintf("then %s %s %s %s %s", n.Commit.ID, n.State.Tone, n.State.Word, minutes(n.At), strings.Join(n.Waits, ", "))))
	}
	return strings.Join(all, "; ")
}

// TestTimelineLanes: a commit is proposed until its output is merged, and is there until the next one is; what a rollback
// reverted has failed; a hold and a failure begin when they do; what comes is the forecast.
func TestTimelineLanes(t *testing.T) {
	merge := func(minutes int) history.Entry {
		return history.Entry{Time: ago(minutes), Environment: "prod", Action: forge.MergeAction, Pull: 7, Who: "alice"}
	}
	arrival := func(a promote.Arrival) []promote.Arrival {
		a.Environment = "prod"
		return []promote.Arrival{a}
	}
	for _, test := range []struct {
		name     string
		turns    []status.Turn
		change   func(s *status.Stage, e *status.Environment)
		actions  []history.Entry
		arrivals []promote.Arrival
		want     string
	}{
		{name: "two commits", turns: []status.Turn{gotAt("b", 20), gotAt("a", 50)}, want: "a good had 50-20; b good verified 20-"},
		{name: "with merges", turns: []status.Turn{gotAt("b", 20), gotAt("a", 50)}, actions: []history.Entry{merge(10), merge(40)},
			want: "a waiting proposed 50-40; a good had 40-20; b waiting proposed 20-10; b good verified 10-"},
		{name: "the first merge counts", turns: []status.Turn{gotAt("a", 50)}, actions: []history.Entry{merge(10), merge(40)}, want: "a waiting proposed 50-40; a good verified 40-"},
		{name: "not merged", turns: []status.Turn{gotAt("b", 20), gotAt("a", 50)}, change: func(s *status.Stage, e *status.Environment) { s.Merged, e.State = false, status.Proposed }, want: "a good had 50-20; b waiting proposed 20-"},
		{name: "superseded", turns: []status.Turn{{Commit: "b", When: ago(20), Unmerged: "a"}, gotAt("a", 50)}, want: "a waiting proposed 50-20; b good verified 20-"},
		{name: "rolled back", turns: []status.Turn{{Commit: "a", When: ago(20), RolledBack: true}, gotAt("b", 30), gotAt("a", 50)}, want: "a good had 50-30; b bad rolled back 30-20; a good verified 20-"},
		{name: "held", turns: []status.Turn{gotAt("a", 50)}, change: func(s *status.Stage, _ *status.Environment) { s.Hold, s.Next.State = "sale", promote.Held },
			actions: []history.Entry{{Time: ago(15), Environment: "prod", Action: history.HoldAction, Who: "dana"}}, want: "a good verified 50-15; a stopped held 15-"},
		{name: "failed", turns: []status.Turn{gotAt("a", 50)}, change: func(_ *status.Stage, e *status.Environment) { e.State, e.Since = status.Failed, ago(5) }, want: "a good had 50-5; a bad failed 5-"},
		{name: "fails since it is there", turns: []status.Turn{gotAt("a", 50)}, change: func(s *status.Stage, _ *status.Environment) { s.Proof.Status = gate.Fail }, want: "a bad failed 50-"},
		{name: "expected", turns: []status.Turn{gotAt("a", 50)}, arrivals: arrival(promote.Arrival{State: promote.ArrivalExpected, Time: ago(-30)}), want: "a good verified 50-; then c busy expected -30"},
		{name: "waits", turns: []status.Turn{gotAt("a", 50)}, arrivals: arrival(promote.Arrival{State: promote.ArrivalWaits, WaitsFor: []promote.ArrivalWait{{Environment: "dev", What: "1 approval"}}}),
			want: "a good verified 50-; then c waiting waits  dev: 1 approval"},
		{name: "comes with another", turns: []status.Turn{gotAt("a", 50)}, arrivals: arrival(promote.Arrival{State: promote.ArrivalExpected, Time: ago(-30), With: "b"}), want: "a good verified 50-; then b busy expected -30"},
		{name: "has it", turns: []status.Turn{gotAt("c", 50)}, arrivals: arrival(promote.Arrival{State: promote.ArrivalExpected, Time: ago(-30)}), want: "c good verified 50-"},
		{name: "without a forecast", turns: []status.Turn{gotAt("a", 50)}, change: func(s *status.Stage, _ *status.Environment) {
			s.Next = promote.Decision{State: promote.Waiting, Candidate: "b"}
		}, want: "a good verified 50-; then b waiting waits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			stage := stageAt("prod", nil, test.turns...)
			stage.Since = test.turns[0].When
			e := status.Environment{Name: "prod", State: status.InSync, Assignments: 1}
			if test.change != nil {
				test.change(&stage, &e)
			}
			s := Source{Now: timelineNoon, Actions: test.actions, HeadForecast: HeadForecast{"c", test.arrivals},
				Snapshot: status.Snapshot{Environments: []status.Environment{e}, Chain: status.Chain{Head: "c", Stages: []status.Stage{stage}, Commits: lineOf("c", "b", "a")}}}
			got := s.Timeline(time.Time{})
			if lane := describeLane(got.Lanes[0]); lane != test.want {
				t.Errorf("got  %s\nwant %s", lane, test.want)
			}
			if !got.From.Before(ago(50)) || got.Now.Before(timelineNoon) || !got.To.After(got.Now) {
				t.Errorf("it goes from %v by %v to %v", got.From, got.Now, got.To)
			}
		})
	}
}

// TestTimelineTracks: a lane that is elsewhere than its environment, or waits, has a track of its own: with the commits that
// it got with the whole base, and by itself.
func TestTimelineTracks(t *testing.T) {
	stage := stageAt("prod", nil, gotAt("a", 50))
	stage.Since = ago(50)
	stage.Lanes = []status.Lane{{Name: "alike", Commit: "a"}, {Name: "shop", Commit: "c"}, {Name: "till", Next: "b", Reason: "dev has not verified it"}, {Name: "held", Hold: "sale"}}
	alone := func(lane, commit string, minutes int) history.Entry {
		return history.Entry{Time: ago(minutes), Environment: "prod", Action: history.PromoteAction, Lanes: []history.LaneVersion{{Lane: "other", Commit: "x"}, {Lane: lane, Commit: commit}}}
	}
	s := Source{Now: timelineNoon, Actions: []history.Entry{alone("shop", "c", 10), alone("shop", "b", 30), alone("till", "", 20)},
		Snapshot: status.Snapshot{Environments: []status.Environment{{Name: "prod", State: status.InSync}}, Chain: status.Chain{Head: "c", Stages: []status.Stage{stage}, Commits: lineOf("c", "b", "a")}}}
	var got []string
	for _, track := range s.Timeline(time.Time{}).Lanes[0].Tracks {
		got = append(got, track.Place.Lane+": "+describeLane(TimelineLane{Bars: track.Bars}))
	}
	want := []string{"till: a good had 50-", "held: a stopped held 50-", "shop: a good had 50-30; b good had 30-10; c good had 10-"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if tracks, left := listTracks(s, s.listEnvironments()[0], Timeline{Now: timelineNoon, From: ago(60)}, 1); len(tracks) != 1 || left != 2 {
		t.Errorf("of one track that may be there are %d, and %d are left out", len(tracks), left)
	}
}

// TestTimelineIsBounded: of many commits in many environments neighbors are one bar, and counted; steps and marks are the
// last ones, and in order; a cursor of before is within the ends.
func TestTimelineIsBounded(t *testing.T) {
	const commits = 500
	chain := status.Chain{Head: "c0"}
	for i := range commits {
		chain.Commits = append(chain.Commits, status.Commit{ID: fmt.Sprintf("c%d", i)})
	}
	for n := range 20 {
		stage := status.Stage{Environment: fmt.Sprintf("e%d", n), Commit: "c0", Merged: true, Since: ago(0)}
		for i := range commits {
			stage.Turns = append(stage.Turns, gotAt(fmt.Sprintf("c%d", i), 10*i))
		}
		chain.Stages = append(chain.Stages, stage)
	}
	s := Source{Now: timelineNoon, Snapshot: status.Snapshot{Chain: chain}}
	for _, cursor := range []time.Time{{}, ago(10 * commits)} {
		got, bars, shown := s.Timeline(cursor), 0, 0
		for _, lane := range got.Lanes {
			bars += len(lane.Bars)
			for i, b := range lane.Bars {
				shown += b.Commits
				if i > 0 && !b.From.Equal(lane.Bars[i-1].To) {
					t.Fatalf("a bar of %s begins at %v, and the one before it ends at %v", lane.Environment, b.From, lane.Bars[i-1].To)
				}
			}
		}
		if bars > maxBars+2*len(got.Lanes) || len(got.Steps) > maxSteps || len(got.Marks) > maxMarks {
			t.Errorf("%d bars, %d steps, %d marks", bars, len(got.Steps), len(got.Marks))
		}
		if !cursor.IsZero() && (got.From.After(cursor) || shown != 20*commits) {
			t.Errorf("from %v on there are %d commits", got.From, shown)
		}
		for i, step := range got.Steps {
			if step.Before(got.From) || step.After(got.Now) || i > 0 && !step.After(got.Steps[i-1]) {
				t.Errorf("step %d is at %v, between %v and %v", i, step, got.From, got.Now)
			}
		}
	}
}
