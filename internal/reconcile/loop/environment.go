package loop

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// environment is what the loop remembers of one; all of it may be lost.
type environment struct {
	name          string
	cache         *output.Cache
	verified      tree.ID           // the last tree that was rendered from nothing too
	location      publish.Location  // where its output goes; "" if that is not known
	reported      [sha256.Size]byte // digest of what the outcome is of
	outcome       outcome
	failures      int
	retryAt       time.Time // before which it is left alone
	failedHeads   string    // the heads that it was made from when it failed last; see [Loop.readHeads]
	rateLimited   bool      // retryAt is what a server asked for
	statuses      repos.StatusCache
	hasNoIssue    bool            // it has no open issue
	output        model.RepoRef   // where its output goes, as far as that was ever known
	leftBehind    []model.RepoRef // where it went before, and may be still
	former        []model.RepoRef // where it went before, as far as this process knows
	searched      bool            // the GitOps repositories were searched for more of those
	waitsForForge bool            // something waits for the forge
	unreported    error           // why the forge does not have the last report; nil if it has
	unreachable   error           // of repositories that are problems beside others; nil if there are none
	unread        atomic.Bool     // the control plane has moved since this round has read it
	withheld      string          // by the orders, when it was published last
	attempt       attempt
	deleted       deletedStacks // of the output that was proposed last
	outputBranch  seenBranch
	destroyed     []string        // those of them that were destroyed then
	provisioned   provisioned     // of clusters
	intact        knownIntact     // of the output, where it has clusters
	stacks        renderedStacks  // of the output, as it was read last
	kept          []stack.State   // those that its output names, if two of its stacks have one state
	claimant      source.Claimant // what it was rendered with last, as it is compared with others
	hasPlans      bool
	waveTarget    waveTarget
	planPulls     map[string]forge.Pull // the open ones that ask for plans, by "stack component"
	asksForNone   bool                  // no pull request asks for a plan of it
	drifts        string                // the drift of its stacks in the last round that read it; see driftsOf
	nextStale     time.Time             // when the decisions of a Placement become too old; zero for never
	// ephemeral is nil if the environment is there to stay.
	ephemeral *source.Ephemeral
	costs     string // of its stacks, if it is ephemeral
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
	// claimed is what its clusters have and those of another environment have too.
	claimed problem.List
	// schedulers is what is wrong with the answers of external schedulers and inventories.
	schedulers problem.List
}

func (l *Loop) renderEnvironment(ctx context.Context, e *environment) {
	started := l.options.Now()
	e.attempt = attempt{paused: l.isPaused(ctx, e)}
	l.options.Metrics.SetWrittenHere(e.name, l.held.Has(shares.ShareOf(e.name)))
	if e.attempt.paused {
		return
	}
	l.options.Metrics.SetUnfinishedSince(e.name, l.options.Store.StartEnvironment(e.name, started))
	ctx, leave := enterShare(ctx, l, e.name)
	defer leave()
	e.attempt.err = l.barrier.Run("render", e.name, func() error { return l.tryRender(ctx, e) })
	if panics.Is(e.attempt.err) {
		e.cache = &output.Cache{} // it may be half of what it should be
	}
	e.attempt.took = l.options.Now().Sub(started)
}

func (l *Loop) tryRender(ctx context.Context, e *environment) (err error) {
	l.options.Logger.Debug("render", "environment", e.name)
	if err := l.renderOnce(ctx, e); err != nil {
		return err
	}
	written, err := l.recordDecisions(ctx, e)
	if err == nil && written { // the output is the same, of another commit
		err = l.renderOnce(ctx, e)
	}
	if err != nil {
		return err
	}
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil {
		return err
	}
	stale, next := findStalePlacements(e.attempt.rendered.Model, branch, l.options.Settings.Scheduling.Stale, l.roundTime)
	e.attempt.schedulers, e.nextStale = append(e.attempt.schedulers, stale...), next
	found, err := l.inventories.Import(ctx, l.source, e.name, e.attempt.rendered.Model)
	if err != nil {
		return err
	}
	e.attempt.schedulers = append(e.attempt.schedulers, found...)
	if err := l.verifyRendering(ctx, e); err != nil {
		return err
	}
	if !e.attempt.rendered.Problems.Stops() {
		l.options.Store.SetPlan(e.name, e.cache.Plan())
	}
	if err := l.ephemerals.checkEphemeral(ctx, e); err != nil {
		return err
	}
	e.location = publish.NewLocation(e.attempt.rendered.Model.OutputRepo(), l.remotes.ReadLocation)
	return nil
}

