package gate

import (
	"encoding/json"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// sentPlans is what an http gate may send: the plans of the stacks of its environment.
const sentPlans = "plans"

// maxSentSize bounds what an http gate sends, in bytes.
const maxSentSize = 1 << 20

// Plans are the plans of the stacks of an environment.
type Plans struct {
	// Output is the commit of the output branch that has the stacks; "" if there is no output yet.
	Output string
	Stacks []stackfiles.Summary
}

// sentBody is what an http gate sends.
type sentBody struct {
	Environment string               `json:"environment"`
	Commit      string               `json:"commit"`
	Output      string               `json:"output"`
	Stacks      []stackfiles.Summary `json:"stacks"`
}

// checkSend checks what an http gate is to send.
func checkSend(spec model.GateSpec, send []string) problem.List {
	var problems problem.List
	for _, name := range send {
		if name != sentPlans {
			problems = append(problems, spec.Problem("write send: [plans], or leave it out", "send: %q is not known", name))
		}
	}
	return problems
}

// plansKey is the key of the need for the plans of an environment.
func plansKey(f Facts) string { return "plans " + f.Environment }

func (g httpGate) sendsPlans() bool { return slices.Contains(g.spec.Send, sentPlans) }

// findBody returns what the gate sends; nil for nothing. If it cannot be sent, reason says why.
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
