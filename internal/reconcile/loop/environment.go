package loop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// environment is what the loop remembers of one; all of it may be lost.
type environment struct {
	name     string
	cache    output.Cache
	verified tree.ID           // the last tree that was rendered from nothing too
	place    string            // where its output goes; "" if that is not known
	done     [sha256.Size]byte // digest of what the last report is of
	report   status.Environment
	failures int
	next     time.Time // before which it is left alone
	failed   string    // the heads that it was made from when it failed last; see [Loop.headsOf]
	limited  bool      // next is the time that the forge asks to wait for
	said     repos.Said
	settled  bool            // it has no open issue
	output   status.Output   // where its output goes, as far as that was ever known
	left     []status.Output // where it went before, and may be still
	searched bool            // the GitOps repositories were searched for more of those
	again    bool            // something waits for the forge
	unread   atomic.Bool     // the control plane has moved since this round has read it
	withheld string          // by the orders, when it was published last
	attempt  attempt
	// ephemeral is nil if the environment is there to stay.
	ephemeral *source.Ephemeral
}

// attempt is how far a round has got with an environment.
type attempt struct {
	paused   bool // it is left alone
	rendered source.Rendered
	err      error
	took     time.Duration
	rival    string // an environment whose output goes to the same place
	refusal  *refusal
	chosen   bool // Fairlead chose the place of its output
}

// render renders an environment.
func (l *Loop) render(ctx context.Context, e *environment) {
	started := l.Now()
	e.attempt = attempt{paused: l.began.Before(e.next) && !l.isOtherwiseWithheld(e) && !l.hasMended(ctx, e)}
	if e.attempt.paused {
		return
	}
	l.Metrics.Unfinished(e.name, l.Store.Begin(e.name, started))
	e.attempt.err = l.barrier.Run("render", e.name, func() error { return l.tryRender(ctx, e) })
	if panics.Is(e.attempt.err) {
		e.cache = output.Cache{} // it may be half of what it should be
	}
	e.attempt.took = l.Now().Sub(started)
}

// tryRender renders an environment, and checks what came of it.
func (l *Loop) tryRender(ctx context.Context, e *environment) (err error) {
	l.Logger.Debug("render", "environment", e.name)
	e.attempt.rendered, err = l.source.Render(ctx, e.name, source.Revisions{}, &e.cache)
	if err != nil {
		return err
	}
	if err := l.verify(ctx, e); err != nil {
		return err
	}
	if err := l.checkEphemeral(ctx, e); err != nil {
		return err
	}
	e.place = ""
	if to := gitOpsRepo(e.attempt.rendered.Model); to != nil {
		e.place = strings.ToLower(strings.Join([]string{giturl.Identify(l.place(to.Repo)).String(), to.Branch, publish.CleanFolder(to.Path)}, " "))
	}
	return nil
}

// overlap reports whether two places are one, or one is in the other. In the root of a
// branch an environment owns only what its record names, so that others may be below.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	root := func(place string) bool { return strings.HasSuffix(place, " ") }
	return a == b || !root(a) && strings.HasPrefix(b, a+"/") || !root(b) && strings.HasPrefix(a, b+"/")
}

// findRivals finds environments whose output goes to one place. Those that the place has no
// record of are stopped: only people know which of them is right. An ephemeral one
// does not stop one that is there to stay.
func (l *Loop) findRivals(ctx context.Context, all []*environment) {
	for i, e := range all {
		for _, other := range all[:i] {
			if !overlap(e.place, other.place) {
				continue
			}
			if (e.ephemeral != nil || other.ephemeral == nil) && !l.isAtHome(ctx, e) {
				e.attempt.rival = other.name
			}
			if (other.ephemeral != nil || e.ephemeral == nil) && !l.isAtHome(ctx, other) {
				other.attempt.rival = e.name
			}
		}
	}
}

// isAtHome reports whether the place of an environment's output has its record. If that
// cannot be read, publishing reports it.
func (l *Loop) isAtHome(ctx context.Context, e *environment) bool {
	to := gitOpsRepo(e.attempt.rendered.Model)
	if to == nil {
		return false
	}
	own, err := l.owns(ctx, e.name, to.RepoRef)
	return own && err == nil
}

// publish brings the output of an environment up to date, and reports it. retry reports
// whether there is something left to do although no reference moves.
func (l *Loop) publish(ctx context.Context, e *environment) (retry bool) {
	a := e.attempt
	e.attempt = attempt{} // what was rendered is large
	if a.paused {
		return true
	}
	e.withheld = fmt.Sprint(l.orders.Withheld[e.name])
	started, before, err := l.Now(), e.done, a.err
	if err == nil {
		err = l.barrier.Run("publish", e.name, func() error { return l.compare(ctx, e, a) })
	}
	return l.settle(ctx, e, err, err == nil && e.done == before, a.took+l.Now().Sub(started))
}

