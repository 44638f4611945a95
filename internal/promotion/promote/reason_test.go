package promote_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

var (
	noon    = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	soak    = gate.Verdict{Gate: "soak", Status: gate.Wait, Reason: "it soaks for 30m", ValidUntil: noon.Add(20 * time.Minute)}
	mistake = gate.Verdict{Gate: "proof", Status: gate.Fail, Reason: "base/a.yaml:13: no such field", Parts: []gate.Verdict{{Gate: "problems", Kind: gate.KindProblems, Status: gate.Fail}}}
	bad     = gate.Verdict{Gate: "rollout", Status: gate.Fail, Reason: "west says that apps is broken"}
)

// at gives a stage that has a commit, merged and proven.
func at(name, commit string, after ...string) promote.Stage {
	return promote.Stage{Name: name, After: after, Position: promote.Position{
		Commit: commit, PromotedAt: noon.Add(-time.Hour), Merged: true, Proof: gate.Verdict{Gate: "proof", Status: gate.Pass, Reason: "all clusters are ready"},
	}}
}

// with changes a stage.
func with(s promote.Stage, changes ...func(*promote.Stage)) promote.Stage {
	for _, change := range changes {
		change(&s)
	}
	return s
}

func proof(v gate.Verdict) func(*promote.Stage) { return func(s *promote.Stage) { s.Proof = v } }

func unmerged(s *promote.Stage) { s.Merged = false }

// changed is where the output of the commit is merged, and a change of it waits for a person.
func changed(s *promote.Stage) {
	s.Merged, s.HasFormer, s.Proof = false, true, gate.Verdict{Status: gate.Wait, Reason: "pull request 4 waits for a person"}
}

func proven(commits ...string) func(*promote.Stage) {
	return func(s *promote.Stage) {
		s.Proven = map[string]bool{}
		for _, c := range commits {
			s.Proven[c] = true
		}
	}
}

func queue(q model.Queue) func(*promote.Stage) { return func(s *promote.Stage) { s.Queue = q } }

// show writes a decision as people see it.
func show(d promote.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s -> %s", d.State, d.Current, d.Candidate)
	if len(d.Skipped) > 0 {
		fmt.Fprintf(&b, ", drops %s", strings.Join(d.Skipped, " "))
	}
	b.WriteString("\n")
	tree(&b, d.Verdict, "")
	return b.String()
}

func tree(b *strings.Builder, v gate.Verdict, indent string) {
	fmt.Fprintf(b, "%s%s %s: %s", indent, v.Status, v.Gate, v.Reason)
	if !v.ValidUntil.IsZero() {
		fmt.Fprintf(b, " (until %s)", v.ValidUntil.Format("15:04"))
	}
	b.WriteString("\n")
	for _, p := range v.Parts {
		tree(b, p, indent+"  ")
	}
}

