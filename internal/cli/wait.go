package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// arrival is the progress of a base commit in an environment.
type arrival struct {
	Environment string `json:"environment"`
	Commit      string `json:"commit"`
	// State is "deployed", "failed", "superseded", "skipped", or "waiting", which a
	// timeout turns into "timed-out".
	State  string `json:"state"`
	Reason string `json:"reason"` // one sentence without a full stop
}

const (
	hasDeployed  = "deployed"
	hasFailed    = "failed"
	isSuperseded = "superseded"
	isSkipped    = "skipped" // never promoted, so not waited for
	isWaiting    = "waiting"
	isTimedOut   = "timed-out"
)

type waitCommand struct {
	context           *commandContext
	timeout, interval time.Duration
	goal              fleetGoal
}

func newWait(a *app) *cobra.Command {
	w := &waitCommand{context: newCommandContext(a)}
	c := &cobra.Command{
		Use:     "wait ENVIRONMENT COMMIT",
		GroupID: groupPromotion,
		Short:   "Wait until an environment has deployed a commit",
		Long: `Wait looks at the commit status "ENVIRONMENT environment" of a commit of the base, which
Fairlead and Kalypso's workflows set, until it says that the environment has deployed the
commit. It exits with 1 if the status says that this has failed, if the commit has failed or
has problems in an environment before, if the environment has a newer commit, so that this
one will not come there any more, or if the time is over. It prints each change of what it
waits for. A commit that is not promoted, such as that of a hold or a freeze, is not waited
for.

In a job of GitHub Actions, Gitea Actions or GitLab CI it looks at the repository that the
job runs for, with FAIRLEAD_GIT_TOKEN or else GITHUB_TOKEN; elsewhere at that of the
settings. With --url it asks a daemon, which knows the commit that an environment has now,
and no other.

With --fleet it waits until so many --percent of the clusters of an environment run its newest
output, by what they report to the ledger: of the daemon of --url or of the settings. It
exits with 1 as soon as more have failed than --percent allows.

COMMIT is a commit id, in full or its first 7 digits or more; in a clone of the control
plane it may be any revision of it, such as HEAD or a branch.

Where GITHUB_OUTPUT names a file, state (deployed, skipped, failed, superseded, timed-out),
reason and commit are written to it.`,
		Example: `  fairlead wait stage "$GITHUB_SHA"
  fairlead wait stage "$GITHUB_SHA" --timeout 2h --url http://fairlead.example.com:8080
  fairlead wait --fleet prod --percent 95 --of expected --url http://fairlead.example.com:8080`,
		Args: func(c *cobra.Command, args []string) error {
			if w.goal.environment != "" {
				return w.goal.checkArguments(args)
			}
			return checkArguments(2, 2)(c, args)
		},
		ValidArgsFunction: completeArguments(w.context.completeNames, w.context.completeCommits),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case w.interval < time.Second:
				return usageErrorf("a second is the least", "--interval %s is too short", w.interval)
			case w.timeout < 0:
				return usageErrorf("0 looks once", "--timeout %s is in the past", w.timeout)
			}
			if w.goal.environment != "" {
				return w.runFleet(c.Context())
			}
			return w.runWait(c.Context(), args[0], args[1])
		},
	}
	f := c.Flags()
	f.SortFlags = false
	addDurationFlag(f, &w.timeout, "timeout", 30*time.Minute, "`time` after which to give up; 0 looks once")
	addDurationFlag(f, &w.interval, "interval", 15*time.Second, "`time` between two looks")
	w.goal.addFleetFlags(c)
	w.context.addURLFlag(c)
	w.context.addControlPlaneFlags(c)
	w.context.app.addOutputFlag(c)
	return c
}

