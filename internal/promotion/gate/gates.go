package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// gateKind is how a kind of gate is written and compiled. The result of compile is not used if
// there are problems that stop.
type kind struct {
	spec any
	make func(spec model.GateSpec) (Gate, problem.List)
}

// kinds are the gates that people may write.
var kinds = map[string]kind{
	"approval": {approvalSpec{}, newApproval},
	"dispatch": {dispatchSpec{}, newDispatch},
	"http":     {httpSpec{}, newRequest},
	"merged":   {mergedSpec{}, newMerged},
	"rollout":  {rolloutSpec{}, newRollout},
	"soak":     {time.Duration(0), newSoak},
	"status":   {statusSpec{}, newStatuses},
	"window":   {windowSpec{}, newWindow},
}

// New compiles a gate; nil if a problem stops it.
func New(spec model.GateSpec) (Gate, problem.List) {
	k, ok := kinds[spec.Kind]
	if !ok {
		return nil, problem.List{unknown(spec)}
	}
	g, problems := k.make(spec)
	if problems.Stops() {
		return nil, problems
	}
	return g, problems
}

func unknown(spec model.GateSpec) problem.Problem {
	known := slices.Sorted(maps.Keys(kinds))
	hint := problem.DidYouMean(spec.Kind, known)
	switch {
	case spec.Kind == "freeze":
		hint = "write an object of kind Freeze: it counts for all environments that it names, without a gate"
	case hint == "":
		hint = "the gates are " + strings.Join(known, ", ")
	}
	return spec.Problem(hint, "there is no gate %q", spec.Kind)
}

// gateName is the name of a gate, and makes its verdicts.
type named string

func nameOf(spec model.GateSpec) named {
	if spec.Name != "" {
		return named(spec.Name)
	}
	return named(spec.Kind)
}

// Name returns what people call the gate.
func (n named) Name() string { return string(n) }

func (n named) pass(format string, args ...any) Verdict {
	return Verdict{Gate: string(n), Status: Pass, Reason: sentence(format, args...)}
}

func (n named) wait(format string, args ...any) Verdict {
	return Verdict{Gate: string(n), Status: Wait, Reason: sentence(format, args...)}
}

func (n named) fail(format string, args ...any) Verdict {
	return Verdict{Gate: string(n), Status: Fail, Reason: sentence(format, args...)}
}

// withValidUntil returns the verdict with the time at which it may change, if that is in the
// future.
func (v Verdict) until(at, now time.Time) Verdict {
	if at.After(now) {
		v.Until = at
	}
	return v
}

// formatSentence puts text of others into one line.
func sentence(format string, args ...any) string {
	return strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
}

// forecastVerdict returns the forecast of a gate without a known end: satisfied at a time if it is
// satisfied now, or what it waits for.
func expect(v Verdict, from time.Time, waits string) Forecast {
	switch v.Status {
	case Pass:
		return Forecast{At: from}
	case Fail:
		return Forecast{Waits: "another commit, or that somebody mends it: " + v.Reason}
	default:
		return Forecast{Waits: waits}
	}
}

// formatTime writes a time for people.
func stamp(t time.Time) string { return t.Format("Mon 2006-01-02 15:04 MST") }

// shortCommit returns the beginning of a commit's id, for people.
func short(commit string) string { return commit[:min(len(commit), 7)] }

// joinAnd lists words for people: "a, b and c".
func and(words []string) string { return listed(words, " and ") }

func listed(words []string, last string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + last + words[n-1]
	}
	return strings.Join(words, "")
}

// formatCount writes a number of things.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// unansweredReason returns why a need could not be answered; "" if that is not known.
func (f Facts) amiss(key string) string {
	if a, ok := f.Answers[key]; ok && a.Reason != "" {
		return fmt.Sprintf(" (it could not be asked: %s)", a.Reason)
	}
	return ""
}
