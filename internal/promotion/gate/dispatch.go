package gate

import (
	"fmt"
	"maps"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

type dispatchSpec struct {
	Workflow string            `yaml:"workflow" required:"true"`
	Ref      string            `yaml:"ref"`
	Inputs   map[string]string `yaml:"inputs"`
	Defaults bool              `yaml:"defaults"`
	Timeout  time.Duration     `yaml:"timeout"`
}

// dispatchGate waits for a workflow that is started for the commit, once.
type run struct {
	named
	workflow, ref string
	inputs        map[string]string
	defaults      bool // add the inputs of Kalypso
	timeout       time.Duration
}

func newDispatch(spec model.GateSpec) (Gate, problem.List) {
	s := dispatchSpec{Defaults: true, Timeout: time.Hour}
	problems := spec.Decode(&s)
	if len(problems) == 0 && s.Workflow == "" {
		problems = append(problems, spec.Problem("as in workflow: smoke.yaml", "dispatch does not say which workflow"))
	}
	if s.Timeout <= 0 {
		problems = append(problems, spec.Problem("leave it out for an hour", "timeout is 0"))
	}
	return run{nameOf(spec), s.Workflow, s.Ref, s.Inputs, s.Defaults, s.Timeout}, problems
}

func (g run) key(f Facts) string { return "dispatch " + f.Environment + " " + string(g.named) }

// Needs returns the run of the workflow.
func (g run) Needs(f Facts) []Need {
	inputs := map[string]string{}
	if g.defaults {
		inputs["environment"], inputs["promoted_commit_id"], inputs["commit_id"] = f.Environment, f.Commit, f.Output
	}
	maps.Copy(inputs, g.inputs)
	return []Need{{Key: g.key(f), Kind: Dispatch, Workflow: g.workflow, Ref: g.ref, Inputs: inputs, Timeout: g.timeout}}
}

// Evaluate returns how the run went.
func (g run) Check(f Facts) Verdict {
	a := f.Answers[g.key(f)]
	at := ""
	if a.URL != "" {
		at = " (" + a.URL + ")"
	}
	end := a.At.Add(g.timeout)
	switch {
	case a.Outcome == "success":
		return g.pass("%s succeeded%s", g.workflow, at)
	case a.Outcome == "failure":
		return g.fail("%s failed%s%s", g.workflow, because(a.Reason), at)
	case a.Outcome == "" && a.Reason != "":
		return g.wait("%s could not be started: %s", g.workflow, a.Reason)
	case a.At.IsZero():
		return g.wait("%s was not started yet", g.workflow)
	case !f.Now.Before(end):
		return g.fail("%s did not end within %s%s", g.workflow, rollout.Span(g.timeout), at)
	default:
		return g.wait("%s is running%s%s", g.workflow, because(a.Reason), at).until(end, f.Now)
	}
}

// waitBehind is the verdict on a workflow that was not asked about, because a gate before it has
// not passed: the workflow is not started yet, or was started when that gate had passed.
func (g run) behind(f Facts, own, before Verdict) Verdict {
	if _, asked := f.Answers[g.key(f)]; asked {
		return own
	}
	return g.wait("%s has its turn after %s: %s", g.workflow, before.Gate, before.Reason).until(before.Until, f.Now)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// Forecast has no known end.
func (g run) Forecast(f Facts, from time.Time) Forecast {
	return expect(g.Check(f), from, fmt.Sprintf("workflow %s", g.workflow))
}
