package actions

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Rollback is a request to roll an environment back.
type Rollback struct {
	Environment string
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
	return d.perform(ctx, b.Environment, func(v snapshot) (change, error) {
		present, err := v.currentCommit()
		if err != nil {
			return change{}, err
		}
		had, err := v.previousCommits()
		if err != nil {
			return change{}, err
		}
		to := ""
		if b.To != "" {
			to, err = promoter.ResolvePromotable(v.base, b.To)
			if err != nil {
				return change{}, err
			}
		}
		if to != "" && !v.history.Contains(to) { // the base may have it beside its first parents
			v.history, err = promoter.ReadHistory(v.base, present, to)
			if err != nil {
				return change{}, err
			}
		}
		var merged map[string]bool
		unknown := ""
		if b.To == "" {
			merged, err = d.mergedCommits(ctx, b.Environment)
			if err != nil {
				unknown = fmt.Sprintf("; whether its output was merged is not known: %v", err)
			}
		}
		to, refused := rollbackTarget(v.history, b.Environment, present, to, had, merged)
		if refused != nil {
			return change{}, refused
		}
		c, err := v.withRecord(change{
			action: rollbackAction, environment: b.Environment, from: present, to: to, reason: b.Reason,
			title:   fmt.Sprintf("Roll %s back to %s", b.Environment, promote.ShortID(to)),
			summary: fmt.Sprintf("%s goes back to %s, and stays there until fairlead release %[1]s%[3]s", b.Environment, promote.ShortID(to), unknown),
		}, d)
		if err != nil {
			return c, err
		}
		c.files[promoter.HoldFile(v.branch.Folder)], err = model.EncodeObject("Hold", "hold", holdSpec{Reason: b.Reason, Commit: to})
		return c, err
	})
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
	to, remote, err := d.fetchOutput(ctx, environment)
	if err != nil || to == nil {
		return nil, err
	}
	head, err := remote.Mirror().FindBranch(to.Branch)
	if err != nil || head == "" {
		return nil, err
	}
	file := path.Join(publish.CleanFolder(to.Path), publish.RecordFile)
	versions, err := remote.Mirror().FileVersions(head, file, maxRecords, maxVersions)
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

// rollbackTarget returns the commit to go back to: the requested one, or the last older one that
// the environment had and whose output was merged. If that is not known of any, it is the last
// older one: output that changes nothing is not merged, and neither is one that nobody wanted.
func rollbackTarget(h promote.History, environment, present, asked string, had []string, merged map[string]bool) (string, *problem.Refusal) {
	older := func(commit string) bool {
		return h.Contains(commit) && commit != present && (!h.Contains(present) || h.IsNewer(present, commit))
	}
	if asked == "" {
		for _, fits := range []func(string) bool{func(c string) bool { return merged[c] && older(c) }, older} {
			if i := slices.IndexFunc(had, fits); i >= 0 {
				return had[i], nil
			}
		}
		return "", problem.Refusef("fairlead hold "+environment+" keeps it where it is", "%s had no older commit before", environment)
	}
	switch {
	case !h.Contains(asked):
		return "", problem.Refusef("", "commit %s is not on the base's branch", promote.ShortID(asked))
	case asked == present:
		return "", problem.Refusef("fairlead hold "+environment+" keeps it there", "%s has %s", environment, promote.ShortID(asked))
	case !older(asked):
		return "", problem.Refusef("fairlead promote goes forward", "%s is newer than %s, which %s has", promote.ShortID(asked), promote.ShortID(present), environment)
	case !slices.Contains(had, asked):
		return "", problem.Refusef("go back to one that it had: git log of "+environment+"'s branch has them", "%s never had %s", environment, promote.ShortID(asked))
	}
	return asked, nil
}
