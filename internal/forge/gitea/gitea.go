// Package gitea is the forge for Gitea and Forgejo.
//
// What the package keeps true: only what has our mark is ours; a lookup names the
// branches, and its answer is checked, as the server knows only one of them; labels
// are there before they are given; the token goes to the server and to no other, and
// is in no error.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Options say which repository of which server.
type Options struct {
	URL  string // of the server, without /api/v1
	Repo string // "owner/name"
	// Token is asked for before each request.
	Token  func(context.Context) (string, error)
	Client *http.Client // nil for one with the default settings; without a Timeout it has half a minute
	// Limiter is shared by all that use one credential; nil for one of its own.
	Limiter *forge.Limiter
	// Observe is called after each request; nil for no observer.
	Observe func(op string, took time.Duration, err error)
	Now     func() time.Time
}

// Forge is a repository of a server. It may be used concurrently.
//
// What is ours ends with a mark that is not shown, <!-- fairlead: MARK -->, below it
// the labels that we gave, and why we closed it. Labels that people gave are not
// given, and stay.
type Forge struct {
	owner, name string
	url         *url.URL // with a slash at its end
	client      *http.Client
	observe     func(string, time.Duration, error)
	now         func() time.Time

	mu         sync.Mutex
	statuses   forge.StatusCache // that we set last
	labelled   bool              // the label of our issues is there
	unlabelled error             // why no issue is opened any more
	user       int64             // whom the token is of, once that was asked
}

