package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

type mergeRequest struct {
	item
	SourceBranch    string `json:"source_branch"`
	TargetBranch    string `json:"target_branch"`
	SourceProjectID int64  `json:"source_project_id"`
	TargetProjectID int64  `json:"target_project_id"`
	SHA             string `json:"sha"`

	// MergeStatus says whether it can be merged now, or why not; since GitLab 15.6.
	MergeStatus string `json:"detailed_merge_status"`
	OldStatus   string `json:"merge_status"`
	// AutoMerge means that GitLab merges it once nothing is missing.
	AutoMerge    bool `json:"merge_when_pipeline_succeeds"`
	HeadPipeline *struct {
		Status string `json:"status"`
	} `json:"head_pipeline"`
	DiffRefs diffRefs `json:"diff_refs"`

	MergeUser *account  `json:"merge_user"` // since GitLab 14.7
	MergedBy  *account  `json:"merged_by"`
	ClosedBy  *account  `json:"closed_by"`
	MergedAt  time.Time `json:"merged_at"`
	ClosedAt  time.Time `json:"closed_at"`
}

type account struct {
	Name     string `json:"name"`
	Username string `json:"username"`
}

func (u *account) displayName() string {
	if u == nil {
		return ""
	}
	return cmp.Or(u.Name, u.Username)
}

type diffRefs struct {
	Base  string `json:"base_sha"`
	Start string `json:"start_sha"`
	Head  string `json:"head_sha"`
}

type pull = forge.HostedPull[mergeRequest]

const mergeRequests = "merge_requests"

func mergeRequestPath(number int) string { return fmt.Sprintf("%s/%d", mergeRequests, number) }

func (g *Forge) listPulls(ctx context.Context, op string, f forge.PullFilter) ([]mergeRequest, error) {
	options := gl.ListProjectMergeRequestsOptions{
		State: new("all"), Scope: new("all"), SourceBranch: optional(f.Head), TargetBranch: optional(f.Base), OrderBy: new("created_at"), Sort: new("desc"),
	}
	if f.Open {
		options.State = new("opened")
	}
	if f.Newest {
		options.ListOptions = gl.ListOptions{PerPage: pageSize, Page: 1}
		page, _, err := callAPI[[]mergeRequest](ctx, g, op, http.MethodGet, mergeRequests, &options)
		return page, err
	}
	return listAll[mergeRequest](ctx, g, op, mergeRequests, func(o gl.ListOptions) any {
		options.ListOptions = o
		return &options
	})
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (g *Forge) parsePull(m mergeRequest) pull {
	parsed := pull{
		Pull: forge.Pull{
			Proposal: forge.Proposal{Head: m.SourceBranch, Base: m.TargetBranch, Title: m.Title, Body: m.Description, Labels: m.Labels},
			Number:   m.IID, State: forge.Open, Commit: m.SHA, URL: m.WebURL,
		},
		Fork:    m.ProjectID == 0 || m.SourceProjectID != m.ProjectID || m.TargetProjectID != m.ProjectID,
		Foreign: g.checkProject(m.item), AutoMerge: m.AutoMerge, Native: m,
	}
	switch m.State {
	case "merged":
		parsed.Pull.State, parsed.Ended = forge.Merged, m.MergedAt
		parsed.Pull.By = cmp.Or(m.MergeUser.displayName(), m.MergedBy.displayName())
	case "closed":
		parsed.Pull.State, parsed.Pull.By, parsed.Ended = forge.Closed, m.ClosedBy.displayName(), m.ClosedAt
	}
	return parsed
}

func (g *Forge) readPull(ctx context.Context, number int) (mergeRequest, error) {
	m, _, err := callAPI[mergeRequest](ctx, g, "read a merge request", http.MethodGet, mergeRequestPath(number), nil)
	return m, err
}

// createPull also opens merge requests without changes.
func (g *Forge) createPull(ctx context.Context, o forge.Proposal) (mergeRequest, error) {
	m, _, err := callAPI[mergeRequest](ctx, g, "open a merge request", http.MethodPost, mergeRequests, &gl.CreateMergeRequestOptions{
		Title: &o.Title, Description: &o.Body, SourceBranch: &o.Head, TargetBranch: &o.Base, Labels: labelOptions(o.Labels),
	})
	return m, err
}

func (g *Forge) updatePull(ctx context.Context, op string, m mergeRequest, c forge.PullChange) (mergeRequest, error) {
	to := &gl.UpdateMergeRequestOptions{
		Title: c.Title, Description: c.Body, AddLabels: labelOptions(c.AddLabels), RemoveLabels: labelOptions(c.RemoveLabels),
	}
	if c.Close {
		to.StateEvent = new("close")
	}
	m, _, err := callAPI[mergeRequest](ctx, g, op, http.MethodPut, mergeRequestPath(m.IID), to)
	return m, err
}

func labelOptions(names []string) *gl.LabelOptions {
	if len(names) == 0 {
		return nil
	}
	return (*gl.LabelOptions)(&names)
}

func checkLabel(name string) error {
	if name != "" && name == strings.TrimSpace(name) && !strings.Contains(name, ",") {
		return nil
	}
	return &problem.Refusal{
		Operation: "label", Reason: fmt.Sprintf("%q cannot be a label on GitLab", name), Advice: "use a name without commas, and without spaces around it",
	}
}

// GitLab executes lines such as /merge as quick actions and removes them.
var (
	quickAction   = regexp.MustCompile(`(?m)^( {0,3})(\\*/)`)
	escapedAction = regexp.MustCompile(`(?m)^( {0,3})\\(\\*/)`)
)

func escapeActions(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return quickAction.ReplaceAllString(text, `$1\$2`)
}

func unescapeActions(text string) string { return escapedAction.ReplaceAllString(text, "$1$2") }
