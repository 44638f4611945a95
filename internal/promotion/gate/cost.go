package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// PlannedCost is the cost of a component's plan.
type PlannedCost struct {
	Component string // "environment team/stack/component"
	Stack     string // "team/stack"
	Missing   string // why the cost is unknown, as in "was sent without a cost"; "" if it is known
	Costs     []cost.Change
}

// costGate compares the plans of a commit: in a proof, those of the environment's stacks; otherwise, those of the
// previous environments.
type costGate struct {
	gateName
	limit cost.Limit
}

func newCostGate(spec model.GateSpec) (Gate, problem.List) {
	var l cost.Limit
	problems := spec.Decode(&l)
	if len(problems) == 0 {
		if hint, sentence := l.Check(); sentence != "" {
			problems = append(problems, spec.Problem(hint, "%s", sentence))
		}
	}
	return costGate{gateNameOf(spec), l}, problems
}

// NewCostLimit returns the gate cost of the settings.
func NewCostLimit(l cost.Limit) Gate { return costGate{gateName{"cost limit", KindCost}, l} }

func (g costGate) Needs(f Facts) []Need {
	return []Need{{Key: costsKey(f), Kind: PlanCosts}}
}

func costsKey(f Facts) string { return "costs " + f.Environment }

// IsOfLanes reports whether the verdict of a gate on a commit differs between its lanes, without approvals.
func IsOfLanes(g Gate) bool { _, is := g.(costGate); return is }

const maxNamedPlans = 3

func (g costGate) Evaluate(f Facts) Verdict {
	if f.Costs == nil {
		if a := f.Answers[costsKey(f)]; a.Reason != "" {
			return g.wait("the costs of the plans are not known: %s", a.Reason)
		}
		return g.wait("the plans are made once the output is merged")
	}
	var missing []string
	var sum []cost.Change
	for _, c := range *f.Costs {
		reason := c.Missing
		for _, one := range c.Costs {
			if one.Currency != g.limit.Currency {
				reason = fmt.Sprintf("costs %s, and the limit is in %s", one.Currency, g.limit.Currency)
			}
		}
		if reason != "" {
			missing = append(missing, fmt.Sprintf("the plan of %s %s", c.Component, reason))
		}
		sum = cost.Add(sum, c.Costs)
	}
	if n := len(missing); n > 0 {
		more := ""
		if n > maxNamedPlans {
			missing, more = missing[:maxNamedPlans], fmt.Sprintf("; and %d more", n-maxNamedPlans)
		}
		return g.wait("%s%s", strings.Join(missing, "; "), more)
	}
	reason := fmt.Sprintf("costs: %s, at most +%d are allowed", cost.Text(sum), g.limit.Increase)
	switch {
	case len(sum) == 0:
		return g.pass("no plan changes the costs")
	case sum[0].Exceeds(g.limit.Increase):
		return g.fail("%s", reason)
	}
	return g.pass("%s", reason)
}

func (g costGate) Forecast(f Facts, from time.Time) Forecast {
	return forecastVerdict(g.Evaluate(f), from, "plans with their costs")
}
