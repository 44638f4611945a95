package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Hosted is the common part of forges with an API, on top of [Calls]. P is the library's pull
// request. It is safe for concurrent use.
//
// Our items end with a hidden mark, <!-- fairlead: MARK -->, followed by the labels that we added
// and the reason for closing. Labels of people are neither returned nor removed.
type Hosted[P any] struct {
	client  *Client
	calls   Calls[P]
	dialect Dialect

	mu        sync.Mutex
	statuses  map[statusKey]Status
	mergers   map[int]string
	unlabeled error  // why no more issues are opened
	user      string // of the token, once read
}

type statusKey struct{ commit, context string }

const maxCachedStatuses = 1024

// Dialect describes how a forge differs for [Hosted].
type Dialect struct {
	Pull           string // "pull request" or "merge request"
	FoldLabels     bool   // labels are case-insensitive
	LabelAdvice    string // if an issue loses its label
	MaxComment     int    // characters
	HidesAutoMerge bool
	// CheckLabel returns an error for an invalid label; nil accepts all.
	CheckLabel func(name string) error
	// Escape makes a text inert; Unescape reverses it; nil for none.
	Escape, Unescape func(string) string
}

// Calls are the requests of a forge. Lists are complete.
type Calls[P any] struct {
	// ListPulls may return more than the filter selects.
	ListPulls  func(ctx context.Context, op string, f PullFilter) ([]P, error)
	ReadPull   func(ctx context.Context, number int) (P, error)
	CreatePull func(ctx context.Context, p Proposal) (P, error)
	// UpdatePull changes labels before the body, which names ours.
	UpdatePull func(ctx context.Context, op string, p P, c PullChange) (P, error)
	// ParsePull returns the zero HostedPull for an invalid answer.
	ParsePull func(p P) HostedPull[P]
	// MergePull merges a pull request that was just open and at commit.
	MergePull func(ctx context.Context, p P, commit string) error
	// EnableAutoMerge merges at once if nothing is missing.
	EnableAutoMerge func(ctx context.Context, p P, commit string) error
	CancelAutoMerge func(ctx context.Context, p P) error
	ListComments    func(ctx context.Context, number int, user string) ([]HostedComment, error)
	CreateComment   func(ctx context.Context, number int, text string) error
	UpdateComment   func(ctx context.Context, number int, id int64, text string) error
	// TidyLineComments removes the user's unwanted comments with a mark and returns the missing
	// wanted ones. nil if unsupported.
	TidyLineComments func(ctx context.Context, c Change, mark, user string, wanted []LineComment) ([]LineComment, error)
	// AddLineComments returns what the diff does not show, and what exceeds MaxLineComments.
	AddLineComments func(ctx context.Context, c Change, comments []LineComment) ([]Annotation, error)

	CreateStatus func(ctx context.Context, commit string, s Status) error
	ListIssues   func(ctx context.Context, label string) ([]HostedIssue, error)
	ReadIssue    func(ctx context.Context, number int) (HostedIssue, error)
	// CreateIssue may ignore that an issue is closed.
	CreateIssue func(ctx context.Context, i HostedIssue) (HostedIssue, error)
	UpdateIssue func(ctx context.Context, before, after HostedIssue) (HostedIssue, error)
	ReadUser    func(ctx context.Context) (string, error)
}

// PullFilter selects pull requests.
type PullFilter struct {
	Head, Base string
	Open       bool
	Newest     bool // one page, the newest
}

// HostedPull is any pull request of the forge. Its body is formatted as a [Document].
type HostedPull[P any] struct {
	Pull      Pull
	Fork      bool
	Foreign   error // why it is not in this repository
	AutoMerge bool
	Ended     time.Time
	Native    P
}

// PullChange is a change of a pull request.
type PullChange struct {
	Title, Body             *string // nil to keep them
	AddLabels, RemoveLabels []string
	Close                   bool
}

// NewHosted returns a Hosted with the requests of a forge.
func NewHosted[P any](client *Client, calls Calls[P], dialect Dialect) *Hosted[P] {
	if dialect.Escape == nil {
		keep := func(text string) string { return text }
		dialect.Escape, dialect.Unescape = keep, keep
	}
	if dialect.CheckLabel == nil {
		dialect.CheckLabel = func(string) error { return nil }
	}
	return &Hosted[P]{client: client, calls: calls, dialect: dialect}
}

func (h *Hosted[P]) formatDocument(d Document) (string, error) {
	d.Text = h.dialect.Escape(d.Text)
	return d.Format()
}

