package github_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// opened is a GitHub with a pull request of ours.
func opened(t *testing.T) (*githubfake.Server, *github.Forge, forge.Pull) {
	t.Helper()
	s, branch := gitHubServer(t)
	branch("out/dev")
	g := gitHub(t, s, forge.Options{})
	pull, err := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"})
	check(t, err)
	return s, g, pull
}

func message(text string) string { return fmt.Sprintf(`{"message":%q}`, text) }

// refusal is how GraphQL refuses.
func refusal(kind, text string) githubfake.Fault {
	return githubfake.Fault{Path: "/graphql", Status: 200, Header: json, Body: fmt.Sprintf(`{"data":{},"errors":[{"type":%q,"message":%q}]}`, kind, text)}
}

// TestGitHubRefusesToMerge has merges that are refused once.
func TestGitHubRefusesToMerge(t *testing.T) {
	merge := func(status int, body string) githubfake.Fault {
		return githubfake.Fault{Method: "PUT", Path: "/repos/*/*/pulls/*/merge", Status: status, Header: json, Body: body}
	}
	for name, test := range map[string]struct {
		fault            githubfake.Fault
		kind, text, hint string
	}{
		"403":       {merge(403, message("Resource not accessible by integration")), "other", "merge a pull request of acme/gitops: the token may not do that: 403", "single sign-on"},
		"404":       {merge(404, message("Not Found")), "not found", "404: Not Found", ""},
		"405":       {merge(405, message("At least 1 approving review is required.")), "not yet", "405: At least 1 approving review is required.", "what is missing"},
		"409":       {merge(409, message("Head branch was modified.")), "moved", "409: Head branch was modified.", "looked at again"},
		"422":       {merge(422, message("Validation Failed")), "other", "422", ""},
		"429":       {githubfake.Fault{Method: "PUT", Status: 429, Header: headers("Retry-After", "7")}, "until 7s", "", ""},
		"500":       {merge(500, message("No, because")), "other", "500: No, because", ""},
		"truncated": {githubfake.Fault{Method: "PUT", CutAfter: 5}, "other", "the answer was cut off", ""},
		"lost":      {githubfake.Fault{Method: "PUT", Empty: true}, "other", "the answer is empty", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, g, pull := opened(t)
			test.fault.Times = 1
			s.Inject(test.fault)
			err := g.MergePull(t.Context(), pull.Number, pull.Commit)
			equal(t, "kind", kindOf(err), test.kind)
			wantError(t, err, test.text)
			if !strings.Contains(hint(err), test.hint) {
				t.Errorf("got the hint %q, want one with %q", hint(err), test.hint)
			}
			check(t, gitHub(t, s, forge.Options{}).MergePull(t.Context(), pull.Number, pull.Commit)) // which knows of no limit
		})
	}
}

func TestGitHubMergesAsAllowed(t *testing.T) {
	for _, later := range []bool{false, true} {
		for _, allowed := range []string{"merge", "squash", "rebase"} {
			s, g, pull := opened(t)
			s.Set(repo, githubfake.Settings{Methods: []string{allowed}})
			merge := g.MergePull
			if later {
				merge = g.EnableAutoMerge
			}
			check(t, merge(t.Context(), pull.Number, pull.Commit))
			parents := strings.Fields(gittest.Git(t, s.Git.Dir(repo), "log", "-1", "--format=%P", "main"))
			equal(t, "merge commit with "+allowed, len(parents) == 2, allowed == "merge")
		}
	}
	s, g, pull := opened(t)
	s.Set(repo, githubfake.Settings{Methods: []string{}})
	equal(t, "kind when nothing is allowed", kindOf(g.MergePull(t.Context(), pull.Number, pull.Commit)), "not yet")
}

