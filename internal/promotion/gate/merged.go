package gate

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type mergedGate struct{ gateName }

func newMergedGate(spec model.GateSpec) (Gate, problem.List) {
	return mergedGate{gateNameOf(spec)}, spec.Decode(&struct{}{})
}

func (g mergedGate) Evaluate(f Facts) Verdict {
	switch {
	case !f.MergedAt.IsZero() && f.OutputCommit != "":
		return g.pass("the output is merged, as %s", text.ShortCommit(f.OutputCommit))
	case f.HasFormer:
		return g.wait("the output is merged, but not what has changed in it since: %s", describeUnmerged(f))
	default:
		return g.wait("%s", describeUnmerged(f))
	}
}

func describeUnmerged(f Facts) string {
	switch {
	case f.Declined > 0:
		return fmt.Sprintf("pull request %d was closed", f.Declined)
	case f.Withheld != "" && f.Pull != nil:
		return fmt.Sprintf("pull request %d waits for a person: %s", f.Pull.Number, f.Withheld)
	case f.Withheld != "":
		return "the output waits for a person: " + f.Withheld
	case f.Pull == nil:
		return "the output is not on its branch yet"
	case len(f.Pull.Missing) > 0:
		return fmt.Sprintf("pull request %d is not merged; it lacks %s", f.Pull.Number, text.Join(f.Pull.Missing, " and "))
	default:
		return fmt.Sprintf("pull request %d is not merged", f.Pull.Number)
	}
}

func (g mergedGate) Forecast(f Facts, from time.Time) Forecast {
	waits := "the output to be merged"
	switch {
	case f.Declined > 0:
		waits = fmt.Sprintf("pull request %d, which was closed, to be opened again", f.Declined)
	case f.Withheld != "":
		waits = fmt.Sprintf("a person to merge or acknowledge it: %s", f.Withheld)
	case f.Pull != nil:
		waits = fmt.Sprintf("pull request %d to be merged", f.Pull.Number)
	}
	return forecastVerdict(g.Evaluate(f), from, waits)
}
