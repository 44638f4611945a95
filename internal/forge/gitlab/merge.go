package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// mergeRequest is what we read of one.
type mergeRequest struct {
	item
	SourceBranch    string `json:"source_branch"`
	TargetBranch    string `json:"target_branch"`
	SourceProjectID int64  `json:"source_project_id"`
	TargetProjectID int64  `json:"target_project_id"`
	SHA             string `json:"sha"`

	// MergeStatus is whether it can be merged now, or why not; GitLab before 15.6 has
	// none.
	MergeStatus string `json:"detailed_merge_status"`
	OldStatus   string `json:"merge_status"`
	// AutoMerge is whether it is merged once nothing is missing.
	AutoMerge    bool `json:"merge_when_pipeline_succeeds"`
	HeadPipeline *struct {
		Status string `json:"status"`
	} `json:"head_pipeline"`
	DiffRefs diffRefs `json:"diff_refs"`
}

// diffRefs are the commits that the diff of a merge request is between.
type diffRefs struct {
	Base  string `json:"base_sha"`
	Start string `json:"start_sha"`
	Head  string `json:"head_sha"`
}

const mergeRequests = "merge_requests"

func mergeRequestPath(number int) string { return fmt.Sprintf("%s/%d", mergeRequests, number) }

// Pulls returns our merge requests from a branch to another, newest first.
func (g *Forge) Pulls(ctx context.Context, head, base string) ([]forge.Pull, error) {
	// Those of forks, from branches of that name, are given too.
	o := gl.ListProjectMergeRequestsOptions{
		State: new("all"), Scope: new("all"), SourceBranch: &head, TargetBranch: &base, OrderBy: new("created_at"), Sort: new("desc"),
	}
	return g.listPulls(ctx, o, func(p forge.Pull) bool { return p.Head == head && p.Base == base })
}

// OpenPulls returns our open merge requests, newest first.
func (g *Forge) OpenPulls(ctx context.Context) ([]forge.Pull, error) {
	o := gl.ListProjectMergeRequestsOptions{State: new("opened"), Scope: new("all")}
	return g.listPulls(ctx, o, func(p forge.Pull) bool { return p.State == forge.Open })
}