func (w *waitCommand) runWait(ctx context.Context, environment, revision string) error {
	if err := w.locate(); err != nil {
		return err
	}
	open := sync.OnceValues(func() (*actions.Session, error) { return w.context.openSession(ctx, git.Signature{}) })
	commit, err := w.resolveCommit(ctx, revision, open)
	if err != nil {
		return err
	}
	look, err := w.newArrivalReader(environment, commit, open)
	if err != nil {
		return err
	}
	if err := w.checkEnvironment(ctx, environment, open); err != nil {
		return err
	}
	result := arrival{Environment: environment, Commit: commit, State: isSkipped}
	result.Reason, err = w.findUnpromotable(ctx, environment, commit, open)
	if err == nil && result.Reason == "" {
		result, err = w.waitUntilArrived(ctx, result, look)
	}
	if err != nil {
		return err
	}
	if err := writeJobOutput([2]string{"state", result.State}, [2]string{"reason", result.Reason}, [2]string{"commit", commit}); err != nil {
		return err
	}
	err = w.context.app.printValue(result, []string{environment}, func() string {
		switch result.State {
		case hasDeployed:
			return fmt.Sprintf("%s has deployed %s\n", environment, text.ShortCommit(commit))
		case isSkipped:
			return fmt.Sprintf("nothing to wait for: %s never gets %s: %s\n", environment, text.ShortCommit(commit), result.Reason)
		}
		return ""
	})
	if err != nil || result.State == hasDeployed || result.State == isSkipped {
		return err
	}
	over := ""
	if result.State == isTimedOut {
		over = " in " + display.FormatAge(w.timeout)
	}
	return problem.WithHint(fmt.Errorf("%s has not deployed %s%s: %s", environment, text.ShortCommit(commit), over, result.Reason),
		"fairlead explain promotion "+environment+" says more, with the settings or from a daemon")
}

// arrivalReader returns the commit's current progress.
type arrivalReader func(ctx context.Context) (state, reason string, err error)

// sessionOpener opens the control plane once for all readers.
type sessionOpener func() (*actions.Session, error)

// maxFailures is the number of consecutive failures that end the wait. A refusal ends
// it at once.
const maxFailures = 5

func (w *waitCommand) waitUntilArrived(ctx context.Context, a arrival, ask arrivalReader) (arrival, error) {
	deadline, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	tick, stop := w.context.ticks(w.interval)
	defer stop()
	for failures := 0; ; {
		state, reason, err := ask(ctx)
		switch {
		case err == nil:
			failures = 0
		case isRefused(err) || w.timeout == 0:
			return a, err
		default:
			failures++
			var limit *forge.RateLimit // temporary
			if failures >= maxFailures && !errors.As(err, &limit) {
				return a, err
			}
			state, reason = isWaiting, err.Error()
		}
		if state == isWaiting && w.timeout > 0 && reason != a.Reason { // the caller reports the end
			fmt.Fprintf(w.context.app.stderr, "%s, commit %s: %s\n", a.Environment, text.ShortCommit(a.Commit), display.SanitizeLine(reason))
		}
		a.State, a.Reason = state, reason
		if state != isWaiting {
			return a, nil
		}
		select {
		case <-tick:
			continue
		case <-deadline.Done():
		}
		a.State = isTimedOut
		return a, ctx.Err()
	}
}

func isRefused(err error) bool {
	var later unreachable
	if errors.As(err, &later) {
		return false
	}
	var no *problem.Refusal
	var unknown *access.UnknownForge
	return errors.As(err, &no) && no.Advice != "" || errors.As(err, &unknown) ||
		errors.Is(err, git.ErrAccess) || errors.Is(err, git.ErrNotFound)
}

func (w *waitCommand) newArrivalReader(environment, commit string, open sessionOpener) (arrivalReader, error) {
	if w.context.daemonURL != "" {
		from := daemonClient{w.context.daemonURL}
		ask := func(ctx context.Context) (string, string, error) {
			chain, err := from.Chain(ctx)
			if err != nil {
				return "", "", err
			}
			stage, ok := chain.FindStage(environment)
			if !ok {
				return "", "", newUnknownStageError(chain, environment)
			}
			state, reason := readChain(chain, stage, commit)
			return state, reason, nil
		}
		if w.context.controlPlane == "" {
			return ask, nil
		}
		return withSuperseded(environment, ask, w.newNewerReader(environment, commit, open)), nil
	}
	place := access.ReadLocation(w.context.settings, w.context.controlPlane)
	remote, err := w.context.newMirrors().Remote(place)
	if err != nil {
		return nil, err
	}
	f, err := w.context.openForge(remote, place, git.Signature{})
	if errors.Is(err, access.ErrNoToken) {
		err = problem.WithHint(err, "GITHUB_TOKEN or "+tokenVariable+" is shown to the server; or say --config FILE")
	}
	if err != nil {
		return nil, err
	}
	return withSuperseded(environment, newForgeReader(f, remote, commit, environment, w.findPredecessors(environment, open)), w.newNewerReader(environment, commit, open)), nil
}

