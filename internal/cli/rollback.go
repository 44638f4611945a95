package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type rollbackCommand struct {
	wait                   *waitCommand
	to, lane               string
	mergeOutput, waitAfter bool
	outputTimeout          time.Duration // timeout for the pull request of the output
	session                *actions.Session
	environment            string
	signature              git.Signature
	result                 actions.Result
	hasForges              bool
	unchanged              string // that it changes no file; "" if it does, or that is not known
}

func newRollback(a *app) *cobra.Command {
	r := &rollbackCommand{wait: &waitCommand{context: newCommandContext(a), interval: 2 * time.Second}}
	c := r.wait.context.newEnvironmentAction(&cobra.Command{
		Use:   "rollback ENVIRONMENT",
		Short: "Roll an environment back, and hold it there",
		Long: `Rollback writes an older commit of the base, one that the environment had before, into its
record, and a hold beside it, in one commit: it stays there until fairlead release. Without
--to it is the last older one that was verified there, by the statuses of the commit. If none
was, it is the last one that has not failed there and whose output was merged: the output
branch names it, or it renders to the same files as the commit before it that the output
branch names. A commit that failed there needs --to. Rollback names the commits that it
passed over. Commits newer than the target no longer count as verified there. With --lane only
that lane goes back, and is held.

The daemon then proposes the output of that commit. Rollback says which pull request has to
be merged, or merges it with --merge, by an account that may; where the environment's merge
setting is direct, the daemon does, for the hold allows the output of this commit. --wait
waits until the clusters run it, as fairlead wait does.`,
		Example: `  fairlead rollback stage --reason "checkout is slow"
  fairlead rollback stage --to 4be1c2d --reason "the last good one" --merge --wait`,
	}, nil)
	c.RunE = func(c *cobra.Command, args []string) error { return r.runRollback(c.Context(), args[0]) }
	f := c.Flags()
	f.StringVar(&r.to, "to", "", "the `commit` to go back to")
	_ = c.RegisterFlagCompletionFunc("to", r.wait.context.completePrevious)
	addLaneFlag(c, &r.lane)
	f.BoolVar(&r.mergeOutput, "merge", false, "merge the pull request of the output")
	f.BoolVar(&r.waitAfter, "wait", false, "wait until the clusters run it")
	addDurationFlag(f, &r.outputTimeout, "timeout", 30*time.Second, "`time` to look for the pull request of the output; 0 looks once")
	f.StringVar(&r.wait.context.daemonURL, "url", "", "wake the daemon whose page is at this `URL` (default: listen of the settings), and ask it with --wait")
	addDurationFlag(f, &r.wait.timeout, "wait-timeout", 30*time.Minute, "`time` after which --wait gives up")
	return c
}

func (r *rollbackCommand) runRollback(ctx context.Context, environment string) error {
	switch {
	case r.mergeOutput && r.wait.context.propose:
		return usageErrorf("merge the pull request of the rollback first, and then that of the output", "--merge and --pull-request exclude each other")
	case r.outputTimeout < 0 || r.wait.timeout < 0:
		return usageErrorf("0 looks once", "a time cannot be in the past")
	}
	var err error
	r.signature, err = commitAuthor(ctx, r.wait.context.author)
	if err != nil {
		return err
	}
	r.session, err = r.wait.context.openForEnvironments(ctx, environment)
	if err != nil {
		return err
	}
	err = r.wait.context.requireReason("a rollback")
	if err != nil {
		return err
	}
	r.environment, r.hasForges = environment, r.wait.context.settings != nil
	r.result, err = r.session.Rollback(ctx, actions.Rollback{Environment: environment, Lane: r.lane, To: r.to, Reason: r.wait.context.reason})
	if err != nil {
		return r.wait.context.printResult(r.result, err)
	}
	if r.result.Base.Platform == "" && r.result.To != "" {
		if r.mergeOutput || r.waitAfter {
			r.result.Notes = append(r.result.Notes, fmt.Sprintf("--merge and --wait follow commits of the base only; fairlead explain promotion %s tells how far the release is", environment))
		}
		return r.wait.context.finishAction(ctx)(r.result, nil)
	}
	if r.wait.context.propose {
		r.compareOutput(ctx)
		return r.wait.context.printResult(r.result, nil)
	}
	a := r.wait.context.app
	if a.isText() && !a.dryRun { // what is done is said before anything is waited for
		fmt.Fprint(a.stdout, doneText(r.result))
	}
	page := r.wait.context.wakeKnownDaemon(ctx)
	r.compareOutput(ctx)
	if a.dryRun {
		for _, note := range r.result.Notes {
			fmt.Fprintln(a.stderr, display.SanitizeLine(note))
		}
		r.recordFollowing()
		return r.wait.context.printResult(r.result, nil)
	}
	failed := r.followOutput(ctx, page)
	if err := a.printValue(r.result, resultNames(r.result), r.nextSteps); err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	if r.waitAfter {
		return r.wait.runWait(ctx, environment, r.result.To)
	}
	return nil
}