// listPulls returns those of our merge requests that are wanted, newest first.
func (g *Forge) listPulls(ctx context.Context, options gl.ListProjectMergeRequestsOptions, wanted func(forge.Pull) bool) ([]forge.Pull, error) {
	found, err := listAll[mergeRequest](ctx, g, "list merge requests", mergeRequests, func(o gl.ListOptions) any {
		options.ListOptions = o
		return &options
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Pull
	for _, m := range found {
		pull, _, err := g.readPull(m)
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

// readPull understands a merge request. The error is ErrNotFound if it is not ours.
func (g *Forge) readPull(m mergeRequest) (forge.Pull, forge.Document, error) {
	d, ok := readBody(m.Description)
	if !ok || m.IID == 0 || m.ProjectID == 0 || m.SourceProjectID != m.ProjectID || m.TargetProjectID != m.ProjectID {
		return forge.Pull{}, d, fmt.Errorf("merge request %d is not one of Fairlead's: %w", m.IID, forge.ErrNotFound)
	}
	pull := forge.Pull{
		Proposal: forge.Proposal{Mark: d.Mark, Head: m.SourceBranch, Base: m.TargetBranch, Title: m.Title, Body: d.Text},
		Number:   m.IID, State: forge.Open, Commit: m.SHA, URL: m.WebURL,
	}
	if err := g.checkProject(m.item); err != nil {
		return pull, d, err
	}
	pull.Labels = commonLabels(d.Labels, m.Labels)
	switch m.State {
	case "merged":
		pull.State = forge.Merged
	case "closed":
		pull.State, pull.Reason = forge.Closed, d.Reason
	}
	return pull, d, nil
}

// commonLabels returns the names of a list that another has too.
func commonLabels(names, others []string) (both []string) {
	for _, name := range names {
		if slices.Contains(others, name) {
			both = append(both, name)
		}
	}
	return both
}

// missingLabels returns the names of a list that another lacks, as GitLab is given them; nil
// for none.
func missingLabels(names, others []string) *gl.LabelOptions {
	var lacks gl.LabelOptions
	for _, name := range names {
		if !slices.Contains(others, name) {
			lacks = append(lacks, name)
		}
	}
	if lacks == nil {
		return nil
	}
	return &lacks
}

// checkLabels checks and sorts names, which GitLab is given with commas between them.
func checkLabels(names []string) ([]string, error) {
	for _, name := range names {
		if name == "" || name != strings.TrimSpace(name) || strings.Contains(name, ",") {
			return nil, &forge.Refusal{
				Operation: "label", Reason: fmt.Sprintf("%q cannot be a label on GitLab", name), Advice: "use a name without commas, and without spaces around it",
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// What GitLab would take for a quick action, like /merge: it does it when it is given
// a text with such a line, and takes the line away.
var (
	quickAction   = regexp.MustCompile(`(?m)^( {0,3})(\\*/)`)
	escapedAction = regexp.MustCompile(`(?m)^( {0,3})\\(\\*/)`)
)

// writeBody writes a document so that GitLab takes nothing in it for a command, and
// that readBody gives it back.
func writeBody(d forge.Document) (string, error) {
	d.Text = escapeActions(d.Text)
	return d.Format()
}

// escapeActions makes a text one in which GitLab sees no command. It drops carriage returns
// before it looks for them.
func escapeActions(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return quickAction.ReplaceAllString(text, `$1\$2`)
}

func readBody(body string) (forge.Document, bool) {
	d, ok := forge.ParseDocument(body)
	d.Text = escapedAction.ReplaceAllString(d.Text, "$1$2")
	return d, ok
}

// OpenPull opens a merge request. The error is ErrExists if there is an open one, also
// another user's. GitLab also opens one that has nothing to merge.
func (g *Forge) OpenPull(ctx context.Context, o forge.Proposal) (forge.Pull, error) {
	wanted, err := checkLabels(o.Labels)
	if err != nil {
		return forge.Pull{}, err
	}
	body, err := writeBody(forge.Document{Text: o.Body, Mark: o.Mark, Labels: wanted})
	if err != nil {
		return forge.Pull{}, err
	}
	m, _, err := callAPI[mergeRequest](ctx, g, "open a merge request", http.MethodPost, mergeRequests, &gl.CreateMergeRequestOptions{
		Title: new(forge.FitTitle(o.Title)), Description: &body, SourceBranch: &o.Head, TargetBranch: &o.Base, Labels: missingLabels(wanted, nil),
	})
	if err != nil {
		return forge.Pull{}, err
	}
	pull, _, err := g.readPull(m)
	if err == nil {
		err = pull.CheckOpen("open a merge request of "+g.project, o)
	}
	return pull, err
}

// findPull reads one of our merge requests by its number.
func (g *Forge) findPull(ctx context.Context, number int) (mergeRequest, forge.Pull, forge.Document, error) {
	m, _, err := callAPI[mergeRequest](ctx, g, "read a merge request", http.MethodGet, mergeRequestPath(number), nil)
	if err != nil {
		return m, forge.Pull{}, forge.Document{}, err
	}
	pull, d, err := g.readPull(m)
	return m, pull, d, err
}

// EditPull sets title, body and labels of an open merge request, in one
// request. Of the labels it removes only those that we gave.
func (g *Forge) EditPull(ctx context.Context, number int, o forge.Proposal) (forge.Pull, error) {
	wanted, err := checkLabels(o.Labels)
	if err != nil {
		return forge.Pull{}, err
	}
	what := fmt.Sprintf("edit merge request %d of %s", number, g.project)
	m, pull, old, err := g.findPull(ctx, number)
	if err == nil {
		err = pull.CheckOpen(what, o)
	}
	if err != nil {
		return forge.Pull{}, err
	}
	body, err := writeBody(forge.Document{Text: o.Body, Mark: old.Mark, Labels: wanted, Reason: pull.Reason})
	if err != nil {
		return forge.Pull{}, err
	}
	to := gl.UpdateMergeRequestOptions{AddLabels: missingLabels(wanted, m.Labels), RemoveLabels: missingLabels(pull.Labels, wanted)}
	if title := forge.FitTitle(o.Title); title != m.Title {
		to.Title = &title
	}
	if body != m.Description {
		to.Description = &body
	}
	if to == (gl.UpdateMergeRequestOptions{}) {
		return pull, nil
	}
	before := gl.UpdateMergeRequestOptions{Title: new(m.Title), Description: new(m.Description)}
	if m, err = g.updatePull(ctx, "edit a merge request", number, to); err != nil {
		return forge.Pull{}, err
	}
	if pull, _, err = g.readPull(m); err != nil {
		return forge.Pull{}, err
	}
	err = pull.CheckOpen(what, o)
	if err != nil && pull.State != forge.Open { // its text stays that of what was merged or closed
		_, failed := g.updatePull(ctx, "put the text of a merge request back", number, before)
		err = forge.JoinErrors(err, failed)
	}
	return pull, err
}

func (g *Forge) updatePull(ctx context.Context, op string, number int, to gl.UpdateMergeRequestOptions) (mergeRequest, error) {
	m, _, err := callAPI[mergeRequest](ctx, g, op, http.MethodPut, mergeRequestPath(number), &to)
	return m, err
}

// ClosePull closes a merge request that is open, and says why at the end of its
// description: it is written in the same request, so that one is not without the
// other.
func (g *Forge) ClosePull(ctx context.Context, number int, reason string) error {
	_, pull, d, err := g.findPull(ctx, number)
	if err != nil || pull.State != forge.Open {
		return err
	}
	d.Reason = strings.Join(strings.Fields(reason), " ")
	body, err := writeBody(d)
	if err != nil {
		return err
	}
	m, err := g.updatePull(ctx, "close a merge request", number, gl.UpdateMergeRequestOptions{Description: &body, StateEvent: new("close")})
	if err != nil {
		return forge.IgnoreEnded(err, func() (forge.Pull, error) { _, pull, _, err := g.findPull(ctx, number); return pull, err })
	}
	if pull, _, err = g.readPull(m); err == nil {
		err = pull.CheckEnded(fmt.Sprintf("close merge request %d of %s", number, g.project))
	}
	return err
}
