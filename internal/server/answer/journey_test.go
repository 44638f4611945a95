package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// stageAt returns a stage whose commit is merged and verified, and that got some commits, newest first.
func stageAt(name string, after []string, turns ...status.Turn) status.Stage {
	return status.Stage{Environment: name, After: after, Commit: turns[0].Commit, Merged: true, Proof: gate.Verdict{Status: gate.Pass}, Turns: turns,
		Next: promote.Decision{State: promote.Current, Current: turns[0].Commit}}
}

func got(commit string) status.Turn { return status.Turn{Commit: commit} }

func wentBack(commit string) status.Turn {
	return status.Turn{Commit: commit, RolledBack: true, Who: "Alice", Reason: "hello does not start"}
}

// lineOf returns commits, newest first.
func lineOf(ids ...string) (all []status.Commit) {
	for _, id := range ids {
		all = append(all, status.Commit{ID: id})
	}
	return all
}

// describeStops returns what a commit is to each environment, as a line.
func describeStops(t *testing.T, s Source, id string) string {
	t.Helper()
	j, known := s.Journey(id)
	if !known {
		t.Fatalf("%s is not known", id)
	}
	var all []string
	for _, stop := range j.Stops {
		text := fmt.Sprintf("%s: %s %s %s", stop.Environment.Name, stop.Mark, stop.State.Tone, stop.State.Word)
		if stop.Newer != nil {
			text += " newer " + stop.Newer.ID
		}
		if stop.Back != nil {
			text += fmt.Sprintf(" to %s by %s: %s", stop.Back.To.ID, stop.Back.Who, stop.Back.Reason)
		}
		if stop.Reason != "" {
			text += " (" + stop.Reason + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

func describeFarthest(j Journey) string {
	environment, state := j.Farthest("")
	return environment + ": " + state.Word
}

// TestJourneyOfCommitThatWasRolledBack: a commit that failed in dev never reached the others, although they have
// a newer one, which contains it and what reverts it.
func TestJourneyOfCommitThatWasRolledBack(t *testing.T) {
	held := stageAt("dev", nil, wentBack("good"), got("bad"), got("good"))
	held.Hold, held.Next.State = "hello does not start", promote.Held
	s := Source{Snapshot: status.Snapshot{Chain: status.Chain{
		Stages:  []status.Stage{held, stageAt("stage", []string{"dev"}, got("good")), stageAt("prod", []string{"stage"}, got("good"))},
		Commits: lineOf("bad", "good"),
	}}}
	want := `dev: back stopped gone back to good by Alice: hello does not start (held: hello does not start)
stage: not waiting waits (dev was rolled back from it)
prod: not waiting waits (dev was rolled back from it)`
	if diff := cmp.Diff(want, describeStops(t, s, "bad")); diff != "" {
		t.Errorf("while dev is held:\n%s", diff)
	}
	s.Snapshot.Chain = status.Chain{
		Stages: []status.Stage{stageAt("dev", nil, got("revert"), wentBack("good"), got("bad"), got("good")), stageAt("stage", []string{"dev"}, got("revert"), got("good")),
			stageAt("prod", []string{"stage"}, got("revert"))},
		Commits: lineOf("revert", "bad", "good"),
	}
	want = `dev: back stopped gone back newer revert to good by Alice: hello does not start
stage: within unknown left out newer revert
prod: in good had it newer revert` // what prod had before is not known
	if diff := cmp.Diff(want, describeStops(t, s, "bad")); diff != "" {
		t.Errorf("after the revert:\n%s", diff)
	}
	if j, _ := s.Journey("bad"); describeFarthest(j) != "prod: had it" {
		t.Errorf("the badge says %q", describeFarthest(j))
	}
	s.Snapshot.Chain.Stages[2].Turns = append(s.Snapshot.Chain.Stages[2].Turns, got("good"))
	if j, _ := s.Journey("bad"); describeFarthest(j) != "dev: gone back" {
		t.Errorf("once it is known what prod had before, the badge says %q", describeFarthest(j))
	}
	s.Snapshot.Chain.Stages[2].Turns = s.Snapshot.Chain.Stages[2].Turns[:1]
	marks := s.Commits(CommitFilter{Text: "bad"}).Items[0].Marks
	if diff := cmp.Diff([]string{MarkBack, MarkWithin, MarkIn}, marks); diff != "" {
		t.Errorf("in the list:\n%s", diff)
	}
}

// TestJourneyOfDeclined: a commit whose pull request was closed waits until that is opened again, and once a newer one has
// taken its place the environment never had it.
func TestJourneyOfDeclined(t *testing.T) {
	dev := stageAt("dev", nil, got("bad"), got("good"))
	dev.Merged, dev.Proof.Status, dev.State, dev.Action = false, gate.Wait, status.StageDeclined, "declined: not today: open pull request 10 again or change something"
	s := Source{Snapshot: status.Snapshot{
		Chain:        status.Chain{Stages: []status.Stage{dev}, Commits: lineOf("revert", "bad", "good")},
		Environments: []status.Environment{{Name: "dev", State: status.Declined, Assignments: 1, Pull: &status.Pull{Number: 10, Closed: "not today"}, Withheld: []status.Withheld{{Cause: "removals", Acknowledge: "c1"}}}},
	}}
	if diff := cmp.Diff("dev: proposed stopped declined ("+dev.Action+")", describeStops(t, s, "bad")); diff != "" {
		t.Errorf("closed:\n%s", diff)
	}
	if needs := s.Needs(); len(needs) != 1 || !slices.Equal(needs[0].Levers, []string{"reopen"}) {
		t.Errorf("a person may do %+v", needs)
	}
	stopped := dev
	stopped.Proof, stopped.State, stopped.Action = gate.Verdict{Status: gate.Fail, Parts: []gate.Verdict{{Gate: "problems", Kind: gate.KindProblems, Status: gate.Fail}}}, status.StageProblems, "fix: base/a.yaml:13: no such field"
	s.Snapshot.Chain.Stages, s.Snapshot.Environments[0].Pull = []status.Stage{stopped}, nil
	if diff := cmp.Diff("dev: proposed bad problems (fix: base/a.yaml:13: no such field)", describeStops(t, s, "bad")); diff != "" {
		t.Errorf("a mistake stops it:\n%s", diff)
	}
	revert := got("revert")
	revert.From, revert.Unmerged = "bad", "bad"
	s.Snapshot.Chain.Stages = []status.Stage{stageAt("dev", nil, revert, got("bad"), got("good"))}
	if diff := cmp.Diff("dev: within unknown left out newer revert", describeStops(t, s, "bad")); diff != "" {
		t.Errorf("superseded:\n%s", diff)
	}
	if j, _ := s.Journey("bad"); describeFarthest(j) != "dev: left out" {
		t.Errorf("superseded, the badge says %q", describeFarthest(j))
	}
}

// TestJourneyOfOther: the state at a station is that of the commit, and not of a newer one.
func TestJourneyOfOther(t *testing.T) {
	dev := stageAt("dev", nil, got("new"), got("left"), got("old"))
	dev.Merged, dev.Proof.Status, dev.State = false, gate.Wait, status.StageProposed
	dev.Turns = []status.Turn{{Commit: "new", From: "old"}}
	prod := stageAt("prod", nil, got("new"), got("old"))
	prod.Proof.Status = gate.Fail
	s := Source{
		Snapshot: status.Snapshot{
			Chain:        status.Chain{Stages: []status.Stage{dev, prod}, Commits: lineOf("new", "left", "old", "first")},
			Environments: []status.Environment{{Name: "dev", State: status.Proposed, Assignments: 1, Pull: &status.Pull{Number: 10}}},
		},
		Clusters: []fleetview.Overview{{Standing: fleetview.Standing{Environment: "dev", Base: "old"}}},
	}
	for id, want := range map[string]string{
		"new":  "dev: proposed waiting proposed (waits for pull request 10)\nprod: has bad failed",
		"left": "dev: with waiting waits newer new (waits for pull request 10)\nprod: within unknown left out newer new",
		"old":  "dev: runs good runs newer new (waits for pull request 10)\nprod: in good had it newer new",
	} {
		if diff := cmp.Diff(want, describeStops(t, s, id)); diff != "" {
			t.Errorf("%s:\n%s", id, diff)
		}
	}
	replaced := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s.Snapshot.Chain.Stages[1].Turns[0].When = replaced
	if j, _ := s.Journey("old"); !j.Stops[1].Until.Equal(replaced) || !j.Stops[0].Until.IsZero() {
		t.Errorf("dev and prod had it until %s and %s", j.Stops[0].Until, j.Stops[1].Until)
	}
	s.Snapshot.Chain.Commits[1].Paths, s.Snapshot.Chain.Commits[3].MorePaths = []string{"configs/fleet.yaml"}, 7
	for want, f := range map[string]CommitFilter{"new left": {Environment: "dev"}, "": {Environment: "prod"}, "left first": {Path: "fleet.y"}, "left": {Environment: "dev", Path: "configs/"}} {
		var ids []string
		for _, item := range s.Commits(f).Items {
			ids = append(ids, item.Commit.ID)
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("%+v selects %q, want %q", f, ids, want)
		}
	}
	s.Clusters = nil // there is no ledger
	if got := describeStops(t, s, "old"); !strings.HasPrefix(got, "dev: with waiting") {
		t.Errorf("where nothing was merged: %s", got)
	}
	s.Snapshot.Chain.Stages[0].Running = "old"
	if got := describeStops(t, s, "old"); !strings.HasPrefix(got, "dev: runs good") {
		t.Errorf("without a ledger: %s", got)
	}
	s.Snapshot.Chain.Stages[0].Running = "first" // "old" was promoted, and never merged
	if got := describeStops(t, s, "old"); !strings.HasPrefix(got, "dev: with waiting waits newer new") {
		t.Errorf("superseded before it was merged: %s", got)
	}
	if got := describeStops(t, s, "first"); !strings.HasPrefix(got, "dev: runs good") {
		t.Errorf("what runs meanwhile: %s", got)
	}
}

// TestJourneyBehindPull: a commit waits for what it waits for itself, and not for the pull request of the commit that
// the environment was promoted to before.
func TestJourneyBehindPull(t *testing.T) {
	waits := func(after, reason, candidate string) promote.Decision {
		return promote.Decision{State: promote.Waiting, Candidate: candidate, Verdict: gate.CombineVerdicts("x", []gate.Verdict{{Gate: "after " + after, Kind: gate.KindAfter, Status: gate.Wait, Reason: reason, NamesCommit: true}})}
	}
	stage, prod := stageAt("stage", []string{"dev"}, got("mid")), stageAt("prod", []string{"stage"}, got("old"))
	stage.Merged, stage.Next, stage.Action = false, waits("dev", "new failed in dev", "new"), "merge pull request 11: it removes web"
	prod.Next = waits("stage", "mid is not merged in stage", "mid")
	s := Source{Snapshot: status.Snapshot{
		Chain:        status.Chain{Stages: []status.Stage{stageAt("dev", nil, got("new")), stage, prod}, Commits: lineOf("new", "mid", "old")},
		Environments: []status.Environment{{Name: "stage", State: status.Proposed, Pull: &status.Pull{Number: 11}}},
	}}
	want := `dev: has good verified
stage: next waiting waits newer new (waits: new failed in dev)
prod: not waiting waits (the older mid comes first: waits: mid is not merged in stage)`
	if diff := cmp.Diff(want, describeStops(t, s, "new")); diff != "" {
		t.Error(diff)
	}
}

// TestUnrendered: a commit that changes nothing that is rendered is in no environment, and is listed before what it
// contains, as others of its kind. One that a merge brought is only in what contains it.
func TestUnrendered(t *testing.T) {
	commits := lineOf("new", "old", "head", "exception", "freeze", "sale", "start", "side")
	for i, newer := range map[int]int{2: 0, 3: 0, 4: 0, 5: 1, 6: 1} {
		commits[i].Unrendered, commits[i].Beside = true, &status.Position{Newer: newer, Older: newer}
	}
	commits[7].Beside = &status.Position{Newer: 1, Older: 1}
	s := Source{Snapshot: status.Snapshot{Chain: status.Chain{
		Head: "head", Commits: commits, Stages: []status.Stage{stageAt("dev", nil, got("new"), got("side"), got("old")), stageAt("prod", nil, got("old"))},
	}}}
	j, known := s.Journey("head")
	if !known || len(j.Stops) > 0 || !j.Commit.Unrendered {
		t.Errorf("the journey is %+v, %v", j, known)
	}
	h := s.History(history.Log{Entries: []history.Entry{{Action: "merge", To: "head"}}}, HistoryFilter{})
	if to := h.Items[0].ToCommit; to == nil || to.ID != "new" {
		t.Errorf("what was rendered from the head is said to be of %+v", to)
	}
	var order []string
	for _, item := range s.Commits(CommitFilter{}).Items {
		order = append(order, item.Commit.ID+" "+strings.Join(item.Marks, " "))
	}
	want := []string{"head never never", "exception never never", "freeze never never", "new has not", "sale never never", "start never never", "side in not", "old in has"}
	if !slices.Equal(order, want) {
		t.Errorf("the list is %q, want %q", order, want)
	}
	if c := s.Snapshot.Chain; !c.Contains(2, 4) || c.Contains(4, 2) || c.Contains(2, 2) || c.Contains(7, 5) || c.Contains(5, 7) || !c.Contains(4, 5) || c.Contains(5, 4) {
		t.Errorf("of commits beside the line, one contains what it does not, or not what it does")
	}
}

// TestListGates: freezes are named by their gate, and not once more below it.
func TestListGates(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	facts := gate.Facts{Now: noon, Environment: "prod", Freezes: []*model.Freeze{{Object: model.Object{Name: "q4"}, Reason: "the books", From: noon.Add(-time.Hour), To: noon.Add(time.Hour)}}}
	v := gate.CombineVerdicts("stage", []gate.Verdict{gate.CombineVerdicts("gates", []gate.Verdict{gate.EvaluateFreezes(facts), {Gate: "approval", Status: gate.Pass}})})
	for name, listed := range map[string][]gate.Verdict{"all": ListGates(v)[:1], "that wait": findWaiting(v)} {
		if len(listed) != 1 || listed[0].Gate != "freeze" || len(listed[0].Parts) > 0 || !strings.HasPrefix(listed[0].Reason, "freeze q4: the books, until ") {
			t.Errorf("%s: %+v", name, listed)
		}
	}
}

// TestEdits: a commit of an environment's own branch is found by its id or subject, and concerns that environment alone.
func TestEdits(t *testing.T) {
	edit := func(id, subject string) status.Commit { return status.Commit{ID: id, Subject: subject} }
	newest, middle, oldest := edit(strings.Repeat("e3", 20), "Drain large"), edit(strings.Repeat("e2", 20), "Add small"), edit(strings.Repeat("e1", 20), "Begin")
	for _, test := range []struct {
		name    string
		report  status.Environment
		running string
		want    [3]string // of the newest, the middle and the oldest
	}{
		{"everything is in the output", status.Environment{State: status.InSync}, middle.ID,
			[3]string{MarkHas, MarkIn + " newer " + newest.ID, MarkIn + " newer " + newest.ID}},
		{"the newest is proposed", status.Environment{State: status.Proposed, Pull: &status.Pull{Number: 7}}, middle.ID,
			[3]string{MarkNext + " (merge pull request 7)", MarkHas, MarkIn + " newer " + middle.ID}},
		{"problems stop the newest", status.Environment{State: status.Problems, Reason: "1 problem"}, oldest.ID,
			[3]string{MarkNext + " (1 problem)", MarkNext + " (1 problem)", MarkHas}},
		{"it is not known what is in the output", status.Environment{State: status.Waiting}, "",
			[3]string{MarkNext, MarkNext, MarkNext}},
	} {
		t.Run(test.name, func(t *testing.T) {
			stage := stageAt("stage", nil, got("b1"))
			stage.Edits, stage.RunningEdit = []status.Commit{newest, middle, oldest}, test.running
			if test.report.Pull != nil {
				stage.ActionOnPage = "merge pull request 7"
			}
			test.report.Name = "stage"
			s := Source{Snapshot: status.Snapshot{
				Environments: []status.Environment{test.report},
				Chain:        status.Chain{Commits: lineOf("b1"), Stages: []status.Stage{stageAt("dev", nil, got("b1")), stage}},
			}}
			var marks [3]string
			for i, c := range stage.Edits {
				j, known := s.Journey(c.ID)
				if !known || j.Branch != "stage" || len(j.Stops) != 1 || j.Stops[0].Environment.Name != "stage" || j.Commit.Subject != c.Subject {
					t.Fatalf("%s: %v, %+v", c.ID, known, j)
				}
				marks[i] = j.Stops[0].Mark
				if j.Stops[0].Newer != nil {
					marks[i] += " newer " + j.Stops[0].Newer.ID
				}
				if j.Stops[0].Reason != "" {
					marks[i] += " (" + j.Stops[0].Reason + ")"
				}
			}
			if diff := cmp.Diff(test.want, marks); diff != "" {
				t.Error(diff)
			}
			listed := s.Commits(CommitFilter{Text: "add"})
			if listed.Total != 4 || len(listed.Items) != 1 || listed.Items[0].Branch != "stage" || listed.Items[0].Commit.ID != middle.ID || listed.Items[0].Marks[0] != "" || !strings.HasPrefix(marks[1], listed.Items[0].Marks[1]) {
				t.Errorf("listed are %+v", listed)
			}
			if ids := s.FindCommits("e2e2"); len(ids) != 1 || ids[0] != middle.ID {
				t.Errorf("found are %v", ids)
			}
			if found := s.Search("drain").Commits; len(found) != 1 || found[0].ID != newest.ID {
				t.Errorf("found are %v", found)
			}
		})
	}
}
