package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// Approvals counts reviews of people who can write, or whom branch protection names.
func (g *Forge) Approvals(ctx context.Context, number int) ([]forge.Approval, error) {
	p, err := g.pullWithBranches(ctx, number)
	if err != nil {
		return nil, err
	}
	return g.listApprovals(ctx, p)
}

func (g *Forge) pullWithBranches(ctx context.Context, number int) (*sdk.PullRequest, error) {
	p, err := g.readPull(ctx, number)
	if err == nil && (p.Base == nil || p.Head == nil) {
		err = &problem.Refusal{Operation: "read a pull request of " + g.api.Repo, Reason: "the server did not say of which branches", Advice: "it will be tried again"}
	}
	return p, err
}

func (g *Forge) listApprovals(ctx context.Context, p *sdk.PullRequest) ([]forge.Approval, error) {
	all, err := g.listReviews(ctx, int(p.Index))
	if err != nil {
		return nil, err
	}
	latest := map[string]*sdk.PullReview{}
	for _, r := range all {
		if r.Reviewer == nil || r.State != sdk.ReviewStateApproved && r.State != sdk.ReviewStateRequestChanges {
			continue
		}
		latest[r.Reviewer.UserName] = r
	}
	var yes []forge.Approval
	for _, login := range slices.Sorted(maps.Keys(latest)) {
		r := latest[login]
		if r.State != sdk.ReviewStateApproved {
			continue
		}
		a := forge.Approval{Approver: login, Time: r.Submitted}
		switch {
		case r.Dismissed:
			a.Refused = forge.RefusedDismissed
		case r.CommitID != p.Head.Sha || r.Stale: // Gitea sets Stale with a delay
			a.Refused = forge.RefusedOlder
		case !r.Official:
			a.Refused = forge.RefusedNoAccess
		}
		yes = append(yes, a)
	}
	return yes, nil
}

func (g *Forge) listReviews(ctx context.Context, number int) ([]*sdk.PullReview, error) {
	all, err := listAll(ctx, g, "list reviews", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.PullReview, *sdk.Response, error) {
		return c.ListPullReviews(g.owner, g.name, int64(number), sdk.ListPullReviewsOptions{ListOptions: o})
	})
	slices.SortFunc(all, func(a, b *sdk.PullReview) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// TeamMembers needs a token of a member of the team, or of an owner of the organisation.
func (g *Forge) TeamMembers(ctx context.Context, team string) ([]string, error) {
	org, name, _ := strings.Cut(team, "/")
	teams, err := listAll(ctx, g, "list teams", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Team, *sdk.Response, error) {
		return c.ListOrgTeams(org, sdk.ListTeamsOptions{ListOptions: o})
	})
	if err != nil {
		return nil, unseenTeam(team, err)
	}
	i := slices.IndexFunc(teams, func(t *sdk.Team) bool { return strings.EqualFold(t.Name, name) })
	if i < 0 {
		return nil, &problem.Refusal{
			Operation: "find the team " + forge.Quote(team), Reason: "the organisation shows no such team", Kind: forge.ErrNotFound, Advice: seeTeam,
		}
	}
	users, err := listAll(ctx, g, "list a team's members", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.User, *sdk.Response, error) {
		return c.ListTeamMembers(teams[i].ID, sdk.ListTeamMembersOptions{ListOptions: o})
	})
	if err != nil {
		return nil, unseenTeam(team, err)
	}
	var names []string
	for _, u := range users {
		if !u.ProhibitLogin {
			names = append(names, u.UserName)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

const seeTeam = "write it as organisation/team; the token's user has to be in the team, or an owner of the organisation, and the token needs the scope read:organization"

func unseenTeam(team string, err error) error {
	var r *problem.Refusal
	if errors.As(err, &r) && (r.Kind == forge.ErrNotFound || strings.Contains(r.Reason, "403")) {
		r.Kind, r.Advice = forge.ErrNotFound, seeTeam
	}
	return fmt.Errorf("the team %s: %w", forge.Quote(team), err)
}

// CommitAuthor returns the login of the user with the author's address, or "".
func (g *Forge) CommitAuthor(ctx context.Context, commit string) (string, error) {
	found, _, err := callAPI(ctx, g, "read a commit", func(c *sdk.Client) (*sdk.Commit, *sdk.Response, error) {
		return c.GetSingleCommit(g.owner, g.name, commit)
	})
	if err != nil || found.Author == nil {
		return "", err
	}
	return found.Author.UserName, nil
}

// MergeBlockers needs write access to see the branch's rules.
func (g *Forge) MergeBlockers(ctx context.Context, number int) ([]string, error) {
	p, err := g.pullWithBranches(ctx, number)
	switch {
	case err != nil || p.HasMerged:
		return nil, err
	case p.State == sdk.StateClosed:
		return []string{"it is closed"}, nil
	}
	var all []string
	if p.Draft {
		all = append(all, "it is a draft")
	}
	if !p.Mergeable && !p.Draft {
		all = append(all, "it conflicts with the branch that it is for, or the server is still looking whether it does")
	}
	more, err := g.branchBlockers(ctx, p)
	return append(all, more...), err
}

func (g *Forge) branchBlockers(ctx context.Context, p *sdk.PullRequest) (all []string, err error) {
	branch, _, err := callAPI(ctx, g, "read a branch", func(c *sdk.Client) (*sdk.Branch, *sdk.Response, error) {
		return c.GetRepoBranch(g.owner, g.name, p.Base.Ref)
	})
	if err != nil || !branch.Protected {
		return nil, err
	}
	if branch.EnableStatusCheck {
		said, err := g.Statuses(ctx, p.Head.Sha)
		if err != nil {
			return nil, err
		}
		for _, pattern := range branch.StatusCheckContexts {
			if why := statusBlocker(pattern, said); why != "" {
				all = append(all, why)
			}
		}
	}
	if branch.RequiredApprovals > 0 {
		yes, err := g.listApprovals(ctx, p)
		if err != nil {
			return nil, err
		}
		yes = slices.DeleteFunc(yes, func(a forge.Approval) bool { return a.Refused != "" })
		if n := int(branch.RequiredApprovals) - len(yes); n > 0 {
			all = append(all, fmt.Sprintf("it needs %d more of the %d approvals that the branch asks for", n, branch.RequiredApprovals))
		}
	}
	return all, nil
}

// statusBlocker returns why a required pattern is not met: at least one status must match, and all
// that match must succeed.
func statusBlocker(pattern string, said []forge.CommitStatus) string {
	wild := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	matches, err := regexp.Compile("^" + wild + "$")
	found := false
	for _, s := range said {
		if s.Context != pattern && (err != nil || !matches.MatchString(s.Context)) {
			continue
		}
		found = true
		if s.Outcome != forge.Success {
			return fmt.Sprintf("the status %s is %s", forge.Quote(s.Context), s.Outcome)
		}
	}
	if !found {
		return fmt.Sprintf("the status %s is not there yet", forge.Quote(pattern))
	}
	return ""
}