// settle reports how a round with an environment has ended, and decides when the next one
// is. retry is as publish returns it.
func (l *Loop) settle(ctx context.Context, e *environment, err error, quiet bool, took time.Duration) (retry bool) {
	if ctx.Err() != nil {
		return true
	}
	report := e.report
	report.Name, report.Checked, report.Took = e.name, l.Now(), took
	e.limited = false
	if err != nil {
		e.failed = l.headsOf(ctx, e)
		e.failures++
		e.next = l.Now().Add(repos.PauseAfter(e.failures, l.Random()))
		var limit *forge.RateLimit
		if errors.As(err, &limit) && limit.Until.After(e.next) {
			e.next, e.limited = limit.Until, true
		}
		report.State, report.Reason, report.Error = status.Failed, err.Error(), err.Error()
		e.done = [sha256.Size]byte{}
	} else if e.again {
		l.finish(e)
		e.failed = l.headsOf(ctx, e)
		e.failures = min(e.failures+1, maxWaits)
		e.next = l.Now().Add(repos.PauseAfter(e.failures, l.Random()))
	} else {
		l.finish(e)
		e.failures, e.next = 0, time.Time{}
	}
	e.report = report
	l.say(ctx, report, quiet, err)
	return err != nil || e.again || e.unread.Swap(false)
}

// maxWaits bounds how long we wait to try again what waits for an approval only.
const maxWaits = 5

// say reports an environment to the store, the metrics and the log.
func (l *Loop) say(ctx context.Context, r status.Environment, quiet bool, err error) {
	l.Store.Set(r)
	l.Metrics.EnvironmentDone(r.Name, string(r.State), r.Took)
	problems, warnings := r.Problems.Count()
	l.Metrics.ProblemsOf(r.Name, problems, warnings)
	l.Metrics.Assignments(r.Name, r.Assignments)
	args := []any{"environment", r.Name, "state", r.State, "took", r.Took.Round(time.Millisecond)}
	if r.Change != "" {
		args = append(args, "change", r.Change)
	}
	if r.Pull != nil {
		args = append(args, "pull", r.Pull.Number)
	}
	if problems > 0 {
		args = append(args, "problems", problems, "first", firstProblem(&r))
	} else if r.Reason != "" && err == nil {
		args = append(args, "reason", r.Reason)
	}
	if err != nil {
		l.Logger.Error("environment", append(args, "error", err)...)
		return
	}
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelDebug
	}
	l.Logger.Log(ctx, level, "environment", args...)
}

// compare publishes what was rendered if something about it has changed, or reports what
// stops it. The report is in e.
func (l *Loop) compare(ctx context.Context, e *environment, a attempt) error {
	r := a.rendered
	to := gitOpsRepo(r.Model)
	problems := r.Problems
	if a.rival != "" {
		problems.Addf(to.Pos, to.Subject(), "give each environment its own branch, or its own path",
			"environment %s has the same repository, branch and path, or one is in the other", a.rival)
	} else if a.refusal != nil {
		problems.Addf(to.Pos, to.Subject(), a.refusal.hint, "%s", a.refusal.sentence)
	}
	var remote *repos.Remote
	var err error
	if to != nil {
		remote, err = l.remotes.Output(ctx, l.place(to.Repo))
	}
	if err != nil && !problems.Stops() {
		return fmt.Errorf("read the GitOps repository: %w", err)
	}
	key, err := l.digest(r, problems, to, remote, e.report.Pull)
	if err != nil {
		return err
	}
	if key == e.done && !e.again { // nothing has moved that it is made from, or that it made
		return nil
	}
	report := status.Environment{
		Problems: problems, Inputs: inputs(r.Commits), Since: e.report.Since, ClusterTypes: len(r.Model.ClusterTypes), Assignments: e.cache.Assignments(),
		Removals: e.report.Removals,
	}
	if to != nil {
		report.Output = outputTo(to)
		l.noteOutput(e, report.Output)
		report.Output.Wanted = r.Tree.ID().String()
	}
	if problems.Stops() {
		n, _ := problems.Count()
		report.State, report.Reason = status.Problems, stopped(n)
	} else if why := l.orders.Waits[e.name]; why != "" {
		report.State, report.Reason = status.Waiting, why
	} else if err := l.propose(ctx, e, a, to, remote, &report); err != nil {
		return err
	}
	if err := l.tell(ctx, e, r, remote, &report); err != nil {
		return err
	}
	e.report = report
	e.done, err = l.digest(r, problems, to, remote, report.Pull)
	if err != nil {
		return err
	}
	return nil
}

// gitOpsRepo returns where the environment's output goes; nil if the model names no place.
func gitOpsRepo(m *model.Model) *model.GitOpsRepo {
	if m == nil || len(m.GitOpsRepos) == 0 {
		return nil
	}
	return m.GitOpsRepos[0]
}

