package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// reportOnForge reports the state of an environment on the forge: in a status of the commits
// of the control plane that it is made from, and, if problems of its own stop it, in an issue
// of the GitOps repository that closes itself. One that fails does not keep the others from being
// tried.
func (l *Loop) reportOnForge(ctx context.Context, e *environment, r source.Rendered, out *repos.Remote, o *outcome) error {
	if !mayWrite(ctx, l.options.Settings) {
		return nil
	}
	s := forge.Status{Context: "fairlead/" + e.name, Outcome: forge.Success, Description: describeOutcome(o)}
	switch {
	case !o.failed && o.problems.Stops() || publish.ExceededLimit(o.result.Withheld) != "":
		s.Outcome = forge.Failure
	case len(o.result.Withheld) > 0:
		s.Outcome = forge.Pending
	}
	var failed []error
	for _, commit := range r.Commits {
		if commit.Commit == "" || commit.Layer != "base" && commit.Layer != e.name { // not of the control plane's repository
			continue
		}
		failed = append(failed, l.remotes.ReportStatus(ctx, &e.statuses, commit.Repo, commit.Commit, s))
	}
	if out != nil && len(sharedProblems(e.name, o.problems)) > 0 {
		failed = append(failed, l.sharedIssueOf(out.URL()).err)
	}
	if out != nil && out.Mirror() != nil {
		failed = append(failed, l.updateOwnIssue(ctx, e, out, o), l.markStopped(ctx, e, out, o))
	}
	return errors.Join(failed...)
}

func (l *Loop) markStopped(ctx context.Context, e *environment, out *repos.Remote, done *outcome) (err error) {
	if !done.isStopped() {
		return nil
	}
	f, err := out.Forge()
	if err != nil { // it is one of the problems, or the issue's error
		return nil
	}
	o := l.publishOptions(out, f)
	o.Listed = l.reusablePulls(out, publish.Manual)
	done.stale, err = publish.MarkStopped(ctx, o, e.name, done.output.Branch, done.problems)
	return err
}

func describeOutcome(o *outcome) string {
	if p, stops := o.problems.FirstStopping(); stops {
		n, _ := o.problems.Count()
		return fmt.Sprintf("%s: %s", text.Count(n, "problem"), p)
	}
	switch {
	case o.result.State == publish.InSync: // maybe by a pull request that we have merged just now
		return "The output is up to date"
	case len(o.result.Withheld) > 0:
		return o.result.Reason
	case o.result.Pull != nil:
		return fmt.Sprintf("Pull request %d: %s", o.result.Pull.Number, o.result.Change)
	}
	return o.result.Reason
}

// updateOwnIssue keeps the issue of the problems in an environment's own files. Those in files that
// it shares are in the issue of [Loop.reportSharedProblems].
func (l *Loop) updateOwnIssue(ctx context.Context, e *environment, out *repos.Remote, done *outcome) error {
	own := ownProblems(e.name, done.problems)
	stops := own.Stops() && !done.failed
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
	o := l.publishOptions(out, f)
	e.hasNoIssue = false
	mark := issueMark(e.name)
	switch {
	case stops:
		n, _ := own.Count()
		title := fmt.Sprintf("%s: %s in the control plane", e.name, text.Count(n, "problem"))
		return updateIssue(ctx, o, forge.Issue{Mark: mark, Title: title, Body: issueBody(own), Open: true})
	case done.isStopped():
		err = replaceIssues(ctx, o, mark, movedBody)
	default:
		err = closeIssues(ctx, o, mark)
	}
	e.hasNoIssue = err == nil
	return err
}

// updateIssue makes the open issue of a mark say what is wanted, and opens one if there is none.
func updateIssue(ctx context.Context, o publish.Options, want forge.Issue) error {
	known, err := o.Forge.Issues(ctx, want.Mark)
	if err != nil {
		return fmt.Errorf("read the issues: %w", err)
	}
	if open := slices.IndexFunc(known, func(i forge.Issue) bool { return i.Open }); open >= 0 {
		now := known[open]
		want.Number, want.URL = now.Number, now.URL
		if want == now {
			return nil
		}
	}
	return putIssue(ctx, o, want)
}

func closeIssues(ctx context.Context, o publish.Options, mark string) error {
	return replaceIssues(ctx, o, mark, "")
}

// replaceIssues closes the issues of a mark, and replaces their text by another one; "" keeps it.
func replaceIssues(ctx context.Context, o publish.Options, mark, body string) error {
	known, err := o.Forge.Issues(ctx, mark)
	if err != nil {
		return fmt.Errorf("read the issues: %w", err)
	}
	for _, i := range known {
		if i.Open {
			i.Open, i.Body = false, cmp.Or(body, i.Body)
			err = errors.Join(err, putIssue(ctx, o, i))
		}
	}
	return err
}

func putIssue(ctx context.Context, o publish.Options, i forge.Issue) error {
	o.Announce("put the issue")
	if _, err := o.Forge.PutIssue(ctx, i); err != nil {
		return fmt.Errorf("put the issue: %w", err)
	}
	return nil
}

func issueMark(environment string) string { return "problems of " + environment }

// maxListed bounds the problems that an issue lists.
const maxListed = 100

const (
	issueFooter = "\nFairlead closes this issue when they are fixed.\n"
	// movedBody is the text of an issue whose problems are in another one.
	movedBody = "The problems that still stop this environment are in files that environments share. They are listed once, in the issue about shared files.\n"
)

func issueBody(problems problem.List) string {
	var b strings.Builder
	whose := "of this environment does"
	if !problems.StopsEnvironment() {
		whose = "of some stacks of this environment does"
	}
	fmt.Fprintf(&b, "The output %s not change until these problems of the control plane are fixed:\n\n", whose)
	listed, more, _ := problems.Sorted().Trimmed(maxListed)
	for _, p := range listed {
		if !p.Warning {
			writeIssueProblem(&b, p)
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	b.WriteString(issueFooter)
	return b.String()
}

func writeIssueProblem(b *strings.Builder, p problem.Problem) {
	fmt.Fprintf(b, "- %s", forge.EscapeMarkdown(p.String()))
	if p.Hint != "" {
		fmt.Fprintf(b, "\n  (%s)", forge.EscapeMarkdown(p.Hint))
	}
	b.WriteString("\n")
}
