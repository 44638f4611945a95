package lane

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

var passes = gate.Verdict{Status: gate.Pass}

// teams simulates teams that change the base while their environments promote it.
type teams struct {
	commits []string       // newest first
	lanes   map[string]int // teams by commit
	isBad   map[string]bool
	written map[string]int // steps in which commits were written
	stages  []Stage
	owners  Owners
}

var chain = []string{"dev", "stage", "prod"}

func newTeams(count int) *teams {
	t := &teams{lanes: map[string]int{"first": -1}, isBad: map[string]bool{}, written: map[string]int{}, commits: []string{"first"}}
	for i, name := range chain {
		s := promote.Stage{Name: name, Queue: model.Queue{Policy: model.QueueLatest}, Position: promote.Position{Commit: "first", Merged: true, Proof: passes, Proven: map[string]bool{}}}
		if i > 0 {
			s.After = []string{chain[i-1]}
		}
		t.stages = append(t.stages, Stage{Stage: s})
	}
	t.owners = Owners{clusterTypes: map[string]bool{"ct": true}, targets: map[string]string{}}
	for i := range count {
		t.owners.targets[laneOf(i)] = laneOf(i)
	}
	return t
}

func laneOf(team int) string { return fmt.Sprintf("team-%03d", team) }

func (t *teams) write(team, step int, isBad bool) {
	commit := fmt.Sprintf("c%d", len(t.lanes))
	t.commits = slices.Insert(t.commits, 0, commit)
	t.lanes[commit], t.isBad[commit], t.written[commit] = team, isBad, step
}

