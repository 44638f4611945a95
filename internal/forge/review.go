package forge

import (
	"context"
	"errors"
)

var (
	// ErrNotReady means that a pull request cannot be merged yet: a check or approval is missing,
	// or the forge is still checking.
	ErrNotReady = errors.New("it cannot be merged yet")
	// ErrUnsupported means that this forge or server lacks the feature.
	ErrUnsupported = errors.New("the forge cannot do that")
)

// Merger is a forge that merges our pull requests.
type Merger interface {
	// MergePull merges our pull request if it is at commit. The error is ErrMoved if it is not, or
	// must be rebuilt for a moved base, and ErrNotReady if something is missing.
	MergePull(ctx context.Context, number int, commit string) error
	// MergePullFor is MergePull, and records a reason; "" for none.
	MergePullFor(ctx context.Context, number int, commit, reason string) error
	// EnableAutoMerge makes the forge merge it once nothing is missing. It is idempotent. The error
	// may be ErrUnsupported.
	EnableAutoMerge(ctx context.Context, number int, commit string) error
	// CancelAutoMerge cancels auto-merge. It is idempotent. The error may be ErrUnsupported.
	CancelAutoMerge(ctx context.Context, number int) error
}

// maxQuote bounds a quoted answer, in characters.
const maxQuote = 300

// Reviewer is a forge with people's changes that we comment on.
type Reviewer interface {
	// Changes returns the open pull requests for a branch ("" for any), newest first, except ours.
	Changes(ctx context.Context, base string) ([]Change, error)
	// PutComment creates or updates our one comment with this mark.
	PutComment(ctx context.Context, number int, mark, body string) error
}

// Change is a person's pull request.
type Change struct {
	Number int
	Head   string // branch in its own repository
	Commit string
	Base   string
	Fork   bool
	Title  string
	URL    string
}
