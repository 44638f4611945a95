package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

var gateKinds = map[string]func(model.GateSpec) (Gate, problem.List){
	"approval": newApprovalGate,
	"cost":     newCostGate,
	"dispatch": newDispatchGate,
	"http":     newHTTPGate,
	"merged":   newMergedGate,
	"rollout":  newRolloutGate,
	soakKind:   newSoakGate,
	"status":   newStatusGate,
	"window":   newWindowGate,
}

// New compiles a gate; nil if a problem stops it.
func New(spec model.GateSpec) (Gate, problem.List) {
	compile, ok := gateKinds[spec.Kind]
	if !ok {
		return nil, problem.List{unknownKindProblem(spec)}
	}
	g, problems := compile(spec)
	if problems.Stops() {
		return nil, problems
	}
	return g, problems
}

func unknownKindProblem(spec model.GateSpec) problem.Problem {
	known := slices.Sorted(maps.Keys(gateKinds))
	hint := problem.DidYouMean(spec.Kind, known)
	switch {
	case spec.Kind == "freeze":
		hint = "write an object of kind Freeze: it counts for all environments that it names, without a gate"
	case hint == "":
		hint = "the gates are " + strings.Join(known, ", ")
	}
	return spec.Problem(hint, "there is no gate %q", spec.Kind)
}

type gateName struct {
	name string
	kind Kind
}

func gateNameOf(spec model.GateSpec) gateName {
	return gateName{cmp.Or(spec.Name, spec.Kind), Kind(spec.Kind)}
}

func (n gateName) Name() string { return n.name }

func (n gateName) pass(format string, args ...any) Verdict { return n.verdictf(Pass, format, args...) }
func (n gateName) wait(format string, args ...any) Verdict { return n.verdictf(Wait, format, args...) }
func (n gateName) fail(format string, args ...any) Verdict { return n.verdictf(Fail, format, args...) }

func (n gateName) verdictf(status Status, format string, args ...any) Verdict {
	return Verdict{Gate: n.name, Kind: n.kind, Status: status, Reason: text.OneLine(fmt.Sprintf(format, args...))}
}

func (v Verdict) withValidUntil(at, now time.Time) Verdict {
	if at.After(now) {
		v.ValidUntil = at
	}
	return v
}

// withNamedTime is withValidUntil for a reason that contains formatTime(at). A time in another zone
// may be repeated.
func (v Verdict) withNamedTime(at, now time.Time) Verdict {
	v = v.withValidUntil(at, now)
	v.NamesTime = !v.ValidUntil.IsZero() && formatTime(at) == formatTime(at.UTC())
	return v
}

func forecastVerdict(v Verdict, from time.Time, waits string) Forecast {
	switch v.Status {
	case Pass:
		return Forecast{Time: from}
	case Fail:
		return Forecast{WaitsFor: "another commit, or a fix: " + v.Reason}
	default:
		return Forecast{WaitsFor: waits}
	}
}

func formatTime(t time.Time) string { return t.Format("Mon 2006-01-02 15:04 MST") }

func (f Facts) unansweredReason(key string) string {
	if a, ok := f.Answers[key]; ok && a.Reason != "" {
		return fmt.Sprintf(" (request failed: %s)", a.Reason)
	}
	return ""
}