func (h *Hosted[P]) parseDocument(body string) (Document, bool) {
	d, ok := ParseDocument(body)
	d.Text = h.dialect.Unescape(d.Text)
	return d, ok
}

// Pulls returns our pull requests from head to base, newest first.
func (h *Hosted[P]) Pulls(ctx context.Context, head, base string) ([]Pull, error) {
	return h.listPulls(ctx, PullFilter{Head: head, Base: base}, func(p Pull) bool { return p.Head == head && p.Base == base })
}

// OpenPulls returns our open pull requests, newest first.
func (h *Hosted[P]) OpenPulls(ctx context.Context) ([]Pull, error) {
	return h.listPulls(ctx, PullFilter{Open: true}, func(p Pull) bool { return p.State == Open })
}

func (h *Hosted[P]) listPulls(ctx context.Context, f PullFilter, wanted func(Pull) bool) ([]Pull, error) {
	found, err := h.calls.ListPulls(ctx, "list "+h.dialect.Pull+"s", f)
	if err != nil {
		return nil, err
	}
	var all []Pull
	for _, p := range found {
		pull, _, err := h.parsePull(h.calls.ParsePull(p))
		if errors.Is(err, ErrNotFound) || !wanted(pull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, pull)
	}
	return sortNewest(all, func(p Pull) int { return p.Number }), nil
}

// Changes returns the open pull requests for a branch, except ours. A mark in a fork's does not
// make it ours.
func (h *Hosted[P]) Changes(ctx context.Context, base string) ([]Change, error) {
	found, err := h.calls.ListPulls(ctx, "list open "+h.dialect.Pull+"s", PullFilter{Base: base, Open: true})
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, native := range found {
		p := h.calls.ParsePull(native)
		pull := p.Pull
		if pull.Number == 0 || pull.State != Open || base != "" && pull.Base != base || pull.Commit == "" {
			continue
		}
		if p.Foreign != nil {
			return nil, p.Foreign
		}
		if _, _, err := h.parsePull(p); errors.Is(err, ErrNotFound) {
			all = append(all, Change{
				Number: pull.Number, Head: pull.Head, Commit: pull.Commit, Base: pull.Base, Fork: p.Fork, Title: pull.Title, URL: pull.URL,
			})
		}
	}
	return sortNewest(all, func(c Change) int { return c.Number }), nil
}

func (h *Hosted[P]) parsePull(p HostedPull[P]) (Pull, Document, error) {
	pull := p.Pull
	d, ok := h.parseDocument(pull.Body)
	if !ok || pull.Number == 0 || p.Fork {
		return Pull{}, d, fmt.Errorf("%s %d is not one of Fairlead's: %w", h.dialect.Pull, pull.Number, ErrNotFound)
	}
	pull.Mark, pull.Body = d.Mark, d.Text
	if p.Foreign != nil {
		return pull, d, p.Foreign
	}
	pull.Labels = h.selectLabels(d.Labels, pull.Labels, true)
	switch pull.State {
	case Closed:
		pull.Reason = d.Reason
	case Merged:
		pull.Reason = d.MergeReason
	case Open:
	}
	return pull, d, nil
}

func (h *Hosted[P]) selectLabels(names, others []string, has bool) (selected []string) {
	for _, name := range names {
		same := func(other string) bool {
			return other == name || h.dialect.FoldLabels && strings.EqualFold(other, name)
		}
		if slices.ContainsFunc(others, same) == has {
			selected = append(selected, name)
		}
	}
	return selected
}

