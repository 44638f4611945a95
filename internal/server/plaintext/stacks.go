package plaintext

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newStacksTable(a answer.Stacks, now time.Time) Table {
	t := Table{
		Columns: []Column{{Key: "environment"}, {Key: "stack"}, {Key: "state"}, {Key: "age"}, {Key: "components"}, {Key: "plans"}, {Key: "why", Fit: display.Wrap}},
		Empty:   "there is no stack\n", Below: formatRest(len(a.Items), a.Found, a.Page),
	}
	if a.Total > 0 {
		t.Empty = "no stack is like that\n"
	}
	for _, s := range a.Items {
		planned := ""
		if s.Planned != nil {
			planned = s.Planned.Summary()
		}
		t.Rows = append(t.Rows, []any{s.Environment, s.Stack, s.State.Word, NewAge(s.Since, now), s.Components, planned, s.Reason})
	}
	return t
}

func formatStack(a answer.Stack, now time.Time, to *display.Stream) string {
	lines := fmt.Sprintf("%s in %s: %s", a.StackPart.Stack, a.Environment, a.State.Word)
	if a.Reason != "" {
		lines += ", " + a.Reason
	}
	for _, c := range a.Colors {
		word := "inactive"
		if c.Active {
			word = "active"
		}
		lines += fmt.Sprintf("; %s is %s", c.Stack, word)
	}
	t := Table{Columns: []Column{{Key: "component"}, {Key: "type"}, {Key: "state"}, {Key: "age"}, {Key: "plan"}, {Key: "after"}, {Key: "waitsFor"}, {Key: "message", Fit: display.Wrap}}, Empty: "it has no component\n"}
	plans := ""
	for _, p := range a.Parts {
		state, message, planned, since := "", "", "", time.Time{}
		if p.State != nil {
			state = p.State.Word
		}
		if p.Reported != nil {
			message, since = p.Reported.Message, p.Reported.Since
		}
		if p.Run != nil {
			planned = p.Run.Summary()
			plans += fmt.Sprintf("plan of %s: /%s\n", p.Name, answer.PlanPath(a.Environment, a.StackPart.Stack, p.Run.ID))
		}
		t.Rows = append(t.Rows, []any{p.Name, p.Type, state, NewAge(since, now), planned, p.After, p.WaitsFor, message})
	}
	lines += "\n\n" + t.Format(to, false)
	if plans != "" {
		lines += "\n" + plans
	}
	if len(a.Problems) > 0 {
		lines += "\n" + formatProblems(answer.Problems{Items: a.Problems, Found: len(a.Problems)})
	}
	if len(a.Runs) > 0 {
		lines += "\n" + newRunsTable(a).Format(to, false)
	}
	return lines
}

func newRunsTable(a answer.Stack) Table {
	t := Table{
		Columns: []Column{{Key: "since"}, {Key: "until"}, {Key: "component"}, {Key: "state"}, {Key: "cluster"}, {Key: "plan"}},
		Below:   "what clusters reported is listed for 30 days, as far as the ledger keeps it, and the last plans of each component\n",
	}
	for _, r := range a.Runs {
		planned := ""
		if r.Plan != nil {
			planned = r.Plan.Short() + " /" + answer.PlanPath(a.Environment, a.StackPart.Stack, r.Plan.ID)
		}
		t.Rows = append(t.Rows, []any{FormatTime(r.Since), FormatTime(r.Until), r.Component, r.State.Word, r.Cluster, planned})
	}
	return t
}

func formatRun(a answer.StackRun) string {
	lines := fmt.Sprintf("plan of %s of %s in %s: %s\n", a.Component.Name, a.Stack, a.Environment, a.Outcome.State.Word)
	lines += fmt.Sprintf("%s: %d to add, %d to change, %d to destroy\n%s", a.Summary(), a.Add, a.Change, a.Destroy, a.Outcome.Reason)
	if !a.Outcome.Since.IsZero() {
		lines += ", since " + FormatTime(a.Outcome.Since)
	}
	if newer := a.Outcome.Newer; newer != nil {
		lines += " " + FormatTime(newer.When) + ": /" + answer.PlanPath(a.Environment, a.Stack, newer.ID)
	}
	lines += "\n"
	if !a.Outcome.Ready.IsZero() {
		lines += fmt.Sprintf("%s reported %s ready %s, before that\n", a.Cluster, a.Component.Name, FormatTime(a.Outcome.Ready))
	}
	if by := a.Outcome.Approved; by != nil {
		lines += fmt.Sprintf("approved by %s %s, with commit %s\n", by.Who, FormatTime(by.When), text.ShortCommit(by.Commit))
	}
	lines += fmt.Sprintf("sent by %s %s\nplan %s, inputs %s, digest %s\n", a.Cluster, FormatTime(a.When), a.Plan, a.Inputs, a.Digest)
	if command := a.ApproveCommand(); command != "" {
		lines += "\n" + command + "\n"
	}
	lines += "\n" + a.Text
	if a.Cut {
		lines += "the plan is longer than what is kept here; fairlead stack plan --plans shows all of it\n"
	}
	return lines
}