// New makes a Forge; nothing is read yet.
func New(o Options) (*Forge, error) {
	owner, name, _ := strings.Cut(o.Repo, "/")
	if owner == "" || name == "" || url.PathEscape(owner) != owner || url.PathEscape(name) != name {
		return nil, fmt.Errorf("%q is not the name of a repository on Gitea, owner/name", o.Repo)
	}
	if o.Token == nil || o.Now == nil {
		return nil, errors.New("the forge needs a token and a clock")
	}
	client, at, err := forge.NewClient(forge.ClientOptions{
		API: strings.TrimSuffix(strings.TrimSuffix(o.URL, "/"), "/api/v1"), Forge: "Gitea",
		Base: o.Client, Token: o.Token, Limiter: o.Limiter, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	return &Forge{owner: owner, name: name, url: at, client: client, observe: o.Observe, now: o.Now}, nil
}

// Name is "gitea".
func (g *Forge) Name() string { return "gitea" }

func (g *Forge) fullName() string { return g.owner + "/" + g.name }

// newSDK makes a client for one call: the SDK's clients are for one context. It is not
// to ask for the server's version before each.
func (g *Forge) newSDK(ctx context.Context) (*sdk.Client, error) {
	return sdk.NewClient(g.url.String(), sdk.SetContext(ctx), sdk.SetHTTPClient(g.client), sdk.SetGiteaVersion(""), sdk.SetUserAgent("fairlead"))
}

// callAPI does one request, names the operation in its error, and calls the observer.
func callAPI[T any](ctx context.Context, g *Forge, op string, do func(*sdk.Client) (T, *sdk.Response, error)) (T, *sdk.Response, error) {
	client, err := g.newSDK(ctx)
	if err != nil {
		var none T
		return none, nil, err
	}
	start := g.now()
	v, answer, err := do(client)
	err = explainError(op+" of "+g.fullName(), answer, err)
	if g.observe != nil {
		g.observe(op, g.now().Sub(start), err)
	}
	return v, answer, err
}

const (
	pageSize = 50 // the most that servers give, if they are not set up otherwise
	maxPages = 2000
)

// listAll reads all pages of a list. How many a page has is up to the server. Nothing
// in the result is nil.
func listAll[T any](ctx context.Context, g *Forge, op string, page func(*sdk.Client, sdk.ListOptions) ([]*T, *sdk.Response, error)) ([]*T, error) {
	var all []*T
	for n := 1; n <= maxPages; n++ {
		some, answer, err := callAPI(ctx, g, op, func(c *sdk.Client) ([]*T, *sdk.Response, error) {
			return page(c, sdk.ListOptions{Page: n, PageSize: pageSize})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		total, err := strconv.Atoi(answer.Header.Get("X-Total-Count"))
		if len(some) == 0 || err == nil && len(all) >= total {
			return slices.DeleteFunc(all, func(v *T) bool { return v == nil }), nil
		}
	}
	return nil, fmt.Errorf("%s of %s: the list does not end", op, g.fullName())
}

// Pulls returns our pull requests from a branch to another, newest first.
func (g *Forge) Pulls(ctx context.Context, head, base string) ([]forge.Pull, error) {
	all, err := g.listPulls(ctx, base, sdk.StateAll, func(p forge.Pull) bool { return p.Head == head && p.Base == base })
	for i := range all {
		if all[i].State != forge.Open {
			continue
		}
		// In lists, one that was opened again is still at the commit that it was closed at.
		if _, all[i], _, err = g.findPull(ctx, all[i].Number); err != nil {
			return nil, err
		}
	}
	return all, err
}

// OpenPulls returns our open pull requests, newest first.
func (g *Forge) OpenPulls(ctx context.Context) ([]forge.Pull, error) {
	return g.listPulls(ctx, "", sdk.StateOpen, func(p forge.Pull) bool { return p.State == forge.Open })
}

// listPulls returns those of our pull requests that are wanted, newest first.
func (g *Forge) listPulls(ctx context.Context, base string, state sdk.StateType, wanted func(forge.Pull) bool) ([]forge.Pull, error) {
	found, err := listAll(ctx, g, "list pull requests", func(_ *sdk.Client, o sdk.ListOptions) ([]*sdk.PullRequest, *sdk.Response, error) {
		return g.listPage(ctx, base, state, o)
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Pull
	for _, p := range found {
		pull, _, err := g.readPull(p)
		if errors.Is(err, forge.ErrNotFound) || !wanted(pull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, pull)
	}
	return forge.SortNewest(all), nil
}

// listPage reads a page of the pull requests to a branch, or to any if it is "". Servers
// cannot choose by the other branch, and the SDK by neither.
func (g *Forge) listPage(ctx context.Context, base string, state sdk.StateType, o sdk.ListOptions) ([]*sdk.PullRequest, *sdk.Response, error) {
	at := g.repoURL("pulls")
	query := url.Values{"state": {string(state)}, "page": {strconv.Itoa(o.Page)}, "limit": {strconv.Itoa(o.PageSize)}}
	if base != "" {
		query.Set("base_branch", base)
	}
	at.RawQuery = query.Encode()
	var found []*sdk.PullRequest
	answer, err := g.sendRequest(ctx, http.MethodGet, at, nil, &found)
	return found, answer, err
}

// readPull understands a pull request. The error is ErrNotFound if it is not ours.
func (g *Forge) readPull(p *sdk.PullRequest) (forge.Pull, forge.Document, error) {
	d, ok := forge.ParseDocument(p.Body)
	if !ok || p.Index == 0 || p.Head == nil || p.Base == nil || p.Base.Repository == nil || p.Head.RepoID != p.Base.RepoID {
		return forge.Pull{}, d, fmt.Errorf("pull request %d is not one of Fairlead's: %w", p.Index, forge.ErrNotFound)
	}
	pull := forge.Pull{
		// The ref is another one when the branch is gone.
		Proposal: forge.Proposal{Mark: d.Mark, Head: p.Head.Name, Base: p.Base.Name, Title: p.Title, Body: d.Text},
		Number:   int(p.Index), State: forge.Open, Commit: p.Head.Sha, URL: p.HTMLURL,
	}
	if now := p.Base.Repository.FullName; !strings.EqualFold(now, g.fullName()) {
		return pull, d, g.renamedError(now)
	}
	for _, name := range d.Labels {
		if hasLabel(p.Labels, name) {
			pull.Labels = append(pull.Labels, name)
		}
	}
	switch {
	case p.HasMerged:
		pull.State = forge.Merged
	case p.State == sdk.StateClosed:
		pull.State, pull.Reason = forge.Closed, d.Reason
	}
	return pull, d, nil
}

func (g *Forge) renamedError(now string) error {
	return &forge.Refusal{
		Operation: "read " + g.fullName(), Reason: "the repository is now called " + forge.OneLine(now, maxQuote), Advice: "write its new name into the settings",
	}
}

// OpenPull opens a pull request. The error is ErrExists if there is an open one, also
// another user's.
func (g *Forge) OpenPull(ctx context.Context, o forge.Proposal) (forge.Pull, error) {
	d := forge.Document{Text: o.Body, Mark: o.Mark, Labels: sortedLabels(o.Labels)}
	body, err := d.Format()
	if err != nil {
		return forge.Pull{}, err
	}
	labels, err := g.labelIDs(ctx, d.Labels)
	if err != nil {
		return forge.Pull{}, err
	}
	p, answer, err := callAPI(ctx, g, "open a pull request", func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.CreatePullRequest(g.owner, g.name, sdk.CreatePullRequestOption{
			Title: forge.FitTitle(o.Title), Head: o.Head, Base: o.Base, Body: body, Labels: labels,
		})
	})
	if err != nil {
		err = setKind(forge.ErrExists, http.StatusConflict, answer, err)
		return forge.Pull{}, setKind(forge.ErrChanged, http.StatusInternalServerError, answer, err) // it may be there all the same
	}
	pull, _, err := g.readPull(p)
	if err == nil {
		err = pull.CheckOpen("open a pull request of "+g.fullName(), o)
	}
	return pull, err
}

// findPull reads one of our pull requests by its number.
func (g *Forge) findPull(ctx context.Context, number int) (*sdk.PullRequest, forge.Pull, forge.Document, error) {
	p, _, err := callAPI(ctx, g, "read a pull request", func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.GetPullRequest(g.owner, g.name, int64(number))
	})
	if err != nil {
		return nil, forge.Pull{}, forge.Document{}, err
	}
	pull, d, err := g.readPull(p)
	return p, pull, d, err
}

// EditPull sets title, body and labels of an open pull request. Of the
// labels it removes only those that we gave.
func (g *Forge) EditPull(ctx context.Context, number int, o forge.Proposal) (forge.Pull, error) {
	what := fmt.Sprintf("edit pull request %d of %s", number, g.fullName())
	p, pull, old, err := g.findPull(ctx, number)
	if err == nil {
		err = pull.CheckOpen(what, o)
	}
	if err != nil {
		return forge.Pull{}, err
	}
	d := forge.Document{Text: o.Body, Mark: old.Mark, Labels: sortedLabels(o.Labels), Reason: pull.Reason}
	body, err := d.Format()
	if err != nil {
		return forge.Pull{}, err
	}
	// The labels come first: the body says which are ours until they are gone.
	if err := g.labelPull(ctx, p, old.Labels, d.Labels); err != nil {
		return forge.Pull{}, err
	}
	title, before := forge.FitTitle(o.Title), sdk.EditPullRequestOption{Title: p.Title, Body: new(p.Body)}
	if title == p.Title && body == p.Body {
		pull, _, err = g.readPull(p)
		return pull, err
	}
	if p, err = g.updatePull(ctx, "edit a pull request", number, sdk.EditPullRequestOption{Title: title, Body: &body}); err != nil {
		return forge.Pull{}, err
	}
	if pull, _, err = g.readPull(p); err != nil {
		return forge.Pull{}, err
	}
	err = pull.CheckOpen(what, o)
	if err != nil && pull.State != forge.Open { // its text stays that of what was merged or closed
		_, failed := g.updatePull(ctx, "put the text of a pull request back", number, before)
		err = forge.JoinErrors(err, failed)
	}
	return pull, err
}

func (g *Forge) updatePull(ctx context.Context, op string, number int, to sdk.EditPullRequestOption) (*sdk.PullRequest, error) {
	p, _, err := retryCall(ctx, g, op, func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.EditPullRequest(g.owner, g.name, int64(number), to)
	})
	return p, err
}

// ClosePull closes a pull request that is open, and says why at the end of its body: it
// is written in the same request, before the state.
func (g *Forge) ClosePull(ctx context.Context, number int, reason string) error {
	_, pull, d, err := g.findPull(ctx, number)
	if err != nil || pull.State != forge.Open {
		return err
	}
	d.Reason = strings.Join(strings.Fields(reason), " ")
	body, err := d.Format()
	if err != nil {
		return err
	}
	closed := sdk.StateClosed
	p, err := g.updatePull(ctx, "close a pull request", number, sdk.EditPullRequestOption{Body: &body, State: &closed})
	if err != nil {
		return forge.IgnoreEnded(err, func() (forge.Pull, error) { _, pull, _, err := g.findPull(ctx, number); return pull, err })
	}
	if pull, _, err = g.readPull(p); err == nil {
		err = pull.CheckEnded(fmt.Sprintf("close pull request %d of %s", number, g.fullName()))
	}
	return err
}
