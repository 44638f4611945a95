package gitea_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { os.Exit(giteatest.Run(m)) }

// TestGitea runs against a real server.
func TestGitea(t *testing.T) {
	server := giteatest.Share(t)
	token := server.UserToken("fairlead")
	open := func(t *testing.T) forgetest.Subject {
		s := server.In(t)
		repo := newRepo(t, s)
		p := serve(t, s.URL)
		forked, conflict := false, false
		branch := brancher(t, s.Remote(repo))
		return forgetest.Subject{
			Forge: connect(t, p.URL, repo, token, forge.Options{}),
			Sync: func() {
				s.Settle(repo)
				if !conflict { // of what is in conflict nobody sees whether the server has looked
					s.Look(repo)
				}
			},
			Branch: func(name string) string {
				conflict = conflict || name == "main"
				return branch(name)
			},
			Merge:  func(number int) { s.Merge(repo, number) },
			Close:  func(number int) { s.SetOpen(repo, number, false) },
			Writes: p.writes,
			Statuses: func(commit string) []forge.Status {
				var all []forge.Status
				for _, st := range s.Statuses(repo, commit) {
					all = append(all, forge.Status{Context: st.Context, Outcome: forge.Outcome(st.State), Description: st.Description, URL: st.URL})
				}
				return all
			},
			Propose: func(fromFork bool, head, base, body string) {
				if fromFork && !forked {
					s.Fork(repo, "mallory")
					forked = true
				}
				if fromFork {
					head = "mallory:" + head
				}
				s.Propose(repo, head, base, body)
			},
			Many:   giteatest.PageSize + 2,
			Label:  func(number int, name string) { s.Label(repo, number, name) },
			Labels: func(number int) []string { return s.Labels(repo, number) },

			Require:  func(status string) { s.Protect(repo, "main", status) },
			Until:    s.Until,
			Remark:   func(number int, body string) { s.Remark(repo, number, body) },
			Comments: func(number int) []string { return s.Comments(repo, number) },

			SayStatus: func(login, commit string, said forge.Status) {
				s.SayStatus(repo, login, commit, giteatest.Status{
					Context: said.Context, State: string(said.Outcome), Description: said.Description, URL: said.URL,
				})
			},
			Approve:        func(login string, number int) { s.Review(repo, login, number, "APPROVED", true) },
			RequestChanges: func(login string, number int) { s.Review(repo, login, number, "REQUEST_CHANGES", true) },
			Team: func(logins ...string) string {
				s.Team("people", "reviewers", logins...)
				s.Own("people", "fairlead")
				return "people/reviewers"
			},
			Author:      func(login string) { s.SetEmail(login, "a@example.com") },
			Workflow:    func() forge.Workflow { return workflow(s, repo) },
			Annotations: func(number int) []forge.Annotation { return annotations(s, repo, number) },
		}
	}
	forgetest.Run(t, open)
	forgetest.RunMerger(t, open)
	forgetest.RunReviewer(t, open)
	forgetest.RunProgress(t, open)
}

// workflow adds one that nobody runs: there is no runner.
func workflow(s *giteatest.Server, repo string) forge.Workflow {
	s.Commit(repo, "main", ".gitea/workflows/smoke.yaml", `on:
  workflow_dispatch:
    inputs:
      environment: {required: true}
      commit: {}
jobs:
  smoke:
    runs-on: nowhere
    steps: [{run: "true"}]
`)
	return forge.Workflow{Name: "smoke.yaml", Ref: "main", Inputs: map[string]string{"environment": "dev"}}
}

// annotations returns what people see at the lines of a pull request.
func annotations(s *giteatest.Server, repo string, number int) (all []forge.Annotation) {
	for _, n := range s.LineComments(repo, number) {
		text, _, _ := strings.Cut(n.Body, "\n\n<!-- fairlead-comment: ")
		kind, text, _ := strings.Cut(text, ":** ")
		all = append(all, forge.Annotation{File: n.File, Line: n.Line, Warning: kind == "**Warning", Text: text})
	}
	return all
}

// newRepo makes a repository that fairlead may write to.
func newRepo(t *testing.T, s *giteatest.Server) string {
	t.Helper()
	repo := "acme/" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.Name()))
	s.Create(repo)
	s.Join(repo, "fairlead")
	return repo
}

// connect makes a forge; what o does not say is as most tests need it.
func connect(t *testing.T, url, repo, token string, o forge.Options) *gitea.Forge {
	t.Helper()
	o.API, o.Repo = url, cmp.Or(o.Repo, repo)
	if o.Token == nil {
		o.Token = func(context.Context) (string, error) { return token, nil }
	}
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	g, err := gitea.New(o)
	check(t, err)
	return g
}

// brancher returns a function that adds a commit to a branch, which it makes from main
// first, and gives the commit's id.
func brancher(t *testing.T, remote string) func(string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	gittest.Git(t, t.TempDir(), "clone", "-q", remote, dir)
	commits := 0
	return func(branch string) string {
		t.Helper()
		from := "refs/remotes/origin/" + branch
		gittest.Git(t, dir, "fetch", "-q", "origin")
		if _, ok := gittest.Refs(t, dir)[from]; !ok {
			from = "refs/remotes/origin/main"
		}
		gittest.Git(t, dir, "checkout", "-q", "--no-track", "-B", branch, from)
		commits++
		check(t, os.WriteFile(filepath.Join(dir, fileOf(branch)), []byte(fmt.Sprintln(commits)), 0o600))
		gittest.Git(t, dir, "add", ".")
		gittest.Git(t, dir, "commit", "-q", "-m", fmt.Sprintf("change %d of %s", commits, branch))
		gittest.Git(t, dir, "push", "-q", "origin", branch)
		return gittest.Git(t, dir, "rev-parse", "HEAD")
	}
}

// fileOf returns the file that commits of a branch write: each has one of its own, so
// that nothing is in conflict, but for main and out/dev.
func fileOf(branch string) string {
	switch branch {
	case "main":
		return "dev"
	case "mine":
		return "file.yaml"
	}
	return filepath.Base(branch)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got the error %v, want one with %q", err, text)
	}
}

func wantKind(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got the error %v, want one that is: %v", err, kind)
	}
}

func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
