package plaintext

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func formatHealth(a answer.Status, now time.Time, to *display.Stream) string {
	lines := a.State.Word
	if !a.Ready {
		lines += ": " + strings.Join(a.Reasons, "; ")
	}
	lines += "\n"
	for _, u := range a.Overdue {
		lines += a.OverdueReason(u) + "\n"
	}
	if a.Cycle.Outcome != "" {
		lines += fmt.Sprintf("cycle %d began %s ago, took %s: %s %s\n", a.Cycle.Number, display.FormatAge(now.Sub(a.Cycle.Started)), a.Cycle.Took.Round(time.Millisecond), a.Cycle.Outcome, a.Cycle.Error)
	}
	failed := 0
	for _, c := range a.Cycles {
		if c.Outcome != status.OutcomeOK {
			failed++
		}
	}
	lines += fmt.Sprintf("cycles that failed: %d of the last %d\n", failed, len(a.Cycles))
	t := Table{Columns: []Column{{Key: "repository"}, {Key: "asked"}, {Key: "failures"}, {Key: "error", Fit: display.Wrap}}, Empty: "no repository has been asked yet\n"}
	for _, r := range a.Remotes {
		t.Rows = append(t.Rows, []any{r.URL, NewAge(r.Checked, now), r.Failures, r.Error})
	}
	return lines + "fairlead " + a.Version + "\n" + text.Count(a.Viewers, "viewer") + "\n\n" + t.Format(to, false) + "\n" + formatCredentials(a, now, to) + "\n" + formatExamination(a.Examination, now, to)
}

func formatExamination(e status.Examination, now time.Time, to *display.Stream) string {
	t := Table{Columns: []Column{{Key: "check"}, {Key: "what"}, {Key: "says", Fit: display.Wrap}, {Key: "hint", Fit: display.Wrap}}, Empty: "the set-up has not been checked yet\n"}
	if e.When.IsZero() {
		return t.Format(to, false)
	}
	t.Above, t.Empty = "checked "+display.FormatAge(now.Sub(e.When))+" ago; fairlead doctor checks more\n", ""
	for _, f := range e.Findings {
		t.Rows = append(t.Rows, []any{string(f.Level), f.Subject, f.Message, f.Hint})
	}
	return t.Format(to, false)
}

func formatCredentials(a answer.Status, now time.Time, to *display.Stream) string {
	t := Table{Columns: []Column{{Key: "credential"}, {Key: "state"}, {Key: "left", Fit: display.Wrap}, {Key: "expires"}}, Empty: "no forge has been asked with a credential of the settings\n"}
	for _, c := range a.Credentials {
		var left []string
		for _, l := range c.Limits {
			one := fmt.Sprintf("%d of %d", l.Remaining, l.Limit)
			if l.State.Tone == answer.Unknown {
				one = l.State.Word
			}
			left = append(left, strings.TrimSpace(l.Name+" "+one))
		}
		expires := c.Expiry.Word
		if !c.Expires.IsZero() {
			expires = FormatTime(c.Expires)
		}
		t.Rows = append(t.Rows, []any{c.URL, c.State.Word, cmp.Or(strings.Join(left, ", "), "not known"), expires})
		for _, w := range c.Concerns {
			t.Below += c.URL + ": " + w.Reason + "\n      hint: " + w.Hint + "\n"
		}
	}
	return t.Format(to, false)
}
