package github

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// MergeBlockers returns what GitHub reveals.
func (g *Forge) MergeBlockers(ctx context.Context, number int) ([]string, error) {
	p, err := g.readPull(ctx, number)
	if err != nil || p.GetMerged() {
		return nil, err
	}
	base := forge.EscapeMarkdown(p.GetBase().GetRef())
	switch state := p.GetMergeableState(); {
	case p.GetState() == "closed":
		return []string{"It is closed"}, nil
	case p.GetDraft() || state == "draft":
		return []string{"It is a draft"}, nil
	case state == "dirty" || p.Mergeable != nil && !p.GetMergeable():
		return []string{"It conflicts with " + base}, nil
	case state == "behind":
		return []string{"It has not all that " + base + " has, and the branch asks for that"}, nil
	case state == "blocked":
		return g.listBlockers(ctx, p)
	case state == "unknown":
		return []string{"GitHub has not found out yet whether it can be merged"}, nil
	}
	return nil, nil // clean, has_hooks, or unstable: only checks that are not required fail
}

func (g *Forge) listBlockers(ctx context.Context, p *gh.PullRequest) ([]string, error) {
	wants, err := g.readBranchRules(ctx, p.GetBase().GetRef())
	if err != nil {
		return nil, err
	}
	lacks, err := g.lackingStatuses(ctx, p.GetHead().GetSHA(), wants.contexts)
	if err != nil {
		return nil, err
	}
	reviews, err := g.latestReviews(ctx, p.GetNumber())
	if err != nil {
		return nil, err
	}
	approvals := 0
	for _, login := range slices.Sorted(maps.Keys(reviews)) {
		switch reviews[login].GetState() {
		case "APPROVED":
			approvals++
		case "CHANGES_REQUESTED":
			lacks = append(lacks, forge.EscapeMarkdown(login)+" asks for changes")
		}
	}
	if approvals < wants.approvals {
		lacks = append(lacks, fmt.Sprintf("%d of %d approvals are missing", wants.approvals-approvals, wants.approvals))
	}
	if len(lacks) == 0 {
		lacks = append(lacks, "A rule of "+forge.EscapeMarkdown(p.GetBase().GetRef())+" is not met, perhaps a review or a status is missing; the pull request says which")
	}
	return lacks, nil
}

func (g *Forge) lackingStatuses(ctx context.Context, commit string, contexts []string) (lacks []string, err error) {
	if len(contexts) == 0 {
		return nil, nil
	}
	said, err := g.Statuses(ctx, commit)
	if err != nil {
		return nil, err
	}
	now := map[string]forge.Outcome{}
	for _, s := range said {
		now[s.Context] = s.Outcome
	}
	for _, name := range contexts {
		switch now[name] {
		case forge.Success:
		case "":
			lacks = append(lacks, "The status "+forge.EscapeMarkdown(name)+" is missing")
		default:
			lacks = append(lacks, fmt.Sprintf("The status %s is %s", forge.EscapeMarkdown(name), now[name]))
		}
	}
	return lacks, nil
}

type branchRules struct {
	contexts  []string
	approvals int
}

func (g *Forge) readBranchRules(ctx context.Context, branch string) (branchRules, error) {
	var n branchRules
	rules, err := listAll(g, "read the rules of a branch", func(o gh.ListOptions) ([]branchRule, *gh.Response, error) {
		return fetchPath[[]branchRule](ctx, g, "rules/branches/"+url.PathEscape(branch), o)
	})
	if err != nil {
		return n, err
	}
	for _, rule := range rules {
		for _, c := range rule.Parameters.Checks {
			n.contexts = append(n.contexts, c.Context)
		}
		n.approvals = max(n.approvals, rule.Parameters.Approvals)
	}
	type protected struct {
		Protection struct {
			Checks struct{ Contexts []string } `json:"required_status_checks"`
		}
	}
	b, _, err := callAPI(g, "read a branch", func() (protected, *gh.Response, error) {
		return fetchPath[protected](ctx, g, "branches/"+url.PathEscape(branch), gh.ListOptions{})
	})
	n.contexts = append(n.contexts, b.Protection.Checks.Contexts...)
	slices.Sort(n.contexts)
	n.contexts = slices.Compact(n.contexts)
	return n, err
}

// branchRule has the fields of a ruleset's rule that we need. go-github rejects rules that it does
// not know.
type branchRule struct {
	Parameters struct {
		Checks    []struct{ Context string } `json:"required_status_checks"`
		Approvals int                        `json:"required_approving_review_count"`
	}
}

// fetchPath returns the zero value if a path is forbidden, or unsupported by the server or plan.
func fetchPath[T any](ctx context.Context, g *Forge, path string, o gh.ListOptions) (T, *gh.Response, error) {
	var v T
	if o.PerPage > 0 {
		path += fmt.Sprintf("?per_page=%d&page=%d", o.PerPage, max(o.Page, 1))
	}
	req, err := g.client.NewRequest(http.MethodGet, "repos/"+g.api.Repo+"/"+path, nil)
	if err != nil {
		return v, nil, err
	}
	answer, err := g.client.Do(ctx, req, &v)
	if answer != nil && (answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound) {
		err = nil
	}
	return v, answer, err
}