func (l *Loop) renderOnce(ctx context.Context, e *environment) (err error) {
	e.unreachable = nil
	e.attempt.rendered, err = l.source.Render(ctx, e.name, source.Revisions{Ending: l.ephemerals.ending[e.name], Kept: e.kept}, e.cache)
	var unreachable *source.UnreachableError
	if errors.As(err, &unreachable) && unreachable.Beside { // what people can mend is told, and not only that we try again
		e.unreachable, err = err, nil
	}
	return err
}

// findRivals finds environments whose output goes to one place. Those that the place has no
// record of are stopped: only people know which of them is right. An ephemeral one
// does not stop one that is there to stay.
func (l *Loop) findRivals(ctx context.Context, all []*environment) {
	for i, e := range all {
		for _, other := range all[:i] {
			if !e.location.Overlaps(other.location) {
				continue
			}
			if (e.ephemeral != nil || other.ephemeral == nil) && !l.ownsLocation(ctx, e) {
				e.attempt.rival = other.name
			}
			if (other.ephemeral != nil || e.ephemeral == nil) && !l.ownsLocation(ctx, other) {
				other.attempt.rival = e.name
			}
		}
	}
}

// ownsLocation reports whether the place of an environment's output has its record. If that
// cannot be read, publishing reports it.
func (l *Loop) ownsLocation(ctx context.Context, e *environment) bool {
	to := e.attempt.rendered.Model.OutputRepo()
	if to == nil {
		return false
	}
	own, _, err := inspectLocation(ctx, l.remotes, &l.records, e.name, to.RepoRef)
	return own && err == nil
}

// publishEnvironment brings the output of an environment up to date, and reports it. retry reports
// whether there is something left to do although no reference moves.
func (l *Loop) publishEnvironment(ctx context.Context, e *environment) (retry bool) {
	ctx, leave := enterShare(ctx, l, e.name)
	defer leave()
	a := e.attempt
	e.attempt = attempt{} // what was rendered is large
	if a.paused {
		return true
	}
	e.withheld = fmt.Sprint(l.orders.Withheld[e.name])
	started, before, err := l.options.Now(), e.reported, a.err
	if err == nil {
		err = l.barrier.Run("publish", e.name, func() error { return l.publishIfChanged(ctx, e, a) })
	}
	if err == nil && e.outcome.isUndecided {
		e.attempt = a
	}
	if err == nil && !e.outcome.problems.StopsEnvironment() { // what stops it may keep stacks and approvals from being read
		err = l.barrier.Run("ask for plans of", e.name, func() error { return l.proposePlanRequests(ctx, e, a.rendered.Model) })
	}
	quiet := err == nil && e.reported == before
	// The end of an ephemeral environment goes on when the removal of its stacks was merged.
	goesOn := err == nil && !quiet && l.ephemerals.ending[e.name] && e.outcome.result.Commit != ""
	return l.settleAttempt(ctx, e, err, quiet, a.took+l.options.Now().Sub(started)) || goesOn
}

