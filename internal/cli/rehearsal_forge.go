package cli

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// rehearsedForge reads from a forge and records writes. It embeds no forge, so that new
// methods need a decision.
type rehearsedForge struct {
	app   *app
	forge forge.Forge
	place string // without password
}

func (f rehearsedForge) Name() string { return f.forge.Name() }

func (f rehearsedForge) Statuses(ctx context.Context, commit string) ([]forge.CommitStatus, error) {
	reader, ok := f.forge.(forge.StatusReader)
	if !ok {
		return nil, fmt.Errorf("%s has no statuses of commits", f.Name())
	}
	return reader.Statuses(ctx, commit)
}

func (f rehearsedForge) Pulls(ctx context.Context, head, base string) ([]forge.Pull, error) {
	return f.forge.Pulls(ctx, head, base)
}

func (f rehearsedForge) OpenPulls(ctx context.Context) ([]forge.Pull, error) {
	return f.forge.OpenPulls(ctx)
}

func (f rehearsedForge) Issues(ctx context.Context, mark string) ([]forge.Issue, error) {
	return f.forge.Issues(ctx, mark)
}

func (f rehearsedForge) OpenPull(_ context.Context, p forge.Proposal) (forge.Pull, error) {
	f.app.recordEffect("open a pull request from %s to %s of %s: %s", p.Head, p.Base, f.place, p.Title)
	return forge.Pull{Proposal: p, State: forge.Open}, nil
}

func (f rehearsedForge) EditPull(_ context.Context, number int, p forge.Proposal) (forge.Pull, error) {
	f.app.recordEffect("edit pull request %d of %s: %s", number, f.place, p.Title)
	return forge.Pull{Proposal: p, Number: number, State: forge.Open}, nil
}

func (f rehearsedForge) ClosePull(_ context.Context, number int, _ string) error {
	f.app.recordEffect("close pull request %d of %s", number, f.place)
	return nil
}

func (f rehearsedForge) SetStatus(_ context.Context, commit string, s forge.Status) error {
	f.app.recordEffect("set the status %s of commit %s of %s", s.Context, commit, f.place)
	return nil
}

func (f rehearsedForge) PutIssue(_ context.Context, i forge.Issue) (forge.Issue, error) {
	f.app.recordEffect("write the issue %q of %s", i.Title, f.place)
	return i, nil
}
