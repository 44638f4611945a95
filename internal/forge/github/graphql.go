package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

func queryGraphQL[T any](ctx context.Context, g *Forge, op, query string, variables map[string]any) (T, error) {
	if strings.HasPrefix(query, "query") {
		ctx = forge.ReadOnly(ctx)
	}
	found, _, err := callAPI(g, op, func() (T, *gh.Response, error) {
		var answer struct {
			Data   T
			Errors graphqlErrors
		}
		sent := map[string]any{"query": query}
		if variables != nil {
			sent["variables"] = variables
		}
		path := "graphql"
		if strings.HasSuffix(g.client.BaseURL.Path, "/api/v3/") { // an Enterprise Server has it next to the REST API
			path = "../graphql"
		}
		req, err := g.client.NewRequest(http.MethodPost, path, sent)
		if err != nil {
			return answer.Data, nil, err
		}
		got, err := g.client.Do(ctx, req, &answer)
		if err == nil && len(answer.Errors) > 0 {
			err = answer.Errors
		}
		return answer.Data, got, err
	})
	return found, err
}

type graphqlErrors []struct{ Type, Message string }

func (e graphqlErrors) Error() string {
	messages := list.Convert(e, func(one struct{ Type, Message string }) string { return one.Message })
	return forge.Quote(strings.Join(messages, ": "))
}

func (e graphqlErrors) hasType(kinds ...string) bool {
	return slices.ContainsFunc(e, func(one struct{ Type, Message string }) bool { return slices.Contains(kinds, one.Type) })
}

func explainGraphQL(what string, e graphqlErrors) error {
	r := &problem.Refusal{Operation: what, Reason: e.Error()}
	switch {
	case e.hasType("NOT_FOUND"):
		r.Kind = forge.ErrNotFound
		r.Advice = "see whether the token may see it: GitHub says the same of what is not there and of what is private"
	case e.hasType("FORBIDDEN", "INSUFFICIENT_SCOPES"):
		r.Reason = "the token may not do that: " + r.Reason
		r.Advice = "let the token write pull requests and contents (fine-grained and App: Pull requests and Contents read and write; classic: repo)"
	}
	return r
}

const viewerQuery = `query { viewer { login } }`

// readUser returns the login of the token's user; an App's ends with [bot].
func (g *Forge) readUser(ctx context.Context) (string, error) {
	found, err := queryGraphQL[struct{ Viewer struct{ Login string } }](ctx, g, "read the token's user", viewerQuery, nil)
	return found.Viewer.Login, err
}

const autoMergeQuery = `mutation($input: EnablePullRequestAutoMergeInput!) { enablePullRequestAutoMerge(input: $input) { pullRequest { number } } }`

func (g *Forge) requestAutoMerge(ctx context.Context, p *gh.PullRequest, commit, method string) error {
	const op = "auto-merge a pull request"
	done, err := queryGraphQL[struct {
		EnablePullRequestAutoMerge struct{ PullRequest struct{ Number int } }
	}](ctx, g, op, autoMergeQuery, map[string]any{
		"input": map[string]any{"pullRequestId": p.GetNodeID(), "expectedHeadOid": commit, "mergeMethod": strings.ToUpper(method)},
	})
	if err == nil && done.EnablePullRequestAutoMerge.PullRequest.Number != p.GetNumber() {
		err = &problem.Refusal{Operation: op + " of " + g.api.Repo, Reason: fmt.Sprintf("GitHub did not say that it will merge %d", p.GetNumber()), Advice: "it will be tried again"}
	}
	return err
}

const cancelAutoMergeQuery = `mutation($input: DisablePullRequestAutoMergeInput!) { disablePullRequestAutoMerge(input: $input) { pullRequest { number } } }`

func (g *Forge) cancelAutoMerge(ctx context.Context, p *gh.PullRequest) error {
	_, err := queryGraphQL[any](ctx, g, "cancel the auto-merge of a pull request", cancelAutoMergeQuery, map[string]any{
		"input": map[string]any{"pullRequestId": p.GetNodeID()},
	})
	return err
}
