package gitea_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// TestRefusesToMerge has merges that are refused, now and later.
func TestRefusesToMerge(t *testing.T) {
	for name, test := range map[string]struct {
		fault       fault
		now, later  string // kinds
		text, hints string
	}{
		"405":            {fault{status: 405, body: said("Does not have enough approvals")}, "not yet", "not yet", "405: Does not", "what is missing"},
		"405, user":      {fault{status: 405, body: said("User not allowed to merge PR")}, "other", "other", "405: User not", "see its protection"},
		"409":            {fault{status: 409, body: said("head out of date")}, "moved", "moved", "409: head", ""},
		"409, conflict":  {fault{status: 409, body: said("No, because")}, "other", "other", "409: No", ""},
		"409, scheduled": {fault{status: 409, body: said("pull request is already scheduled to auto merge")}, "other", "none", "409: pull", ""},
		"500":            {fault{status: 500}, "other", "other", "a pull request of acme/gitops: 500", ""},
		"truncated":      {fault{cut: 1}, "other", "other", "cut off", ""},
		"limit":          {fault{status: 429, header: http.Header{"Retry-After": {"7"}}}, "until 7s", "until 7s", "no more requests", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, later := range []bool{false, true} {
				p := answering(t, map[string]string{"/pulls/7": pullObject(7, nil), "/merge": "{}"})
				test.fault.path = "/merge"
				p.inject(test.fault)
				g := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{})
				err, want := g.MergePull(t.Context(), 7, "a"), test.now
				if later {
					g = connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{})
					err, want = g.EnableAutoMerge(t.Context(), 7, "a"), test.later
				}
				equal(t, "kind", kindOf(err), want)
				if want != "none" {
					wantError(t, err, test.text)
				}
				if !strings.Contains(hint(err), test.hints) {
					t.Errorf("got the hint %q, want one with %q", hint(err), test.hints)
				}
			}
		})
	}
	// It reports yes, and does nothing.
	p := answering(t, map[string]string{"/pulls/7": pullObject(7, nil), "/merge": "{}"})
	err := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{}).MergePull(t.Context(), 7, "a")
	wantError(t, err, "the server did not, and did not say why")
}

// TestChecksChanges has a server that gives what it was not asked for.
func TestChecksChanges(t *testing.T) {
	person := func(p, _, _ map[string]any) { p["body"] = "mine" }
	list := []string{
		pullObject(1, person), pullObject(1, person), pullObject(2, nil),
		pullObject(3, func(p, _, _ map[string]any) { p["body"], p["state"] = "", "closed" }),
		pullObject(4, func(p, _, base map[string]any) { p["body"], base["label"] = "", "other" }),
		pullObject(5, func(_, head, _ map[string]any) { head["repo_id"] = 4 }),
		pullObject(6, func(_, head, _ map[string]any) { head["repo_id"], head["repo"] = -1, nil }),         // the fork is gone
		pullObject(7, func(p, head, _ map[string]any) { p["body"], head["ref"] = "", "refs/pull/7/head" }), // of AGit
		pullObject(8, func(p, _, _ map[string]any) { p["head"] = nil }), `null`, `{}`,
	}
	p := answering(t, map[string]string{"/pulls": "[" + strings.Join(list, ",") + "]"})
	found, err := connect(t, p.URL, "Acme/GitOps", "fake-token", forge.Options{}).Changes(t.Context(), "main")
	check(t, err)
	of := func(number int, fork bool) forge.Change {
		return forge.Change{Number: number, Head: "out/dev", Commit: "a", Base: "main", Title: "x", Fork: fork}
	}
	equal(t, "changes", found, []forge.Change{of(7, true), of(6, true), of(5, true), of(1, false)})
	_, err = connect(t, p.URL, "acme/old", "fake-token", forge.Options{}).Changes(t.Context(), "main")
	wantError(t, err, "the repository is now called acme/gitops")
}

// TestComments has comments of several people, and answers that are lost.
func TestComments(t *testing.T) {
	const mark = "<!-- fairlead-comment: preview -->"
	p := answering(t, map[string]string{
		"/user":              `{"id":3,"login":"fairlead"}`,
		"/issues/7/comments": `[{"id":1,"body":"` + mark + `","user":{"id":4}},{"id":2,"body":"x\n\n` + mark + `","user":{"id":3}},{"id":5,"body":"` + mark + `"}]`,
		"/issues/comments/2": `{}`,
		"/issues/8/comments": `[]`,
	})
	g := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{})
	p.inject(fault{path: "/user", times: 1, status: 403, body: said("token does not have at least one of required scope(s), required=[read:user], token scope=write:issue")})
	err := g.PutComment(t.Context(), 7, "preview", "x")
	wantError(t, err, "read the token's user of acme/gitops: the token may not do that: 403")
	equal(t, "hint", hint(err), "make a token that has the scope read:user")
	check(t, g.PutComment(t.Context(), 7, "preview", "x"))
	p.asked()
	check(t, g.PutComment(t.Context(), 7, "preview", "x"))
	equal(t, "requests of saying it again", p.asked(), []string{"GET /api/v1/repos/acme/gitops/issues/7/comments"})
	p.inject(fault{path: "/issues/comments/2", times: 1, cut: 1})
	wantError(t, g.PutComment(t.Context(), 7, "preview", "y"), "edit a comment of acme/gitops: the answer was cut off")
	check(t, g.PutComment(t.Context(), 7, "preview", "y"))
	p.inject(fault{path: "/issues/8/comments", times: 1, status: 500, body: said("database is locked")})
	wantError(t, g.PutComment(t.Context(), 8, "preview", "y"), "not found")
	p.inject(fault{path: "/issues/7/comments", times: 1, status: 500, body: said("database is locked")})
	p.inject(fault{path: "/pulls/7", times: 1, status: 502})
	wantError(t, g.PutComment(t.Context(), 7, "preview", "y"), "list comments of acme/gitops: 500: database is locked")
}
