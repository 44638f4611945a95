package plaintext

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func formatPage(of any, f Facts, to *display.Stream) (string, error) {
	now := f.Now
	switch a := of.(type) {
	case answer.Found:
		return newFoundTable(a).Format(to, false), nil
	case answer.Inbox:
		return newInboxTable(a).Format(to, false), nil
	case answer.Me:
		return formatMe(a, to), nil
	case answer.Lever:
		return formatLever(a), nil
	case answer.Status:
		return formatHealth(a, now, to), nil
	case answer.Figures:
		return newFiguresTable(a).Format(to, false), nil
	case answer.OutputChanges:
		return formatOutput("from", a.From) + formatOutput("to", a.To) + "\n" + a.Text, nil
	case answer.PastOverview:
		return formatPastOverview(a, to), nil
	case answer.PastEnvironments:
		return newPastTable(a).Format(to, false), nil
	case answer.PastEnvironment:
		return formatPastEnvironment(a, to), nil
	case answer.Stacks:
		return newStacksTable(a, now).Format(to, false), nil
	case answer.Stack:
		return formatStack(a, now, to), nil
	}
	lines, err := formatAssigned(of, f, to)
	return formatAt(f.At) + lines, err
}

func newFoundTable(a answer.Found) Table {
	t := Table{Columns: []Column{{Key: "what"}, {Key: "name"}, {Key: "page"}}, Empty: fmt.Sprintf("nothing is called %q\n", a.Text)}
	if a.Text == "" {
		t.Empty = "write what to search for: /search?q=TEXT\n"
	}
	add := func(what, name, format string, parts ...any) {
		for i, p := range parts {
			parts[i] = url.PathEscape(fmt.Sprint(p))
		}
		t.Rows = append(t.Rows, []any{what, name, fmt.Sprintf(format, parts...)})
	}
	for _, e := range a.Environments {
		add("environment", e.Name+": "+e.State.Word, "/environments/%s", e.Name)
	}
	for _, g := range []struct {
		what  string
		names []string
	}{{"workload", a.Workloads}, {"cluster type", a.ClusterTypes}, {"cluster", a.Clusters}} {
		for _, name := range g.names {
			add(g.what, name, "/"+strings.ReplaceAll(g.what, " ", "-")+"s/%s", name)
		}
	}
	for _, p := range a.Pulls {
		add("pull request", fmt.Sprintf("%d of %s", p.Number, p.Environment), "/environments/%s/pulls/%s", p.Environment, strconv.Itoa(p.Number))
	}
	for _, s := range a.Stacks {
		add("stack", s.Stack+" in "+s.Environment, "/stacks/"+s.Stack+"?env=%s", s.Environment)
	}
	for _, one := range a.Assignments {
		add("assignment", one.ClusterType+"/"+one.Target+" in "+one.Environment, "/assignments/%s/%s/%s", one.Environment, one.ClusterType, one.Target)
	}
	for _, one := range a.Targets {
		add("target", one.Name, "/fleet?rows=target&q=%s", one.Name)
	}
	for _, o := range a.Objects {
		add("object", o.Subject+" in "+o.Environment, "/explain?env=%s&q=%s", o.Environment, o.Subject)
	}
	for _, c := range a.Commits {
		add("commit", text.ShortCommit(c.ID)+" "+c.Subject, "/commits/%s", c.ID)
	}
	for _, p := range a.Problems {
		add(p.Kind, strings.Join(p.Environments, ", ")+": "+p.Summary, "/problems?kind=%s", p.Kind)
	}
	return t
}

func newInboxTable(a answer.Inbox) Table {
	t := Table{Columns: []Column{{Key: "environment"}, {Key: "state"}, {Key: "why", Fit: display.Wrap}, {Key: "actions"}}, Empty: "nothing waits for a person\n"}
	switch {
	case a.For != "" && !a.SignedIn:
		t.Empty = "it is not known who you are: sign in, or send a bearer token\n"
	case a.For != "":
		t.Empty = fmt.Sprintf("nothing waits for you; %s\n", text.Count(a.Total, "thing")+" in all")
	}
	for _, item := range a.Items {
		why := item.Need.Reason
		if item.Done != "" {
			why += "; " + item.Done
		}
		levers := item.Levers
		if !a.SignedIn { // what people may do after a sign-in
			levers = item.Need.Levers
		}
		t.Rows = append(t.Rows, []any{cmp.Or(item.Need.Environment, "Fairlead"), item.Need.State.Word, why, levers})
	}
	return t
}

func formatMe(a answer.Me, to *display.Stream) string {
	if !a.SignedIn {
		return "you have not signed in\n"
	}
	lines := fmt.Sprintf("%s <%s>, known to %s as %s\ngroups that count: %s\n\n", a.Name, a.Email, a.Issuer, a.Subject, FormatCell(a.Groups))
	t := Table{Columns: []Column{{Key: "environment"}, {Key: "may", Fit: display.Wrap}, {Key: "mayNot", Fit: display.Wrap}}, Empty: "nobody may do anything: web.actions is off in the settings\n"}
	for _, p := range a.Permissions {
		t.Rows = append(t.Rows, []any{p.Environment, strings.Join(p.Levers, ", "), strings.Join(p.Refused, "; ")})
	}
	return lines + t.Format(to, false)
}

