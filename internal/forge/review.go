package forge

import (
	"context"
	"errors"
)

var (
	// ErrNotReady says that a pull request cannot be merged now, and may be later: a
	// check or an approval is missing, or the forge has not looked yet.
	ErrNotReady = errors.New("it cannot be merged yet")
	// ErrUnsupported says that this forge, or this server, has no such thing.
	ErrUnsupported = errors.New("the forge cannot do that")
)

// Merger is a forge that merges our pull requests when it is told to.
type Merger interface {
	// MergePull merges a pull request of ours if it is still at commit. The error is
	// ErrMoved if it is not, or if the branch that it is for has moved so that it has
	// to be made anew, and ErrNotYet with the reason if something is missing.
	MergePull(ctx context.Context, number int, commit string) error
	// EnableAutoMerge has the forge merge it once nothing is missing. What is set already
	// stays. The error is ErrUnsupported if the forge cannot do that.
	EnableAutoMerge(ctx context.Context, number int, commit string) error
	// CancelAutoMerge has the forge not merge it any more on its own. It does nothing
	// where that is not set. The error is ErrUnsupported if the forge has no such thing.
	CancelAutoMerge(ctx context.Context, number int) error
}

// maxQuote is how much is told of what a forge says, in characters.
const maxQuote = 300

// CheckMergeable refuses to merge a pull request that is closed, or is not at a commit. merged
// says that there is nothing to do. what is what was to be done.
func (p Pull) CheckMergeable(what, commit string) (merged bool, err error) {
	switch {
	case p.State == Merged:
		return true, nil
	case p.State != Open:
		return false, &Refusal{Operation: what, Reason: "it is closed", Kind: ErrChanged, Advice: "open it again, or let Fairlead open another one"}
	case p.Commit != commit:
		return false, &Refusal{Operation: what, Reason: "it is at " + OneLine(p.Commit, maxQuote), Kind: ErrMoved, Advice: "it will be looked at again"}
	}
	return false, nil
}

// Reviewer is a forge on which people propose changes that we comment on.
type Reviewer interface {
	// Changes gives the open pull requests for a branch, or for any if it is "", by
	// whomever, newest first, but for our own.
	Changes(ctx context.Context, base string) ([]Change, error)
	// PutComment makes the one comment of ours with this mark say this; it is made if
	// there is none. What says it already is left alone.
	PutComment(ctx context.Context, number int, mark, body string) error
}

// Change is a pull request that somebody has opened.
type Change struct {
	Number int
	Head   string // the branch, in its own repository
	Commit string // at its head
	Base   string
	Fork   bool // it comes from another repository
	Title  string
	URL    string
}
