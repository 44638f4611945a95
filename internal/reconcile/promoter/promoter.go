// Package promoter promotes commits of the base from one environment to the next.
//
// What the package keeps true:
//   - promote.DecideStages decides, from facts that were read before; an unknown fact is waited
//     for.
//   - A promotion is one commit on the environment's branch, which changes the record and nothing
//     else, or a pull request for it. If the branch has moved, the whole round is repeated.
//   - The state is in Git and at the forge: the record, the statuses of commits, and files that
//     people write. A new Promoter comes to the same decisions.
package promoter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Options are what a Promoter needs. All but Metrics, Records and Inbox are required.
type Options struct {
	Settings *config.Settings
	Remotes  *repos.Set
	Store    *status.Store
	Metrics  *metrics.Metrics
	Logger   *slog.Logger
	Random   func() float64 // in [0, 1), for jitter
	Author   git.Signature
	Sign     git.Signer
	// BeforeEffect is called before each side effect.
	BeforeEffect func(what string)
	// OnPromoted is called with the normalized URL of an environment's repository after a promotion
	// there.
	OnPromoted func(repo string)
	// Records caches the records of outputs; nil reads each anew.
	Records *publish.Records
	// Inbox has the reports of clusters; nil for none.
	Inbox *observe.Inbox
	// Barrier turns a panic in the work for one environment into its error.
	Barrier panics.Barrier
}

// Promoter promotes commits from one environment to the next.
type Promoter struct {
	options Options

	// The fields below are caches, and may be lost.
	source          *source.Source
	environments    map[string]status.Environment // as the cycle has left them
	mu              sync.Mutex
	published       map[string]*repos.StatusCache  // by environment
	answers         map[string]gate.Answer         // of HTTP needs
	proofs          map[string]proofCache          // by environment
	previousOutputs map[string]previousOutput      // by environment
	logins          map[string]string              // of authors, by commit
	statuses        map[outputLocation]*statusRead // in this look
	nextRound       time.Time                      // when to look though nothing moves; zero for never
	lastRound       time.Time                      // last
	now             time.Time                      // when the round began: what is decided in it is decided of one time
	failedRounds    int                            // looks in a row that found the same
	last            string                         // what the last look found
	news            time.Time                      // when a look found something else than the one before
	historyCache    historyCache                   // of the base's branch
	loggedProblem   string                         // the problem that was logged last
	loggedErrors    map[string]string              // by environment, that were logged last
	reversals       map[string]cachedReversal      // by environment
	syncedCommits   map[string]string              // by environment, the commit that its output was in sync with
	openPulls       string                         // the open ones of records, in the last round
}

// New returns a Promoter.
func New(o Options) *Promoter {
	return &Promoter{
		options: o, published: map[string]*repos.StatusCache{}, answers: map[string]gate.Answer{}, proofs: map[string]proofCache{},
		reversals: map[string]cachedReversal{}, syncedCommits: map[string]string{}, previousOutputs: map[string]previousOutput{}, logins: map[string]string{}, statuses: map[outputLocation]*statusRead{}, loggedErrors: map[string]string{},
	}
}

// Policy is what a cycle has to respect because of promotions.
type Policy struct {
	// Merge is by environment who merges its output: a Promotion overrides the settings.
	Merge map[string]string
	// Withheld has by environment the reasons why only a person may merge its output.
	Withheld map[string][]publish.Withholding
	progress *model.Progress // of the base
	// WaitReasons has by environment why its output is not proposed: nothing was promoted to it
	// yet.
	WaitReasons map[string]string
	// NextChange is when Withheld changes without an event; zero for never.
	NextChange time.Time
}

// Limits returns the limits of an environment's output.
func (o Policy) Limits(environment string) model.Limits {
	if o.progress == nil {
		return model.DefaultLimits()
	}
	return o.progress.LimitsOf(environment)
}

// loadPromotion reads the base and the order of promotion in it, with problems.
func (m *Promoter) loadPromotion(ctx context.Context, src *source.Source) (source.Base, model.Chain, problem.List, error) {
	base, err := src.Base(ctx)
	if err != nil {
		return base, model.Chain{}, nil, err
	}
	chain, problems := model.NewChain(base.Progress, base.Environments, m.options.Settings.NextEnvironment)
	return base, chain, append(problems, base.Progress.Problems...), nil
}

