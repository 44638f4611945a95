package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// pastPulls answers by the number.
func pastPulls(_ context.Context, environment string, number int) (history.Pull, error) {
	files := func(all map[string]string) tree.Tree {
		data := map[string][]byte{}
		for name, text := range all {
			data[name] = []byte(text)
		}
		made, err := tree.FromFiles(data)
		if err != nil {
			panic(err)
		}
		return made
	}
	config := func(level string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata:\n  LOG_LEVEL: " + level + "\n  password: hunter2-and-more\n"
	}
	before := files(map[string]string{"large/web/config.yaml": config("info"), "small/web/config.yaml": config("info"), "small/old/config.yaml": config("info")})
	after := files(map[string]string{"large/web/config.yaml": config("<debug>"), "small/web/config.yaml": config("<debug>")})
	p := history.Pull{Pull: forge.Pull{Proposal: forge.Proposal{Title: environment + ": REMOVE old"}, Number: number, State: forge.Merged, Commit: c1, URL: "https://git.example.com/gitops/pull/7"}, From: c1, To: c1, Report: impact.Compare(before, after, impact.Options{})}
	p.Commits = []git.CommitInfo{{ID: strings.Repeat("e", 40), Message: "Log <more>\u202e\n", Author: git.Signature{Name: "alice"}, When: noon}}
	p.OwnCommits = []git.CommitInfo{{ID: strings.Repeat("d", 40), Message: "A larger <database>\n", Author: git.Signature{Name: "bob"}, When: noon}}
	switch number {
	case 8:
		p.State, p.Reason = forge.Closed, "not <now> (by alice)"
		p.Report.Groups = slices.Repeat(p.Report.Groups, 100)
	case 9:
		p.State = forge.Open
	case 14:
		p = history.Pull{Pull: forge.Pull{Proposal: forge.Proposal{Title: "prod: tidy"}, Number: number, State: forge.Closed, Reason: "not today", By: "alice"}, Lost: true}
	case 10:
		return p, &explain.QueryError{Summary: "there is none", Hint: "ask for another"}
	case 11:
		return p, context.DeadlineExceeded
	case 12:
		return p, errors.New("the forge says token=abcdefgh12345678")
	case 13:
		p.Report = impact.Report{Stacks: 1, Components: impact.Counts{Changed: 2}, Files: impact.Counts{Changed: 3}}
	}
	return p, nil
}

// TestPastPulls: the page of a pull request that was merged or closed says what it meant: deletions first, with
// the lines, and the commits that came with it. It does not follow the state, and shows no secret.
func TestPastPulls(t *testing.T) {
	store := fleet()
	h := New(Options{Store: store, Pull: pastPulls})
	for _, c := range []struct {
		path   string
		code   int
		texts  []string
		answer string
	}{
		{"/environments/prod/pulls/7", 200, []string{
			"merged</span>", "prod: REMOVE old", "What it changed", `class="tag bad"`, "assignment removed", "small/old", "config value",
			"<del>-  LOG_LEVEL: info</del>", "<ins>&#43;  LOG_LEVEL: &lt;debug&gt;</ins>", "1 commit came with it", "Log &lt;more&gt;", "by <bdi>alice</bdi>",
			"1 commit of the branch of prod came with it", "A larger &lt;database&gt;", "by <bdi>bob</bdi>",
		}, `"ended": "merged"`},
		{"/environments/prod/pulls/8", 200, []string{"closed</span>", "It was closed by <bdi>alice</bdi>: <bdi>not &lt;now&gt;</bdi>", "more of other kinds"}, `"reason": "not \u003cnow\u003e"`},
		{"/environments/prod/pulls/9", 404, []string{"is not known yet"}, "the next cycle finds it"},
		{"/environments/prod/pulls/10", 404, []string{"There is none."}, "ask for another"},
		{"/environments/prod/pulls/11", 503, []string{"waits for its end"}, "ask again"},
		{"/environments/prod/pulls/12", 503, []string{"has no answer now"}, "token=***"},
		{"/environments/prod/pulls/13", 200, []string{`<p class="lead">1 stack, 2 components, 3 files`}, `"components": 2`},
		{"/environments/prod/pulls/14", 200, []string{"closed</span>", "prod: tidy", "It was closed by <bdi>alice</bdi>: <bdi>not today</bdi>", "The GitOps repository has its commit no longer"}, `"lost": true`},
		{"/environments/prod/pulls/x", 404, []string{"has no pull request"}, "numbers"},
		{"/environments/nope/pulls/7", 404, []string{"There is no environment"}, "lists those"},
	} {
		got, answer := ask(h, http.MethodGet, c.path), ask(h, http.MethodGet, api+c.path)
		body := mainOf(got.Body.String())
		if got.Code != c.code || answer.Code != c.code || !strings.Contains(answer.Body.String(), c.answer) {
			t.Errorf("%s: %d, as JSON %d, want %d with %s\n%s", c.path, got.Code, answer.Code, c.code, c.answer, answer.Body)
		}
		for _, text := range c.texts {
			if !strings.Contains(body, text) {
				t.Errorf("%s has no %s\n%s", c.path, text, body)
			}
		}
		for _, secret := range []string{"hunter2", "abcdefgh", "<debug>", "\u202e"} {
			if all := got.Body.String() + answer.Body.String(); strings.Contains(all, secret) {
				t.Errorf("%s has %s:\n%s", c.path, secret, all)
			}
		}
		if c.code == http.StatusOK && strings.Contains(got.Body.String(), `data-page="/`) {
			t.Errorf("%s follows the state", c.path)
		}
		checkMarkup(t, c.path, got.Body.String())
	}
	stopped := New(Options{Store: hosted(), Pull: pastPulls})
	for path, texts := range map[string][]string{
		"/environments/prod":         {`pull/9">pull request 9</a> is open, and proposes what the files said before`, `environments/prod/pulls/9">what it changes</a>`},
		"/environments/prod/pulls/9": {"open</span>", "prod: REMOVE old", "What it changes", "1 commit comes with it"},
	} {
		got := ask(stopped, http.MethodGet, path)
		for _, text := range texts {
			if got.Code != http.StatusOK || !strings.Contains(mainOf(got.Body.String()), text) {
				t.Errorf("of an environment that problems stop %s is %d, and has no %s\n%s", path, got.Code, text, mainOf(got.Body.String()))
			}
		}
	}
	body := mainOf(ask(h, http.MethodGet, "/environments/prod/pulls/7").Body.String())
	if strings.Index(body, "assignment removed") > strings.Index(body, "LOG_LEVEL") {
		t.Errorf("deletions are not first:\n%s", body)
	}
	for range maxQuestions {
		ask(h, http.MethodGet, api+"/environments/prod/pulls/7")
	}
	if got := ask(h, http.MethodGet, api+"/environments/prod/pulls/7"); got.Code != http.StatusTooManyRequests {
		t.Errorf("after %d questions the next is %d", maxQuestions, got.Code)
	}
}

// answerPulls asks for pull requests that are not open, and for too many.
func (c checker) answerPulls(t *testing.T) {
	t.Helper()
	for _, before := range []string{"", api} {
		h := New(Options{Store: fleet(), Pull: pastPulls})
		for i := range 7 + maxQuestions {
			address := fmt.Sprintf("%s/environments/prod/pulls/%d", before, 7+i)
			c.answer(t, "get", before+"/environments/{name}/pulls/{number}", ask(h, http.MethodGet, address))
		}
	}
}
