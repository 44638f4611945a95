package githubfake

import (
	"net/http"
	"strings"
	"testing"
)

// TestMergesOnRequest has a request to merge that is refused, and then is not.
func TestMergesOnRequest(t *testing.T) {
	s, _ := served(t)
	s.Propose(repo, Proposed{Head: "dev", Base: "main", Title: "Bring dev"})
	for _, step := range []struct {
		set    Settings
		body   string
		status int
		want   string
	}{
		{Settings{Required: []string{"ci"}}, `{}`, 405, `Required status check \"ci\" is expected.`},
		{Settings{Methods: []string{"rebase"}}, `{"merge_method":"squash"}`, 405, "Squash merges are not allowed on this repository."},
		{Settings{}, `{"sha":"` + strings.Repeat("a", 40) + `"}`, 409, "Head branch was modified."},
		{Settings{}, `{"merge_method":"squash"}`, 200, "successfully merged"},
		{Settings{}, `{}`, 405, "not mergeable"},
	} {
		s.Set(repo, step.set)
		status, text := ask(t, s, "PUT", "/repos/acme/gitops/pulls/1/merge", step.body)
		equal(t, step.want, status, step.status)
		if !strings.Contains(text, step.want) {
			t.Errorf("got %s, want %q", text, step.want)
		}
	}
	equal(t, "state", firstState(t, s), "merged")
}

func TestConflictIsNotMerged(t *testing.T) {
	s, w := served(t)
	s.Propose(repo, Proposed{Head: "dev", Base: "main"})
	w.Pull("main")
	w.Write("dev", "another")
	w.Commit("conflict")
	w.Push("main")
	status, _ := ask(t, s, "PUT", "/repos/acme/gitops/pulls/1/merge", `{}`)
	equal(t, "status", status, 405)
}

func TestGraphQLComplains(t *testing.T) {
	const enable = "mutation($input: EnablePullRequestAutoMergeInput!) { enablePullRequestAutoMerge(input: $input) { pullRequest { number } } }"
	for name, test := range map[string]struct{ body, want string }{
		"another document": {`{"query":"query { viewer { name } }"}`, "is not known"},
		"another field":    {`{"query":"` + enable + `","variables":{"input":{"mark":"x"}}}`, `the field "mark" is not known`},
		"another way":      {`{"query":"` + enable + `","variables":{"input":{"pullRequestId":"PR_acme/gitops_1","mergeMethod":"merge"}}}`, "no way to merge"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := served(t)
			s.Propose(repo, Proposed{Head: "dev", Base: "main"})
			noted := &complaints{TB: t}
			s.t = noted
			s.answerGraphQL(graphqlRequest(t, s), []byte(test.body))
			if !strings.Contains(strings.Join(noted.all, "\n"), test.want) {
				t.Errorf("got the complaints %q, want %q", noted.all, test.want)
			}
		})
	}
}

func graphqlRequest(t *testing.T, s *Server) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, graphqlPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	return req
}

func TestCommentsHaveLimits(t *testing.T) {
	s, _ := served(t)
	s.Propose(repo, Proposed{Head: "dev", Base: "main"})
	for body, want := range map[string]int{"": 422, " ": 422, strings.Repeat("ü", 65_536): 201, strings.Repeat("ü", 65_537): 422} {
		status, _ := ask(t, s, "POST", "/repos/acme/gitops/issues/1/comments", `{"body":"`+body+`"}`)
		equal(t, "status", status, want)
	}
	equal(t, "comments", len(s.Comments(repo, 1)), 1)
}