// checkEnvironment rejects an unknown environment, which would be awaited until the
// timeout. If the control plane is unreadable, the wait reports it; a daemon knows its
// environments.
func (w *waitCommand) checkEnvironment(ctx context.Context, environment string, open sessionOpener) error {
	if w.context.daemonURL != "" {
		return nil
	}
	session, err := open()
	if err != nil {
		return nil
	}
	names, err := session.Environments(ctx)
	if err != nil {
		return nil
	}
	return checkEnvironments(names, environment)
}

// findUnpromotable returns why the environment never gets the commit. It is "" if it
// may, or if the control plane is unreadable. Only errors that end the wait are
// returned.
func (w *waitCommand) findUnpromotable(ctx context.Context, environment, commit string, open sessionOpener) (string, error) {
	if w.context.controlPlane == "" {
		return "", nil
	}
	session, err := open()
	if err != nil {
		return "", nil
	}
	reason, err := session.DescribeUnpromotable(ctx, environment, commit)
	var refused *problem.Refusal
	if err != nil && !errors.As(err, &refused) {
		return "", nil
	}
	return reason, err
}

// newForgeReader reads statuses. before returns the environments where the commit must
// be verified first.
func newForgeReader(f forge.Forge, remote *git.Remote, commit, environment string, before func(context.Context) predecessors) arrivalReader {
	wasThere := false
	return func(ctx context.Context) (string, string, error) {
		witness, ok := f.(forge.StatusReader)
		if !ok {
			return "", "", &problem.Refusal{Operation: "read the statuses of " + commit, Reason: f.Name() + " has none", Advice: "--url asks a daemon"}
		}
		if f.Name() == forge.PlainName {
			_, err := remote.Sync(ctx)
			if errors.Is(err, git.ErrNotFound) && wasThere {
				return "", "", problem.WithHint(fmt.Errorf("the control plane is gone: %w", err), "it was there a moment ago; fairlead demo removes its own when it ends")
			}
			if err != nil {
				return "", "", withLocationHint(err, "--config or --control-plane says where the control plane is")
			}
			wasThere = true
		}
		all, err := witness.Statuses(ctx, commit)
		if err != nil {
			return "", "", err
		}
		state, reason := readStatuses(all, environment, before(ctx))
		return state, reason, nil
	}
}

// readStatuses derives the state from statuses of Fairlead and Kalypso's workflows.
// Without reports, a commit is verified without a deployment status. A commit that
// failed in an earlier environment has failed.
func readStatuses(all []forge.CommitStatus, environment string, before predecessors) (state, reason string) {
	is, found := findStatus(all, promoter.DeployContext(environment))
	proof, proven := findStatus(all, promoter.ProofContext(environment))
	switch {
	case !found:
		return readPredecessors(all, environment, before)
	case is.Outcome == forge.Success:
		state = hasDeployed
	case is.Outcome == forge.Failure:
		state = hasFailed
	case proven && proof.Outcome == forge.Success && !proof.Time.Before(is.Time): // not from an earlier deployment
		state, is = hasDeployed, proof
	default:
		state = isWaiting
	}
	return state, cmp.Or(is.Description, "the status is "+string(is.Outcome))
}

func readPredecessors(all []forge.CommitStatus, environment string, before predecessors) (state, reason string) {
	reason = "it was not promoted to " + environment + " yet"
	for _, name := range before.names {
		is, found := findStatus(all, promoter.DeployContext(name))
		switch evidence := promoter.ReadEvidence(all, name); {
		case evidence == promoter.Failed && before.haveLanes:
			reason += fmt.Sprintf("; %s: failed as a whole, and its lanes are promoted by themselves", name)
		case evidence == promoter.Failed:
			return hasFailed, fmt.Sprintf("it cannot come, because it failed in %s: %s", name, cmp.Or(is.Description, "its status is failure"))
		case evidence == promoter.Verified:
			reason += fmt.Sprintf("; %s: verified", name)
		case found:
			reason += fmt.Sprintf("; %s: %s", name, cmp.Or(is.Description, string(is.Outcome)))
		}
	}
	return isWaiting, reason
}

