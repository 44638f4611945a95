package gate

import (
	"encoding/json"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

const sentPlans = "plans"

const maxSentSize = 1 << 20

// Plans are the plans of an environment's stacks.
type Plans struct {
	Output string
	Stacks []stackfiles.Summary
}

type sentBody struct {
	Environment string               `json:"environment"`
	Commit      string               `json:"commit"`
	Output      string               `json:"output"`
	Stacks      []stackfiles.Summary `json:"stacks"`
}

func checkSend(spec model.GateSpec, send []string) problem.List {
	var problems problem.List
	for _, name := range send {
		if name != sentPlans {
			problems = append(problems, spec.Problem("write send: [plans], or leave it out", "send: %q is not known", name))
		}
	}
	return problems
}

func plansKey(f Facts) string { return "plans " + f.Environment }

func (g httpGate) sendsPlans() bool { return slices.Contains(g.spec.Send, sentPlans) }

// findBody returns the body to send; nil for none. reason is why it cannot be sent.
func (g httpGate) findBody(f Facts) (body []byte, reason string) {
	if !g.sendsPlans() {
		return nil, ""
	}
	if f.Plans == nil {
		reason = "its output is not merged yet"
		if a := f.Answers[plansKey(f)]; a.Reason != "" {
			reason = a.Reason
		}
		return nil, "the plans of the stacks of " + f.Environment + " are not known: " + reason
	}
	body, err := json.Marshal(sentBody{f.Environment, f.Commit, f.Plans.Output, append([]stackfiles.Summary{}, f.Plans.Stacks...)})
	switch {
	case err != nil:
		return nil, "the plans of the stacks of " + f.Environment + " cannot be sent: " + err.Error()
	case len(body) > maxSentSize:
		return nil, "the plans of the stacks of " + f.Environment + " have more than 1 MiB"
	}
	return body, ""
}
