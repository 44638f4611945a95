package gate

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// soakGate waits until the clusters have run the commit for a time.
type soak struct {
	named
	length time.Duration
}

func newSoak(spec model.GateSpec) (Gate, problem.List) {
	g := soak{named: nameOf(spec)}
	problems := spec.Decode(&g.length)
	if len(problems) == 0 && g.length == 0 {
		problems = problem.List{spec.Problem("as in soak: 30m", "soak does not say how long")}
	}
	return g, problems
}

// Evaluate returns whether the time is over.
func (g soak) Check(f Facts) Verdict {
	length := rollout.Span(g.length)
	if f.Deployed.IsZero() {
		return g.wait("it soaks for %s once the clusters run it", length)
	}
	end := f.Deployed.Add(g.length)
	if !f.Now.Before(end) {
		return g.pass("it has soaked for %s", length)
	}
	return g.wait("it soaks for %s, until %s", length, stamp(end)).until(end, f.Now)
}

// Forecast is exact once the clusters run the commit; before, it assumes that they run it from the
// time at which the gate is reached.
func (g soak) Forecast(f Facts, from time.Time) Forecast {
	if f.Deployed.IsZero() {
		return Forecast{At: from.Add(g.length)}
	}
	if end := f.Deployed.Add(g.length); end.After(from) {
		return Forecast{At: end}
	}
	return Forecast{At: from}
}
