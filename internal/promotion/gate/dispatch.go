package gate

import (
	"fmt"
	"maps"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type dispatchSpec struct {
	Workflow string            `yaml:"workflow" required:"true"`
	Ref      string            `yaml:"ref"`
	Inputs   map[string]string `yaml:"inputs"`
	Defaults bool              `yaml:"defaults"` // adds Kalypso's inputs
	Timeout  time.Duration     `yaml:"timeout"`
}

type dispatchGate struct {
	gateName
	spec dispatchSpec
}

func newDispatchGate(spec model.GateSpec) (Gate, problem.List) {
	s := dispatchSpec{Defaults: true, Timeout: time.Hour}
	problems := spec.Decode(&s)
	if len(problems) == 0 && s.Workflow == "" {
		problems = append(problems, spec.Problem("write it as workflow: smoke.yaml", "dispatch names no workflow"))
	}
	if s.Timeout <= 0 {
		problems = append(problems, spec.Problem("remove it for the default, 1h", "timeout is 0"))
	}
	return dispatchGate{gateNameOf(spec), s}, problems
}

func (g dispatchGate) answerKey(f Facts) string {
	if f.Wave != "" { // a run of its own
		advance := f.Advance
		if f.Retries > 0 {
			advance += fmt.Sprintf(" again %d", f.Retries)
		}
		return fmt.Sprintf("dispatch %s wave %s %s %s", f.Environment, advance, f.Wave, g.name)
	}
	return "dispatch " + f.Environment + " " + g.name
}

func (g dispatchGate) Needs(f Facts) []Need {
	inputs := map[string]string{}
	if g.spec.Defaults {
		inputs["environment"], inputs["promoted_commit_id"], inputs["commit_id"] = f.Environment, f.Commit, f.OutputCommit
		if f.Wave != "" {
			inputs["wave"], inputs["advance"] = f.Wave, f.Advance
		}
	}
	maps.Copy(inputs, g.spec.Inputs)
	return []Need{{Key: g.answerKey(f), Kind: Dispatch, Workflow: g.spec.Workflow, Ref: g.spec.Ref, Inputs: inputs, Timeout: g.spec.Timeout}}
}

func (g dispatchGate) Evaluate(f Facts) Verdict {
	a := f.Answers[g.answerKey(f)]
	at := ""
	if a.URL != "" {
		at = " (" + a.URL + ")"
	}
	end := a.Time.Add(g.spec.Timeout)
	switch {
	case a.Outcome == Success:
		return g.pass("%s succeeded%s", g.spec.Workflow, at)
	case a.Outcome == Failure:
		return g.fail("%s failed%s%s", g.spec.Workflow, reasonSuffix(a.Reason), at)
	case a.Outcome == "" && a.Reason != "":
		return g.wait("%s could not be started: %s", g.spec.Workflow, a.Reason)
	case a.Time.IsZero():
		return g.wait("%s has not been started yet", g.spec.Workflow)
	case !f.Now.Before(end):
		return g.fail("%s did not end within %s%s", g.spec.Workflow, text.FormatDuration(g.spec.Timeout), at)
	default:
		return g.wait("%s is running%s%s", g.spec.Workflow, reasonSuffix(a.Reason), at).withValidUntil(end, f.Now)
	}
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (g dispatchGate) Forecast(f Facts, from time.Time) Forecast {
	return forecastVerdict(g.Evaluate(f), from, fmt.Sprintf("workflow %s", g.spec.Workflow))
}
