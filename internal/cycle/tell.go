package cycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/status"
)

// tell says how an environment fares where people look: in a status of the commits
// of the control plane that it is made from, and, if problems stop it, in an issue
// of the GitOps repository that closes itself.
func (l *Loop) tell(ctx context.Context, e *environment, r source.Rendered, out *remote, report *status.Environment) error {
	if !l.Settings.Write {
		return nil
	}
	s := forge.Status{Context: "fairlead/" + e.name, Outcome: forge.Success, Description: describe(report)}
	if report.State == status.Problems {
		s.Outcome = forge.Failure
	}
	for _, commit := range l.controlPlaneCommits(e, r) {
		if err := l.setStatus(ctx, e, commit, s); err != nil {
			return err
		}
	}
	if out == nil || out.Mirror() == nil {
		return nil
	}
	return l.issue(ctx, e, out, report)
}

// describe says a report in one line.
func describe(r *status.Environment) string {
	switch {
	case r.State == status.Problems && len(r.Problems) > 0:
		n, _ := r.Problems.Count()
		return fmt.Sprintf("%s: %s", counted(n, "problem"), firstProblem(r))
	case r.Pull != nil:
		return fmt.Sprintf("Pull request %d: %s", r.Pull.Number, r.Change)
	case r.State == status.InSync:
		return "The output is up to date"
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

// controlPlaneCommits gives the commits of the control plane's repository.
func (l *Loop) controlPlaneCommits(e *environment, r source.Rendered) []source.Commit {
	return slices.DeleteFunc(slices.Clone(r.Commits), func(c source.Commit) bool {
		return c.Commit == "" || c.Layer != "base" && c.Layer != e.name
	})
}

// setStatus sets the status of a commit, if it was not set so before. Where we may
// not, the environment goes on without.
func (l *Loop) setStatus(ctx context.Context, e *environment, c source.Commit, s forge.Status) error {
	key := c.Repo + "@" + c.Commit
	if e.said[key] == s {
		return nil
	}
	repo := l.remotes.known(l.place(c.Repo))
	if repo == nil { // the control plane itself, under another of its URLs
		if repo = l.remotes.known(l.place(l.Settings.ControlPlane.Repo)); repo == nil {
			return nil
		}
	}
	l.Step("set the status of " + c.Layer)
	err := l.sayOf(ctx, repo, c.Commit, s)
	var refused *forge.Refusal
	var unknown *access.UnknownForge
	switch {
	case errors.Is(err, git.ErrAccess), errors.Is(err, git.ErrRefused), errors.Is(err, git.ErrNotFound), errors.As(err, &refused), errors.As(err, &unknown):
		l.Logger.Warn("the status of a commit could not be set", "repo", repo.URL(), "commit", c.Commit, "error", err)
	case err != nil:
		return fmt.Errorf("set the status of commit %s: %w", c.Commit, err)
	}
	if e.said == nil || len(e.said) > maxSaid {
		e.said = map[string]forge.Status{}
	}
	e.said[key] = s
	return nil
}

func (l *Loop) sayOf(ctx context.Context, repo *remote, commit string, s forge.Status) error {
	f, err := l.forge(repo)
	if err != nil {
		return err
	}
	return f.SetStatus(ctx, commit, s)
}

// maxSaid bounds the statuses that are remembered. A forge may drop old ones, and
// that of a base that stays for long is set again when all are forgotten.
const maxSaid = 20

// place gives where a repository is read.
func (l *Loop) place(repo string) string { return access.Place(l.Settings, repo) }

// issue keeps the issue of an environment's problems.
func (l *Loop) issue(ctx context.Context, e *environment, out *remote, report *status.Environment) error {
	stops := report.State == status.Problems
	if !stops && e.settled { // there was none when it was last looked for
		return nil
	}
	f, err := l.forge(out)
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
	e.settled = !stops
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
		want.Title = fmt.Sprintf("%s: %s in the control plane", e.name, counted(n, "problem"))
		want.Body = issueBody(report)
	}
	if open >= 0 && want == known[open] {
		return nil
	}
	l.Step("put the issue")
	if _, err := f.PutIssue(ctx, want); err != nil {
		return fmt.Errorf("put the issue: %w", err)
	}
	return nil
}

func issueBody(r *status.Environment) string {
	var b strings.Builder
	b.WriteString("The output of this environment stays as it is until these are mended in the control plane:\n\n")
	for _, p := range r.Shown() {
		if p.Warning {
			continue
		}
		fmt.Fprintf(&b, "- %s", forge.Escape(p.String()))
		if p.Hint != "" {
			fmt.Fprintf(&b, "\n  (%s)", forge.Escape(p.Hint))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nFairlead closes this issue once they are gone.\n")
	return b.String()
}