// digest names everything that a report depends on.
func (l *Loop) digest(r source.Rendered, problems problem.List, to *model.GitOpsRepo, out *repos.Remote, pull *status.Pull) ([sha256.Size]byte, error) {
	h := sha256.New()
	fmt.Fprintln(h, r.Tree.ID())
	for _, c := range r.Commits {
		fmt.Fprintln(h, c.Layer, c.Repo, c.Commit, c.Folder)
	}
	for _, p := range problems {
		fmt.Fprintln(h, p.String())
	}
	fmt.Fprintln(h, l.orders.Limits(r.Environment))
	if e := l.environments[r.Environment]; e != nil {
		fmt.Fprintf(h, "%q\n", l.leftFolders(e)) // the root is "", and not nothing
	}
	for _, w := range l.orders.Withheld[r.Environment] { // whether we may merge is part of it
		fmt.Fprintln(h, w.Cause, w.Reason)
	}
	if to != nil {
		fmt.Fprintln(h, to.Repo, to.Branch, to.Path)
	}
	if out != nil {
		for _, branch := range []string{to.Branch, l.Settings.Output.BranchPrefix + r.Environment} {
			head, err := out.Mirror().Branch(branch)
			if err != nil && !errors.Is(err, git.ErrNoRevision) {
				return [sha256.Size]byte{}, err
			}
			fmt.Fprintln(h, branch, head)
		}
		if pull != nil { // where pull requests are references, a person may have closed it
			ref, err := out.Mirror().Refs(fmt.Sprintf("refs/fairlead/pulls/%d", pull.Number))
			if err != nil {
				return [sha256.Size]byte{}, err
			}
			fmt.Fprintln(h, ref) // fmt prints maps sorted by key
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

func inputs(commits []source.Commit) []status.Input {
	all := make([]status.Input, 0, len(commits))
	for _, c := range commits {
		all = append(all, status.Input{Layer: c.Layer, Repo: c.Repo, Commit: c.Commit, Folder: c.Folder})
	}
	return all
}

// propose publishes, and fills in the report.
func (l *Loop) propose(ctx context.Context, e *environment, a attempt, to *model.GitOpsRepo, out *repos.Remote, report *status.Environment) error {
	r := a.rendered
	f, err := out.Forge()
	if err != nil && l.Settings.Write {
		return l.stop(to, report, fmt.Errorf("the GitOps repository: %w", err))
	}
	limits := l.orders.Limits(e.name)
	result, err := publish.Publish(ctx, publish.Options{
		Remote: out.Remote, Forge: f, Prefix: l.Settings.Output.BranchPrefix, Author: l.author, Sign: l.sign,
		Create: l.Settings.Output.Create || e.ephemeral != nil, Write: l.Settings.Write, BeforeEffect: l.Step, Committer: out.Committer(f), Records: &l.records,
	}, publish.Proposal{
		Environment: e.name, Branch: to.Branch, Folder: to.Path, Rendered: r.Tree, Inputs: r.Commits, Problems: r.Problems,
		Workload: model.WorkloadOf(r.Model), Merge: publish.Merge(l.orders.Merge[e.name]), Withheld: l.orders.Withheld[e.name],
		Recheck:   func(ctx context.Context) ([]publish.Withholding, error) { return l.recheckWithheld(ctx, e) },
		IsCurrent: func(ctx context.Context) (bool, error) { return l.isCurrent(ctx, e, r.Commits) },
		Limits:    &limits, Acknowledged: l.acknowledged(ctx, r),
		LocationChosen: a.chosen,
		MovedFrom:      l.leftFolders(e), IsOurs: l.isOurs(ctx),
	})
	if err != nil {
		return l.stop(to, report, fmt.Errorf("publish: %w", err))
	}
	e.again = result.Again
	report.State, report.Reason = status.State(result.State), result.Reason
	report.Withheld = withheldOf(result.Withheld)
	report.Output.Head, report.Output.Commit = result.Head, result.Commit
	report.Change = result.Change
	report.Pull = pullOf(result.Pull)
	return nil
}

// pullOf returns a pull request as reports have it; nil for nil.
func pullOf(p *forge.Pull) *status.Pull {
	if p == nil {
		return nil
	}
	return &status.Pull{Number: p.Number, Title: p.Title, URL: p.URL, Head: p.Commit}
}

// stop makes a problem of an error that people must mend in the control plane or in
// the settings; any other is tried again.
func (l *Loop) stop(to *model.GitOpsRepo, report *status.Environment, err error) error {
	var missing *publish.MissingBranch
	var blocked *publish.Blocked
	var unknown *access.UnknownForge
	hint := ""
	switch {
	case errors.As(err, &missing):
		hint = missing.Hint()
	case errors.As(err, &blocked):
		hint = blocked.Hint()
	case errors.As(err, &unknown):
		hint = unknown.Hint()
	default:
		return err
	}
	report.Problems.Addf(to.Pos, to.Subject(), hint, "%s", strings.TrimPrefix(err.Error(), "publish: "))
	report.State, report.Reason = status.Problems, stopped(1)
	return nil
}

func stopped(problems int) string {
	verb := "stop"
	if problems == 1 {
		verb = "stops"
	}
	return fmt.Sprintf("%s %s it; its output stays as it is", counted(problems, "problem"), verb)
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
