package gate

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// mergedGate waits until the output of the commit is on the output branch.
type mergedGate struct{ gateName }

func newMergedGate(spec model.GateSpec) (Gate, problem.List) {
	return mergedGate{gateNameOf(spec)}, spec.Decode(&struct{}{}) // it has no fields
}

// Evaluate returns whether the output is merged, and what its pull request lacks.
func (g mergedGate) Evaluate(f Facts) Verdict {
	switch {
	case !f.MergedAt.IsZero() && f.OutputCommit != "":
		return g.pass("the output is merged, as %s", text.ShortCommit(f.OutputCommit))
	case f.HasFormer && f.Pull != nil:
		return g.wait("the output is merged, but not what has changed in it since: pull request %d waits for a person: %s", f.Pull.Number, f.Withheld)
	case f.HasFormer:
		return g.wait("the output is merged, but not what has changed in it since, which waits for a person: %s", f.Withheld)
	case f.Withheld != "" && f.Pull != nil:
		return g.wait("pull request %d waits for a person: %s", f.Pull.Number, f.Withheld)
	case f.Withheld != "":
		return g.wait("the output waits for a person: %s", f.Withheld)
	case f.Pull == nil:
		return g.wait("the output is not on its branch yet")
	case len(f.Pull.Missing) > 0:
		return g.wait("pull request %d is not merged; it lacks %s", f.Pull.Number, text.Join(f.Pull.Missing, " and "))
	default:
		return g.wait("pull request %d is not merged", f.Pull.Number)
	}
}

// Forecast has no known end.
func (g mergedGate) Forecast(f Facts, from time.Time) Forecast {
	waits := "the output to be merged"
	if f.Pull != nil {
		waits = fmt.Sprintf("pull request %d to be merged", f.Pull.Number)
	}
	if f.Withheld != "" {
		waits = fmt.Sprintf("a person to merge or acknowledge it: %s", f.Withheld)
	}
	return forecastVerdict(g.Evaluate(f), from, waits)
}