// LoadPolicy returns the policy that the base sets now. While a written Promotion has problems,
// only people merge, and what was not promoted waits.
func (m *Promoter) LoadPolicy(ctx context.Context, src *source.Source) (Policy, error) {
	base, chain, problems, err := m.loadPromotion(ctx, src)
	if err != nil {
		return Policy{}, err
	}
	o := Policy{Merge: map[string]string{}, WaitReasons: map[string]string{}, Withheld: map[string][]publish.Withholding{}, progress: base.Progress}
	maps.Copy(o.Merge, m.options.Settings.Merge)
	m.withholdEnvironments(ctx, src, base, &o)
	written := len(base.Progress.Promotions) > 0 || base.Progress.Problems.Stops()
	if !written || chain.External || m.options.Settings.Promotion != managedPromotion {
		return o, nil
	}
	if problems.Stops() {
		for _, e := range base.Environments {
			o.Merge[e.Name] = "manual"
			m.addWaitReason(ctx, src, e.Name, "no commit was promoted to it yet, and what is written about promotion has problems", o)
		}
		return o, nil
	}
	for _, s := range chain.Stages {
		if s.Merge != "" {
			o.Merge[s.Name] = s.Merge
		}
		if len(s.After) > 0 {
			m.addWaitReason(ctx, src, s.Name, "no commit was promoted to it yet; it comes after "+strings.Join(s.After, ", "), o)
		}
	}
	return o, nil
}

// addWaitReason makes an environment wait that has no record. One whose branch cannot be read is
// stopped elsewhere.
func (m *Promoter) addWaitReason(ctx context.Context, src *source.Source, environment, why string, o Policy) {
	var branch source.Branch
	err := m.options.Barrier.Run("read the branch", environment, func() (err error) {
		branch, err = src.Branch(ctx, environment)
		return err
	})
	if panics.Is(err) {
		o.WaitReasons[environment] = err.Error()
	}
	if err == nil && branch.Repo != nil && branch.Commit == "" {
		o.WaitReasons[environment] = why
	}
}

// StartRound starts a round. All decisions of the round use this time.
func (m *Promoter) StartRound(at time.Time) { m.now = at }

// NextRound returns when to run a round without an event; zero for never.
func (m *Promoter) NextRound() time.Time { return m.nextRound }

// minInterval is the least time between two rounds that only events ask for: a rollout has hundreds
// of events, and our own statuses come back as webhooks.
const minInterval = 5 * time.Second

// IsDue reports whether to run a round though no reference has moved: it is time, or an event
// arrived. An event just after a round is handled a little later.
func (m *Promoter) IsDue(woken bool) bool {
	if !m.nextRound.IsZero() && !m.now.Before(m.nextRound) {
		return true
	}
	soon := m.lastRound.Add(minInterval)
	if woken && m.now.Before(soon) {
		if m.nextRound.IsZero() || soon.Before(m.nextRound) {
			m.nextRound = soon
		}
		return false
	}
	return woken
}

// RunRound reads how far commits have been promoted, and promotes them further. It runs after a
// cycle has rendered all environments, and decides from its results. again reports whether another
// round is needed though no reference moves.
func (m *Promoter) RunRound(ctx context.Context, src *source.Source, environments map[string]status.Environment) (again bool) {
	m.noteSynced(environments)
	if m.options.Settings.Promotion != managedPromotion {
		m.options.Store.SetPromotions(status.Chain{External: true, Checked: m.now})
		return false
	}
	m.source, m.environments, m.nextRound, m.lastRound = src, environments, time.Time{}, m.now
	var shown status.Chain
	var moved bool
	err := m.options.Barrier.Run("promote", "", func() (err error) {
		shown, moved, err = m.reconcile(ctx)
		return err
	})
	if ctx.Err() != nil {
		return true
	}
	if errors.Is(err, errMoved) {
		return true
	}
	if err != nil {
		m.failedRounds++
		m.nextRound = m.now.Add(repos.BackoffAfter(m.failedRounds, m.options.Random()))
		m.options.Logger.Warn("promotions could not be looked at", "error", err, "next", m.nextRound)
		return false
	}
	shown.Checked = m.now
	m.options.Store.SetPromotions(shown)
	return moved
}

// managedPromotion is the setting that makes Fairlead promote.
const managedPromotion = "managed"

