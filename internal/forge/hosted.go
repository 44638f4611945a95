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

// Hosted is the part of a forge with an API that all of them have in common: which pull
// requests, comments and issues are ours, and what is written into them. It is over the
// few requests of [Calls]. P is what the forge's library has for a pull request. It may
// be used concurrently.
//
// What is ours ends with a mark that is not shown, <!-- fairlead: MARK -->, below it
// the labels that we gave, and why we closed it. Labels that people gave are not
// returned, and stay.
type Hosted[P any] struct {
	client  *Client
	calls   Calls[P]
	dialect Dialect

	mu        sync.Mutex
	statuses  map[statusKey]Status // that we have set
	mergers   map[int]string       // who merged a pull request, by its number
	unlabeled error                // why no issue is opened any more
	user      string               // of the token, once it was read
}

type statusKey struct{ commit, context string }

// maxCachedStatuses bounds how many statuses are remembered.
const maxCachedStatuses = 1024

// Dialect is in what forges differ for [Hosted].
type Dialect struct {
	Pull        string // "pull request", or what the forge calls one
	FoldLabels  bool   // labels that differ in case are the same
	LabelAdvice string // what to do if an issue has lost its label
	MaxComment  int    // characters
	// HidesAutoMerge means that the forge does not show whether it merges a pull request later.
	HidesAutoMerge bool
	// CheckLabel returns an error for a name that the forge cannot take; nil for any name.
	CheckLabel func(name string) error
	// Escape makes a text harmless to the forge, and Unescape makes it the text again;
	// nil for none.
	Escape, Unescape func(string) string
}

// Calls are the requests of a forge. A list has all pages.
type Calls[P any] struct {
	// ListPulls may return more than the filter asks for.
	ListPulls func(ctx context.Context, op string, f PullFilter) ([]P, error)
	ReadPull  func(ctx context.Context, number int) (P, error)
	// CreatePull opens a pull request with its labels.
	CreatePull func(ctx context.Context, p Proposal) (P, error)
	// UpdatePull changes labels first: the body names ours until they are gone.
	UpdatePull func(ctx context.Context, op string, p P, c PullChange) (P, error)
	// ParsePull returns what the forge tells of a pull request; the zero HostedPull for an
	// answer that is none.
	ParsePull func(p P) HostedPull[P]
	// MergePull merges a pull request that was open and at commit a moment ago.
	MergePull func(ctx context.Context, p P, commit string) error
	// EnableAutoMerge has the forge merge it later, or merges it if nothing is missing.
	EnableAutoMerge func(ctx context.Context, p P, commit string) error
	CancelAutoMerge func(ctx context.Context, p P) error
	// ListComments returns comments; those of the user are marked.
	ListComments  func(ctx context.Context, number int, user string) ([]HostedComment, error)
	CreateComment func(ctx context.Context, number int, text string) error
	UpdateComment func(ctx context.Context, number int, id int64, text string) error
	// TidyLineComments removes the user's comments with a mark that are not wanted, and returns
	// the wanted ones that are not there. nil for a forge that has no such comments.
	TidyLineComments func(ctx context.Context, c Change, mark, user string, wanted []LineComment) ([]LineComment, error)
	// AddLineComments returns what it cannot add, because the diff does not show the line, or
	// beyond MaxLineComments.
	AddLineComments func(ctx context.Context, c Change, comments []LineComment) ([]Annotation, error)

	CreateStatus func(ctx context.Context, commit string, s Status) error
	ListIssues   func(ctx context.Context, label string) ([]HostedIssue, error)
	ReadIssue    func(ctx context.Context, number int) (HostedIssue, error)
	// CreateIssue may open an issue that is to be closed.
	CreateIssue func(ctx context.Context, i HostedIssue) (HostedIssue, error)
	UpdateIssue func(ctx context.Context, before, after HostedIssue) (HostedIssue, error)
	ReadUser    func(ctx context.Context) (string, error)
}

// PullFilter chooses pull requests in a list.
type PullFilter struct {
	Head, Base string // "" for any
	Open       bool   // only those that are open
	Newest     bool   // one page, of the newest
}

// HostedPull is a pull request of the forge, ours or not. Its body is that of a [Document].
type HostedPull[P any] struct {
	Pull      Pull
	Fork      bool      // its branch is not one of the repository
	Foreign   error     // what is wrong if it is of another repository
	AutoMerge bool      // the forge merges it once nothing is missing
	Ended     time.Time // it was merged or closed
	Native    P
}

// PullChange is what is changed in a pull request.
type PullChange struct {
	Title, Body             *string // nil to keep them
	AddLabels, RemoveLabels []string
	Close                   bool
}

// NewHosted returns a Hosted over the requests of a forge.
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

// formatDocument returns the body of a document as the forge takes it.
func (h *Hosted[P]) formatDocument(d Document) (string, error) {
	d.Text = h.dialect.Escape(d.Text)
	return d.Format()
}

func (h *Hosted[P]) parseDocument(body string) (Document, bool) {
	d, ok := ParseDocument(body)
	d.Text = h.dialect.Unescape(d.Text)
	return d, ok
}

// Pulls returns our pull requests from a branch to another, newest first.
func (h *Hosted[P]) Pulls(ctx context.Context, head, base string) ([]Pull, error) {
	return h.listPulls(ctx, PullFilter{Head: head, Base: base}, func(p Pull) bool { return p.Head == head && p.Base == base })
}

// OpenPulls returns our open pull requests, newest first.
func (h *Hosted[P]) OpenPulls(ctx context.Context) ([]Pull, error) {
	return h.listPulls(ctx, PullFilter{Open: true}, func(p Pull) bool { return p.State == Open })
}

// listPulls returns those of our pull requests that are wanted, newest first.
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

// Changes returns the open pull requests for a branch, newest first, without our own.
// A mark in one of a fork does not make it ours.
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

// parsePull returns our part of a pull request. The error is ErrNotFound if it is not
// ours.
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

// selectLabels returns the names of a list that another has, or lacks; nil for none.
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

// checkLabels returns names sorted, each once.
func (h *Hosted[P]) checkLabels(names []string) ([]string, error) {
	for _, name := range names {
		if err := h.dialect.CheckLabel(name); err != nil {
			return nil, err
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// FindPull reads one of our pull requests by its number.
func (h *Hosted[P]) FindPull(ctx context.Context, number int) (HostedPull[P], Pull, Document, error) {
	native, err := h.calls.ReadPull(ctx, number)
	if err != nil {
		return HostedPull[P]{}, Pull{}, Document{}, err
	}
	p := h.calls.ParsePull(native)
	pull, d, err := h.parsePull(p)
	return p, pull, d, err
}

// operation names what is done with a pull request, for errors.
func (h *Hosted[P]) operation(verb string, number int) string {
	return fmt.Sprintf("%s %s %d of %s", verb, h.dialect.Pull, number, h.client.Repo)
}

// OpenPull opens a pull request. The error is ErrExists if there is an open one, also
// another user's.
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

// EditPull sets title, body and labels of an open pull request. Of the labels it removes
// only those that we gave.
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
	if err != nil && pull.State != Open { // its text stays that of what was merged or closed
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

// ClosePull closes an open pull request. The reason goes to the end of its body in the
// same request, so that one is not without the other.
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
		if _, now, _, failed := h.FindPull(ctx, number); failed == nil && now.State != Open { // it has ended meanwhile
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

// SetStatus sets the status of a commit in one context. One that we have set already is
// not sent again: forges keep every one that they are sent.
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