// TestGitHubServerChecksCommit has a push between the look and the merge.
func TestGitHubServerChecksCommit(t *testing.T) {
	s, branch := gitHubServer(t)
	old := branch("out/dev")
	pushed := false
	g := gitHub(t, s, forge.Options{Observe: func(op string, _ time.Duration, _ error) {
		if op == "read a pull request" && !pushed {
			pushed = true
			branch("out/dev")
		}
	}})
	pull, err := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"})
	check(t, err)
	err = g.MergePull(t.Context(), pull.Number, old)
	equal(t, "kind", kindOf(err), "moved")
	wantError(t, err, "409: Head branch was modified")
}

func TestGitHubRefusesToAutoMerge(t *testing.T) {
	for name, test := range map[string]struct {
		fault            githubfake.Fault
		kind, text, hint string
	}{
		"not allowed": {refusal("UNPROCESSABLE", "Auto merge is not allowed for this repository"), "unsupported",
			"auto-merge a pull request of acme/gitops: the forge cannot do that: Auto merge is not", "allow auto-merge"},
		"no rules":  {refusal("UNPROCESSABLE", "Pull request Protected branch rules not configured for this branch"), "unsupported", "rules not configured", "require a status check"},
		"unstable":  {refusal("UNPROCESSABLE", "Pull request Pull request is in unstable status"), "not yet", "unstable status", "only for checks that the branch requires"},
		"forbidden": {refusal("FORBIDDEN", "Resource not accessible by integration"), "other", "the token may not do that: Resource", "Pull requests and Contents"},
		"not found": {refusal("NOT_FOUND", "Could not resolve to a node"), "not found", "Could not resolve", "token may see it"},
		"odd":       {refusal("", "Something\nwent wrong"), "other", "gitops: Something went wrong", ""},
		"401":       {githubfake.Fault{Path: "/graphql", Status: 401, Body: message("Bad credentials")}, "other", "the token was not accepted", "expired"},
		"502":       {githubfake.Fault{Path: "/graphql", Status: 502, Body: "<html>"}, "other", "gitops: 502", ""},
		"nothing":   {githubfake.Fault{Path: "/graphql", Status: 200, Header: json, Body: `{"data":null}`}, "other", "did not say that it will merge 1", "tried again"},
		"truncated": {githubfake.Fault{Path: "/graphql", CutAfter: 5}, "other", "the answer was cut off", ""},
		"limit": {githubfake.Fault{Path: "/graphql", Status: 403, Body: message("You have exceeded a secondary rate limit")}, "until 1m0s",
			"no more requests", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, g, pull := opened(t)
			s.Inject(test.fault)
			err := g.EnableAutoMerge(t.Context(), pull.Number, pull.Commit)
			equal(t, "kind", kindOf(err), test.kind)
			wantError(t, err, test.text)
			if !strings.Contains(hint(err), test.hint) {
				t.Errorf("got the hint %q, want one with %q", hint(err), test.hint)
			}
			if all, err := gitHub(t, s, forge.Options{}).Pulls(t.Context(), "out/dev", "main"); err != nil || all[0].State != forge.Open {
				t.Errorf("got %v, %v", all, err)
			}
		})
	}
	s, g, pull := opened(t)
	s.Set(repo, githubfake.Settings{NoAutoMerge: true})
	equal(t, "kind", kindOf(g.EnableAutoMerge(t.Context(), pull.Number, pull.Commit)), "unsupported")
}

func TestGitHubCommentIsLost(t *testing.T) {
	s, g, pull := opened(t)
	for _, fault := range []githubfake.Fault{
		{Times: 1, Method: "POST", Path: "/repos/*/*/issues/*/comments", CutAfter: 5},
		{Times: 1, Method: "GET", Path: "/repos/*/*/issues/*/comments", Status: 500},
		{Times: 1, Method: "PATCH", Path: "/repos/*/*/issues/comments/*", Status: 403, Body: message("No")},
	} {
		s.Inject(fault)
		text := fault.Method
		if err := g.PutComment(t.Context(), pull.Number, "preview", text); err == nil {
			t.Errorf("%s: there is no error", fault.Method)
		}
		check(t, g.PutComment(t.Context(), pull.Number, "preview", text))
		equal(t, "comments", s.Comments(repo, pull.Number), []string{text + "\n\n<!-- fairlead-comment: preview -->"})
	}
}