func (h *Hosted[P]) checkLabels(names []string) ([]string, error) {
	for _, name := range names {
		if err := h.dialect.CheckLabel(name); err != nil {
			return nil, err
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// FindPull reads one of our pull requests.
func (h *Hosted[P]) FindPull(ctx context.Context, number int) (HostedPull[P], Pull, Document, error) {
	native, err := h.calls.ReadPull(ctx, number)
	if err != nil {
		return HostedPull[P]{}, Pull{}, Document{}, err
	}
	p := h.calls.ParsePull(native)
	pull, d, err := h.parsePull(p)
	return p, pull, d, err
}

func (h *Hosted[P]) operation(verb string, number int) string {
	return fmt.Sprintf("%s %s %d of %s", verb, h.dialect.Pull, number, h.client.Repo)
}

// OpenPull opens a pull request. The error is ErrExists if one is open, even another user's.
func (h *Hosted[P]) OpenPull(ctx context.Context, o Proposal) (Pull, error) {
	labels, err := h.checkLabels(o.Labels)
	if err != nil {
		return Pull{}, err
	}
	body, err := h.formatDocument(Document{Text: o.Body, Mark: o.Mark, Labels: labels})
	if err != nil {
		return Pull{}, err
	}
	p, err := h.calls.CreatePull(ctx, Proposal{Head: o.Head, Base: o.Base, Title: FitTitle(o.Title), Body: body, Labels: labels})
	if err != nil {
		return Pull{}, err
	}
	pull, _, err := h.parsePull(h.calls.ParsePull(p))
	if err == nil {
		err = pull.CheckOpen(fmt.Sprintf("open a %s of %s", h.dialect.Pull, h.client.Repo), o)
	}
	return pull, err
}

// EditPull sets title, body and labels of an open pull request. It removes only labels that we
// added.
func (h *Hosted[P]) EditPull(ctx context.Context, number int, o Proposal) (Pull, error) {
	labels, err := h.checkLabels(o.Labels)
	if err != nil {
		return Pull{}, err
	}
	what := h.operation("edit", number)
	before, pull, d, err := h.FindPull(ctx, number)
	if err == nil {
		err = pull.CheckOpen(what, o)
	}
	if err != nil {
		return Pull{}, err
	}
	body, err := h.formatDocument(Document{Text: o.Body, Mark: d.Mark, Labels: labels})
	if err != nil {
		return Pull{}, err
	}
	change := PullChange{AddLabels: h.selectLabels(labels, before.Pull.Labels, false), RemoveLabels: h.selectLabels(pull.Labels, labels, false)}
	if title := FitTitle(o.Title); title != before.Pull.Title {
		change.Title = &title
	}
	if body != before.Pull.Body {
		change.Body = &body
	}
	if change.Title == nil && change.Body == nil && change.AddLabels == nil && change.RemoveLabels == nil {
		return pull, nil
	}
	after, err := h.updatePull(ctx, "edit a "+h.dialect.Pull, before, change)
	if err != nil {
		return Pull{}, err
	}
	pull, _, err = h.parsePull(after)
	if err != nil {
		return Pull{}, err
	}
	err = pull.CheckOpen(what, o)
	if err != nil && pull.State != Open { // a merged or closed pull request keeps its text
		_, failed := h.updatePull(ctx, "put the text of a "+h.dialect.Pull+" back", after, PullChange{Title: &before.Pull.Title, Body: &before.Pull.Body})
		if failed != nil {
			err = fmt.Errorf("%w; and then: %w", err, failed)
		}
	}
	return pull, err
}

func (h *Hosted[P]) updatePull(ctx context.Context, op string, p HostedPull[P], c PullChange) (HostedPull[P], error) {
	after, err := retryUpdate(ctx, func() (P, error) { return h.calls.UpdatePull(ctx, op, p.Native, c) })
	if err != nil {
		return p, err
	}
	return h.calls.ParsePull(after), nil
}

// ClosePull closes a pull request and adds the reason to its body, in one request.
func (h *Hosted[P]) ClosePull(ctx context.Context, number int, reason string) error {
	p, pull, d, err := h.FindPull(ctx, number)
	if err != nil || pull.State != Open {
		return err
	}
	d.Reason = strings.Join(strings.Fields(reason), " ")
	body, err := h.formatDocument(d)
	if err != nil {
		return err
	}
	p, err = h.updatePull(ctx, "close a "+h.dialect.Pull, p, PullChange{Body: &body, Close: true})
	if err != nil {
		if _, now, _, failed := h.FindPull(ctx, number); failed == nil && now.State != Open { // it ended meanwhile
			return nil
		}
		return err
	}
	pull, _, err = h.parsePull(p)
	if err == nil && pull.State == Open {
		err = changedError(h.operation("close", number), "it is open again")
	}
	return err
}

// SetStatus does not resend a status that it has set: forges keep each one.
func (h *Hosted[P]) SetStatus(ctx context.Context, commit string, s Status) error {
	key := statusKey{commit, s.Context}
	h.mu.Lock()
	last, ok := h.statuses[key]
	h.mu.Unlock()
	if ok && last == s {
		return nil
	}
	if err := h.calls.CreateStatus(ctx, commit, s); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.statuses == nil || len(h.statuses) >= maxCachedStatuses {
		h.statuses = map[statusKey]Status{}
	}
	h.statuses[key] = s
	return nil
}