func findStatus(all []forge.CommitStatus, context string) (forge.CommitStatus, bool) {
	for _, s := range all {
		if s.Context == context {
			return s, true
		}
	}
	return forge.CommitStatus{}, false
}

// readChain returns a commit's state as the daemon reports it. A commit that failed in
// an earlier stage never arrives.
func readChain(chain status.Chain, s status.Stage, commit string) (state, reason string) {
	state, reason = readStage(s, commit)
	if state != isWaiting || hasCommit(s, commit) {
		return state, reason
	}
	seen := map[string]bool{}
	for queue := slices.Clone(s.After); len(queue) > 0; queue = queue[1:] {
		before, known := chain.FindStage(queue[0])
		if !known || seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		queue = append(queue, before.After...)
		if l := findWaitingLane(s, commit); l.Next != "" {
			return state, fmt.Sprintf("lane %s waits: %s", l.Name, l.Reason)
		}
		if hasCommit(before, commit) && before.Proof.Status == gate.Fail {
			return hasFailed, fmt.Sprintf("it cannot come, because it failed in %s: %s", before.Environment, before.Proof.Reason)
		}
		if hasCommit(before, commit) {
			reason += fmt.Sprintf("; %s: %s", before.Environment, before.Proof.Reason)
		}
	}
	return state, reason
}

func readStage(s status.Stage, commit string) (state, reason string) {
	switch {
	case !hasCommit(s, commit):
		reason := "it has another commit"
		if next := s.NextAction(); next != "" {
			reason += "; next: " + next
		}
		return isWaiting, reason
	case s.Proof.Status == gate.Fail && !strings.HasPrefix(s.Commit, commit):
		return readLanes(s, commit)
	case s.Proof.Status == gate.Fail:
		return hasFailed, s.Proof.Reason
	case s.Proof.Status == gate.Pass || !s.Deployed.IsZero():
		return hasDeployed, "Deployed"
	}
	return isWaiting, s.Proof.Reason
}

// newerReader returns a newer commit of the environment, or "".
type newerReader func(ctx context.Context) string

// withSuperseded reports superseded commits, since promotions never go back. It asks
// again first, because the commit may have arrived before the newer one.
func withSuperseded(environment string, ask arrivalReader, has newerReader) arrivalReader {
	return func(ctx context.Context) (state, reason string, err error) {
		state, reason, err = ask(ctx)
		if err != nil || state != isWaiting {
			return state, reason, err
		}
		other := has(ctx)
		if other == "" {
			return state, reason, nil
		}
		state, reason, err = ask(ctx)
		if err != nil || state != isWaiting {
			return state, reason, err
		}
		return isSuperseded, fmt.Sprintf("%s has a newer commit, %s, which took its place", environment, text.ShortCommit(other)), nil
	}
}

// predecessors are the environments that verify a commit first. haveLanes reports that a lane may pass where the whole failed.
type predecessors struct {
	names     []string
	haveLanes bool
}

// findPredecessors returns a cached list; empty if unreadable.
func (w *waitCommand) findPredecessors(environment string, open sessionOpener) func(context.Context) predecessors {
	var known predecessors
	return func(ctx context.Context) predecessors {
		session, err := open()
		if known.names == nil && err == nil {
			known.names, _ = session.Predecessors(ctx, environment)
			known.haveLanes = actions.HasLanes(ctx, session)
		}
		return known
	}
}

// newNewerReader reads the environment's record in Git. It reports an unreadable
// control plane once and continues.
func (w *waitCommand) newNewerReader(environment, commit string, open sessionOpener) newerReader {
	said := ""
	return func(ctx context.Context) string {
		other := ""
		session, err := open()
		if err == nil {
			other, err = session.FindNewerCommit(ctx, environment, commit)
		}
		if err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			fmt.Fprintf(w.context.app.stderr, "it is not known whether a newer commit took its place: %s\n", display.SanitizeLine(said))
		}
		return other
	}
}
