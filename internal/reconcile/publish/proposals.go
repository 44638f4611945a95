package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// proposals are our pull requests from one branch to another. No forge has a
// compare-and-swap for pull requests, and people may do with them what they want, so that
// there may be more of them than the one that counts.
type proposals struct {
	open   *forge.Pull // the oldest that is open: all that look at it find the same
	ended  *forge.Pull // the newest that is not; nil if one is open
	others []other     // that are open besides, and must not be
}

// other is an open pull request that must not be merged, and why.
type other struct {
	pull   forge.Pull
	reason string
}

// findProposals asks a forge for our pull requests from one branch to another.
func findProposals(ctx context.Context, f forge.Forge, head, base string) (proposals, error) {
	all, err := f.OpenPulls(ctx)
	if err != nil {
		return proposals{}, err
	}
	var found proposals
	for _, p := range slices.Backward(all) { // oldest first
		switch {
		case p.Head != head:
		case p.Base != base:
			found.others = append(found.others, other{p, fmt.Sprintf(
				"It is for the branch %s, and what is on %s is for %s alone.", forge.CodeSpan(p.Base), forge.CodeSpan(head), forge.CodeSpan(base))})
		case found.open != nil:
			found.others = append(found.others, other{p, fmt.Sprintf("Pull request %d%s", found.open.Number, reasonOlder)})
		default:
			found.open = &p
		}
	}
	if found.open != nil {
		return found, nil
	}
	all, err = f.Pulls(ctx, head, base)
	if err != nil {
		return proposals{}, err
	}
	for _, p := range all { // newest first
		if p.State == forge.Open { // it was opened a moment ago
			return proposals{}, fmt.Errorf("pull request %d: %w", p.Number, forge.ErrChanged)
		}
		if !strings.HasSuffix(p.Reason, reasonOlder) {
			found.ended = &p
			break
		}
	}
	return found, nil
}

// reasonOlder ends the reason for which we close the younger of two that propose the same.
const reasonOlder = ", which is older, proposes the same."

// last returns the open one, or else the newest; nil if there is none.
func (p proposals) last() *forge.Pull {
	if p.open != nil {
		return p.open
	}
	return p.ended
}

// closeOtherPulls closes the pull requests that must not be merged. disown returns a body
// without what would have the content declined.
func (o Options) closeOtherPulls(ctx context.Context, found proposals, disown func(body string) string) error {
	for _, p := range found.others {
		if err := o.closePull(ctx, p.pull, disown, p.reason); err != nil {
			return err
		}
	}
	return nil
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
