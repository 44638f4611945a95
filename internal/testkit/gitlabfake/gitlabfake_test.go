package gitlabfake

import (
	"encoding/json"
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

const (
	at  = "acme/team/gitops"
	api = "/projects/acme%2Fteam%2Fgitops"
)

// served is a GitLab with a project whose branch dev is ahead of main.
func served(t *testing.T) (*Server, *gittest.Work) {
	t.Helper()
	s := Serve(t)
	s.Create(at)
	w := s.Git.Work(t, at)
	for _, branch := range []string{"main", "dev"} {
		gittest.Git(t, w.Dir, "checkout", "-qB", branch)
		w.Write(branch, "x")
		w.Commit(branch)
		w.Push(branch)
	}
	return s, w
}

func propose(s *Server) int {
	return s.Propose(at, Proposed{Source: "dev", Target: "main", Title: "Bring dev"})
}

// ask returns the answer to a request, and its body.
func ask(t *testing.T, s *Server, token, method, path, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.API()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// showFirst returns the first merge request.
func showFirst(t *testing.T, s *Server) map[string]any {
	t.Helper()
	_, text := ask(t, s, s.Token, "GET", api+"/merge_requests/1", "")
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestComplains(t *testing.T) {
	for name, test := range map[string]struct{ method, path, body, want string }{
		"no such operation":   {"GET", api + "/wikis", "", "is none of the operations"},
		"the global list":     {"GET", "/merge_requests", "", "is none of the operations"},
		"a path not escaped":  {"GET", "/projects/" + at + "/merge_requests", "", "is none of the operations"},
		"no such method":      {"PATCH", api + "/merge_requests/1", "{}", "is none of the operations"},
		"no such parameter":   {"GET", api + "/merge_requests?branch=dev", "", "branch is not known"},
		"a parameter's value": {"GET", api + "/merge_requests?state=open", "", "state does not have a valid value"},
		"no such field":       {"POST", api + "/merge_requests", `{"title":"x","source_branch":"dev","target_branch":"main","mark":"x"}`, "mark is not known"},
		"a field's value":     {"PUT", api + "/merge_requests/1", `{"state_event":"closed"}`, "state_event does not have a valid value"},
		"a field's type":      {"PUT", api + "/merge_requests/1", `{"labels":["x"]}`, "labels is no text"},
		"a field is amiss":    {"POST", api + "/merge_requests", `{"title":"x","source_branch":"dev"}`, "target_branch is missing"},
		"a status' state":     {"POST", api + "/statuses/main", `{"state":"failure"}`, "state does not have a valid value"},
		"no JSON":             {"POST", api + "/issues", `title=x`, "invalid character"},
		"a position's field":  {"POST", api + "/merge_requests/1/discussions", `{"body":"x","position":{"line":1}}`, "unknown field"},
		"half of a position":  {"POST", api + "/merge_requests/1/discussions", `{"body":"x","position":{"new_path":"dev","new_line":1}}`, "is incomplete"},
		"a variable's field":  {"POST", api + "/pipeline", `{"ref":"main","variables":[{"name":"x","value":"y"}]}`, "a variable is"},
		"a group's parameter": {"GET", "/groups/acme/members/all?search=x", "", "search is not known"},
		"a group's projects":  {"GET", "/groups/acme/projects", "", "is none of the operations"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := served(t)
			propose(s)
			noted := &complaints{TB: t}
			s.t = noted
			ask(t, s, s.Token, test.method, test.path, test.body)
			if len(noted.all) == 0 || !strings.Contains(strings.Join(noted.all, "\n"), test.want) {
				t.Errorf("got the complaints %q, want %q", noted.all, test.want)
			}
		})
	}
}

func TestGitDecides(t *testing.T) {
	for want, do := range map[string]func(*testing.T, *Server, *gittest.Work){
		"opened": func(t *testing.T, s *Server, w *gittest.Work) {
			w.Commit("more")
			w.Push("dev")
		},
		"closed": func(t *testing.T, s *Server, w *gittest.Work) { w.Push(":dev") },
		"merged": func(t *testing.T, s *Server, w *gittest.Work) { w.Push("dev:main") },
	} {
		t.Run(want, func(t *testing.T) {
			s, w := served(t)
			propose(s)
			equal(t, "before", showFirst(t, s)["state"], any("opened"))
			do(t, s, w)
			equal(t, "after", showFirst(t, s)["state"], any(want))
		})
	}
}

func TestMerges(t *testing.T) {
	for _, how := range []Merging{{}, {Squash: true}, {RemoveSource: true}} {
		s, w := served(t)
		number := propose(s)
		w.Pull("main")
		w.Write("meanwhile", "y")
		w.Commit("meanwhile")
		w.Push("main")
		s.Merge(at, number, how)
		equal(t, "state", showFirst(t, s)["state"], any("merged"))
		equal(t, "files", gittest.Files(t, s.Git.Dir(at), "main"), map[string]string{"main": "x", "dev": "x", "meanwhile": "y"})
		parents := strings.Fields(gittest.Git(t, s.Git.Dir(at), "log", "-1", "--format=%P", "main"))
		equal(t, "merge commit", len(parents) == 2, !how.Squash)
		_, there := gittest.Refs(t, s.Git.Dir(at))["refs/heads/dev"]
		equal(t, "source branch", there, !how.RemoveSource)
	}
}

func TestNothingToMergeIsNotMerged(t *testing.T) {
	s, w := served(t)
	w.Push("main:same")
	s.Propose(at, Proposed{Source: "same", Target: "main"})
	equal(t, "state", showFirst(t, s)["state"], any("opened"))
}

func TestMergeStatus(t *testing.T) {
	s, w := served(t)
	_, text := ask(t, s, s.Token, "POST", api+"/merge_requests", `{"title":"x","source_branch":"dev","target_branch":"main"}`)
	equal(t, "at first", strings.Contains(text, `"merge_status":"checking"`), true)
	status := func() any { return showFirst(t, s)["detailed_merge_status"] }
	equal(t, "then", status(), any("mergeable"))
	w.Pull("main")
	w.Write("dev", "another")
	w.Commit("conflict")
	w.Push("main")
	equal(t, "in conflict", status(), any("conflict"))
	s.Close(at, 1)
	equal(t, "closed", status(), any("not_open"))
}

func TestRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		token, method, path, body string
		status                    int
		want                      string
	}{
		"strangers":        {"x", "GET", api + "/issues", "", 401, "401 Unauthorized"},
		"unknown projects": {"glpat-fake", "GET", "/projects/acme%2Fother/issues", "", 404, "404 Project Not Found"},
		"unknown iids":     {"glpat-fake", "GET", api + "/merge_requests/1008", "", 404, "404 Not found"},
		"iids of issues":   {"glpat-fake", "GET", api + "/issues/1", "", 404, "404 Not found"},
		"a second one":     {"glpat-fake", "POST", api + "/merge_requests", `{"title":"x","source_branch":"dev","target_branch":"main"}`, 409, "already exists for this source branch: !1"},
		"to itself":        {"glpat-fake", "POST", api + "/merge_requests", `{"title":"x","source_branch":"dev","target_branch":"dev"}`, 422, "can't use same"},
		"no branch":        {"glpat-fake", "POST", api + "/merge_requests", `{"title":"x","source_branch":"x","target_branch":"dev"}`, 400, "does not exist"},
		"long titles":      {"glpat-fake", "PUT", api + "/merge_requests/1", `{"title":"` + strings.Repeat("x", 256) + `"}`, 400, "too long"},
		"another commit":   {"glpat-fake", "PUT", api + "/merge_requests/1/merge", `{"sha":"a"}`, 409, "SHA does not match HEAD"},
		"no pipeline":      {"glpat-fake", "PUT", api + "/merge_requests/1/merge", `{"auto_merge":true}`, 405, "405 Method Not Allowed"},
		"unknown notes":    {"glpat-fake", "PUT", api + "/merge_requests/1/notes/5", `{"body":"x"}`, 404, "404 Not found"},
		"empty notes":      {"glpat-fake", "POST", api + "/merge_requests/1/notes", `{"body":"/close"}`, 400, "can't be blank"},
		"no change":        {"glpat-fake", "PUT", api + "/merge_requests/1", `{}`, 400, "at least one"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := served(t)
			propose(s)
			answer, text := ask(t, s, test.token, test.method, test.path, test.body)
			equal(t, "status", answer.StatusCode, test.status)
			if !strings.Contains(text, test.want) {
				t.Errorf("got %s, want %q", text, test.want)
			}
		})
	}
}