// reconcile evaluates every stage once and applies the decisions. moved reports whether we pushed a
// promotion, which the remote does not report as news.
func (m *Promoter) reconcile(ctx context.Context) (shown status.Chain, moved bool, err error) {
	base, chain, problems, err := m.loadPromotion(ctx, m.source)
	if err != nil {
		return status.Chain{}, false, err
	}
	shown = status.Chain{Inferred: chain.Inferred, External: chain.External, Head: base.Head}
	if chain.External || base.Repo == nil {
		shown.Problems = problems.Sorted()
		return shown, false, nil
	}
	all, more := m.newStages(chain, base)
	problems = append(problems, more...)
	shown.Problems = problems.Sorted()
	m.logProblems(shown.Problems)
	if problems.Stops() {
		return shown, false, nil
	}
	h, err := m.readBranches(ctx, base, all)
	if err != nil {
		return shown, false, err
	}
	parallel.Each(m.options.Settings.Parallel, all, func(_ int, s *stageState) { m.evaluateStageIsolated(ctx, s, h) })
	m.loadEarlierProofs(ctx, all, h)
	decisions, err := m.decideStages(ctx, all, h)
	if err != nil {
		return shown, false, err
	}
	if err := m.checkUnchanged(ctx, base, all, decisions); err != nil {
		return shown, false, err
	}
	for i, s := range all {
		if s.err == nil { // or else something that is to be remembered may not be written yet
			if err := m.runIsolated("promote", s, func() error { return m.applyDecision(ctx, s, decisions[i]) }); err != nil {
				s.recordError(err)
			}
		}
		m.logError(s)
		moved = moved || s.promoted
		shown.Stages = append(shown.Stages, s.newReport(decisions[i], h))
	}
	m.scheduleNextRound(all, shown.Stages)
	return shown, moved, nil
}

// errMoved is the error of a round in which the base or the branch of an environment has moved.
var errMoved = errors.New("the control plane has moved meanwhile")

// checkUnchanged fetches the control plane again before a promotion, so that a freeze on the base
// or a hold on an environment's branch is respected at once.
func (m *Promoter) checkUnchanged(ctx context.Context, base source.Base, all []*stageState, decisions []promote.Decision) error {
	moves := slices.ContainsFunc(decisions, func(d promote.Decision) bool { return d.State == promote.Promotes })
	remote := m.options.Remotes.ControlPlane()
	if !moves || !m.options.Settings.Write || remote == nil {
		return nil
	}
	asked := map[*repos.Remote]bool{}
	isAt := func(remote *repos.Remote, branch, head string) error {
		if !asked[remote] {
			if _, err := remote.Sync(ctx); err != nil {
				return fmt.Errorf("ask the control plane before a promotion: %w", err)
			}
			asked[remote] = true
		}
		now, err := remote.Mirror().Branch(branch)
		if err == nil && now != head {
			err = errMoved
		}
		return err
	}
	if err := isAt(remote, m.options.Settings.ControlPlane.Branch, base.Head); err != nil {
		return err
	}
	for i, s := range all {
		if decisions[i].State != promote.Promotes || s.branch.Repo == nil {
			continue
		}
		if remote := m.options.Remotes.RemoteOf(s.branch.URL); remote != nil {
			if err := isAt(remote, s.branch.Name, s.branch.Head); err != nil {
				return err
			}
		}
	}
	return nil
}

// newStages returns the states of a chain's stages, in which nothing is known yet.
func (m *Promoter) newStages(chain model.Chain, base source.Base) ([]*stageState, problem.List) {
	clear(m.statuses)
	m.forgetRetired(chain)
	var problems problem.List
	all := make([]*stageState, len(chain.Stages))
	for i, s := range chain.Stages {
		all[i] = &stageState{spec: s, base: base}
		if e, ok := m.environments[s.Name]; ok {
			all[i].environment = &e
		}
		if m.published[s.Name] == nil {
			m.published[s.Name] = &repos.StatusCache{}
		}
		all[i].published = m.published[s.Name]
		problems = append(problems, all[i].compileGates()...)
	}
	return all, problems
}

// logProblems logs that nothing is promoted, and why, once per problem.
func (m *Promoter) logProblems(problems problem.List) {
	i := slices.IndexFunc(problems, func(p problem.Problem) bool { return !p.Warning })
	if i < 0 {
		m.loggedProblem = ""
		return
	}
	p := problems[i]
	if p.String() != m.loggedProblem {
		m.options.Logger.Warn("nothing is promoted until this is mended", "problem", p.String(), "hint", p.Hint)
	}
	m.loggedProblem = p.String()
}

// logError logs the error of an environment once.
func (m *Promoter) logError(s *stageState) {
	text := ""
	if s.err != nil {
		text = s.err.Error()
	}
	if text != "" && text != m.loggedErrors[s.spec.Name] {
		m.options.Logger.Warn("an environment's promotion could not be looked at, or done", "environment", s.spec.Name, "error", s.err)
	}
	m.loggedErrors[s.spec.Name] = text
}

// readBranches reads the branches of all environments, and the history of the base back to the
// oldest commit that they have.
func (m *Promoter) readBranches(ctx context.Context, base source.Base, all []*stageState) (promote.History, error) {
	var wanted []string
	for _, s := range all {
		if err := m.runIsolated("read the branch", s, func() error { return m.readBranch(ctx, s) }); err != nil {
			s.recordError(err)
			s.stage.StoppedReason = "its branch cannot be read: " + err.Error()
			continue
		}
		if s.stage.Commit != "" {
			wanted = append(wanted, s.stage.Commit)
		}
	}
	slices.Sort(wanted)
	return m.loadHistory(base, slices.Compact(wanted))
}

