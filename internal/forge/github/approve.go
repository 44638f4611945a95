package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// outsiders are associations of users without access, and of members who hide their membership. In
// a public repository everyone can approve.
var outsiders = []string{"NONE", "CONTRIBUTOR", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN"}

// Approvals counts a reviewer's latest review, except for comments.
func (g *Forge) Approvals(ctx context.Context, number int) ([]forge.Approval, error) {
	p, err := g.readPull(ctx, number)
	if err != nil {
		return nil, err
	}
	latest, err := g.latestReviews(ctx, number)
	if err != nil {
		return nil, err
	}
	var all []forge.Approval
	for _, login := range slices.Sorted(maps.Keys(latest)) {
		r := latest[login]
		a := forge.Approval{Approver: login, Time: r.GetSubmittedAt().Time}
		switch older := r.GetCommitID() != p.GetHead().GetSHA(); {
		case r.GetState() == "DISMISSED":
			a.Refused = forge.RefusedDismissed
		case r.GetState() != "APPROVED":
			continue
		case older:
			a.Refused = forge.RefusedOlder
		case slices.Contains(outsiders, r.GetAuthorAssociation()):
			may, err := g.mayWrite(ctx, login)
			if err != nil {
				return nil, err
			}
			if !may {
				a.Refused = forge.RefusedNoAccess
			}
		}
		all = append(all, a)
	}
	return all, nil
}

func (g *Forge) mayWrite(ctx context.Context, login string) (bool, error) {
	level, _, err := callAPI(g, "read a permission", func() (*gh.RepositoryPermissionLevel, *gh.Response, error) {
		return g.client.Repositories.GetPermissionLevel(ctx, g.owner, g.name, url.PathEscape(login))
	})
	if errors.Is(err, forge.ErrNotFound) {
		return false, nil
	}
	return slices.Contains([]string{"admin", "write"}, level.GetPermission()), err
}

func (g *Forge) latestReviews(ctx context.Context, number int) (map[string]*gh.PullRequestReview, error) {
	all, err := listAll(g, "list reviews", func(o gh.ListOptions) ([]*gh.PullRequestReview, *gh.Response, error) {
		return g.client.PullRequests.ListReviews(ctx, g.owner, g.name, number, &o)
	})
	if err != nil {
		return nil, err
	}
	latest := map[string]*gh.PullRequestReview{}
	for _, r := range all {
		login := r.GetUser().GetLogin() // "" for a deleted account
		old := latest[login]
		if login == "" || r.GetState() == "COMMENTED" || r.GetState() == "PENDING" || old != nil && r.GetSubmittedAt().Before(old.GetSubmittedAt().Time) {
			continue
		}
		latest[login] = r
	}
	return latest, nil
}

// TeamMembers returns the logins of a team, including its child teams.
func (g *Forge) TeamMembers(ctx context.Context, team string) ([]string, error) {
	org, slug, _ := strings.Cut(team, "/")
	if !isSegment(org) || !isSegment(slug) {
		return nil, &problem.Refusal{
			Operation: "list the members of " + forge.Quote(team), Reason: "it is not the name of a team on GitHub", Kind: forge.ErrNotFound, Advice: "write it as org/team",
		}
	}
	found, err := listAll(g, "list members of a team", func(o gh.ListOptions) ([]*gh.User, *gh.Response, error) {
		return g.client.Teams.ListTeamMembersBySlug(ctx, org, slug, &gh.TeamListTeamMembersOptions{ListOptions: o})
	})
	if err != nil {
		return nil, fmt.Errorf("team %s: %w", team, err)
	}
	logins := list.Convert(found, (*gh.User).GetLogin)
	slices.Sort(logins)
	return slices.Compact(logins), nil
}

func isSegment(name string) bool {
	return strings.Trim(name, ".") != "" && url.PathEscape(name) == name
}

// CommitAuthor returns "" if GitHub has no account with the author's address.
func (g *Forge) CommitAuthor(ctx context.Context, commit string) (string, error) {
	c, answer, err := callAPI(g, "read a commit", func() (*gh.RepositoryCommit, *gh.Response, error) {
		return g.client.Repositories.GetCommit(ctx, g.owner, g.name, commit, &gh.ListOptions{PerPage: 1})
	})
	var r *problem.Refusal
	if answer != nil && answer.StatusCode == http.StatusUnprocessableEntity && errors.As(err, &r) && r.Kind == nil {
		r.Kind, r.Advice = forge.ErrNotFound, "see whether it was pushed to this repository"
	}
	return c.GetAuthor().GetLogin(), err
}