func TestGitHubComments(t *testing.T) {
	s, g, pull := opened(t)
	check(t, g.PutComment(t.Context(), pull.Number, "preview", "x"))
	asked := len(s.Requests())
	check(t, g.PutComment(t.Context(), pull.Number, "preview", "x"))
	equal(t, "requests of saying it again", len(s.Requests())-asked, 1)
	s.Inject(githubfake.Fault{Path: "/graphql", Status: 200, Header: json, Body: `{"data":{"viewer":{"login":""}}}`})
	wantError(t, gitHub(t, s, forge.Options{}).PutComment(t.Context(), pull.Number, "preview", "y"), "GitHub did not say")
	equal(t, "comments", len(s.Comments(repo, pull.Number)), 1)
}

// TestGitHubKnowsApps has what GitHub says of Apps and of people.
func TestGitHubKnowsApps(t *testing.T) {
	for name, test := range map[string]struct {
		viewer, author, kind string
		ours                 bool
	}{
		"a person":              {"fairlead", "Fairlead", "User", true},
		"another person":        {"fairlead", "mallory", "User", false},
		"an App":                {"fairlead[bot]", "fairlead[bot]", "Bot", true},
		"an App without [bot]":  {"fairlead", "fairlead[bot]", "Bot", true},
		"a person like the App": {"fairlead[bot]", "fairlead", "User", false},
		"another App":           {"fairlead[bot]", "mallory[bot]", "Bot", false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			g := listing(t, func(req *http.Request) string {
				asked = append(asked, req.Method+" "+req.URL.Path)
				switch {
				case req.URL.Path == "/graphql":
					return fmt.Sprintf(`{"data":{"viewer":{"login":%q}}}`, test.viewer)
				case req.Method == http.MethodGet:
					return fmt.Sprintf(`[{"id":5,"body":"<!-- fairlead-comment: a -->","user":{"login":%q,"type":%q}}]`, test.author, test.kind)
				}
				return "{}"
			})
			check(t, g.PutComment(t.Context(), 1, "a", "x"))
			want := "POST /repos/acme/gitops/issues/1/comments"
			if test.ours {
				want = "PATCH /repos/acme/gitops/issues/comments/5"
			}
			equal(t, "the last request", asked[len(asked)-1], want)
		})
	}
}

// TestGitHubChecksChanges has a server that ignores what it is asked for.
func TestGitHubChecksChanges(t *testing.T) {
	const here = `{"full_name":"acme/gitops"}`
	change := func(number int, head, base, more string) string {
		return fmt.Sprintf(`{"number":%d,"title":"x","head":{"ref":"mine","sha":"a","repo":%s},"base":{"ref":%q,"repo":%s},%s}`, number, head, base, here, more)
	}
	all := []string{
		change(1, here, "main", `"state":"open"`), change(1, here, "main", `"state":"open"`),
		change(2, here, "main", `"state":"closed"`), change(3, here, "other", `"state":"open"`),
		change(4, "null", "main", `"state":"open"`), // the fork is gone
		change(5, `{"full_name":"mallory/gitops"}`, "main", `"state":"open","body":"<!-- fairlead: dev -->"`),
		change(6, here, "main", `"state":"open","body":"<!-- fairlead: dev -->"`), "null", "{}",
	}
	g := listing(t, func(*http.Request) string { return "[" + strings.Join(all, ",") + "]" })
	found, err := g.Changes(t.Context(), "main")
	check(t, err)
	want := forge.Change{Head: "mine", Commit: "a", Base: "main", Title: "x"}
	of := func(number int, fork bool) forge.Change {
		c := want
		c.Number, c.Fork = number, fork
		return c
	}
	equal(t, "changes", found, []forge.Change{of(5, true), of(4, true), of(1, false)})
	g = listing(t, func(*http.Request) string { return "[" + strings.ReplaceAll(all[0], "acme/gitops", "acme/new") + "]" })
	_, err = g.Changes(t.Context(), "main")
	wantError(t, err, "the repository is now called acme/new")
}