func (r *rollbackCommand) compareOutput(ctx context.Context) {
	if r.lane == "" && r.session.HoldsOutput(ctx, r.environment, r.result.To) {
		r.unchanged = fmt.Sprintf("the rollback changes no file of the output of %s", r.environment)
		r.result.Notes = append(r.result.Notes, r.unchanged)
	}
}

func (r *rollbackCommand) recordFollowing() {
	what := text.ShortCommit(r.result.To)
	if r.mergeOutput && r.unchanged == "" {
		r.wait.context.app.recordEffect("merge the pull request of the output of %s, once the daemon has made it", what)
	}
	if r.waitAfter {
		r.wait.context.app.recordEffect("wait until %s has deployed %s", r.environment, what)
	}
}

func (r *rollbackCommand) waitText(o actions.Output, page string) string {
	does := "for"
	if r.mergeOutput {
		does = "to merge"
	}
	daemon := "a daemon makes it at its next interval, or after fairlead trigger"
	if page != "" {
		daemon = "the daemon at " + page + " starts a cycle"
	}
	return fmt.Sprintf("waiting up to %s %s the pull request from %s to %s of %s; %s\n", display.FormatAge(r.outputTimeout), does, o.From, o.Branch, o.Repo, daemon)
}

// followOutput waits for the output of the commit until it exists or the time is over, and with
// --merge merges it. page is that of the daemon that was woken.
func (r *rollbackCommand) followOutput(ctx context.Context, page string) error {
	deadline, cancel := context.WithTimeout(ctx, r.outputTimeout)
	defer cancel()
	tick, stop := r.wait.context.ticks(r.wait.interval)
	defer stop()
	var open func(remote *git.Remote, place string) (forge.Forge, error)
	if r.hasForges {
		open = func(remote *git.Remote, place string) (forge.Forge, error) {
			return r.wait.context.openForge(remote, place, r.signature)
		}
	}
	for said := false; ; said = true {
		found, err := r.session.FindOutput(ctx, r.environment, r.result.Base, open)
		if err != nil {
			return problem.WithHint(fmt.Errorf("the rollback is written, but its output was not found: %w", err), r.waitHint())
		}
		found.Merged = found.Merged || r.unchanged != "" // the branch may name another commit with the same output
		r.result.Output = &found
		if found.Pull != nil && !found.Merged && r.mergeOutput {
			err = found.Merge(ctx)
			if err != nil && !errors.Is(err, forge.ErrNotReady) && !errors.Is(err, forge.ErrMoved) {
				return err
			}
		}
		if found.Merged || found.Repo == "" || open == nil || found.Pull != nil && !r.mergeOutput {
			return nil
		}
		if !said && r.outputTimeout > 0 {
			fmt.Fprint(r.wait.context.app.stderr, display.SanitizeLines(r.waitText(found, page)))
		}
		select {
		case <-tick:
			continue
		case <-deadline.Done():
		}
		if !r.mergeOutput {
			return ctx.Err()
		}
		if err == nil {
			err = fmt.Errorf("there is no pull request from %s to %s yet", found.From, found.Branch)
		}
		return problem.WithHint(fmt.Errorf("the rollback is written, and its output is not merged: %w", err), r.waitHint())
	}
}

func (r *rollbackCommand) waitHint() string {
	return fmt.Sprintf("fairlead wait %s %s tells when the clusters run it", r.environment, r.result.To)
}

func (r *rollbackCommand) nextSteps() string {
	var lines []string
	if r.unchanged != "" {
		lines = append(lines, r.unchanged)
	}
	what := text.ShortCommit(r.result.To)
	switch o := r.result.Output; {
	case o == nil || o.Repo == "":
	case o.Merged:
		lines = append(lines, fmt.Sprintf("branch %s of %s holds the output of %s", o.Branch, o.Repo, what))
	case o.Pull != nil:
		lines = append(lines, fmt.Sprintf("merge pull request %s: it brings the output of %s to branch %s of %s", pullText(*o.Pull), what, o.Branch, o.Repo))
	default:
		lines = append(lines, fmt.Sprintf("merge the pull request from %s to %s of %s, once the daemon has made it: it brings the output of %s", o.From, o.Branch, o.Repo, what))
	}
	if !r.waitAfter {
		lines = append(lines, r.waitHint())
	}
	return display.SanitizeLines(strings.Join(lines, "\n")) + "\n"
}
