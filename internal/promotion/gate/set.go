package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Set is a list of gates that all have to be passed.
type Set struct {
	Name  string
	Gates []Gate
}

// CompileStage compiles the gates of an environment: those before it gets a commit, named "gates",
// and those before the commit counts as proven, named "proof". Neither may be used if a problem
// stops.
func CompileStage(s model.Stage) (gates, proof Set, problems problem.List) {
	keys := map[string]bool{}
	gates, problems = newSet("gates", s.Gates, keys)
	for _, spec := range s.Gates {
		if spec.Kind == soakKind && len(s.After) == 0 {
			problems = append(problems, spec.Problem("write it in proof, or write after which environment "+s.Name+" comes", "no environment comes before %s, in which a commit could soak", s.Name))
		}
	}
	proof, more := newSet("proof", s.Proof, keys)
	return gates, proof, append(problems, more...)
}

// newSet compiles a set. keys are the answer keys in use: no two gates may share one.
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

// SplitSoak separates the gates whose time begins when all others have passed, so that this time
// can be found out.
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
	var first *Verdict // that is not passed
	for i, g := range s.Gates {
		parts[i] = g.Evaluate(f)
		if d, ok := g.(dispatchGate); ok && first != nil {
			// Unless it was started when the gates before it had passed, it is not started yet.
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

// Needs returns what the gates need to know, each need once. A workflow is started when the gates
// before it have passed, and is followed from then on.
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

// CountClusters returns how many clusters have reported to the gates, and whether one of them waits for
// reports.
func (s Set) CountClusters(f Facts) (clusters int, asked bool) {
	for _, g := range s.Gates {
		if r, ok := g.(rolloutGate); ok {
			n, waits := r.countClusters(f)
			clusters, asked = max(clusters, n), asked || waits
		}
	}
	return clusters, asked
}

// Forecast takes all gates as reached at one time. Time is the earliest, if what has no known end
// is over by then.
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