// What people read of the last stage; its gates pass, but for those of c9.
func TestReasons(t *testing.T) {
	for _, test := range []struct {
		name   string
		stages []promote.Stage
		want   string
	}{
		{"it moves", []promote.Stage{at("dev", "c3"), at("stage", "c1", "dev")}, `moves c1 -> c3
pass stage: stage may have c3
  pass after: c3 was verified in dev
    pass proof: all clusters are ready
  pass queue: the newest commit goes first
  pass settled: c1 is verified
  pass gates: all gates passed
`},
		{"one that begins does not replay history", []promote.Stage{with(at("dev", "c3"), proven("c1", "c2")), at("stage", "", "dev")}, `moves  -> c3
pass stage: stage may have c3
  pass after: c3 was verified in dev
    pass proof: all clusters are ready
  pass queue: the newest commit goes first
  pass settled: it has no commit yet
  pass gates: all gates passed
`},
		{"those between are dropped", []promote.Stage{with(at("dev", "c4"), proven("c2", "c3")), with(at("stage", "c1", "dev"), unmerged)}, `moves c1 -> c4, drops c3 c2
pass stage: stage may have c4
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  pass queue: the newest commit goes first
  pass settled: c1 is not merged; a newer commit may supersede it
  pass gates: all gates passed
`},
		{"a change of it is not merged", []promote.Stage{with(at("dev", "c4"), proven("c2", "c3")), with(at("stage", "c1", "dev"), changed)}, `moves c1 -> c4, drops c3 c2
pass stage: stage may have c4
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  pass queue: the newest commit goes first
  pass settled: c1 is merged, but not what has changed there since; a newer commit may supersede it
  pass gates: all gates passed
`},
		{"each counts, and a change of it is not merged", []promote.Stage{with(at("dev", "c4"), proven("c2", "c3")), with(with(at("stage", "c1", "dev"), changed), queue(model.Queue{Policy: model.QueueEvery}))}, `waiting c1 -> c2
wait stage: c1 is merged, but not what has changed there since
  pass after: c2 was verified in dev
  pass queue: every commit, in order
  wait settled: c1 is merged, but not what has changed there since
  pass gates: all gates passed
`},
		{"each counts, and its turn is not over", []promote.Stage{with(at("dev", "c4"), proven("c2", "c3")), with(with(at("stage", "c1", "dev"), unmerged), queue(model.Queue{Policy: model.QueueEvery}))}, `waiting c1 -> c2
wait stage: c1 is not merged yet
  pass after: c2 was verified in dev
  pass queue: every commit, in order
  wait settled: c1 is not merged yet
  pass gates: all gates passed
`},
		{"each counts, and not all could be read", []promote.Stage{with(at("dev", "c4"), func(s *promote.Stage) { s.PartialProven = true }), with(at("stage", "c1", "dev"), queue(model.Queue{Policy: model.QueueEvery}))}, `waiting c1 -> c4
wait stage: not all commits that were verified in dev could be read, and the queue skips none
  wait after: not all commits that were verified in dev could be read, and the queue skips none
    pass proof: all clusters are ready
  pass queue: every commit, in order
  pass settled: c1 is verified
  pass gates: all gates passed
`},
		{"what was proven here could not be read", []promote.Stage{with(at("dev", "c1"), func(s *promote.Stage) { s.PartialProven = true })}, `waiting c1 -> c9, drops c4 c3 c2
wait dev: not all commits that were verified here could be read
  pass after: c9 is on the base's branch
  pass queue: the newest commit goes first
  wait settled: not all commits that were verified here could be read
  wait approval: nobody has approved it
`},
		{"a batch", []promote.Stage{at("dev", "c4"), with(at("stage", "c1", "dev"), queue(model.Queue{Policy: model.QueueBatch, Every: 4 * time.Hour}))}, `waiting c1 -> c4
wait stage: at most one commit in 4h (until 15:00)
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  wait queue: at most one commit in 4h (until 15:00)
  pass settled: c1 is verified
  pass gates: all gates passed
`},
		{"pinned", []promote.Stage{at("dev", "c4"), with(at("stage", "c1", "dev"), queue(model.Queue{Policy: model.QueuePinned}))}, `waiting c1 -> c4
wait stage: pinned: commits are promoted by hand only
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  wait queue: pinned: commits are promoted by hand only
  pass settled: c1 is verified
  pass gates: all gates passed
`},
		{"held", []promote.Stage{at("dev", "c4"), with(at("stage", "c1", "dev"), func(s *promote.Stage) { s.HoldReason = "incident 7" })}, `held c1 -> c4
wait stage: it is held: incident 7
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  wait hold: it is held: incident 7
  pass queue: the newest commit goes first
  pass settled: c1 is verified
  pass gates: all gates passed
`},
		{"held, and nothing is there", []promote.Stage{at("dev", "c1"), with(at("stage", "c1", "dev"), func(s *promote.Stage) { s.HoldReason = "incident 7" })}, `held c1 -> 
wait stage: it is held: incident 7
`},
		{"it soaks here", []promote.Stage{at("dev", "c4"), with(at("stage", "c1", "dev"), proof(soak))}, `waiting c1 -> c4
wait stage: c1 is not verified yet: it soaks for 30m (until 12:20)
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  pass queue: the newest commit goes first
  wait settled: c1 is not verified yet: it soaks for 30m (until 12:20)
  pass gates: all gates passed
`},
		{"a first one follows the base", []promote.Stage{with(at("dev", "c1"), proof(soak))}, `waiting c1 -> c9, drops c4 c3 c2
wait dev: nobody has approved it
  pass after: c9 is on the base's branch
  pass queue: the newest commit goes first
  pass settled: c1 is merged; the first environment follows the base without waiting for verification
  wait approval: nobody has approved it
`},
		{"a first one in which each counts", []promote.Stage{with(at("dev", "c1"), proof(soak), queue(model.Queue{Policy: model.QueueEvery}))}, `waiting c1 -> c2
wait dev: c1 is not verified yet: it soaks for 30m (until 12:20)
  pass after: c2 is on the base's branch
  pass queue: every commit, in order
  wait settled: c1 is not verified yet: it soaks for 30m (until 12:20)
  pass gates: all gates passed
`},
		{"a first one of a batch", []promote.Stage{with(at("dev", "c3"), proof(soak), queue(model.Queue{Policy: model.QueueBatch, Every: time.Hour}))}, `waiting c3 -> c9, drops c4
wait dev: nobody has approved it
  pass after: c9 is on the base's branch
  pass queue: at most one commit in 1h
  pass settled: c3 is merged; the first environment follows the base without waiting for verification
  wait approval: nobody has approved it
`},
		{"a first one that is held", []promote.Stage{with(at("dev", "c3"), proof(soak), func(s *promote.Stage) { s.HoldReason = "incident 7" })}, `held c3 -> c9, drops c4
wait dev: it is held: incident 7
  pass after: c9 is on the base's branch
  wait hold: it is held: incident 7
  pass queue: the newest commit goes first
  pass settled: c3 is merged; the first environment follows the base without waiting for verification
  wait approval: nobody has approved it
`},
		{"going on from a first one needs proof", []promote.Stage{with(at("dev", "c4"), proof(soak), proven("c2")), at("stage", "c1", "dev")}, `moves c1 -> c2
pass stage: stage may have c2
  pass after: c2 was verified in dev
  pass queue: the newest commit goes first
  pass settled: c1 is verified
  pass gates: all gates passed
`},
		{"it failed here", []promote.Stage{at("dev", "c4"), with(at("stage", "c1", "dev"), proof(bad))}, `moves c1 -> c4
pass stage: stage may have c4
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  pass queue: the newest commit goes first
  pass settled: c1 failed; a newer commit may supersede it
  pass gates: all gates passed
`},
		{"a mistake stopped it here, so that it was never merged", []promote.Stage{at("dev", "c4"), with(at("stage", "c1", "dev"), proof(bad), unmerged)}, `moves c1 -> c4
pass stage: stage may have c4
  pass after: c4 was verified in dev
    pass proof: all clusters are ready
  pass queue: the newest commit goes first
  pass settled: c1 is not merged; a newer commit may supersede it
  pass gates: all gates passed
`},
		{"it soaks before it", []promote.Stage{with(at("dev", "c4"), proof(soak)), at("stage", "c1", "dev")}, `waiting c1 -> c4
wait stage: c4 is not verified in dev yet: it soaks for 30m (until 12:20)
  wait after dev: c4 is not verified in dev yet: it soaks for 30m (until 12:20)
`},
		{"it failed before it", []promote.Stage{with(at("dev", "c4"), proof(bad)), at("stage", "c1", "dev")}, `waiting c1 -> c4
wait stage: c4 failed in dev: west says that apps is broken
  wait after dev: c4 failed in dev: west says that apps is broken
`},
		{"nobody knows yet whether it is proven before it", []promote.Stage{with(at("dev", "c4"), proof(gate.Verdict{})), at("stage", "c1", "dev")}, `waiting c1 -> c4
wait stage: c4 is not verified in dev yet: nothing has been reported yet
  wait after dev: c4 is not verified in dev yet: nothing has been reported yet
`},
		{"a mistake stops it before it", []promote.Stage{with(at("dev", "c4"), unmerged, proof(mistake)), at("stage", "c1", "dev")}, `waiting c1 -> c4
wait stage: c4 has problems in dev, which have to be fixed: base/a.yaml:13: no such field
  wait after dev: c4 has problems in dev, which have to be fixed: base/a.yaml:13: no such field
`},
		{"it is not merged before it", []promote.Stage{with(at("dev", "c4"), unmerged), at("stage", "c1", "dev")}, `waiting c1 -> c4
wait stage: c4 is not merged in dev
  wait after dev: c4 is not merged in dev
`},
		{"a change of it is not merged before it", []promote.Stage{with(at("dev", "c4"), changed), at("stage", "c1", "dev")}, `waiting c1 -> c4
wait stage: c4 is not verified in dev yet: pull request 4 waits for a person
  wait after dev: c4 is not verified in dev yet: pull request 4 waits for a person
`},
		{"one of two is behind", []promote.Stage{at("east", "c4"), at("west", "c2"), with(at("prod", "c3", "east", "west"), proven("c1"))}, `waiting c3 -> c4
wait prod: west has an older commit, c2
  pass after east: c4 was verified in east
  wait after west: west has an older commit, c2
`},
		{"two have dropped different ones", []promote.Stage{with(at("east", "c4"), proven("c2")), with(with(at("west", "c9"), proven("c3")), proof(soak)), at("prod", "c1", "east", "west")}, `waiting c1 -> c9
wait prod: east has an older commit, c4
  wait after east: east has an older commit, c4
  wait after west: c9 is not verified in west yet: it soaks for 30m (until 12:20)
`},
		{"dropped before it", []promote.Stage{at("east", "c3"), with(at("west", "c2"), proof(bad)), at("prod", "c1", "east", "west")}, `waiting c1 -> c3
wait prod: west has an older commit, c2
  pass after east: c3 was verified in east
  wait after west: west has an older commit, c2
`},
		{"an environment further up went back", []promote.Stage{at("dev", "c1"), at("stage", "c2", "dev"), at("prod", "c1", "stage")}, `waiting c1 -> c2
wait prod: dev has an older commit, c1
  pass after stage: c2 was verified in stage
  wait after dev: dev has an older commit, c1
`},
		{"the one before it went back", []promote.Stage{with(at("dev", "c1"), proven("c2", "c3")), at("stage", "c2", "dev")}, `current c2 -> 
pass stage: dev has an older commit, c1
`},
		{"the one before it is stopped", []promote.Stage{with(at("dev", "c4"), func(s *promote.Stage) { s.StoppedReason = "template t has a mistake" }), at("stage", "c1", "dev")}, `waiting c1 -> c4
wait stage: dev is stopped: template t has a mistake
  wait after dev: dev is stopped: template t has a mistake
`},
		{"the base was rewritten below the one before it", []promote.Stage{at("dev", "deadbeefdeadbeef"), at("stage", "c1", "dev")}, `current c1 -> 
pass stage: dev is stopped
`},
		{"the base was rewritten below it", []promote.Stage{at("dev", "c4"), at("stage", "deadbeefdeadbeef", "dev")}, `stopped deadbeefdeadbeef -> 
fail stage: commit deadbee is not on the base's branch
`},
		{"the one before it has none", []promote.Stage{at("dev", ""), at("stage", "", "dev")}, `current  -> 
pass stage: waiting for dev to get its first commit
`},
		{"the one before it is not there", []promote.Stage{at("stage", "c1", "dev")}, `current c1 -> 
pass stage: there is no environment dev
`},
		{"it has the newest", []promote.Stage{at("dev", "c9")}, `current c9 -> 
pass dev: up to date
`},
		{"a circle", []promote.Stage{at("a", "c1", "b"), at("b", "c2", "a")}, `current c2 -> 
pass b: a has an older commit, c1
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			enter := func(_, commit string) gate.Verdict {
				if commit == "c9" {
					return gate.Verdict{Gate: "approval", Status: gate.Wait, Reason: "nobody has approved it"}
				}
				return gate.CombineVerdicts("gates", nil)
			}
			decisions := promote.DecideStages(promote.NewLine([]string{"c9", "c4", "c3", "c2", "c1"}), test.stages, enter, noon)
			if diff := cmp.Diff(test.want, show(decisions[len(decisions)-1])); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEmptyBase(t *testing.T) {
	d := promote.DecideStages(promote.NewLine(nil), []promote.Stage{at("dev", "")}, nil, noon)
	if diff := cmp.Diff("current  -> \npass dev: the base has no commit\n", show(d[0])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWaitsFor: what a stage without a candidate waits for is said of each environment before it.
func TestWaitsFor(t *testing.T) {
	for want, stages := range map[string][]promote.Stage{
		"eu to move first": {at("eu", "c1"), at("prod", "c1", "eu")},
		"eu to move first, and for us to get its first commit": {at("eu", "c1"), at("us", ""), at("prod", "c1", "eu", "us")},
		"eu to move first, and there is no environment us":     {at("eu", "c1"), at("prod", "c1", "eu", "us")},
		"": {at("eu", "c1"), at("prod", "c1", "us", "eu")}, // it begins with what is missing
	} {
		decisions := promote.DecideStages(promote.NewLine([]string{"c2", "c1"}), stages, func(_, _ string) gate.Verdict { return gate.Verdict{} }, noon)
		if got := decisions[len(decisions)-1].Verdict.WaitsFor; got != want {
			t.Errorf("it waits for %q, want %q", got, want)
		}
	}
}
