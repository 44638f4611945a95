// Package github is the forge for github.com and GitHub Enterprise Server.
//
// What the package keeps true: a lookup names owner and branch, and its answer is
// checked; only what has our mark is ours; the token goes to the API's host and to no
// other, and is in no error.
package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Options say which repository of GitHub, or of a GitHub Enterprise Server.
type Options struct {
	Repo string // "owner/name"
	API  string // "" is https://api.github.com; a server of one's own has https://HOST/api/v3
	// Token is asked for before each request.
	Token  func(context.Context) (string, error)
	App    bool         // the token is that of a GitHub App, which may do more
	Client *http.Client // nil for one with the default settings; without a Timeout it has half a minute
	// Limiter is shared by all that use one credential; nil for one of its own.
	Limiter *forge.Limiter
	// Observe is called after each request; nil for no observer.
	Observe func(op string, took time.Duration, err error)
	Now     func() time.Time
}

// Forge is a repository of GitHub. It may be used concurrently.
//
// What is ours ends with a mark that is not shown, <!-- fairlead: MARK -->, below it
// the labels that we gave, and why we closed it. Labels that people gave are not
// given, and stay.
type Forge struct {
	owner, name string
	app         bool
	client      *gh.Client
	observe     func(string, time.Duration, error)
	now         func() time.Time

	mu        sync.Mutex
	statuses  forge.StatusCache // that we set last
	unlabeled error             // why no issue is opened any more
	login     string            // whom the token is of, once that was asked
}

// New makes a Forge; nothing is read yet.
func New(o Options) (*Forge, error) {
	owner, name, _ := strings.Cut(o.Repo, "/")
	if owner == "" || name == "" || url.PathEscape(owner) != owner || url.PathEscape(name) != name {
		return nil, fmt.Errorf("%q is not the name of a repository on GitHub, owner/name", o.Repo)
	}
	if o.Token == nil || o.Now == nil {
		return nil, errors.New("GitHub needs a token and a clock")
	}
	client, err := newClient(forge.ClientOptions{API: o.API, Base: o.Client, Token: o.Token, Limiter: o.Limiter, Now: o.Now})
	if err != nil {
		return nil, err
	}
	return &Forge{owner: owner, name: name, app: o.App, client: client, observe: o.Observe, now: o.Now}, nil
}

// Name is "github".
func (g *Forge) Name() string { return "github" }

// newClient makes a client of GitHub's API.
func newClient(o forge.ClientOptions) (*gh.Client, error) {
	o.API, o.Forge = cmp.Or(o.API, publicAPI), "GitHub"
	client, at, err := forge.NewClient(o)
	if err != nil {
		return nil, err
	}
	c := gh.NewClient(client)
	c.BaseURL, c.UserAgent = at, "fairlead"
	return c, nil
}

const publicAPI = "https://api.github.com"

func (g *Forge) fullName() string { return g.owner + "/" + g.name }

// callAPI does one request, names the operation in its error, and calls the observer.
func callAPI[T any](g *Forge, op string, do func() (T, *gh.Response, error)) (T, *gh.Response, error) {
	start := g.now()
	v, answer, err := do()
	err = explainError(op+" of "+g.fullName(), err)
	if g.observe != nil {
		g.observe(op, g.now().Sub(start), err)
	}
	return v, answer, err
}

// listAll reads all pages of a list.
func listAll[T any](g *Forge, op string, page func(gh.ListOptions) ([]T, *gh.Response, error)) ([]T, error) {
	var all []T
	o := gh.ListOptions{PerPage: 100}
	for {
		some, answer, err := callAPI(g, op, func() ([]T, *gh.Response, error) { return page(o) })
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if answer.NextPage <= o.Page {
			return all, nil
		}
		o.Page = answer.NextPage
	}
}

// Pulls returns our pull requests from a branch to another, newest first.
func (g *Forge) Pulls(ctx context.Context, head, base string) ([]forge.Pull, error) {
	// Without the owner, GitHub ignores the branch.
	o := gh.PullRequestListOptions{State: "all", Head: g.owner + ":" + head, Base: base, Sort: "created", Direction: "desc"}
	return g.listPulls(ctx, o, func(p forge.Pull) bool { return p.Head == head && p.Base == base })
}

