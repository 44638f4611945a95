package gate

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// soakKind is the kind of a [soakGate].
const soakKind = "soak"

// soakGate waits until the clusters have run the commit for a time: of a proof those of its environment, and of
// gates those of the environments before.
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

// Evaluate returns whether the time is over.
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

// Forecast is exact once the clusters run the commit; before, it assumes that they run it from the
// time at which the gate is reached.
func (g soakGate) Forecast(f Facts, from time.Time) Forecast {
	if f.DeployedAt.IsZero() {
		return Forecast{Time: from.Add(g.length)}
	}
	if end := f.DeployedAt.Add(g.length); end.After(from) {
		return Forecast{Time: end}
	}
	return Forecast{Time: from}
}
