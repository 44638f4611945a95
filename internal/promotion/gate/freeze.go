package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// FreezeGate is the name of every environment's freeze gate.
const FreezeGate = "freeze"

const minAbbreviation = 7

// EvaluateFreezes returns whether freezes keep the commit from the environment now, and names them.
// Every environment has this gate.
func EvaluateFreezes(f Facts) Verdict {
	all := slices.SortedFunc(slices.Values(f.Freezes), func(a, b *model.Freeze) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.Reason, b.Reason))
	})
	var parts []Verdict
	var passed, waiting []string
	var next time.Time
	for _, z := range all {
		switch {
		case len(z.Environments) > 0 && !slices.Contains(z.Environments, f.Environment), !z.To.IsZero() && !f.Now.Before(z.To):
		case f.Now.Before(z.From):
			if next.IsZero() || z.From.Before(next) {
				next = z.From
			}
		default:
			v := evaluateFreeze(z, f)
			parts = append(parts, v)
			if v.Status == Pass {
				passed = append(passed, v.Reason)
			} else {
				waiting = append(waiting, v.Reason)
			}
		}
	}
	v := CombineVerdicts(FreezeGate, parts)
	if v.Status == Pass {
		v.Reason = cmp.Or(strings.Join(passed, "; "), "no freeze applies")
		return v.withValidUntil(next, f.Now)
	}
	v.Reason = strings.Join(waiting, "; ")
	return v
}

// ForecastWithFreezes returns the forecast of the gates and of freezes in force when they are
// reached, when a freeze ends, or when the gates pass.
func (s Set) ForecastWithFreezes(f Facts, from time.Time) Forecast {
	all := s.Forecast(f, from)
	var waits, delays []string
	frozen := f
	frozen.Now = from
	for {
		end := frozen.Now
		for _, v := range EvaluateFreezes(frozen).Parts {
			switch {
			case v.Status == Pass:
			case v.ValidUntil.IsZero():
				waits = list.AddMissing(waits, v.Reason)
			default:
				delays = list.AddMissing(delays, v.Reason)
				if v.ValidUntil.After(end) {
					end = v.ValidUntil
				}
			}
		}
		if end.After(all.Time) {
			all = s.Forecast(f, end)
		}
		if !all.Time.After(frozen.Now) {
			break
		}
		frozen.Now = all.Time
	}
	if all.WaitsFor != "" {
		waits = append(waits, all.WaitsFor)
	}
	return Forecast{Time: all.Time, WaitsFor: strings.Join(waits, ", "), Delays: append(delays, all.Delays...)}
}

func evaluateFreeze(z *model.Freeze, f Facts) Verdict {
	gate := gateName{cmp.Or(z.Name, FreezeGate), KindFreeze}
	if reason, ok := findException(z, f.Commit); ok {
		return gate.pass("freeze %s does not apply to %s: %s", z.Name, text.ShortCommit(f.Commit), cmp.Or(reason, "it is an exception"))
	}
	text := fmt.Sprintf("freeze %s: %s", z.Name, cmp.Or(z.Reason, "no reason is given"))
	if z.To.IsZero() {
		return gate.wait("%s, until a person ends it", text)
	}
	return gate.wait("%s, until %s", text, formatTime(z.To)).withNamedTime(z.To, f.Now)
}

func findException(z *model.Freeze, commit string) (string, bool) {
	if reason, ok := z.Except[commit]; ok && commit != "" {
		return reason, true
	}
	best := ""
	for id := range z.Except {
		if len(id) >= minAbbreviation && strings.HasPrefix(commit, id) && len(id) > len(best) {
			best = id
		}
	}
	return z.Except[best], best != ""
}
