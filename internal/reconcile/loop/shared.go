package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// sharedIssue is what is remembered of the issue of shared problems in one GitOps repository.
type sharedIssue struct {
	said     string // title and body, as they were last written; "" if there is no open issue
	settled  bool   // the forge has that
	err      error  // why the forge does not
	failures int
	retryAt  time.Time
}

// sharedReport is what is wrong, in one GitOps repository, with files that environments share.
type sharedReport struct {
	place    string // where the repository is read
	problems problem.Sharing
	partial  bool // what is wrong with one of its environments is not known
}

// isShared reports whether a problem is in a file that several environments are made from: of
// the base, of a workload, or built in. Such a problem is reported once, and not with each of them.
func isShared(environment string, p problem.Problem) bool {
	return p.Pos.Layer != "" && p.Pos.Layer != environment
}

// ownProblems returns the problems in an environment's own files, and those with no known place.
func ownProblems(environment string, all problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool { return isShared(environment, p) })
}

// sharedProblems returns the problems that stop an environment and are in files that it shares
// with others.
func sharedProblems(environment string, all problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool { return p.Warning || !isShared(environment, p) })
}

// reportSharedProblems keeps, in each GitOps repository, one issue of the problems in files that
// its environments share, however many of them it stops. It compares with what the forge has, so
// that a process that is killed, or begins again, opens no second one.
func (l *Loop) reportSharedProblems(ctx context.Context, all []*environment) {
	if !mayWrite(ctx, l.options.Settings) {
		return
	}
	reports := slices.Collect(maps.Values(l.collectShared(all)))
	parallel.Each(l.options.Settings.Parallel, reports, func(_ int, r *sharedReport) { l.settleSharedIssue(ctx, r) })
	for _, r := range reports {
		l.undone = l.undone || l.sharedIssueOf(r.place).err != nil
	}
}

// settleSharedIssue updates the issue of one GitOps repository if what it should say is not what
// the forge has. What fails is tried again, later each time.
func (l *Loop) settleSharedIssue(ctx context.Context, r *sharedReport) {
	now := l.sharedIssueOf(r.place)
	title, body := r.issueText()
	said := title + body
	// While it is not known what is wrong with one of them, nothing is said to be mended.
	if now.settled && now.said == said || title == "" && r.partial || l.roundTime.Before(now.retryAt) {
		return
	}
	err := l.barrier.Run("report shared problems", giturl.Redact(r.place), func() error {
		out, err := l.remotes.OpenOutput(ctx, r.place)
		if err != nil { // that is reported with the repository; when it answers again there is another round
			return nil
		}
		err = l.putSharedIssue(ctx, out, title, body)
		now.said, now.settled = said, err == nil
		return err
	})
	if ctx.Err() != nil {
		return
	}
	now.err, now.retryAt = err, time.Time{}
	if err == nil {
		now.failures = 0
		return
	}
	now.failures++
	now.retryAt = l.options.Now().Add(repos.BackoffAfter(now.failures, l.options.Random()))
	if asked := repos.AskedUntil(err, l.options.Now()); asked.After(now.retryAt) {
		now.retryAt = asked
	}
	l.options.Logger.Warn("the issue of shared problems could not be updated", "repo", giturl.Redact(r.place), "error", err, "next", now.retryAt)
}

func (l *Loop) sharedIssueOf(place string) *sharedIssue {
	l.sharedMu.Lock()
	defer l.sharedMu.Unlock()
	key := giturl.Normalize(place)
	if l.shared[key] == nil {
		l.shared[key] = &sharedIssue{}
	}
	return l.shared[key]
}

