package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type statusSpec struct {
	Contexts []string `yaml:"contexts" required:"true"`
	Of       string   `yaml:"of"`
}

const (
	targetBase   = "base"
	targetOutput = "output"
)

type statusGate struct {
	gateName
	contexts []string
	target   string
}

func newStatusGate(spec model.GateSpec) (Gate, problem.List) {
	var s statusSpec
	problems := spec.Decode(&s)
	g := statusGate{gateNameOf(spec), slices.Compact(slices.Sorted(slices.Values(s.Contexts))), cmp.Or(s.Of, targetBase)}
	if g.target != targetBase && g.target != targetOutput {
		problems = append(problems, spec.Problem("write base for the promoted commit, or output for the commit of its rendered output",
			"of cannot be %q", s.Of))
	}
	if len(problems) == 0 && (len(g.contexts) == 0 || g.contexts[0] == "") {
		problems = append(problems, spec.Problem("write it as contexts: [ci/test]", "status names no contexts"))
	}
	return g, problems
}

func (g statusGate) Needs(f Facts) []Need {
	if g.target == targetOutput {
		return []Need{outputNeed(f)}
	}
	return []Need{{Key: "base " + f.Environment, Kind: BaseStatuses}}
}

func outputNeed(f Facts) Need { return Need{Key: "output " + f.Environment, Kind: OutputStatuses} }

func (g statusGate) Evaluate(f Facts) Verdict {
	said := f.BaseStatuses
	if g.target == targetOutput {
		said = f.OutputStatuses
	}
	var waiting []string
	for _, name := range g.contexts {
		s, ok := latestStatus(said, name)
		switch {
		case !ok:
			waiting = append(waiting, name+" is not reported")
		case s.Outcome == Failure:
			return g.fail("%s failed%s", name, statusDetails(s))
		case s.Outcome != Success:
			waiting = append(waiting, name+" is pending"+statusDetails(s))
		}
	}
	switch {
	case g.target == targetOutput && f.OutputCommit == "":
		return g.wait("there is no output to report %s on yet", text.Join(g.contexts, " and "))
	case len(waiting) > 0:
		return g.wait("%s%s", text.Join(waiting, " and "), f.unansweredReason(g.Needs(f)[0].Key))
	default:
		return g.pass("%s succeeded", text.Join(g.contexts, " and "))
	}
}

func (g statusGate) Forecast(f Facts, from time.Time) Forecast {
	return forecastVerdict(g.Evaluate(f), from, text.Join(g.contexts, " and "))
}

// latestStatus returns the latest status of a context; the worst of simultaneous ones.
func latestStatus(all []CommitStatus, context string) (CommitStatus, bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(s CommitStatus) bool { return s.Context != context })
	if len(all) == 0 {
		return CommitStatus{}, false
	}
	return slices.MaxFunc(all, func(a, b CommitStatus) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(statusSeverity(a), statusSeverity(b)), cmp.Compare(a.Description, b.Description), cmp.Compare(a.URL, b.URL))
	}), true
}

func statusSeverity(s CommitStatus) int {
	switch s.Outcome {
	case "success":
		return 0
	case "failure":
		return 2
	default:
		return 1
	}
}

func statusDetails(s CommitStatus) string {
	parts := slices.DeleteFunc([]string{s.Description, s.URL}, func(p string) bool { return p == "" })
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(parts, ", "))
}
