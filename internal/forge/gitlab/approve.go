package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/forge"
)

type approvals struct {
	By []struct {
		User user      `json:"user"`
		When time.Time `json:"approved_at"` // not set by older servers
	} `json:"approved_by"`
}

type version struct {
	ID      int64     `json:"id"`
	Head    string    `json:"head_commit_sha"`
	Created time.Time `json:"created_at"`
}

// Approvals counts approvals after the last push. Older servers report no times; they drop
// approvals at a push if the project's settings say so.
func (g *Forge) Approvals(ctx context.Context, number int) ([]forge.Approval, error) {
	found, _, err := callAPI[approvals](ctx, g, "read approvals", http.MethodGet, mergeRequestPath(number)+"/approvals", nil)
	if err != nil || len(found.By) == 0 {
		return nil, err
	}
	pushed, err := g.lastPush(ctx, number)
	if err != nil {
		return nil, err
	}
	var all []forge.Approval
	for _, a := range found.By {
		if a.User.Name == "" {
			continue
		}
		given := forge.Approval{Approver: a.User.Name, Time: a.When}
		if !a.When.IsZero() && a.When.Before(pushed) {
			given.Refused = forge.RefusedOlder
		}
		all = append(all, given)
	}
	slices.SortFunc(all, func(a, b forge.Approval) int { return strings.Compare(a.Approver, b.Approver) })
	return all, nil
}

func (g *Forge) lastPush(ctx context.Context, number int) (time.Time, error) {
	all, err := listAll[version](ctx, g, "list versions", mergeRequestPath(number)+"/versions", func(o gl.ListOptions) any { return &o })
	if err != nil {
		return time.Time{}, err
	}
	slices.SortFunc(all, func(a, b version) int { return cmp.Compare(b.ID, a.ID) })
	if len(all) == 0 {
		return time.Time{}, nil
	}
	// A moved target branch makes a version too.
	since := all[0]
	for _, v := range all {
		if v.Head != since.Head {
			break
		}
		since = v
	}
	return since.Created, nil
}

type member struct {
	Name  string `json:"username"`
	State string `json:"state"`
}

// TeamMembers returns the members of a group ("group/sub") and its parents, without blocked users.
func (g *Forge) TeamMembers(ctx context.Context, team string) ([]string, error) {
	found, err := listAll[member](ctx, g, "list a group's members", "/groups/"+gl.PathEscape(team)+"/members/all", func(o gl.ListOptions) any { return &o })
	if err != nil {
		return nil, fmt.Errorf("the group %s: %w", forge.Quote(team), err)
	}
	var names []string
	for _, m := range found {
		if m.Name != "" && m.State == "active" {
			names = append(names, m.Name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// CommitAuthor returns "" if no user shows the author's address. An administrator's token sees
// hidden addresses too.
func (g *Forge) CommitAuthor(ctx context.Context, commit string) (string, error) {
	type author struct {
		Email string `json:"author_email"`
	}
	wrote, _, err := callAPI[author](ctx, g, "read a commit", http.MethodGet, "repository/commits/"+gl.PathEscape(commit), nil)
	if err != nil || wrote.Email == "" {
		return "", err
	}
	type person struct {
		Name   string `json:"username"`
		Email  string `json:"email"`
		Public string `json:"public_email"`
	}
	found, _, err := callAPI[[]person](ctx, g, "find a user", http.MethodGet, "/users", &gl.ListUsersOptions{Search: &wrote.Email})
	if err != nil {
		return "", err
	}
	for _, p := range found { // the search includes names, which users choose freely
		if strings.EqualFold(p.Email, wrote.Email) || strings.EqualFold(p.Public, wrote.Email) {
			return p.Name, nil
		}
	}
	return "", nil
}

// blockerTexts explain GitLab's merge statuses. GitLab reports one at a time.
var blockerTexts = map[string]string{
	"approvals_syncing":              "GitLab is counting the approvals",
	"checking":                       stillChecking,
	"unchecked":                      stillChecking,
	"preparing":                      stillChecking,
	"ci_must_pass":                   "its pipeline has to succeed",
	"ci_still_running":               "its pipeline has not ended yet",
	"commits_status":                 "its branch is gone, or has no commits",
	"conflict":                       "it conflicts with the branch that it is for",
	"discussions_not_resolved":       "discussions are not resolved",
	"draft_status":                   "it is a draft",
	"external_status_checks":         "status checks from outside have not passed",
	"status_checks_must_pass":        "status checks from outside have not passed",
	"jira_association_missing":       "its title or description names no Jira issue",
	"locked_lfs_files":               "it changes locked LFS files",
	"locked_paths":                   "it changes locked paths",
	"merge_request_blocked":          "another merge request has to be merged first",
	"merge_time":                     "it may not be merged before a time that is set on it",
	"need_rebase":                    "it has to be rebased onto the branch that it is for",
	"not_approved":                   "approvals are missing",
	"not_open":                       "it is closed",
	"requested_changes":              "a reviewer has requested changes",
	"security_policy_pipeline_check": "a security policy waits for its pipelines",
	"security_policy_violations":     "it breaks a security policy",
	"policies_denied":                "it breaks a security policy",
	"title_regex":                    "its title is not as the project asks for",
}

const stillChecking = "GitLab is still looking whether it can be merged"

// MergeBlockers returns what a merge request lacks to be merged; nil for nothing.
func (g *Forge) MergeBlockers(ctx context.Context, number int) ([]string, error) {
	m, err := g.readPull(ctx, number)
	if err != nil {
		return nil, err
	}
	if err := g.checkProject(m.item); err != nil {
		return nil, err
	}
	status := m.MergeStatus
	if m.OldStatus == "cannot_be_merged" && status == "" {
		status = "conflict"
	}
	switch {
	case m.State == "merged" || status == "mergeable" || status == "" && m.OldStatus == "can_be_merged":
		return nil, nil
	case m.State == "closed":
		return []string{blockerTexts["not_open"]}, nil
	case blockerTexts[status] != "":
		return []string{blockerTexts[status]}, nil
	case status == "":
		return []string{stillChecking}, nil
	}
	return []string{fmt.Sprintf("GitLab says %q", forge.Quote(status))}, nil
}
