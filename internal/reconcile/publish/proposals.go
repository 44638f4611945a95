package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// findProposals returns our open pull request, or else the newest ended one; nil for none. Forges
// have no compare-and-swap, so several may be open: all processes take the oldest and close the
// others. disown removes the part of a body that would make its closing count as declined.
func (o Options) findProposals(ctx context.Context, head, base string, disown func(body string) string) (open, ended *forge.Pull, err error) {
	all := o.Listed
	if all == nil {
		all, err = o.Forge.OpenPulls(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range slices.Backward(all) { // oldest first
		var reason string
		switch {
		case p.Head != head:
			continue
		case p.Base != base:
			reason = fmt.Sprintf("It is for the branch %s, and what is on %s is for %s alone.", forge.CodeSpan(p.Base), forge.CodeSpan(head), forge.CodeSpan(base))
		case open != nil:
			reason = fmt.Sprintf("Pull request %d%s", open.Number, reasonOlder)
		default:
			open = &p
			continue
		}
		if err := o.closePull(ctx, p, disown, reason); err != nil {
			return nil, nil, err
		}
	}
	if open != nil {
		return open, nil, nil
	}
	all, err = o.Forge.Pulls(ctx, head, base)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range all { // newest first
		if p.State == forge.Open { // opened a moment ago
			return nil, nil, fmt.Errorf("pull request %d: %w", p.Number, forge.ErrChanged)
		}
		if !strings.HasSuffix(p.Reason, reasonOlder) {
			return nil, &p, nil
		}
	}
	return nil, nil, nil
}

// reasonOlder ends our reason for closing a duplicate.
const reasonOlder = ", which is older, proposes the same."

// putPull opens or edits a pull request. If the forge refuses our labels, it keeps the existing
// ones.
func (o Options) putPull(ctx context.Context, open *forge.Pull, want forge.Proposal) (forge.Pull, error) {
	put, err := o.putLabelled(ctx, open, want)
	var refused *problem.Refusal
	if !errors.As(err, &refused) {
		return put, err
	}
	without := want
	without.Labels = nil
	if open != nil {
		without.Labels = open.Labels
	}
	if slices.Equal(without.Labels, want.Labels) {
		return put, err
	}
	again, failed := o.putLabelled(ctx, open, without)
	if failed != nil {
		return put, err
	}
	return again, nil
}

func (o Options) putLabelled(ctx context.Context, open *forge.Pull, want forge.Proposal) (forge.Pull, error) {
	switch {
	case open == nil:
		o.Announce("open the pull request")
		return o.Forge.OpenPull(ctx, want)
	case open.Title != want.Title || open.Body != want.Body || !slices.Equal(open.Labels, want.Labels):
		o.Announce("edit the pull request")
		return o.Forge.EditPull(ctx, open.Number, want)
	}
	return *open, nil
}

// closePull edits the body first: a closed pull request with our digest counts as declined by a
// person.
func (o Options) closePull(ctx context.Context, pull forge.Pull, disown func(body string) string, reason string) error {
	if body := disown(pull.Body); body != pull.Body {
		o.Announce("edit the pull request")
		edited := pull.Proposal
		edited.Body = body
		if _, err := o.Forge.EditPull(ctx, pull.Number, edited); err != nil {
			return err
		}
	}
	o.Announce("close the pull request")
	return o.Forge.ClosePull(ctx, pull.Number, reason)
}

func withoutDigest(body string) string {
	_, body = cutMark(body)
	return body
}

func markWithdrawn(body string) string {
	return strings.TrimSuffix(body, withdrawnLine) + withdrawnLine
}

const withdrawnLine = "\n\n*Fairlead withdrew this.*"
