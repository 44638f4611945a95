package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// Set is a list of gates that must all pass.
type Set struct {
	Name  string
	Gates []Gate
}

// CompileStage compiles an environment's gates before a promotion ("gates") and before a commit is
// proven ("proof"). Neither may be used if a problem stops.
func CompileStage(s model.Stage) (gates, proof Set, problems problem.List) {
	keys := map[string]bool{}
	gates, problems = newSet("gates", s.Gates, keys)
	for _, spec := range s.Gates {
		if spec.Kind == soakKind && len(s.After) == 0 {
			problems = append(problems, spec.Problem("write it in proof, or write after which environment "+s.Name+" comes", "no environment comes before %s, in which a commit could soak", s.Name))
		}
		if Kind(spec.Kind) == KindCost && len(s.After) == 0 {
			problems = append(problems, spec.Problem("write it in proof, or write after which environment "+s.Name+" comes", "no environment comes before %s, whose plans could tell the cost", s.Name))
		}
	}
	proof, more := newSet("proof", s.Proof, keys)
	problems = append(problems, more...)
	for _, spec := range s.Proof {
		if isDistinct(spec) {
			problems = append(problems, spec.Problem("name people with by, or write the gate in gates", "the gate approval of a proof cannot be distinct: whose commits came is known before they are promoted, and not afterwards"))
		}
	}
	for _, spec := range slices.Concat(s.Gates, s.Proof) {
		g, _ := New(spec)
		if h, ok := g.(httpGate); ok && strings.Contains(h.spec.URL, wavePlaceholder) {
			problems = append(problems, spec.Problem("write it in the gates or the proof of a wave", "the URL has %s, and the gate is not of a wave", wavePlaceholder))
		}
	}
	for _, w := range s.Waves {
		_, inProof := CompileWave(w)
		_, inGates := CompileWaveGates(w)
		problems = append(problems, slices.Concat(inGates, inProof)...)
	}
	return gates, proof, problems
}

// waveKinds are the gates of a wave; its proof may have rollout and soak, too.
var waveKinds = []Kind{KindApproval, KindDispatch, KindHTTP, KindStatus, KindWindow}

// CountFailed returns how many clusters failed, also those that its gates count by statuses.
func (s Set) CountFailed(f Facts) int {
	n := rollout.Summarize(f.Reports, rollout.Rule{}, f.MergedAt, f.Now).Failed
	for _, g := range s.Gates {
		if r, ok := g.(rolloutGate); ok {
			n = max(n, r.summarize(f).Failed)
		}
	}
	return n
}

// CompileWave compiles the proof of a wave.
func CompileWave(w model.Wave) (Set, problem.List) {
	specs := w.Proof
	if specs == nil {
		specs = []model.GateSpec{model.NewGateSpec(string(KindRollout), w.Pos)}
	}
	set, problems := newWaveSet("proof of wave "+w.Name, specs, append([]Kind{KindRollout, KindSoak}, waveKinds...), "the proof of the environment may have any gate")
	for _, g := range set.Gates {
		if r, ok := g.(rolloutGate); ok && (r.fleet != nil || r.customContexts && !r.namesTypes) {
			problems = append(problems, problem.Problem{Pos: w.Pos, Summary: fmt.Sprintf("the gate rollout of wave %s cannot have contexts without {clusterType}, of, groups, failures or objects", w.Name),
				Hint: "it counts the clusters of the wave that report to Fairlead; write clusters, percent, stale or timeout"})
		}
	}
	return set, problems
}

// CompileWaveGates compiles what a wave waits for before it is proposed.
func CompileWaveGates(w model.Wave) (Set, problem.List) {
	return newWaveSet("gates of wave "+w.Name, w.Gates, waveKinds, "write approval, dispatch, http, status or window; proof may have rollout and soak")
}

// newWaveSet refuses gates of other kinds than some, with a hint.
func newWaveSet(name string, specs []model.GateSpec, kinds []Kind, hint string) (Set, problem.List) {
	set, problems := newSet(name, specs, map[string]bool{})
	for _, spec := range specs {
		if !slices.Contains(kinds, Kind(spec.Kind)) && gateKinds[spec.Kind] != nil {
			problems = append(problems, spec.Problem(hint, "the %s cannot have the gate %s", name, spec.Kind))
		}
		if isDistinct(spec) {
			problems = append(problems, spec.Problem("name people with by, or write the gate in the gates of the environment", "the gate approval of the %s cannot be distinct: an advance has changes of several branches, whose authors are not known", name))
		}
	}
	return set, problems
}