func TestProjectHasAnID(t *testing.T) {
	s, _ := served(t)
	propose(s)
	fields := showFirst(t, s)
	_, text := ask(t, s, s.Token, "GET", fmt.Sprintf("/projects/%v/merge_requests/1", fields["project_id"]), "")
	equal(t, "by id", strings.Contains(text, `"full":"acme/team/gitops!1"`), true)
	if fields["id"] == fields["iid"] {
		t.Errorf("the id and the iid are both %v", fields["id"])
	}
}

func TestSourceBranchIsOfForksToo(t *testing.T) {
	s, _ := served(t)
	fork := s.Fork(at, "mallory")
	s.Propose(at, Proposed{From: fork, Source: "dev", Target: "main"})
	for query, want := range map[string]bool{"source_branch=dev": true, "source_branch=main": false, "target_branch=dev": false, "state=closed": false, "": true} {
		_, text := ask(t, s, s.Token, "GET", api+"/merge_requests?"+query, "")
		equal(t, query, strings.Contains(text, `"iid":1`), want)
	}
}

func TestPages(t *testing.T) {
	s, _ := served(t)
	propose(s)
	s.Copies(at, 1, 41)
	for page, want := range map[string][]string{"1": {"42 of 3", "", "2"}, "2": {"42 of 3", "1", "3"}, "3": {"42 of 3", "2", ""}, "4": {"42 of 3", "3", ""}} {
		answer, _ := ask(t, s, s.Token, "GET", api+"/merge_requests?page="+page, "")
		h := answer.Header
		equal(t, "page "+page, []string{h.Get("X-Total") + " of " + h.Get("X-Total-Pages"), h.Get("X-Prev-Page"), h.Get("X-Next-Page")}, want)
		equal(t, "link", strings.Contains(h.Get("Link"), `rel="next"`), want[2] != "")
	}
	s.Copies(at, 1, 10_000)
	answer, _ := ask(t, s, s.Token, "GET", api+"/merge_requests", "")
	equal(t, "headers of a long list", []string{answer.Header.Get("X-Total"), answer.Header.Get("X-Next-Page")}, []string{"", "2"})
}

