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

// findProposals returns our pull request from one branch to another that is open, or else the newest
// that is not; nil for none. No forge has a compare-and-swap for pull requests, and people may do with
// them what they want, so that there may be more of them than the one that counts, which is the
// oldest: all that look find the same. The others are closed. disown returns a body without what
// would have the content declined.
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
		if p.State == forge.Open { // it was opened a moment ago
			return nil, nil, fmt.Errorf("pull request %d: %w", p.Number, forge.ErrChanged)
		}
		if !strings.HasSuffix(p.Reason, reasonOlder) {
			return nil, &p, nil
		}
	}
	return nil, nil, nil
}

// reasonOlder ends the reason for which we close the younger of two that propose the same.
const reasonOlder = ", which is older, proposes the same."

// putPull opens a pull request, or makes the open one say what it should. Labels are for people only:
// where the forge does not let us set them, it keeps those that it has.
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

// closePull closes a pull request of ours. Its body is changed first: one that is closed and
// still has the digest of what we propose counts as declined by a person.
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

// withoutDigest returns the body of the proposal of an output without its digest.
func withoutDigest(body string) string {
	_, body = cutMark(body)
	return body
}

// markWithdrawn returns the body of the proposal of an edit so that it is not the one of a
// proposal that waits.
func markWithdrawn(body string) string {
	return strings.TrimSuffix(body, withdrawnLine) + withdrawnLine
}

const withdrawnLine = "\n\n*Fairlead withdrew this.*"
