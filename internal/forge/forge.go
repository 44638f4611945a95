// Package forge reads and writes pull requests, commit statuses and issues.
//
// What the package keeps true: only pull requests with our mark are returned, edited or
// closed; what exists already is [ErrExists], so that two that race find each
// other's work; and text from outside does nothing in Markdown.
package forge

import (
	"context"
	"errors"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

var (
	// ErrNotFound means that there is no such pull request or issue.
	ErrNotFound = errors.New("not found")
	// ErrExists means that there is one already.
	ErrExists = errors.New("it exists already")
	// ErrConflict means that a pull request and the branch that it is for have changed the same.
	ErrConflict = errors.New("it has a conflict")
	// ErrMoved means that a branch has moved since the decision was made.
	ErrMoved = errors.New("the branch has moved")
	// ErrChanged means that a pull request has changed since the decision was made: it
	// was merged or closed, is for another branch, or is being changed at this moment.
	ErrChanged = errors.New("the pull request has changed meanwhile")
)

// Forge reads and writes the pull requests, statuses and issues of one repository.
type Forge interface {
	// Name is the kind of forge: "git".
	Name() string
	// Pulls returns our pull requests from a branch to another, newest first.
	Pulls(ctx context.Context, head, base string) ([]Pull, error)
	// OpenPulls returns our open pull requests between any branches, newest first.
	OpenPulls(ctx context.Context) ([]Pull, error)
	// OpenPull opens a pull request. The error is ErrExists if there is an open one,
	// ErrNotFound if one of the branches is missing, and ErrChanged if there is nothing
	// to merge, or it was merged or closed at once.
	OpenPull(ctx context.Context, p Proposal) (Pull, error)
	// EditPull sets title, body and labels of an open pull request. The error is
	// ErrChanged, and its text stays the same, if it is no longer open, or not from
	// p.Head to p.Base.
	EditPull(ctx context.Context, number int, p Proposal) (Pull, error)
	// ClosePull closes an open pull request, and writes the reason into it. It does
	// nothing to one that was merged or closed.
	ClosePull(ctx context.Context, number int, reason string) error
	// SetStatus sets the status of a commit in one context.
	SetStatus(ctx context.Context, commit string, s Status) error
	// Issues returns our issues with a mark, open or closed, newest first.
	Issues(ctx context.Context, mark string) ([]Issue, error)
	// PutIssue opens an issue (number 0), or updates one.
	PutIssue(ctx context.Context, i Issue) (Issue, error)
}

// Proposal is the content of a pull request.
type Proposal struct {
	Mark       string // of the environment
	Head, Base string // branches
	Title      string // one line
	Body       string // Markdown
	Labels     []string
}

// State is whether a pull request is open.
type State string

// The states of a pull request.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed" // without being merged
)

// Pull is a pull request.
type Pull struct {
	Proposal
	Number int
	State  State
	Commit string // at the head of its branch when it was last open
	Reason string // why it was merged or closed
	By     string // who merged or closed it; "" if that is not known
	URL    string // "" if it has no page
}

// Outcome is the state of a commit status or of a run.
type Outcome = gate.Outcome

// The outcomes that all forges know.
const (
	Pending = gate.Pending
	Success = gate.Success
	Failure = gate.Failure
)

// Status is the status of a commit in one context.
type Status struct {
	Context     string
	Outcome     Outcome
	Description string // one line of at most 140 characters
	URL         string
}

// Issue is an issue of ours.
type Issue struct {
	Number int // 0 if it is not there yet
	Mark   string
	Title  string
	Body   string
	Open   bool
	URL    string
}

// MaxTitle is the length that all forges allow a title, in bytes.
const MaxTitle = 255

// FitTitle cuts a title to the length that all forges allow.
func FitTitle(title string) string {
	title = text.OneLine(title)
	if len(title) <= MaxTitle {
		return title
	}
	return text.Shorten(title, MaxTitle-len("…"))
}

// EscapeMarkdown makes text from outside harmless in Markdown: it is shown literally, mentions
// no user and is no link.
func EscapeMarkdown(text string) string {
	return strings.NewReplacer(
		"&", "&amp;", "\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "#", "#\u200b", "|", "\\|", "!", "\\!",
		"@", "@\u200b", "://", ":\u200b//", "\r", " ", "\n", " ",
	).Replace(text)
}

// CodeSpan shows text from outside as code, whatever backticks it has.
func CodeSpan(code string) string {
	code = text.OneLine(code)
	longest := text.LongestBackticks(code)
	if longest > 0 {
		code = " " + code + " "
	}
	fence := strings.Repeat("`", longest+1)
	return fence + code + fence
}
