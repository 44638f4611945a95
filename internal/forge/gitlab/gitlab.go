// Package gitlab is the forge for gitlab.com and other GitLab servers.
//
// What the package keeps true: every answer is checked to be of the project. Only items with our
// mark are ours. No text that we write is a quick action. The token goes only to the API's host,
// and is in no error.
package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// Forge is a project of GitLab. It is safe for concurrent use. Numbers are iids, which are separate
// for merge requests and issues.
type Forge struct {
	*forge.Hosted[mergeRequest]
	api    *forge.Client
	client *gl.Client
}

var projectPath = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+$`)

// New returns a Forge of a project, "group/name" or "group/sub/name". The API of another server is
// https://HOST/api/v4. The token is a personal, project, group or OAuth access token.
func New(o forge.Options) (*Forge, error) {
	if !projectPath.MatchString(o.Repo) {
		return nil, fmt.Errorf("%q is not the path of a project on GitLab, group/name", o.Repo)
	}
	o.API = cmp.Or(o.API, "https://gitlab.com/api/v4")
	api, err := forge.NewClient("GitLab", o)
	if err != nil {
		return nil, err
	}
	// apiTransport adds the token, and callers decide about retries.
	client, err := gl.NewAuthSourceClient(gl.Unauthenticated{},
		gl.WithBaseURL(api.URL.String()), gl.WithHTTPClient(api.HTTP), gl.WithoutRetries(), gl.WithUserAgent("fairlead"))
	if err != nil {
		return nil, fmt.Errorf("the address of GitLab's API: %w", err)
	}
	g := &Forge{api: api, client: client}
	g.Hosted = forge.NewHosted(api, forge.Calls[mergeRequest]{
		ListPulls: g.listPulls, ReadPull: g.readPull, CreatePull: g.createPull, UpdatePull: g.updatePull, ParsePull: g.parsePull,
		MergePull: g.mergePull, EnableAutoMerge: g.enableAutoMerge, CancelAutoMerge: g.cancelAutoMerge,
		ListComments: g.listComments, CreateComment: g.createComment, UpdateComment: g.updateComment, CreateStatus: g.createStatus,
		TidyLineComments: g.tidyLineComments, AddLineComments: g.addLineComments,
		ListIssues: g.listIssues, ReadIssue: g.readIssue, CreateIssue: g.createIssue, UpdateIssue: g.updateIssue, ReadUser: g.readUser,
	}, forge.Dialect{
		Pull: "merge request", MaxComment: maxNote,
		CheckLabel: checkLabel, Escape: escapeActions, Unescape: unescapeActions,
		LabelAdvice: "give the token, or the user that it is of, at least the role Reporter in the project, then start again",
	})
	return g, nil
}

// Name is "gitlab".
func (g *Forge) Name() string { return "gitlab" }

// callAPI requests a path in the project, or of the server if it begins with a slash. Answers have
// our types: client-go's panic on unexpected answers.
func callAPI[T any](ctx context.Context, g *Forge, op, method, path string, o any) (v T, answer *gl.Response, err error) {
	g.api.Do(op, func(what string) error {
		answer, err = g.sendRequest(ctx, method, path, o, &v)
		err = explainError(what, err)
		return err
	})
	return v, answer, err
}

func (g *Forge) sendRequest(ctx context.Context, method, path string, o, v any) (*gl.Response, error) {
	at, ofServer := strings.CutPrefix(path, "/")
	if !ofServer {
		at = "projects/" + gl.PathEscape(g.api.Repo) + "/" + path
	}
	req, err := g.client.NewRequest(method, at, o, []gl.RequestOptionFunc{gl.WithContext(ctx)})
	if err != nil {
		return nil, err
	}
	answer, err := g.client.Do(req, v)
	if answer != nil && answer.StatusCode == http.StatusNoContent {
		err = nil
	}
	return answer, err
}

const pageSize = 100

// listAll does not use the number of pages: GitLab omits it for long lists.
func listAll[T any](ctx context.Context, g *Forge, op, path string, page func(gl.ListOptions) any) ([]T, error) {
	var all []T
	o := gl.ListOptions{PerPage: pageSize, Page: 1}
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

type item struct {
	IID         int      `json:"iid"`
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

// checkProject returns an error for an answer from another project: GitLab redirects after a
// rename.
func (g *Forge) checkProject(i item) error {
	project := i.References.Full
	if end := strings.LastIndexAny(project, "!#"); end >= 0 {
		project = project[:end]
	}
	if strings.EqualFold(project, g.api.Repo) {
		return nil
	}
	r := &problem.Refusal{Operation: "read " + g.api.Repo, Reason: "the project is now called " + forge.Quote(project), Advice: "write its new path into the settings"}
	if project == "" {
		r.Reason, r.Advice = "the answer does not say which project it is of", "see whether the address is that of the API of GitLab 12.7 or newer"
	}
	return r
}
