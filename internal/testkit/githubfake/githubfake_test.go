package githubfake

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// complaints is a test that only notes what is said to fail it.
type complaints struct {
	testing.TB
	all []string
}

func (c *complaints) Errorf(format string, args ...any) {
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

const repo = "acme/gitops"

// served is a GitHub with a repository whose branch dev is ahead of main.
func served(t *testing.T) (*Server, *gittest.Work) {
	t.Helper()
	s := Serve(t)
	s.Create(repo)
	w := s.Git.Work(t, repo)
	for _, branch := range []string{"main", "dev"} {
		gittest.Git(t, w.Dir, "checkout", "-qB", branch)
		w.Write(branch, "x")
		w.Commit(branch)
		w.Push(branch)
	}
	return s, w
}

// ask returns status and body of the answer to a request.
func ask(t *testing.T, s *Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.API()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestComplains(t *testing.T) {
	for name, test := range map[string]struct{ method, path, body, want string }{
		"no such route":         {"GET", "/repos/acme/gitops/wiki", "", "no matching operation"},
		"no such method":        {"PUT", "/repos/acme/gitops/pulls", "", "method not allowed"},
		"no such field":         {"POST", "/repos/acme/gitops/pulls", `{"title":"x","head":"dev","base":"main","mark":"x"}`, `the field "mark" is not described`},
		"no such parameter":     {"GET", "/repos/acme/gitops/pulls?branch=dev", "", `the parameter "branch" is not described`},
		"a parameter's value":   {"GET", "/repos/acme/gitops/pulls?state=merged", "", "state"},
		"a field that is a sum": {"POST", "/repos/acme/gitops/statuses/main", `{"state":"done"}`, "state"},
		"a field that is amiss": {"POST", "/repos/acme/gitops/pulls", `{"title":"x","head":"dev"}`, "base"},
		"labels as a list":      {"POST", "/repos/acme/gitops/issues/1/labels", `["a"]`, "labels"},
		"a body where none is":  {"DELETE", "/repos/acme/gitops/issues/1/labels/a", `{"a":1}`, "it has a body"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := served(t)
			s.Propose(repo, Proposed{Head: "dev", Base: "main"})
			noted := &complaints{TB: t}
			s.t = noted
			ask(t, s, test.method, test.path, test.body)
			if len(noted.all) == 0 || !strings.Contains(strings.Join(noted.all, "\n"), test.want) {
				t.Errorf("got the complaints %q, want %q", noted.all, test.want)
			}
		})
	}
}

func firstState(t *testing.T, s *Server) string {
	t.Helper()
	_, text := ask(t, s, "GET", "/repos/acme/gitops/pulls/1", "")
	switch {
	case strings.Contains(text, `"merged":true`) && strings.Contains(text, `"state":"closed"`):
		return "merged"
	case strings.Contains(text, `"state":"closed"`):
		return "closed"
	}
	return "open"
}

func TestGitDecides(t *testing.T) {
	for want, do := range map[string]func(*testing.T, *Server, *gittest.Work){
		"open": func(t *testing.T, s *Server, w *gittest.Work) {
			w.Commit("more")
			w.Push("dev")
		},
		"closed": func(t *testing.T, s *Server, w *gittest.Work) { w.Push(":dev") },
		"merged": func(t *testing.T, s *Server, w *gittest.Work) { w.Push("dev:main") },
	} {
		t.Run(want, func(t *testing.T) {
			s, w := served(t)
			s.Propose(repo, Proposed{Head: "dev", Base: "main"})
			equal(t, "before", firstState(t, s), "open")
			do(t, s, w)
			equal(t, "after", firstState(t, s), want)
		})
	}
}

func TestMerges(t *testing.T) {
	for _, squash := range []bool{false, true} {
		s, w := served(t)
		number := s.Propose(repo, Proposed{Head: "dev", Base: "main", Title: "Bring dev"})
		w.Pull("main")
		w.Write("meanwhile", "y")
		w.Commit("meanwhile")
		w.Push("main")
		s.Merge(repo, number, squash)
		equal(t, "state", firstState(t, s), "merged")
		equal(t, "files", gittest.Files(t, s.Git.Dir(repo), "main"), map[string]string{"main": "x", "dev": "x", "meanwhile": "y"})
		parents := strings.Fields(gittest.Git(t, s.Git.Dir(repo), "log", "-1", "--format=%P", "main"))
		equal(t, "merge commit", len(parents) == 2, !squash)
	}
}

func TestRefusesStrangers(t *testing.T) {
	s, _ := served(t)
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.API()+"/repos/acme/gitops/pulls", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	equal(t, "status without a token", answer.StatusCode, http.StatusUnauthorized)
}

func TestHeadWithoutOwnerIsIgnored(t *testing.T) {
	s, _ := served(t)
	s.Propose(repo, Proposed{Head: "dev", Base: "main"})
	for head, want := range map[string]bool{"acme:dev": true, "acme:main": false, "main": true, "mallory:dev": false} {
		_, text := ask(t, s, "GET", "/repos/acme/gitops/pulls?head="+head, "")
		equal(t, head, strings.Contains(text, `"number":1`), want)
	}
}
