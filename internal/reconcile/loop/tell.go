package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// reportOnForge reports the state of an environment on the forge: in a status of the commits
// of the control plane that it is made from, and, if problems stop it, in an issue
// of the GitOps repository that closes itself.
func (l *Loop) reportOnForge(ctx context.Context, e *environment, r source.Rendered, out *repos.Remote, report *status.Environment) error {
	if !l.options.Settings.Write {
		return nil
	}
	s := forge.Status{Context: "fairlead/" + e.name, Outcome: outcomeOf(report), Description: describeReport(report)}
	for _, commit := range l.controlPlaneCommits(e, r) {
		if err := l.remotes.ReportStatus(ctx, &e.statuses, commit.Repo, commit.Commit, s); err != nil {
			return err
		}
	}
	if out == nil || out.Mirror() == nil {
		return nil
	}
	return l.updateIssue(ctx, e, out, report)
}

// describeReport returns a report in one line.
func describeReport(r *status.Environment) string {
	switch {
	case r.State == status.Problems && len(r.Problems) > 0:
		n, _ := r.Problems.Count()
		return fmt.Sprintf("%s: %s", text.Count(n, "problem"), firstProblem(r))
	case r.State == status.InSync: // maybe by a pull request that we have merged just now
		return "The output is up to date"
	case len(r.Withheld) > 0:
		return r.Reason
	case r.Pull != nil:
		return fmt.Sprintf("Pull request %d: %s", r.Pull.Number, r.Change)
	}
	return r.Reason
}

func firstProblem(r *status.Environment) string {
	for _, p := range r.Problems {
		if !p.Warning {
			return p.String()
		}
	}
	return ""
}

// controlPlaneCommits returns the commits of the control plane's repository.
func (l *Loop) controlPlaneCommits(e *environment, r source.Rendered) []source.Commit {
	return slices.DeleteFunc(slices.Clone(r.Commits), func(c source.Commit) bool {
		return c.Commit == "" || c.Layer != "base" && c.Layer != e.name
	})
}

// readLocation returns where a repository is read.
func (l *Loop) readLocation(repo string) string { return l.remotes.ReadLocation(repo) }

// updateIssue keeps the issue of an environment's problems.
func (l *Loop) updateIssue(ctx context.Context, e *environment, out *repos.Remote, report *status.Environment) error {
	stops := report.State == status.Problems
	if !stops && e.hasNoIssue { // there was none when it was last looked for
		return nil
	}
	f, err := out.Forge()
	var unknown *access.UnknownForge
	if errors.As(err, &unknown) { // it is one of the problems
		return nil
	}
	if err != nil {
		return err
	}
	mark := issueMark(e.name)
	known, err := f.Issues(ctx, mark)
	if err != nil {
		return fmt.Errorf("read the issues: %w", err)
	}
	e.hasNoIssue = !stops
	open := slices.IndexFunc(known, func(i forge.Issue) bool { return i.Open })
	var want forge.Issue
	switch {
	case !stops && open < 0:
		return nil
	case !stops: // its text stays
		want = known[open]
		want.Open = false
	default:
		if open >= 0 {
			want = known[open]
		}
		n, _ := report.Problems.Count()
		want.Mark, want.Open = mark, true
		want.Title = fmt.Sprintf("%s: %s in the control plane", e.name, text.Count(n, "problem"))
		want.Body = issueBody(report)
	}
	if open >= 0 && want == known[open] {
		return nil
	}
	l.options.BeforeEffect("put the issue")
	if _, err := f.PutIssue(ctx, want); err != nil {
		return fmt.Errorf("put the issue: %w", err)
	}
	return nil
}

func issueBody(r *status.Environment) string {
	var b strings.Builder
	b.WriteString("The output of this environment stays as it is until these are mended in the control plane:\n\n")
	for _, p := range r.ShownProblems() {
		if p.Warning {
			continue
		}
		fmt.Fprintf(&b, "- %s", forge.EscapeMarkdown(p.String()))
		if p.Hint != "" {
			fmt.Fprintf(&b, "\n  (%s)", forge.EscapeMarkdown(p.Hint))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nFairlead closes this issue once they are gone.\n")
	return b.String()
}
