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

// gateKinds compile the gates that people may write. A gate is not used if there are problems that
// stop.
var gateKinds = map[string]func(model.GateSpec) (Gate, problem.List){
	"approval": newApprovalGate,
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

// gateName is the name and the kind of a gate, and makes its verdicts.
type gateName struct {
	name string
	kind Kind
}

func gateNameOf(spec model.GateSpec) gateName {
	return gateName{cmp.Or(spec.Name, spec.Kind), Kind(spec.Kind)}
}

// Name returns what people call the gate.
func (n gateName) Name() string { return n.name }

func (n gateName) pass(format string, args ...any) Verdict { return n.verdictf(Pass, format, args...) }
func (n gateName) wait(format string, args ...any) Verdict { return n.verdictf(Wait, format, args...) }
func (n gateName) fail(format string, args ...any) Verdict { return n.verdictf(Fail, format, args...) }

// verdictf returns a verdict whose reason is one line, whatever text of others is in it.
func (n gateName) verdictf(status Status, format string, args ...any) Verdict {
	return Verdict{Gate: n.name, Kind: n.kind, Status: status, Reason: text.OneLine(fmt.Sprintf(format, args...))}
}

// withValidUntil returns the verdict with the time at which it may change, if that is in the
// future.
func (v Verdict) withValidUntil(at, now time.Time) Verdict {
	if at.After(now) {
		v.ValidUntil = at
	}
	return v
}

// withNamedTime is withValidUntil for a reason that says the time as formatTime does: one in another zone than UTC may be
// said again.
func (v Verdict) withNamedTime(at, now time.Time) Verdict {
	v = v.withValidUntil(at, now)
	v.NamesTime = !v.ValidUntil.IsZero() && formatTime(at) == formatTime(at.UTC())
	return v
}

// forecastVerdict returns the forecast of a gate without a known end: satisfied at a time if it is
// satisfied now, or what it waits for.
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

// formatTime writes a time for people.
func formatTime(t time.Time) string { return t.Format("Mon 2006-01-02 15:04 MST") }

// unansweredReason returns why a need could not be answered; "" if that is not known.
func (f Facts) unansweredReason(key string) string {
	if a, ok := f.Answers[key]; ok && a.Reason != "" {
		return fmt.Sprintf(" (request failed: %s)", a.Reason)
	}
	return ""
}
