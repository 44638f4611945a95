package gate

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const soakKind = "soak"

// soakGate waits until clusters have run the commit for a time: in a proof the environment's
// clusters, otherwise those of previous environments.
type soakGate struct {
	gateName
	length time.Duration
}

func newSoakGate(spec model.GateSpec) (Gate, problem.List) {
	g := soakGate{gateName: gateNameOf(spec)}
	problems := spec.Decode(&g.length)
	if len(problems) == 0 && g.length == 0 {
		problems = problem.List{spec.Problem("write it as soak: 30m", "soak needs a duration")}
	}
	return g, problems
}

func (g soakGate) Evaluate(f Facts) Verdict {
	length := text.FormatDuration(g.length)
	if f.DeployedAt.IsZero() {
		return g.wait("it soaks for %s once the clusters run it", length)
	}
	end := f.DeployedAt.Add(g.length)
	if !f.Now.Before(end) {
		return g.pass("it has soaked for %s", length)
	}
	return g.wait("it soaks for %s, until %s", length, formatTime(end)).withNamedTime(end, f.Now)
}

// Forecast assumes that the clusters run the commit when the gate is reached, unless they already
// do.
func (g soakGate) Forecast(f Facts, from time.Time) Forecast {
	if f.DeployedAt.IsZero() {
		return Forecast{Time: from.Add(g.length)}
	}
	if end := f.DeployedAt.Add(g.length); end.After(from) {
		return Forecast{Time: end}
	}
	return Forecast{Time: from}
}
