package actions

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Rollback is a request to roll an environment back.
type Rollback struct {
	Environment string
	Lane        string // "" for the whole environment
	To          string // a revision of the base; "" for what it had before
	Reason      string
}

const (
	// maxRecords bounds how many commits of a branch are read, and maxVersions how many of its
	// records.
	maxRecords  = 2000
	maxVersions = 200
)

// Rollback promotes an older commit that the environment had before, with a hold that keeps it
// there.
func (d *Session) Rollback(ctx context.Context, b Rollback) (Result, error) {
	if b.Lane != "" {
		return d.perform(ctx, b.Environment, func(v snapshot) (change, error) { return rollBackLane(ctx, d, v, b) })
	}
	return d.perform(ctx, b.Environment, func(v snapshot) (change, error) {
		present, err := v.currentCommit()
		if err != nil {
			return change{}, err
		}
		had, err := v.previousCommits()
		if err != nil {
			return change{}, err
		}
		var target rollbackTarget
		if b.To == "" {
			target, err = d.findTarget(ctx, v, b.Environment, present, had)
		} else {
			target.commit, err = v.resolveTarget(b, present, had)
			target.isFailed = err == nil && d.readEvidence(ctx, b.Environment, target.commit) == promoter.Failed
		}
		if err != nil {
			return change{}, err
		}
		c, err := v.withRecord(change{
			action: rollbackAction, environment: b.Environment, from: present, to: target.commit, reason: b.Reason,
			title:   fmt.Sprintf("Roll %s back to %s", b.Environment, text.ShortCommit(target.commit)),
			summary: fmt.Sprintf("%s goes back to %s, and stays there until fairlead release %[1]s", b.Environment, text.ShortCommit(target.commit)),
			notes:   target.notes(b.Environment),
		}, d)
		if err != nil {
			return c, err
		}
		if lanes := v.branch.Lanes; lanes != nil && len(lanes.Commits) > 0 {
			c.notes = append(c.notes, "these lanes have commits of their own, and go back too: "+strings.Join(slices.Sorted(maps.Keys(lanes.Commits)), ", "))
		}
		return c, c.writeHold(v, promoter.HoldFile(v.branch.Folder), holdSpec{Reason: b.Reason, Commit: target.commit})
	})
}

func (d *Session) findTarget(ctx context.Context, v snapshot, environment, present string, had []string) (rollbackTarget, error) {
	merged, err := d.mergedCommits(ctx, environment)
	if err != nil {
		return rollbackTarget{}, problem.Refusef(fmt.Sprintf("name one with --to COMMIT: fairlead rollback %s --to COMMIT --reason TEXT", environment),
			"the GitOps repository cannot be read, so it is not known which commit %s had: %v", environment, err)
	}
	outputs := outputComparison{session: d, environment: environment}
	target := rollbackSearch{
		history: v.history, merged: merged,
		compare: func(before, commit string) sameness { return outputs.compare(ctx, before, commit) },
		prove:   func(commit string) promoter.Evidence { return d.readEvidence(ctx, environment, commit) },
	}.find(present, had)
	if _, err := d.forge(); err != nil {
		target.unread = err.Error()
	}
	switch {
	case target.commit != "":
	case target.failed != nil:
		return target, problem.Refusef(fmt.Sprintf("name one all the same with fairlead rollback %s --to COMMIT --reason TEXT", environment),
			"every older commit that %s had has failed there: %s", environment, shortIDs(target.failed))
	default:
		return target, problem.Refusef(fmt.Sprintf("fairlead hold %s --reason TEXT keeps it where it is", environment), "%s had no older commit before", environment)
	}
	return target, ctx.Err()
}

func (v snapshot) resolveTarget(b Rollback, present string, had []string) (string, error) {
	to, err := promoter.ResolvePromotable(v.base, b.To)
	if err != nil {
		return "", err
	}
	if !v.history.Contains(to) { // the base may have it beside its first parents
		v.history, err = promoter.ReadHistory(v.base, present, to)
		if err != nil {
			return "", err
		}
	}
	refused := checkTarget(v.history, b.Environment, present, to, had)
	if refused != nil {
		return "", refused
	}
	return to, nil
}

// previousCommits returns the commits that the environment had, newest first, as far as the base
// has them.
func (v snapshot) previousCommits() ([]string, error) {
	versions, err := v.branch.Repo.FileVersions(v.branch.Head, v.branch.Record, maxRecords, maxVersions)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, text := range versions {
		written, err := promote.RecordedCommit(text)
		if err != nil || written == "" {
			continue // it was broken then, or named a branch
		}
		commit, err := v.base.Repo.Resolve(written)
		if err == nil {
			all = append(all, commit)
		}
	}
	return all, nil
}

// mergedCommits returns the commits of the base whose output was on the output branch of an
// environment.
func (d *Session) mergedCommits(ctx context.Context, environment string) (map[string]bool, error) {
	repo, folder, head, err := findOutput(ctx, d, environment)
	if err != nil || head == "" {
		return nil, err
	}
	versions, err := repo.FileVersions(head, path.Join(folder, publish.RecordFile), maxRecords, maxVersions)
	if err != nil {
		return nil, err
	}
	merged := map[string]bool{}
	for _, text := range versions {
		r, err := publish.ReadRecord(text)
		if err != nil {
			continue // it was edited then
		}
		for _, w := range r.Environments {
			if from, ok := w.Input(publish.BaseLayer); ok && w.Environment == environment {
				merged[from.Commit] = true
			}
		}
	}
	return merged, nil
}

// checkTarget returns why an environment cannot go back to a commit that was asked for; nil if it
// can.
func checkTarget(h promote.Line, environment, present, asked string, had []string) *problem.Refusal {
	switch {
	case !h.Contains(asked):
		return problem.Refusef("", "commit %s is not on the base's branch", text.ShortCommit(asked))
	case asked == present:
		return problem.Refusef(fmt.Sprintf("fairlead hold %s --reason TEXT keeps it there", environment), "%s has %s", environment, text.ShortCommit(asked))
	case !isOlder(h, asked, present):
		return problem.Refusef("fairlead promote goes forward", "%s is newer than %s, which %s has", text.ShortCommit(asked), text.ShortCommit(present), environment)
	case h.Contains(present) && !slices.Contains(had, asked): // after a rewrite the base may have none that it had
		return problem.Refusef("go back to one that it had: git log of "+environment+"'s branch has them", "%s never had %s", environment, text.ShortCommit(asked))
	}
	return nil
}

// isOlder reports whether a commit is one of the base that is older than the present one. Any is, if
// the base does not have the present one.
func isOlder(h promote.Line, commit, present string) bool {
	return h.Contains(commit) && commit != present && (!h.Contains(present) || h.IsNewer(present, commit))
}