func isDistinct(spec model.GateSpec) bool {
	g, _ := New(spec)
	a, ok := g.(approvalGate)
	return ok && a.distinct
}

// newSet rejects two gates with the same answer key. keys are those in use.
func newSet(name string, specs []model.GateSpec, keys map[string]bool) (Set, problem.List) {
	set := Set{Name: name}
	var problems problem.List
	for _, spec := range specs {
		g, found := New(spec)
		problems = append(problems, found...)
		if g == nil {
			continue
		}
		if k, ok := g.(interface{ answerKey(Facts) string }); ok {
			if key := k.answerKey(Facts{}); keys[key] {
				problems = append(problems, spec.Problem("give one of them a name, as in {name: smoke, "+spec.Kind+": …}",
					"there are two gates %s with the name %s", spec.Kind, g.Name()))
			} else {
				keys[key] = true
			}
		}
		set.Gates = append(set.Gates, g)
	}
	return set, problems
}

// SplitSoak separates gates whose time begins when all others have passed.
func (s Set) SplitSoak() (running, soaking Set) {
	running.Name, soaking.Name = s.Name, s.Name
	for _, g := range s.Gates {
		if _, ok := g.(soakGate); ok {
			soaking.Gates = append(soaking.Gates, g)
		} else {
			running.Gates = append(running.Gates, g)
		}
	}
	return running, soaking
}

// Evaluate passes if all gates do.
func (s Set) Evaluate(f Facts) Verdict {
	parts := make([]Verdict, len(s.Gates))
	var first *Verdict
	for i, g := range s.Gates {
		parts[i] = g.Evaluate(f)
		if d, ok := g.(dispatchGate); ok && first != nil {
			// It starts when the previous gates have passed.
			if _, asked := f.Answers[d.answerKey(f)]; !asked {
				parts[i] = d.wait("%s starts after %s: %s", d.spec.Workflow, first.Gate, first.Reason).withValidUntil(first.ValidUntil, f.Now)
				parts[i].Follows, parts[i].NamesTime = true, first.NamesTime
			}
		}
		if first == nil && parts[i].Status != Pass {
			first = &parts[i]
		}
	}
	return CombineVerdicts(s.Name, parts)
}

// Needs returns the gates' needs without duplicates. A workflow starts when the previous gates have
// passed, and is followed from then on.
func (s Set) Needs(f Facts) []Need {
	var needs []Need
	reached := true
	for _, g := range s.Gates {
		if asker, ok := g.(Asker); ok {
			for _, n := range asker.Needs(f) {
				_, begun := f.Answers[n.Key]
				known := slices.ContainsFunc(needs, func(o Need) bool { return o.Key == n.Key })
				if !known && (reached || begun || n.Kind != Dispatch) {
					needs = append(needs, n)
				}
			}
		}
		reached = reached && g.Evaluate(f).Status == Pass
	}
	return needs
}

// CountClusters returns the number of clusters that reported to the gates, and whether a gate waits
// for reports.
func (s Set) CountClusters(f Facts) (clusters int, asked bool) {
	for _, g := range s.Gates {
		if r, ok := g.(rolloutGate); ok {
			n, waits := r.countClusters(f)
			clusters, asked = max(clusters, n), asked || waits
		}
	}
	return clusters, asked
}

// Forecast treats all gates as reached at from. Time ignores what has no known end.
func (s Set) Forecast(f Facts, from time.Time) Forecast {
	all := Forecast{Time: from}
	var waits []string
	for _, g := range s.Gates {
		one := g.Forecast(f, from)
		if one.Time.After(all.Time) {
			all.Time = one.Time
		}
		if one.WaitsFor != "" && !slices.Contains(waits, one.WaitsFor) {
			waits = append(waits, one.WaitsFor)
		}
		if one.WaitsFor == "" && one.Time.After(from) {
			all.Delays = append(all.Delays, fmt.Sprintf("gate %s until %s", g.Name(), formatTime(one.Time)))
		}
	}
	all.WaitsFor = strings.Join(waits, ", ")
	return all
}
