package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type statusSpec struct {
	Contexts []string `yaml:"contexts" required:"true"`
	Of       string   `yaml:"of"`
}

// The targets of statuses.
const (
	ofBase   = "base"
	ofOutput = "output"
)

// statusGate waits for commit statuses, or checks, to succeed.
type statuses struct {
	named
	contexts []string
	of       string
}

func newStatuses(spec model.GateSpec) (Gate, problem.List) {
	var s statusSpec
	problems := spec.Decode(&s)
	g := statuses{nameOf(spec), slices.Compact(slices.Sorted(slices.Values(s.Contexts))), cmp.Or(s.Of, ofBase)}
	if g.of != ofBase && g.of != ofOutput {
		problems = append(problems, spec.Problem("it is base, for the commit that is promoted, or output, for what was rendered from it",
			"of cannot be %q", s.Of))
	}
	if len(problems) == 0 && (len(g.contexts) == 0 || g.contexts[0] == "") {
		problems = append(problems, spec.Problem("as in contexts: [ci/test]", "status does not say which contexts"))
	}
	return g, problems
}

// Needs returns the statuses of the commit.
func (g statuses) Needs(f Facts) []Need {
	if g.of == ofOutput {
		return []Need{outputNeed(f)}
	}
	return []Need{{Key: "base " + f.Environment, Kind: OfBase}}
}

// outputNeed asks for the statuses of the output.
func outputNeed(f Facts) Need { return Need{Key: "output " + f.Environment, Kind: OfOutput} }

// Evaluate passes if all contexts succeeded.
func (g statuses) Check(f Facts) Verdict {
	said := f.Base
	if g.of == ofOutput {
		said = f.Result
	}
	var waiting []string
	for _, name := range g.contexts {
		s, ok := last(said, name)
		switch {
		case !ok:
			waiting = append(waiting, name+" is not reported")
		case s.Outcome == "failure":
			return g.fail("%s failed%s", name, details(s))
		case s.Outcome != "success":
			waiting = append(waiting, name+" is pending"+details(s))
		}
	}
	switch {
	case g.of == ofOutput && f.Output == "":
		return g.wait("there is no output to report %s on yet", and(g.contexts))
	case len(waiting) > 0:
		return g.wait("%s%s", and(waiting), f.amiss(g.Needs(f)[0].Key))
	default:
		return g.pass("%s succeeded", and(g.contexts))
	}
}

// Forecast has no known end.
func (g statuses) Forecast(f Facts, from time.Time) Forecast {
	return expect(g.Check(f), from, and(g.contexts))
}

// latestStatus returns the latest status of a context; of several at one time, the worst.
func last(all []CommitStatus, context string) (CommitStatus, bool) {
	var best CommitStatus
	found := false
	for _, s := range all {
		if s.Context == context && (!found || compareStatements(s, best) > 0) {
			best, found = s, true
		}
	}
	return best, found
}

func compareStatements(a, b CommitStatus) int {
	return cmp.Or(a.When.Compare(b.When), cmp.Compare(badness(a), badness(b)), cmp.Compare(a.Description, b.Description), cmp.Compare(a.URL, b.URL))
}

// statusSeverity orders outcomes: success, unknown, failure.
func badness(s CommitStatus) int {
	switch s.Outcome {
	case "success":
		return 0
	case "failure":
		return 2
	default:
		return 1
	}
}

func details(s CommitStatus) string {
	var parts []string
	for _, p := range []string{s.Description, s.URL} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(parts, ", "))
}