// settleAttempt reports how a round with an environment has ended, and decides when the next one
// is. retry is as publish returns it.
func (l *Loop) settleAttempt(ctx context.Context, e *environment, err error, quiet bool, took time.Duration) (retry bool) {
	if ctx.Err() != nil {
		return true
	}
	e.rateLimited = false
	waits := e.waitsForForge || e.unreported != nil || e.unreachable != nil
	if err == nil && !waits {
		e.failures, e.retryAt = 0, time.Time{}
	} else {
		e.failedHeads = l.readHeads(ctx, e)
		e.failures++
		if err == nil && e.unreachable == nil {
			e.failures = min(e.failures, maxWaits)
		}
		e.retryAt = l.options.Now().Add(repos.BackoffAfter(e.failures, l.options.Random()))
	}
	if err == nil {
		l.options.Store.FinishEnvironment(e.name)
		l.options.Metrics.SetUnfinishedSince(e.name, time.Time{})
	} else {
		e.outcome.result.State, e.outcome.result.Reason, e.outcome.failed = "", withDiskHint(err), true
		e.outcome.unreachable = l.remotes.FindFailing(err)
		e.reported = [sha256.Size]byte{}
	}
	if asked := repos.AskedUntil(errors.Join(err, e.unreported), l.options.Now()); asked.After(e.retryAt) {
		e.retryAt, e.rateLimited = asked, true
	}
	l.reportEnvironment(ctx, e, took, quiet, err)
	return err != nil || waits || e.unread.Swap(false)
}

const maxWaits = 5

// publishIfChanged publishes what was rendered if something about it has changed, or reports what
// stops it. The outcome is in e.
func (l *Loop) publishIfChanged(ctx context.Context, e *environment, a attempt) error {
	r := a.rendered
	to := r.Model.OutputRepo()
	problems := slices.Concat(r.Problems, a.claimed, a.schedulers)
	if a.rival != "" {
		publish.AddRival(&problems, to, a.rival)
	} else if a.refusal != nil && !slices.ContainsFunc(problems, func(p problem.Problem) bool { return !p.Warning && p.Subject == to.Subject() }) {
		problems.Addf(to.Pos, to.Subject(), a.refusal.hint, "%s", a.refusal.sentence)
	}
	var remote *repos.Remote
	var err error
	if to != nil {
		remote, err = l.remotes.OpenOutput(ctx, l.remotes.ReadLocation(to.Repo))
	}
	if err != nil {
		err = fmt.Errorf("read the GitOps repository: %w", err)
		if !problems.StopsEnvironment() {
			return err
		}
		e.unreachable = errors.Join(e.unreachable, err)
		problems.Addf(to.Pos, to.Subject(), "check the URL, and the credential for it in remotes of the settings; it is asked again", "the GitOps repository at %s cannot be read", giturl.Redact(to.Repo))
		problems = problems.Sorted()
	}
	e.destroyed = l.destroyedStacks(e)
	key, err := l.digestReport(e, r, problems, to, remote, cmp.Or(e.outcome.result.Pull, e.outcome.stale))
	if err != nil {
		return err
	}
	if key == e.reported && !e.waitsForForge && e.unreported == nil { // nothing has moved that it is made from, or that it made
		return nil
	}
	o := outcome{problems: problems, commits: r.Commits, infos: l.readCommitInfos(r.Commits), clusterTypes: listClusterTypes(r.Model), assignments: e.cache.Assignments(), hasStacks: stackfiles.HasStacks(r.Tree), hasClusters: clusterfiles.HasClusters(r.Tree)}
	if to != nil {
		o.output, o.wanted = outputTo(to), r.Tree.ID().String()
		l.retirement.noteOutput(e, o.output, l.remotes.HasRead)
	}
	o.result.Reason = l.orders.WaitReasons[e.name]
	if !problems.StopsEnvironment() && o.result.Reason == "" {
		if err := l.proposeOutput(ctx, e, a, to, remote, &o); err != nil {
			return err
		}
	}
	o.explainStop()
	o.explainTeardowns(e.stacks.merged, func(s stackfiles.Summary) bool { return l.isTornDown(e, s) })
	o.explainCarriers(e.deleted.carriers, e.deleted.management)
	e.unreported = l.reportOnForge(ctx, e, r, remote, &o)
	if e.unreported != nil { // it is tried again, and takes nothing from what the report says
		l.options.Logger.Warn("the forge does not have the report of an environment", "environment", e.name, "error", e.unreported)
		o.notes = append(o.notes, "the forge could not be told: "+e.unreported.Error())
	}
	o.merged = o.findMerged(e.outcome)
	e.outcome = o
	e.reported, err = l.digestReport(e, r, problems, to, remote, cmp.Or(o.result.Pull, o.stale))
	return err
}