// OpenPulls returns our open pull requests, newest first.
func (g *Forge) OpenPulls(ctx context.Context) ([]forge.Pull, error) {
	return g.listPulls(ctx, gh.PullRequestListOptions{State: "open"}, func(p forge.Pull) bool { return p.State == forge.Open })
}

// listPulls returns those of our pull requests that are wanted, newest first.
func (g *Forge) listPulls(ctx context.Context, options gh.PullRequestListOptions, wanted func(forge.Pull) bool) ([]forge.Pull, error) {
	found, err := listAll(g, "list pull requests", func(o gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		options.ListOptions = o
		return g.client.PullRequests.List(ctx, g.owner, g.name, &options)
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

// readPull understands a pull request. The error is ErrNotFound if it is not ours.
func (g *Forge) readPull(p *gh.PullRequest) (forge.Pull, forge.Document, error) {
	d, ok := forge.ParseDocument(p.GetBody())
	if !ok || p.GetNumber() == 0 || !strings.EqualFold(p.GetHead().GetRepo().GetFullName(), p.GetBase().GetRepo().GetFullName()) {
		return forge.Pull{}, d, fmt.Errorf("pull request %d is not one of Fairlead's: %w", p.GetNumber(), forge.ErrNotFound)
	}
	pull := forge.Pull{
		Proposal: forge.Proposal{Mark: d.Mark, Head: p.GetHead().GetRef(), Base: p.GetBase().GetRef(), Title: p.GetTitle(), Body: d.Text},
		Number:   p.GetNumber(), State: forge.Open, Commit: p.GetHead().GetSHA(), URL: p.GetHTMLURL(),
	}
	if now := p.GetBase().GetRepo().GetFullName(); !strings.EqualFold(now, g.fullName()) {
		return pull, d, g.renamedError(now)
	}
	for _, name := range d.Labels {
		if hasLabel(p, name) {
			pull.Labels = append(pull.Labels, name)
		}
	}
	switch {
	case p.MergedAt != nil:
		pull.State = forge.Merged
	case p.GetState() == "closed":
		pull.State, pull.Reason = forge.Closed, d.Reason
	}
	return pull, d, nil
}

func (g *Forge) renamedError(now string) error {
	return &forge.Refusal{Operation: "read " + g.fullName(), Reason: "the repository is now called " + oneLine(now), Advice: "write its new name into the settings"}
}

func hasLabel(p *gh.PullRequest, name string) bool {
	return slices.ContainsFunc(p.Labels, func(l *gh.Label) bool { return strings.EqualFold(l.GetName(), name) })
}

// OpenPull opens a pull request. The error is ErrExists if there is an open one, also
// another user's, and ErrChanged if the branch has nothing to merge.
func (g *Forge) OpenPull(ctx context.Context, o forge.Proposal) (forge.Pull, error) {
	d := forge.Document{Text: o.Body, Mark: o.Mark, Labels: sortedLabels(o.Labels)}
	body, err := d.Format()
	if err != nil {
		return forge.Pull{}, err
	}
	p, _, err := callAPI(g, "open a pull request", func() (*gh.PullRequest, *gh.Response, error) {
		return g.client.PullRequests.Create(ctx, g.owner, g.name, &gh.NewPullRequest{
			Title: gh.String(forge.FitTitle(o.Title)), Head: &o.Head, Base: &o.Base, Body: &body,
		})
	})
	if err != nil {
		return forge.Pull{}, err
	}
	if err := g.labelPull(ctx, p, nil, d.Labels); err != nil {
		return forge.Pull{}, err
	}
	pull, _, err := g.readPull(p)
	if err == nil {
		err = pull.CheckOpen("open a pull request of "+g.fullName(), o)
	}
	return pull, err
}

func sortedLabels(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// labelPull returns a pull request the labels that are wanted, and takes those from it
// that were ours. It notes in p what it did.
func (g *Forge) labelPull(ctx context.Context, p *gh.PullRequest, ours, wanted []string) error {
	missing := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return hasLabel(p, name) })
	if len(missing) > 0 {
		now, err := g.addLabels(ctx, p.GetNumber(), missing)
		if err != nil {
			return err
		}
		p.Labels = now
	}
	for _, name := range ours {
		same := func(other string) bool { return strings.EqualFold(other, name) }
		if !hasLabel(p, name) || slices.ContainsFunc(wanted, same) {
			continue
		}
		_, _, err := callAPI(g, "remove a label", func() (any, *gh.Response, error) {
			answer, err := g.client.Issues.RemoveLabelForIssue(ctx, g.owner, g.name, p.GetNumber(), url.PathEscape(name))
			return nil, answer, err
		})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
		p.Labels = slices.DeleteFunc(p.Labels, func(l *gh.Label) bool { return same(l.GetName()) })
	}
	return nil
}

// addLabels adds labels, and gives all that there are then. go-github sends them in
// a form that GitHub's description no longer has.
func (g *Forge) addLabels(ctx context.Context, number int, names []string) ([]*gh.Label, error) {
	body := struct {
		Labels []string `json:"labels"`
	}{names}
	req, err := g.client.NewRequest(http.MethodPost, fmt.Sprintf("repos/%s/issues/%d/labels", g.fullName(), number), body)
	if err != nil {
		return nil, err
	}
	all, _, err := callAPI(g, "label", func() ([]*gh.Label, *gh.Response, error) {
		var all []*gh.Label
		answer, err := g.client.Do(ctx, req, &all)
		return all, answer, err
	})
	return all, err
}

// findPull reads one of our pull requests by its number.
func (g *Forge) findPull(ctx context.Context, number int) (*gh.PullRequest, forge.Pull, forge.Document, error) {
	p, _, err := callAPI(g, "read a pull request", func() (*gh.PullRequest, *gh.Response, error) {
		return g.client.PullRequests.Get(ctx, g.owner, g.name, number)
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
	title, before := forge.FitTitle(o.Title), &gh.PullRequest{Title: new(p.GetTitle()), Body: new(p.GetBody())}
	if title == before.GetTitle() && body == before.GetBody() {
		pull, _, err = g.readPull(p)
		return pull, err
	}
	if p, err = g.updatePull(ctx, "edit a pull request", number, &gh.PullRequest{Title: &title, Body: &body}); err != nil {
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

func (g *Forge) updatePull(ctx context.Context, op string, number int, to *gh.PullRequest) (*gh.PullRequest, error) {
	p, _, err := callAPI(g, op, func() (*gh.PullRequest, *gh.Response, error) {
		return g.client.PullRequests.Edit(ctx, g.owner, g.name, number, to)
	})
	return p, err
}

// ClosePull closes a pull request that is open, and says why at the end of its body: it
// is written in the same request, so that one is not without the other.
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
	p, err := g.updatePull(ctx, "close a pull request", number, &gh.PullRequest{Body: &body, State: gh.String("closed")})
	if err != nil {
		return forge.IgnoreEnded(err, func() (forge.Pull, error) { _, pull, _, err := g.findPull(ctx, number); return pull, err })
	}
	if pull, _, err = g.readPull(p); err == nil {
		err = pull.CheckEnded(fmt.Sprintf("close pull request %d of %s", number, g.fullName()))
	}
	return err
}

// maxDescription is how many characters GitHub shows of a status.
const maxDescription = 140

// SetStatus sets a status of a commit. One that we have set already is not sent again:
// GitHub keeps every status, and takes no more than a thousand.
func (g *Forge) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	if g.statuses.Has(commit, s) {
		return nil
	}
	status := &gh.RepoStatus{
		State: gh.String(string(s.Outcome)), Context: &s.Context, Description: gh.String(forge.OneLine(s.Description, maxDescription)),
	}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	_, _, err := callAPI(g, "set a status", func() (*gh.RepoStatus, *gh.Response, error) {
		return g.client.Repositories.CreateStatus(ctx, g.owner, g.name, commit, status)
	})
	if err != nil {
		return err
	}
	g.statuses.Put(commit, s)
	return nil
}