// collectShared returns the problems in shared files by GitOps repository, of environments in the
// order of promotion. A repository that none of them uses any more has no problems.
func (l *Loop) collectShared(all []*environment) map[string]*sharedReport {
	found := map[string]*sharedReport{}
	report := func(place string) *sharedReport {
		key := giturl.Normalize(place)
		if found[key] == nil {
			found[key] = &sharedReport{place: place}
		}
		return found[key]
	}
	for _, place := range l.retirement.outputRepositories() {
		report(place)
	}
	byRank := slices.SortedStableFunc(slices.Values(all), func(a, b *environment) int { return cmp.Compare(l.orders.Rank(a.name), l.orders.Rank(b.name)) })
	unplaced := false
	for _, e := range byRank {
		location, problems, known := e.knownProblems()
		if location == "" {
			unplaced = unplaced || !known
			continue
		}
		r := report(l.remotes.ReadLocation(location))
		r.problems.Add(e.name, sharedProblems(e.name, problems))
		r.partial = r.partial || !known
	}
	for _, r := range found {
		r.partial = r.partial || unplaced
	}
	return found
}

// knownProblems returns the problems of an environment and the GitOps repository of its output: as
// this round has rendered it, or, if it could not or is left alone, as it was last.
func (e *environment) knownProblems() (location string, problems problem.List, known bool) {
	if e.attempt.paused || e.attempt.err != nil {
		return cmp.Or(e.outcome.output.Repo, e.output.Repo), e.outcome.problems, e.outcome.output.Repo != ""
	}
	if to := e.attempt.rendered.Model.OutputRepo(); to != nil {
		return to.Repo, e.attempt.rendered.Problems, true
	}
	return e.output.Repo, e.attempt.rendered.Problems, true
}

// sharedMark is the mark of the issue of shared problems. Other control planes may write to the same
// GitOps repository, and other daemons look after other environments of this one.
func (l *Loop) sharedMark() string {
	s := l.options.Settings
	mark := fmt.Sprintf("problems of %s in %s", s.ControlPlane.Branch, giturl.Normalize(giturl.Redact(s.ControlPlane.Repo)))
	if len(s.Environments) > 0 {
		mark += " for " + strings.Join(slices.Sorted(slices.Values(s.Environments)), ", ")
	}
	return mark
}

// putSharedIssue makes the open issue of a GitOps repository say what is wrong; without a title it
// closes it.
func (l *Loop) putSharedIssue(ctx context.Context, out *repos.Remote, title, body string) error {
	f, err := out.Forge()
	var unknown *access.UnknownForge
	if errors.As(err, &unknown) { // publishing reports it
		return nil
	}
	if err != nil {
		return err
	}
	o := l.publishOptions(out, f)
	if title == "" {
		return closeIssues(ctx, o, l.sharedMark())
	}
	return updateIssue(ctx, o, forge.Issue{Mark: l.sharedMark(), Title: title, Body: body, Open: true})
}

// maxNamed bounds the environments that are named in a title, and for one problem.
const maxNamed = 5

func (r *sharedReport) issueText() (title, body string) {
	all := r.problems.Sorted()
	if len(all) == 0 {
		return "", ""
	}
	var stopped []string
	for _, p := range all {
		for _, name := range p.Environments {
			if !slices.Contains(stopped, name) {
				stopped = append(stopped, name)
			}
		}
	}
	verb := "stops"
	if len(all) > 1 {
		verb = "stop"
	}
	title = fmt.Sprintf("%s in shared files %s %s", text.Count(len(all), "problem"), verb, nameEnvironments(stopped))
	var b strings.Builder
	fmt.Fprintf(&b, "The output of %s does not change until these problems are fixed. They are in files of the control plane that environments share:\n\n", forge.EscapeMarkdown(nameEnvironments(stopped)))
	for i, p := range all {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more\n", len(all)-i)
			break
		}
		writeIssueProblem(&b, p.Problem)
		if len(p.Environments) < len(stopped) {
			fmt.Fprintf(&b, "  — in %s\n", forge.EscapeMarkdown(nameEnvironments(p.Environments)))
		}
	}
	b.WriteString(issueFooter)
	return title, b.String()
}

func nameEnvironments(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		names = append(slices.Clone(names[:maxNamed]), text.Count(more, "more environment"))
	}
	return text.Join(names, " and ")
}