func (l *Loop) digestReport(e *environment, r source.Rendered, problems problem.List, to *model.GitOpsRepo, out *repos.Remote, pull *forge.Pull) ([sha256.Size]byte, error) {
	h := sha256.New()
	fmt.Fprintln(h, r.Tree.ID())
	for _, c := range r.Commits {
		fmt.Fprintln(h, c.Layer, c.Repo, c.Commit, c.Folder)
	}
	for _, p := range problems {
		fmt.Fprintln(h, p.String())
	}
	fmt.Fprintln(h, l.orders.Limits(r.Environment))
	fmt.Fprintf(h, "%q\n", l.retirement.leftBehindFolders(e)) // the root is "", and not nothing
	fmt.Fprintf(h, "%q\n", e.destroyed)
	for _, w := range l.orders.Withheld[r.Environment] { // whether we may merge is part of it
		fmt.Fprintln(h, w.Cause, w.Reason, w.PassesWaves)
	}
	fmt.Fprintln(h, l.held.Has(shares.ShareOf(e.name)))
	fmt.Fprint(h, newWaveDivider(l).digestWaves(e, r.Model))
	if to != nil {
		fmt.Fprintln(h, to.Repo, to.Branch, to.Path)
	}
	if out != nil {
		for _, branch := range []string{to.Branch, l.options.proposalBranch(r.Environment)} {
			head, err := out.Mirror().FindBranch(branch)
			if err != nil {
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

func (l *Loop) proposeOutput(ctx context.Context, e *environment, a attempt, to *model.GitOpsRepo, out *repos.Remote, done *outcome) error {
	r := a.rendered
	f, err := out.Forge()
	if err != nil && l.options.Settings.Write {
		return l.stopWithProblem(to, done, fmt.Errorf("the GitOps repository: %w", err))
	}
	rendered, problems, err := l.followPrevious(ctx, e, to, out, r)
	if err != nil {
		return err
	}
	done.problems, done.wanted = append(slices.Clone(done.problems), problems...).Sorted(), rendered.ID().String()
	if done.problems.StopsEnvironment() {
		return nil
	}
	part, err := newWaveDivider(l).divideOutput(ctx, e, to, out, r, rendered, done)
	if err != nil || done.problems.StopsEnvironment() {
		return err
	}
	done.step, done.advance, done.isUndecided, done.asksGates, done.rejected = part.step, part.advance, part.isUndecided, part.asksGates, part.rejected
	if part.isUnknown {
		done.result = publish.Result{State: publish.Advancing, Reason: part.waits, Head: part.head}
		return nil
	}
	modules, err := clusterfiles.FindModules(r.Model, rendered)
	if err != nil {
		return fmt.Errorf("find root modules: %w", err)
	}
	o, merge := l.publishOptions(out, f), publish.Merge(cmp.Or(part.merge, l.orders.Merge[e.name]))
	o.Listed = l.reusablePulls(out, merge)
	e.outputBranch, err = e.outputBranch.see(to, out)
	if err != nil {
		return err
	}
	o.Create, o.Committer = l.options.Settings.Output.Create || e.ephemeral != nil, out.Committer(f)
	result, err := publish.Publish(ctx, o, publish.Proposal{
		Environment: e.name, Branch: to.Branch, Folder: to.Path, Rendered: part.rendered, Inputs: part.inputs, Step: part.step, Stopped: r.Stopped, Problems: done.problems, Modules: modules,
		Workload: model.WorkloadOf(r.Model), Chosen: model.ChosenIn(r.Model), Followed: r.Followed, Costs: promoter.NewCostText(l.options.FindPlans, l.options.Ledger, e.name), Merge: merge, Withheld: part.keepRestraints(l.orders.Withheld[e.name]),
		Recheck: func(ctx context.Context) ([]publish.Withholding, error) {
			fresh, err := l.recheckWithheld(ctx, e)
			return part.keepRestraints(fresh), err
		},
		IsCurrent: func(ctx context.Context) (bool, error) {
			moved, err := l.hasMoved(ctx, e, r.Commits)
			return !moved, err
		},
		Limits: l.limitsOf(e), Acknowledged: l.source.AcknowledgedChanges(ctx, r),
		LocationChosen: a.chosen, DeletedHead: e.outputBranch.deleted,
		CommitsSince: l.commitsSince,
		MovedFrom:    l.retirement.leftBehindFolders(e), IsOurs: l.retirement.isOurs(ctx), Contents: l.options.findContents(),
	})
	if err != nil {
		if stopped := l.stopWithProblem(to, done, err); stopped != nil {
			return fmt.Errorf("publish: %w", stopped)
		}
		return nil
	}
	if part.step != nil && result.State == publish.InSync { // with what its waves have got
		result.State = publish.Advancing
	}
	if part.waits != "" {
		result.Reason = part.waits
	}
	if part.newer != "" {
		result.Reason = strings.TrimPrefix(result.Reason+"; "+part.newer, "; ")
	}
	e.waitsForForge = result.Again
	if result.Pull != nil && !result.Report.IsEmpty() {
		done.impact = result.Report.Text()
	}
	if !result.Report.IsEmpty() {
		report := result.Report
		done.proposed = &report
	}
	result.Report = impact.Report{} // it is large
	done.result = result
	l.reportStacks(e, r.Model, rendered, done, out)
	return nil
}

type seenBranch struct {
	repo, branch string
	head         string // the last one
	deleted      string // the head with which it was deleted last; "" if it never was
}

// see returns what is known of an output branch once its mirror was read again.
func (s seenBranch) see(to *model.GitOpsRepo, out *repos.Remote) (seenBranch, error) {
	if s.repo != to.Repo || s.branch != to.Branch {
		s = seenBranch{repo: to.Repo, branch: to.Branch}
	}
	head, err := out.Mirror().FindBranch(to.Branch)
	if head == "" && s.head != "" {
		s.deleted = s.head
	}
	s.head = head
	return s, err
}

// limitsOf returns how much a change of an output may remove: everything, of an ephemeral environment
// whose time is over.
func (l *Loop) limitsOf(e *environment) *model.Limits {
	limits := l.orders.Limits(e.name)
	if l.ephemerals.ending[e.name] {
		limits = model.Limits{Removals: 100, Few: limits.Few, Last: true, Changes: 100}
	}
	return &limits
}

func (l *Loop) publishOptions(out *repos.Remote, f forge.Forge) publish.Options {
	return publish.Options{
		Remote: out.Remote, Forge: f, Prefix: l.options.Settings.Output.BranchPrefix, Author: l.author, Sign: l.sign,
		Write: l.options.Settings.Write, BeforeEffect: l.options.BeforeEffect, Records: &l.records, Witness: &l.witness,
	}
}

// stopWithProblem makes a problem of an error that people must mend in the control plane or in
// the settings; any other is tried again.
func (l *Loop) stopWithProblem(to *model.GitOpsRepo, done *outcome, err error) error {
	var unknown *access.UnknownForge
	var hinted interface{ Hint() string }
	if !errors.Is(err, publish.ErrBlocked) && !errors.As(err, &unknown) || !errors.As(err, &hinted) {
		return err
	}
	done.problems.Addf(to.Pos, to.Subject(), hinted.Hint(), "%s", err.Error())
	return nil
}
