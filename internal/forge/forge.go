// Package forge reads and writes pull requests, commit statuses and issues.
//
// What the package keeps true: only pull requests with our mark are returned, edited or closed.
// Creating what exists is [ErrExists], so that concurrent processes find each other's work. Text
// from outside is inert in Markdown.
package forge

import (
	"context"
	"errors"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

var (
	// ErrNotFound means that the pull request or issue does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that it exists already.
	ErrExists = errors.New("it exists already")
	// ErrConflict means that a pull request conflicts with its base branch.
	ErrConflict = errors.New("it has a conflict")
	// ErrMoved means that a branch has moved since the decision.
	ErrMoved = errors.New("the branch has moved")
	// ErrChanged means that a pull request was merged, closed or retargeted since the decision, or
	// is being changed right now.
	ErrChanged = errors.New("the pull request has changed meanwhile")
)

// Forge reads and writes the pull requests, statuses and issues of one repository.
type Forge interface {
	// Name is the kind of forge, such as "git".
	Name() string
	// Pulls returns our pull requests from head to base, newest first.
	Pulls(ctx context.Context, head, base string) ([]Pull, error)
	// OpenPulls returns all our open pull requests, newest first.
	OpenPulls(ctx context.Context) ([]Pull, error)
	// OpenPull opens a pull request. The error is ErrExists if one is open, ErrNotFound if a branch
	// is missing, and ErrChanged without changes, or if it was closed or merged at once.
	OpenPull(ctx context.Context, p Proposal) (Pull, error)
	// EditPull sets title, body and labels. If the pull request is not open from p.Head to p.Base,
	// the text stays and the error is ErrChanged.
	EditPull(ctx context.Context, number int, p Proposal) (Pull, error)
	// ClosePull closes an open pull request and records the reason in it. Otherwise it does
	// nothing.
	ClosePull(ctx context.Context, number int, reason string) error
	// SetStatus sets a commit's status in one context.
	SetStatus(ctx context.Context, commit string, s Status) error
	// Issues returns our open and closed issues with a mark, newest first.
	Issues(ctx context.Context, mark string) ([]Issue, error)
	// PutIssue opens an issue (number 0) or updates one.
	PutIssue(ctx context.Context, i Issue) (Issue, error)
}

// Proposal is the content of a pull request.
type Proposal struct {
	Mark       string // of the environment
	Head, Base string
	Title      string // one line
	Body       string
	Labels     []string
}

// State is the state of a pull request.
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
	Commit string // head of its branch when last open
	Reason string // for merging or closing it
	By     string // who merged or closed it; "" if unknown
	URL    string // "" without a page
}

// Outcome is the state of a commit status or of a run.
type Outcome = gate.Outcome

// The outcomes that all forges have.
const (
	Pending = gate.Pending
	Success = gate.Success
	Failure = gate.Failure
)

// Status is the status of a commit in one context.
type Status struct {
	Context     string
	Outcome     Outcome
	Description string // one line, at most 140 characters
	URL         string
}

// Issue is our issue.
type Issue struct {
	Number int // 0 if new
	Mark   string
	Title  string
	Body   string
	Open   bool
	URL    string
}

// MaxTitle is the length of a title that all forges accept, in bytes.
const MaxTitle = 255

// FitTitle cuts a title to MaxTitle.
func FitTitle(title string) string {
	title = text.OneLine(title)
	if len(title) <= MaxTitle {
		return title
	}
	return text.Shorten(title, MaxTitle-len("…"))
}

// EscapeMarkdown makes text from outside inert: literal, without mentions and links.
func EscapeMarkdown(text string) string {
	return strings.NewReplacer(
		"&", "&amp;", "\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "#", "#\u200b", "|", "\\|", "!", "\\!",
		"@", "@\u200b", "://", ":\u200b//", "\r", " ", "\n", " ",
	).Replace(text)
}

// CodeSpan formats text from outside as code, including any backticks.
func CodeSpan(code string) string {
	code = text.OneLine(code)
	longest := text.LongestBackticks(code)
	if longest > 0 {
		code = " " + code + " "
	}
	fence := strings.Repeat("`", longest+1)
	return fence + code + fence
}
