package actions

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
)

// ListCommits returns the newest commits of the base's branch, newest first.
func (d *Session) ListCommits(ctx context.Context, limit int) ([]git.CommitInfo, error) {
	base, err := d.source.Base(ctx)
	if err != nil || base.Repo == nil {
		return nil, err
	}
	return base.Repo.ListCommits(base.Head, limit)
}

// Freezes returns the freezes of the base.
func (d *Session) Freezes(ctx context.Context) ([]*model.Freeze, error) {
	base, err := d.source.Base(ctx)
	if err != nil {
		return nil, err
	}
	return base.Progress.Freezes, nil
}

// ListFreezes returns the names of the freezes of the base, sorted.
func (d *Session) ListFreezes(ctx context.Context) ([]string, error) {
	all, err := d.Freezes(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names, nil
}