func formatLever(a answer.Lever) string {
	lines := a.Question + "\n"
	for _, f := range a.Asks {
		lines += fmt.Sprintf("asks for %s: %s\n", f.Name, cmp.Or(f.Hint, f.Title))
	}
	if a.Refusal != "" {
		lines += FormatRefusal(a.Refusal, a.Hint)
	}
	if a.Nothing != "" {
		lines += "there is nothing to do: " + a.Nothing + "\n"
	}
	for _, e := range a.Effects {
		lines += "- " + e + "\n"
	}
	if a.Unknown != "" {
		lines += "what changes in the output is not known: " + a.Unknown + "\n"
	}
	if a.Impact != "" {
		lines += "\n" + strings.TrimRight(a.Impact, "\n") + "\n"
	}
	if a.Command != "" {
		lines += "\n" + a.Command + "\n"
	}
	return lines
}

func newFiguresTable(a answer.Figures) Table {
	t := Table{Columns: []Column{{Key: "environment"}, {Key: "deployments"}, {Key: "lead"}, {Key: "failed"}}, Empty: "there is no environment\n", Above: "since " + FormatTime(a.Since) + "\n"}
	for _, e := range a.Environments {
		lead := ""
		if e.Lead != nil {
			lead = Elapsed(*e.Lead).String()
		}
		t.Rows = append(t.Rows, []any{e.Environment, e.Deployments, lead, e.Failed})
	}
	for _, name := range a.Unread {
		t.Rows = append(t.Rows, []any{name, "not known", "", ""})
	}
	return t
}

func formatOutput(what string, o answer.PastOutput) string {
	base := ""
	switch {
	case o.IsUnchanged():
		base = fmt.Sprintf(", which %s %s did not change", text.ShortCommit(o.Base.ID), o.Base.Subject)
	case o.Base != nil:
		base = fmt.Sprintf(", rendered from %s %s", text.ShortCommit(o.Base.ID), o.Base.Subject)
	}
	return fmt.Sprintf("%s %s: output %s of %s%s\n", what, o.At, text.ShortCommit(o.Output), FormatTime(o.When), base)
}

func newPastTable(a answer.PastEnvironments) Table {
	t := Table{Columns: []Column{{Key: "environment"}, {Key: "commit"}, {Key: "merged"}, {Key: "assignments"}, {Key: "ran"}, {Key: "subject"}}, Above: formatAt(a.At), Empty: "nothing is known of " + a.At + "\n"}
	for _, e := range a.Items {
		commit, subject := "", ""
		if e.Base != nil {
			commit, subject = text.ShortCommit(e.Base.ID), e.Base.Subject
		}
		t.Rows = append(t.Rows, []any{e.Environment, commit, FormatTime(e.When), e.Assignments, summarizePastRuns(e.Runs), subject})
		if e.IsUnchanged() {
			t.Below += e.Environment + ": " + commit + " did not change the output, which was merged before\n"
		}
	}
	for _, name := range a.Unknown {
		t.Below += name + ": not known\n"
	}
	return t
}

func summarizePastRuns(all []fleetview.PastRun) string {
	return strings.Join(list.Convert(all, func(r fleetview.PastRun) string {
		return fmt.Sprintf("%d %s with %s", r.Clusters, r.Phase, cmp.Or(r.Version, Revision(r.Revision).String(), "?"))
	}), ", ")
}

func formatPastEnvironment(a answer.PastEnvironment, to *display.Stream) string {
	lines := formatOutput(a.Environment+" at", a.PastOutput) + text.Count(a.Assignments, "assignment") + ", " + text.Count(a.ClusterTypes, "cluster type") + "\n\n"
	return lines + formatPastRuns(a.Runs, to)
}

func formatPastOverview(a answer.PastOverview, to *display.Stream) string {
	t := Table{Columns: []Column{{Key: "environment"}, {Key: "state"}, {Key: "commit"}, {Key: "since"}, {Key: "ran"}, {Key: "subject"}, {Key: "why", Fit: display.Wrap}}, Above: formatAt(a.At), Empty: "the base had no environment\n"}
	for _, e := range a.Environments {
		row := []any{e.Name, e.State.Word, "", FormatTime(e.Since), summarizePastRuns(e.Ran), "", e.Reason}
		if e.Commit != nil {
			row[2], row[5] = text.ShortCommit(e.Commit.ID), e.Commit.Subject
		}
		t.Rows = append(t.Rows, row)
	}
	return t.Format(to, false) + formatTimeline(a.Timeline, to)
}

func formatAt(at string) string {
	if at == "" {
		return ""
	}
	return "at " + at + "\n"
}

func formatPastRuns(all []fleetview.PastRun, to *display.Stream) string {
	t := Table{Columns: []Column{{Key: "clusters"}, {Key: "phase"}, {Key: "ran"}}, Empty: "what ran is not known\n"}
	for _, r := range all {
		t.Rows = append(t.Rows, []any{r.Clusters, r.Phase, cmp.Or(r.Version, Revision(r.Revision).String())})
	}
	return t.Format(to, false)
}