// decideStages evaluates the gates of all candidates, and decides.
func (m *Promoter) decideStages(ctx context.Context, all []*stageState, h promote.History) ([]promote.Decision, error) {
	stages := make([]promote.Stage, len(all))
	for i, s := range all {
		stages[i] = s.stage
	}
	candidates := promote.CandidateCommits(h, stages)
	verdicts := map[string]gate.Verdict{}
	var mu sync.Mutex
	parallel.Each(m.options.Settings.Parallel, all, func(_ int, s *stageState) {
		to := candidates[s.spec.Name]
		if to == "" {
			return
		}
		v := m.evaluateGatesIsolated(ctx, s, to)
		mu.Lock()
		defer mu.Unlock()
		verdicts[s.spec.Name] = v
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return promote.DecideStages(h, stages, func(environment, _ string) gate.Verdict { return verdicts[environment] }, m.now), nil
}

// scheduleNextRound sets when to run the next round: when a verdict may change, and, while a stage
// waits for what no reference tells, after pauses that grow as long as nothing is new.
func (m *Promoter) scheduleNextRound(all []*stageState, stages []status.Stage) {
	var found strings.Builder
	var at time.Time
	outside := false
	for i, s := range stages {
		fmt.Fprintln(&found, s.Environment, s.Commit, s.Merged, s.Proof.Status, s.Proof.Reason, s.Next.State, s.Next.Candidate, s.Next.Verdict.Reason)
		outside = outside || all[i].err != nil || all[i].unmerged || s.Next.State == promote.Waiting || s.Next.State == promote.Held || s.Commit != "" && s.Proof.Status != gate.Pass
		for _, v := range []gate.Verdict{s.Proof, s.Next.Verdict} {
			if w := v.NextChange(); !w.IsZero() && (at.IsZero() || w.Before(at)) {
				at = w
			}
		}
	}
	if found.String() != m.last {
		m.last, m.news = found.String(), m.now
	}
	m.failedRounds++
	if m.now.Sub(m.news) < promptFor {
		m.failedRounds = 0
	}
	if outside {
		if again := m.now.Add(m.pauseOutside()); at.IsZero() || again.Before(at) {
			at = again
		}
	}
	m.nextRound = at
}

// promptFor is how long after news the interval of the settings is kept, because a status may be
// written without a webhook. After that the pauses grow.
const promptFor = time.Hour

// pauseOutside returns how long to wait before reading again what no reference tells.
func (m *Promoter) pauseOutside() time.Duration {
	interval := m.options.Settings.Schedule.Interval
	if m.failedRounds == 0 && interval > 0 {
		return interval
	}
	return max(repos.BackoffAfter(max(m.failedRounds, 1), m.options.Random()), interval)
}

// newReport returns the report of a stage. A decision that could not be applied is shown as
// waiting.
func (s *stageState) newReport(d promote.Decision, h promote.History) status.Stage {
	var blocked *problem.Refusal
	if errors.Is(s.err, publish.ErrBlocked) && errors.As(s.err, &blocked) && (d.State == promote.Promotes || d.State == promote.Waiting) { // by a person, until a person acts
		d.State, d.Verdict.Status, d.Verdict.Reason = promote.Waiting, gate.Wait, fmt.Sprintf("%s; %s", s.err, blocked.Hint())
	} else if s.err != nil && d.State == promote.Promotes {
		d.State, d.Verdict.Status, d.Verdict.Reason = promote.Waiting, gate.Wait, "it is tried again: "+s.err.Error()
	}
	if s.declined != 0 && d.State != promote.Held {
		d.State, d.Verdict.Status = promote.Waiting, gate.Wait
		d.Verdict.Reason = fmt.Sprintf("pull request %d, which proposes %s, was closed; open it again, or promote another commit", s.declined, promote.ShortID(d.Candidate))
	}
	r := status.Stage{
		Environment: s.spec.Name, After: s.spec.After, Commit: s.stage.Commit, Since: s.stage.PromotedAt, Merged: s.stage.Merged,
		Deployed: s.facts.DeployedAt, Hold: s.stage.HoldReason, Proof: s.stage.Proof, Next: d,
	}
	if s.environment != nil {
		r.Withheld = s.environment.Withheld
	}
	if s.stage.Commit != "" {
		r.Behind = h.CountNewer(s.stage.Commit)
	}
	return r
}