func TestStatusesChange(t *testing.T) {
	s, _ := served(t)
	commit := gittest.Refs(t, s.Git.Dir(at))["refs/heads/dev"]
	for _, step := range []struct {
		state  string
		status int
		want   string
	}{
		{"pending", 201, "pending"}, {"pending", 400, "pending"}, {"failed", 201, "failed"}, {"pending", 201, "failed pending"}, {"success", 201, "failed success"},
	} {
		answer, _ := ask(t, s, s.Token, "POST", api+"/statuses/"+commit, `{"name":"dev","state":"`+step.state+`"}`)
		equal(t, "answer", answer.StatusCode, step.status)
		var states []string
		for _, status := range s.Statuses(at, commit) {
			states = append(states, status.State)
		}
		equal(t, "states", strings.Join(states, " "), step.want)
	}
}

func TestQuickActions(t *testing.T) {
	s, _ := served(t)
	propose(s)
	ask(t, s, s.Token, "PUT", api+"/merge_requests/1", `{"description":"a\n/label ~x\n\r/Close\n `+"`/close`"+`\nb"}`)
	fields := showFirst(t, s)
	equal(t, "description", fields["description"], any("a\n `/close`\nb"))
	ask(t, s, s.Token, "PUT", api+"/merge_requests/1", `{"description":"/close"}`)
	equal(t, "state", showFirst(t, s)["state"], any("closed"))
}

// TestDiff has a change of line 10 of 20, which becomes two.
func TestDiff(t *testing.T) {
	s, w := served(t)
	begin := strings.Repeat("a\n", 9) + "old\n" + strings.Repeat("a\n", 10)
	gittest.Git(t, w.Dir, "checkout", "-q", "main")
	w.Write("x", begin)
	w.Commit("begin")
	w.Push("main")
	gittest.Git(t, w.Dir, "checkout", "-qB", "dev", "main")
	w.Write("x", strings.Replace(begin, "old\n", "new\nmore\n", 1))
	w.Commit("change")
	w.Push("+dev")
	propose(s)
	var refs struct {
		DiffRefs map[string]string `json:"diff_refs"`
	}
	_, text := ask(t, s, s.Token, "GET", api+"/merge_requests/1", "")
	if err := json.Unmarshal([]byte(text), &refs); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		`"new_line":6,"old_line":6`: 400, `"new_line":7,"old_line":7`: 201, `"new_line":7`: 400, `"new_line":10`: 201, `"new_line":10,"old_line":10`: 400,
		`"new_line":11`: 201, `"new_line":12,"old_line":11`: 201, `"new_line":12,"old_line":12`: 400, `"new_line":14,"old_line":13`: 201,
		`"new_line":15,"old_line":14`: 400, `"new_line":99`: 400,
	} {
		at := refs.DiffRefs
		body := fmt.Sprintf(`{"body":"x","position":{"position_type":"text","base_sha":%q,"start_sha":%q,"head_sha":%q,"old_path":"x","new_path":"x",%s}}`,
			at["base_sha"], at["start_sha"], at["head_sha"], line)
		answer, text := ask(t, s, s.Token, "POST", api+"/merge_requests/1/discussions", body)
		equal(t, line, answer.StatusCode, want)
		if want == 400 && !strings.Contains(text, "line_code") {
			t.Errorf("%s: got %s", line, text)
		}
	}
	_, text = ask(t, s, s.Token, "GET", api+"/merge_requests/1/diffs", "")
	if !strings.Contains(text, `"diff":"@@ -7,7 +7,8 @@`) {
		t.Errorf("the diff is %s", text)
	}
}