func (t *teams) history(tb testing.TB) History {
	oldest := 0
	for _, s := range t.stages {
		oldest = max(oldest, slices.Index(t.commits, s.Commit))
		for _, commit := range s.Lanes {
			oldest = max(oldest, slices.Index(t.commits, commit))
		}
	}
	t.commits = t.commits[:oldest+1]
	h, err := NewHistory(promote.NewLine(slices.Clone(t.commits)), func(commit, _ string) ([]string, error) { return []string{laneOf(t.lanes[commit])}, nil })
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func (t *teams) render(h History) RenderFunc {
	return func(c Composition) (Output, error) {
		files := map[string][]byte{}
		for lane := range t.owners.targets {
			version := "first"
			if h.Line(lane).Head() != "" {
				version = h.Version(lane, Stage{Stage: promote.Stage{Position: promote.Position{Commit: c.Platform}}, Lanes: c.Lanes}.Has(lane))
			}
			files["ct/"+lane+"/object.yaml"] = []byte(version)
		}
		rendered, err := tree.FromFiles(files)
		return Output{Tree: rendered, Owners: t.owners}, err
	}
}

func (t *teams) fails(h History, s Stage, lane string) bool {
	return t.isBad[h.Version(lane, s.Has(lane))]
}

// round lets the environments move as a round of the daemon does: by whole commits, or else, if they have them, by lanes.
func (t *teams) round(tb testing.TB, haveLanes bool) {
	h := t.history(tb)
	t.stages[0].Commit = t.commits[0]
	for i := range t.stages {
		s := &t.stages[i]
		s.Proof = passes
		for _, lane := range h.Lanes() {
			if t.fails(h, *s, lane) {
				s.Proof = gate.Verdict{Status: gate.Fail, Reason: lane}
			}
		}
		if s.Proof.Status == gate.Pass && len(s.Lanes) == 0 {
			s.Proven[s.Commit] = true
		}
	}
	stages := make([]promote.Stage, len(t.stages))
	for i, s := range t.stages {
		stages[i] = s.Stage
		for _, commit := range s.Lanes {
			if stages[i].Floor == "" || h.line.IsNewer(commit, stages[i].Floor) {
				stages[i].Floor = commit
			}
		}
	}
	next := map[int]Composition{}
	for i, d := range promote.DecideStages(h.line, stages, func(string, string) gate.Verdict { return passes }, time.Time{}) {
		switch {
		case i == 0:
		case d.State == promote.Promotes:
			next[i] = Composition{Platform: d.Candidate}
		case haveLanes:
			r := t.decide(tb, h, chain[i])
			if len(r.Moving()) > 0 {
				next[i] = r.Next
			}
		}
	}
	for i, c := range next {
		t.stages[i].Commit, t.stages[i].Lanes = c.Platform, c.Lanes
	}
}

func (t *teams) decide(tb testing.TB, h History, environment string) Report {
	r, err := Decide(Input{
		History: h, Stages: t.stages, Environment: environment, Render: t.render(h),
		Proof: func(environment, lane string) (gate.Verdict, bool) {
			if lane == Platform {
				return gate.Verdict{Status: gate.Wait}, true
			}
			if t.fails(h, t.stages[slices.Index(chain, environment)], lane) {
				return gate.Verdict{Status: gate.Fail, Reason: lane}, true
			}
			return passes, true
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// BenchmarkQuiet decides about 500 lanes in each of two environments, of which one waits because it fails in the first one.
func BenchmarkQuiet(b *testing.B) {
	t := newTeams(500)
	for i := range 500 {
		t.write(i, 0, i == 250)
	}
	for range 4 {
		t.round(b, true)
	}
	for b.Loop() {
		h := t.history(b)
		for _, environment := range chain[1:] {
			if r := t.decide(b, h, environment); len(r.Moving()) > 0 {
				b.Fatal("it is not quiet")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/round")
}

// simulate returns the median lead time to prod, in rounds, of changes by teams without a failing one: of 10,000 changes by 40 teams in
// rounds of 10 minutes. A team that fails repairs that a day later. Changes that do not arrive have the time until the end.
func simulate(tb testing.TB, failing float64, haveLanes bool) float64 {
	const count, changes, day = 40, 10_000, 144
	random := rand.New(rand.NewPCG(4, 2))
	t := newTeams(count)
	repaired := map[int]int{} // steps, by team
	arrived := map[string]int{}
	var waiting []string
	step := 0
	for ; len(t.lanes) <= changes; step++ {
		for range random.IntN(6) {
			team, fails := random.IntN(count), random.Float64() < failing
			at, isBroken := repaired[team]
			switch {
			case isBroken && step < at:
				continue
			case isBroken:
				delete(repaired, team)
				fails = false
			case fails:
				repaired[team] = step + day
			}
			t.write(team, step, fails)
			if !fails && !isBroken {
				waiting = append(waiting, t.commits[0])
			}
		}
		if !haveLanes && failing > 0 && step%12 > 0 { // the single line hardly moves
			continue
		}
		t.round(tb, haveLanes)
		h := t.history(tb)
		waiting = slices.DeleteFunc(waiting, func(commit string) bool {
			has := t.stages[2].Has(laneOf(t.lanes[commit]))
			there := has == commit || h.line.IsNewer(has, commit) || !slices.Contains(t.commits, commit)
			if there {
				arrived[commit] = step
			}
			return there
		})
	}
	for _, commit := range waiting {
		arrived[commit] = step
	}
	var leads []int
	for commit, at := range arrived {
		leads = append(leads, at-t.written[commit])
	}
	slices.Sort(leads)
	return float64(leads[len(leads)/2])
}

// BenchmarkTeams compares the lead time with failing teams with that without.
func BenchmarkTeams(b *testing.B) {
	for b.Loop() {
		without, lanes := simulate(b, 0, true), simulate(b, 0.05, true)
		b.ReportMetric(lanes/without, "lead-with-failures/without")
		b.ReportMetric(simulate(b, 0.05, false)/without, "single-line/without")
		if lanes > 1.1*without {
			b.Fatalf("the median lead time is %.0f rounds, and %.0f without failures", lanes, without)
		}
	}
}
