// Package gitlab is the forge for gitlab.com and other GitLab servers.
//
// What the package keeps true: merge requests are asked for in the project, and
// every answer is checked to be of it; only what has our mark is ours; nothing that we
// write is a quick action; the token goes to the API's host and to no other, and is in
// no error.
package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Options say which project of gitlab.com, or of a server of one's own.
type Options struct {
	Project string // "group/name", or with groups in groups: "group/sub/name"
	API     string // "" is https://gitlab.com/api/v4; a server of one's own has https://HOST/api/v4
	// Token is asked for before each request: a personal, project or group access
	// token, or one of OAuth.
	Token  func(context.Context) (string, error)
	Client *http.Client // nil for one with the default settings; without a Timeout it has half a minute
	// Limiter is shared by all that use one credential; nil for one of its own.
	Limiter *forge.Limiter
	// Observe is called after each request; nil for no observer.
	Observe func(op string, took time.Duration, err error)
	Now     func() time.Time
}

// Forge is a project of GitLab. It may be used concurrently. Numbers are GitLab's
// iids, which count merge requests and issues of the project apart.
type Forge struct {
	*forge.Hosted[mergeRequest]
	project string
	client  *gl.Client
	observe func(string, time.Duration, error)
	now     func() time.Time
}

const publicAPI = "https://gitlab.com/api/v4"

var projectPath = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+$`)

// New makes a Forge; nothing is read yet.
func New(o Options) (*Forge, error) {
	if !projectPath.MatchString(o.Project) {
		return nil, fmt.Errorf("%q is not the path of a project on GitLab, group/name", o.Project)
	}
	if o.Token == nil || o.Now == nil {
		return nil, errors.New("GitLab needs a token and a clock")
	}
	client, at, err := forge.NewClient(forge.ClientOptions{
		API: cmp.Or(o.API, publicAPI), Forge: "GitLab", Base: o.Client, Token: o.Token, Limiter: o.Limiter, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	// The client shows the token, and when to try again is decided elsewhere.
	api, err := gl.NewAuthSourceClient(gl.Unauthenticated{},
		gl.WithBaseURL(at.String()), gl.WithHTTPClient(client), gl.WithoutRetries(), gl.WithUserAgent("fairlead"))
	if err != nil {
		return nil, fmt.Errorf("the address of GitLab's API: %w", err)
	}
	g := &Forge{project: o.Project, client: api, observe: o.Observe, now: o.Now}
	g.Hosted = forge.NewHosted(forge.Calls[mergeRequest]{
		ListPulls: g.listPulls, ReadPull: g.readPull, CreatePull: g.createPull, UpdatePull: g.updatePull,
		ListComments: g.listComments, CreateComment: g.createComment, UpdateComment: g.updateComment, CreateStatus: g.createStatus,
		ListIssues: g.listIssues, ReadIssue: g.readIssue, CreateIssue: g.createIssue, UpdateIssue: g.updateIssue, ReadUser: g.readUser,
	}, forge.Dialect{
		Forge: "GitLab", Repo: o.Project, Pull: "merge request", MaxComment: maxNote,
		CheckLabel: checkLabel, Escape: escapeActions, Unescape: unescapeActions,
		LabelAdvice: "give the token, or the user that it is of, at least the role Reporter in the project, then start again",
	})
	return g, nil
}

// Name is "gitlab".
func (g *Forge) Name() string { return "gitlab" }

// callAPI does one request for something in the project, or of the whole server if its
// path begins with a slash. It says in an error what it was for, and tells the
// observer. Answers are read into types of ours: those of client-go panic when an
// answer is not as GitLab's are.
func callAPI[T any](ctx context.Context, g *Forge, op, method, path string, o any) (T, *gl.Response, error) {
	start := g.now()
	var v T
	answer, err := g.sendRequest(ctx, method, path, o, &v)
	err = explainError(op+" of "+g.project, err)
	if g.observe != nil {
		g.observe(op, g.now().Sub(start), err)
	}
	return v, answer, err
}

func (g *Forge) sendRequest(ctx context.Context, method, path string, o, v any) (*gl.Response, error) {
	at, ofServer := strings.CutPrefix(path, "/")
	if !ofServer {
		at = "projects/" + gl.PathEscape(g.project) + "/" + path
	}
	req, err := g.client.NewRequest(method, at, o, []gl.RequestOptionFunc{gl.WithContext(ctx)})
	if err != nil {
		return nil, err
	}
	answer, err := g.client.Do(req, v)
	if answer != nil && answer.StatusCode == http.StatusNoContent { // there is nothing to read
		err = nil
	}
	return answer, err
}

// listAll reads all pages of a list. How many there are is not asked: GitLab does not
// say for long lists.
func listAll[T any](ctx context.Context, g *Forge, op, path string, page func(gl.ListOptions) any) ([]T, error) {
	var all []T
	o := gl.ListOptions{PerPage: 100, Page: 1}
	for {
		some, answer, err := callAPI[[]T](ctx, g, op, http.MethodGet, path, page(o))
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

// item is what merge requests and issues have in common.
type item struct {
	IID         int      `json:"iid"` // in the project
	ProjectID   int64    `json:"project_id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	State       string   `json:"state"`
	Labels      []string `json:"labels"`
	WebURL      string   `json:"web_url"`
	References  struct {
		Full string `json:"full"` // group/name!1, group/name#1
	} `json:"references"`
}

// checkProject returns an error if an answer is of another project, as it is when ours was
// renamed and GitLab redirects.
func (g *Forge) checkProject(i item) error {
	project := i.References.Full
	if end := strings.LastIndexAny(project, "!#"); end >= 0 {
		project = project[:end]
	}
	if strings.EqualFold(project, g.project) {
		return nil
	}
	r := &forge.Refusal{Operation: "read " + g.project, Reason: "the project is now called " + oneLine(project), Advice: "write its new path into the settings"}
	if project == "" {
		r.Reason, r.Advice = "the answer does not say which project it is of", "see whether the address is that of the API of GitLab 12.7 or newer"
	}
	return r
}
