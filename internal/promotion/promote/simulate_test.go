package promote_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// In these worlds a proof takes an hour, production opens at 18:00, and nobody knows
// when somebody approves what goes to audit.
func enterToday(environment, _ string, from time.Time) gate.Forecast {
	switch open := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC); {
	case environment == "audit":
		return gate.Forecast{WaitsFor: "2 approvals"}
	case environment == "prod" && from.Before(open):
		return gate.Forecast{Time: open, Delays: []string{"gate window until 18:00"}}
	case environment == "live":
		return gate.Forecast{Time: open, WaitsFor: "1 approval", Delays: []string{"freeze q4 until 18:00"}}
	}
	return gate.Forecast{Time: from}
}

func proofToday(_, _ string, from time.Time) gate.Forecast {
	return gate.Forecast{Time: from.Add(time.Hour)}
}

func TestSimulate(t *testing.T) {
	for _, test := range []struct {
		name, commit string
		stages       []promote.Stage
		want         string
	}{
		{"all ends are known", "c4", []promote.Stage{at("dev", "c3"), at("stage", "c3", "dev"), at("prod", "c3", "stage")}, `
dev expected 12:00: every gate has a known end
stage expected 13:00: every gate has a known end
prod expected 18:00: every gate has a known end (prod: gate window until 18:00)`},
		{"on its way", "c4", []promote.Stage{with(at("dev", "c4"), proof(soak)), with(at("stage", "c3", "dev"), proof(soak)), at("prod", "c3", "stage")}, `
dev has 11:00: it has c4
stage expected 13:00: every gate has a known end
prod expected 18:00: every gate has a known end (prod: gate window until 18:00)`},
		{"proven, and overtaken", "c3", []promote.Stage{with(at("dev", "c4"), proven("c3"), proof(soak)), at("stage", "c2", "dev")}, `
dev reached 11:00: it has a newer commit, c4
stage expected 12:00: every gate has a known end; a newer commit may supersede it, such as c4`},
		{"not proven, and overtaken", "c3", []promote.Stage{at("dev", "c4"), at("stage", "c2", "dev"), at("prod", "c1", "stage")}, `
dev reached 11:00: it has a newer commit, c4
stage expected 12:00: every gate has a known end; it comes with the newer c4: it was not verified in dev, which has a newer commit
prod expected 18:00: every gate has a known end; it comes with the newer c4: it does not reach stage (prod: gate window until 18:00)`},
		{"a newer one is proven", "c3", []promote.Stage{with(at("dev", "c4"), proven("c3")), at("stage", "c2", "dev")}, `
dev reached 11:00: it has a newer commit, c4
stage expected 12:00: every gate has a known end; it comes with the newer c4: the newer commit c4 supersedes it`},
		{"a newer one waits for people", "c3", []promote.Stage{with(at("dev", "c4"), proof(soak)), at("audit", "c2", "dev"), at("prod", "c2", "audit")}, `
dev reached 11:00: it has a newer commit, c4
audit waits not before 13:00: it waits for audit: 2 approvals; it comes with the newer c4: it was not verified in dev, which has a newer commit [audit: 2 approvals]
prod waits not before 18:00: it waits for audit: 2 approvals; it comes with the newer c4: it does not reach audit [audit: 2 approvals] (prod: gate window until 18:00)`},
		{"it failed, and the base has a newer one", "c3", []promote.Stage{with(at("dev", "c3"), proof(bad)), at("stage", "c2", "dev")}, `
dev has 11:00: it has c3
stage expected 13:00: every gate has a known end; it comes with the newer c4: it failed in dev: west says that apps is broken`},
		{"the base has a newer one", "c3", []promote.Stage{at("dev", "c1"), at("stage", "c1", "dev")}, `
dev expected 12:00: every gate has a known end; it comes with the newer c4: the newer commit c4 supersedes it
stage expected 13:00: every gate has a known end; it comes with the newer c4: it does not reach dev`},
		{"each counts", "c3", []promote.Stage{with(at("dev", "c1"), queue(model.Queue{Policy: model.QueueEvery})), at("stage", "c1", "dev")}, `
dev waits: it waits for dev: 1 commit before it in the queue [dev: 1 commit before it in the queue]
stage waits not before 13:00: it waits for dev: 1 commit before it in the queue; a newer commit may supersede it, such as c4 [dev: 1 commit before it in the queue]`},
		{"people are waited for", "c4", []promote.Stage{with(at("dev", "c4"), unmerged, proof(soak)), at("audit", "c3", "dev"), with(at("prod", "c3", "audit"), func(s *promote.Stage) { s.HoldReason = "incident 7" })}, `
dev proposed 11:00: it was promoted to c4, and its newest output is not merged yet
audit waits not before 13:00: it waits for dev: its output to be merged [dev: its output to be merged; audit: 2 approvals]
prod waits not before 18:00: it waits for dev: its output to be merged [dev: its output to be merged; audit: 2 approvals; prod: its hold to be released: incident 7] (prod: gate window until 18:00)`},
		{"a mistake stops it", "c4", []promote.Stage{with(at("dev", "c4"), unmerged, proof(mistake)), at("stage", "c3", "dev")}, `
dev proposed 11:00: it was promoted to c4, which has problems there: base/a.yaml:13: no such field
stage waits: it waits for dev: its problems to be mended: base/a.yaml:13: no such field [dev: its problems to be mended: base/a.yaml:13: no such field]`},
		{"nobody has merged it", "c4", []promote.Stage{with(at("dev", "c4"), unmerged), with(at("stage", "c3", "dev"), unmerged, queue(model.Queue{Policy: model.QueueEvery}))}, `
dev proposed 11:00: it was promoted to c4, and its newest output is not merged yet
stage waits not before 13:00: it waits for dev: its output to be merged [dev: its output to be merged; stage: c3 to be merged]`},
		{"people, in a freeze", "c4", []promote.Stage{at("prod", "c3"), at("live", "c3", "prod"), at("last", "c3", "live")}, `
prod expected 18:00: every gate has a known end (prod: gate window until 18:00)
live waits not before 19:00: it waits for live: 1 approval [live: 1 approval] (prod: gate window until 18:00; live: freeze q4 until 18:00)
last waits not before 20:00: it waits for live: 1 approval [live: 1 approval] (prod: gate window until 18:00; live: freeze q4 until 18:00)`},
		{"pinned, and a batch", "c4", []promote.Stage{with(at("dev", "c3"), queue(model.Queue{Policy: model.QueuePinned})), with(at("stage", "c3"), queue(model.Queue{Policy: model.QueueBatch, Every: 4 * time.Hour}))}, `
dev waits: it waits for dev: a promotion by hand: it is pinned [dev: a promotion by hand: it is pinned]
stage expected 15:00: every gate has a known end`},
		{"it failed", "c4", []promote.Stage{with(at("dev", "c4"), proof(bad)), at("stage", "c3", "dev")}, `
dev has 11:00: it has c4
stage never: it failed in dev: west says that apps is broken`},
		{"it failed, and the next is held", "c4", []promote.Stage{with(at("dev", "c4"), proof(bad)), with(at("stage", "c3", "dev"), func(s *promote.Stage) { s.HoldReason = "incident 7" }), at("prod", "c3", "stage")}, `
dev has 11:00: it has c4
stage never: it failed in dev: west says that apps is broken; it is held: incident 7
prod never: it does not reach stage`},
		{"stopped", "c4", []promote.Stage{with(at("dev", "c4"), func(s *promote.Stage) { s.StoppedReason = "a template has a mistake" }), at("stage", "unknown", "dev")}, `
dev has 11:00: it has c4
stage waits: it waits for dev: a fix of what stops it: a template has a mistake [dev: a fix of what stops it: a template has a mistake; stage: a fix of what stops it: commit unknown is not on the base's branch]`},
		{"the last of two decides", "c4", []promote.Stage{at("east", "c4"), with(at("west", "c4"), proof(soak)), at("stage", "c3", "east", "west")}, `
east has 11:00: it has c4
west has 11:00: it has c4
stage expected 13:00: every gate has a known end`},
		{"further up it went back", "c4", []promote.Stage{with(at("dev", "c3"), func(s *promote.Stage) { s.HoldReason = "c4 is bad" }), at("stage", "c4", "dev"), at("prod", "c3", "stage")}, `
dev waits: it waits for dev: its hold to be released: c4 is bad [dev: its hold to be released: c4 is bad]
stage has 11:00: it has c4
prod waits not before 18:00: it waits for dev: its hold to be released: c4 is bad [dev: its hold to be released: c4 is bad] (prod: gate window until 18:00)`},
		{"not on the base", "other", []promote.Stage{at("dev", "c4")}, `
dev never: commit other is not on the base's branch`},
		{"a circle, and one that is not there", "c4", []promote.Stage{at("a", "c3", "b"), at("b", "c3", "a"), at("c", "c3", "nowhere")}, `
a never: it does not reach b
b never: it does not reach a
c never: there is no environment nowhere`},
	} {
		t.Run(test.name, func(t *testing.T) {
			arrivals := promote.SimulateArrivals(promote.NewLine([]string{"c4", "c3", "c2", "c1"}), test.stages, test.commit, enterToday, proofToday, noon)
			var got strings.Builder
			for _, a := range arrivals {
				fmt.Fprintf(&got, "\n%s %s", a.Environment, a.State)
				if !a.Time.IsZero() {
					got.WriteString(" " + a.Time.Format("15:04"))
				}
				if !a.NotBefore.IsZero() {
					got.WriteString(" not before " + a.NotBefore.Format("15:04"))
				}
				got.WriteString(": " + a.Reason)
				if len(a.WaitsFor) > 0 {
					fmt.Fprintf(&got, " [%s]", strings.Join(list.Convert(a.WaitsFor, promote.ArrivalWait.String), "; "))
				}
				if len(a.Delays) > 0 {
					fmt.Fprintf(&got, " (%s)", strings.Join(list.Convert(a.Delays, promote.ArrivalWait.String), "; "))
				}
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What Next does now is expected at once, and the other way round, but for what has to
// get to an environment further up first: a step takes no time for Simulate. In random
// worlds it always has an answer, with a reason.
func TestSimulateAgreesWithNext(t *testing.T) {
	for seed := range uint64(3_000) {
		h := newHistory(seed)
		w := newWorld(rand.New(rand.NewPCG(seed, 3)))
		for _, ev := range h.events {
			w.do(ev)
		}
		w.healed = true
		var stages []promote.Stage
		for _, e := range w.envs {
			stages = append(stages, w.read(e, rand.New(rand.NewPCG(seed, 5))).stage)
		}
		at := promote.NewLine(w.base)
		open := func(string, string) gate.Verdict { return gate.CombineVerdicts("gates", nil) }
		now := func(_, _ string, from time.Time) gate.Forecast { return gate.Forecast{Time: from} }
		later := func(_, _ string, from time.Time) gate.Forecast { return gate.Forecast{Time: from.Add(time.Minute)} }
		decisions := promote.DecideStages(at, stages, open, w.now)
		for _, c := range w.base {
			for i, a := range promote.SimulateArrivals(at, stages, c, now, later, w.now) {
				moves := decisions[i].State == promote.Promotes && decisions[i].Candidate == c
				soon := a.State == promote.ArrivalExpected && a.Time.Equal(w.now) && a.With == ""
				first := strings.Contains(decisions[i].Verdict.Reason, "has an older commit") || strings.Contains(decisions[i].Verdict.Reason, "to get its first commit")
				if moves != soon && !(soon && first) || a.Reason == "" || (a.State == promote.ArrivalWaits) != (len(a.WaitsFor) > 0) {
					t.Fatalf("seed %d, %s in %s: Next says %s -> %s (%s), Simulate %v\n%+v", seed, c, a.Environment,
						decisions[i].State, decisions[i].Candidate, decisions[i].Verdict.Reason, a, stages)
				}
			}
		}
	}
}

// TestBarred: a commit that is barred stays where it is, comes to no other environment though it was proven, and keeps nothing else back.
func TestBarred(t *testing.T) {
	line := promote.NewLine([]string{"d", "c", "b", "a"}).Barring(map[string]string{"c": "it is skipped", "d": "it is skipped"})
	proof := gate.Verdict{Status: gate.Pass}
	stages := []promote.Stage{
		{Name: "dev", Position: promote.Position{Commit: "d", Merged: true, Proof: proof, Proven: map[string]bool{"b": true, "c": true}}},
		{Name: "stage", After: []string{"dev"}, Position: promote.Position{Commit: "c", Merged: true, Proof: proof}},
		{Name: "eu", After: []string{"dev"}, Position: promote.Position{Commit: "a", Merged: true, Proof: proof}},
		{Name: "prod", After: []string{"stage"}, Position: promote.Position{Commit: "a", Merged: true, Proof: proof}},
		{Name: "other", Position: promote.Position{Commit: "a", Merged: true, Proof: proof}},
	}
	now := time.Unix(0, 0)
	pass := func(string, string) gate.Verdict { return proof }
	var got []string
	for _, d := range promote.DecideStages(line, stages, pass, now) {
		to := "-"
		if d.State == promote.Promotes {
			to = d.Candidate
		}
		got = append(got, d.Environment+"="+to)
	}
	if want := "dev=- stage=- eu=b prod=- other=b"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
	soon := func(string, string, time.Time) gate.Forecast { return gate.Forecast{Time: now} }
	var states []string
	for _, a := range promote.SimulateArrivals(line, stages, "c", soon, soon, now) {
		states = append(states, a.Environment+"="+string(a.State))
	}
	if want := fmt.Sprintf("dev=%s stage=%s eu=%[3]s prod=%[3]s other=%[3]s", promote.ArrivalReached, promote.ArrivalHas, promote.ArrivalNever); strings.Join(states, " ") != want {
		t.Errorf("%s, want %s", strings.Join(states, " "), want)
	}
}
