package forge

import (
	"context"
	"errors"
)

var (
	// ErrNotReady means that a pull request cannot be merged now, and may be later: a
	// check or an approval is missing, or the forge has not checked it yet.
	ErrNotReady = errors.New("it cannot be merged yet")
	// ErrUnsupported means that this forge, or this server, has no such thing.
	ErrUnsupported = errors.New("the forge cannot do that")
)

// Merger is a forge that merges our pull requests on request.
type Merger interface {
	// MergePull merges a pull request of ours if it is still at commit. The error is
	// ErrMoved if it is not, or if the branch that it is for has moved so that it has
	// to be made anew, and ErrNotYet with the reason if something is missing.
	MergePull(ctx context.Context, number int, commit string) error
	// MergePullFor is MergePull that keeps the reason with the pull request; "" is none.
	MergePullFor(ctx context.Context, number int, commit, reason string) error
	// EnableAutoMerge has the forge merge it once nothing is missing. It does nothing
	// where that is set already. The error is ErrUnsupported if the forge cannot do that.
	EnableAutoMerge(ctx context.Context, number int, commit string) error
	// CancelAutoMerge has the forge not merge it any more on its own. It does nothing
	// where that is not set. The error is ErrUnsupported if the forge has no such thing.
	CancelAutoMerge(ctx context.Context, number int) error
}

// maxQuote bounds how much of a forge's answer is shown, in characters.
const maxQuote = 300

// Reviewer is a forge on which people propose changes that we comment on.
type Reviewer interface {
	// Changes returns the open pull requests for a branch, or for any if it is "", newest
	// first, without our own.
	Changes(ctx context.Context, base string) ([]Change, error)
	// PutComment sets the text of our one comment with this mark, and makes the comment
	// if there is none.
	PutComment(ctx context.Context, number int, mark, body string) error
}

// Change is a pull request that a person has opened.
type Change struct {
	Number int
	Head   string // the branch, in its own repository
	Commit string // at its head
	Base   string
	Fork   bool // it comes from another repository
	Title  string
	URL    string
}
