package actions

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// ResolveCommit returns the id of the commit that a revision of the base's repository names.
func (d *Session) ResolveCommit(ctx context.Context, revision string) (string, error) {
	if err := d.refreshStale(ctx); err != nil {
		return "", err
	}
	base, err := d.source.Base(ctx)
	if err != nil {
		return "", err
	}
	return base.Repo.Resolve(revision)
}

// FindNewerCommit returns the commit that an environment has, if it comes after a revision of the
// base; "" if it does not, or the base has no such revision.
func (d *Session) FindNewerCommit(ctx context.Context, environment, revision string) (string, error) {
	err := d.refreshStale(ctx)
	if err != nil {
		return "", err
	}
	var v snapshot
	v.base, err = d.source.Base(ctx)
	if err != nil {
		return "", err
	}
	v.branch, err = d.source.Branch(ctx, environment)
	if err != nil || v.branch.Repo == nil {
		return "", err
	}
	has, err := v.currentCommit()
	if err != nil || has == "" {
		return "", err
	}
	commit, err := v.base.Repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) {
		return "", nil
	}
	if err != nil || commit == has || !source.IsCommit(has) {
		return "", err
	}
	after, err := v.base.Repo.Contains(has, commit)
	if err != nil || after {
		return map[bool]string{true: has}[after], err
	}
	return findNewerInLanes(v, has, commit)
}

// HasLanes reports whether lanes of the base are promoted by themselves; false if that cannot be read.
func HasLanes(ctx context.Context, d *Session) bool {
	base, err := d.source.Base(ctx)
	return err == nil && promoter.DefinedLanes(base) != nil
}

// findNewerInLanes returns the newest commit that an environment has of the lanes which a commit of the base changes, if it has a
// newer one of each; otherwise "".
func findNewerInLanes(v snapshot, has, commit string) (newest string, err error) {
	listed := promoter.ListedLanes(v.branch)
	info, err := v.base.Repo.Commit(commit)
	if err != nil || len(listed) == 0 || len(info.Parents) == 0 {
		return "", err
	}
	changed, err := promoter.ReadChangedLanes(v.base, lane.NewPartition(v.branch.Lanes.Lanes), commit, info.Parents[0])
	if err != nil {
		return "", err
	}
	for _, name := range changed {
		version := cmp.Or(listed[name], has)
		contains, err := v.base.Repo.Contains(version, commit)
		if err != nil || !contains || version == commit {
			return "", err
		}
		if newer, err := v.base.Repo.Contains(version, newest); newest == "" || err == nil && newer {
			newest = version
		}
	}
	return newest, nil
}

// isNeverPromoted is the reason of commits of our commands, and of promotions.
const isNeverPromoted = "it changes only what fairlead writes, which is not promoted"

// DescribeUnpromotable returns why an environment never gets a commit of the control plane; "" if it may,
// or if that is not known.
func (d *Session) DescribeUnpromotable(ctx context.Context, environment, revision string) (string, error) {
	if err := d.refreshStale(ctx); err != nil {
		return "", err
	}
	base, err := d.source.Base(ctx)
	if err != nil {
		return "", err
	}
	commit, err := base.Repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) { // it may be pushed later
		return "", nil
	}
	if err != nil {
		return "", err
	}
	onBase, err := base.Repo.Contains(base.Head, commit)
	if err != nil {
		return "", err
	}
	if !onBase {
		return d.describeBranchCommit(ctx, base, commit)
	}
	branch, err := d.source.Branch(ctx, environment)
	if err != nil || branch.Commit != "" && strings.HasPrefix(commit, branch.Commit) { // a person may have promoted it
		return "", err
	}
	action, err := promoter.IsActionCommit(base, commit)
	if err != nil || !action {
		return "", err
	}
	return isNeverPromoted, nil
}

// describeBranchCommit returns why a commit of an environment's branch is not promoted; "" if it is of
// none. One that people made reaches clusters, but no status says so: waiting for it is refused.
func (d *Session) describeBranchCommit(ctx context.Context, base source.Base, commit string) (string, error) {
	for _, e := range base.Environments {
		branch, err := d.source.Branch(ctx, e.Name)
		if err != nil {
			return "", err
		}
		if branch.Repo != base.Repo {
			continue
		}
		own, err := base.Repo.Contains(branch.Head, commit)
		if err != nil {
			return "", err
		}
		if !own {
			continue
		}
		action, err := promoter.IsActionCommit(base, commit, branch.Record, path.Join(branch.Folder, source.OwnFolder))
		if err == nil && !action {
			err = problem.Refusef("fairlead wait waits for commits of "+base.Branch, "%s is a commit of the branch of %s, which is not promoted", text.ShortCommit(commit), e.Name)
		}
		return isNeverPromoted, err
	}
	return "", nil
}
