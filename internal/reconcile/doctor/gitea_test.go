package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
)

func TestMain(m *testing.M) { os.Exit(giteatest.Run(m)) }

// TestGitea asks a real Gitea, with the tokens of several people.
func TestGitea(t *testing.T) {
	s := giteatest.Start(t)
	o := scaffold.Options{ControlPlane: s.URL + "/acme/cp.git", GitOps: s.URL + "/acme/out.git", Environments: []string{"dev"}, Sample: true}
	s.Create("acme/cp")
	s.Create("acme/out")
	controlPlane, err := scaffold.ControlPlaneBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	gitOps, err := scaffold.GitOpsBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	fillGitea(t, s, "acme/cp", controlPlane)
	fillGitea(t, s, "acme/out", gitOps)
	s.Join("acme/cp", userOf(s, "robot"))
	s.Join("acme/out", userOf(s, "robot"))
	good := []string{
		"ok SERVER/: API: Gitea " + gitea.TestedVersion, "ok SERVER/: token: Gitea takes it", "ok SERVER/: clock: ", "ok SERVER/acme/out.git: push: ",
		"ok SERVER/acme/cp.git: API: Gitea shows it, and we may write to it", "ok SERVER/acme/out.git: issues: ",
		"ok SERVER/acme/out.git: protection of fairlead/dev: ",
	}
	for _, c := range []struct {
		name, token string
		fails       bool
		want        []string
	}{
		{"all is well", s.UserToken("robot", "write:repository", "write:issue", "read:user"), false, good},
		{"has no scope for users", s.UserToken("robot", "write:repository", "write:issue"), false, []string{
			"warn SERVER/: token scope read:user: the token lacks it: it is needed to recognize our own comments",
			"warn SERVER/: token: Gitea does not tell whose it is, so that there are no previews: 403 Forbidden: ", "ok SERVER/acme/out.git: push: ",
		}},
		{"reads only", s.UserToken("robot", "read:repository", "read:issue"), true, []string{
			"ok SERVER/acme/out.git: read: ", "fail SERVER/acme/out.git: push: access was refused",
			"fail SERVER/: token scope write:repository: the token lacks it", "fail SERVER/: token scope write:issue: the token lacks it",
		}},
		{"reads issues only", s.UserToken("robot", "write:repository", "read:issue", "read:user"), true, []string{
			"ok SERVER/acme/out.git: issues: ", "fail SERVER/: token scope write:issue: the token lacks it: it is needed for the labels of pull requests, for comments and for issues",
		}},
		{"may do everything", s.UserToken("robot", "all"), false, good},
		{"has no scope for issues", s.UserToken("robot", "write:repository"), true, []string{
			"fail SERVER/: token scope write:issue: the token lacks it",
			"ok SERVER/acme/out.git: push: ", "warn SERVER/acme/out.git: issues: the server refuses them: 403 Forbidden: ",
		}},
		// Gitea lets everybody begin a push, since it may be one to refs/for/: only its
		// API tells.
		{"may not write", s.UserToken("guest"), true, []string{
			"ok SERVER/acme/out.git: read: ", "fail SERVER/acme/out.git: API: Gitea shows it, but we may not write to it",
		}},
		{"is nobody's", "0123456789012345678901234567890123456789", true, []string{"fail SERVER/: token: Gitea does not take it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := examineGitea(t, s, o.ControlPlane, c.token)
			for _, want := range c.want {
				if !strings.Contains(got, "\n"+want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if strings.Contains(got, "\nfail ") != c.fails {
				t.Errorf("that something fails is %v", !c.fails)
			}
			if strings.Contains(got, c.token) {
				t.Error("the output has the token")
			}
			if t.Failed() {
				t.Log(got)
			}
		})
	}
}

// userOf makes a user.
func userOf(s *giteatest.Server, name string) string {
	s.UserToken(name)
	return name
}

// examineGitea gives the findings, a line for each.
func examineGitea(t *testing.T, s *giteatest.Server, controlPlane, token string) string {
	t.Helper()
	text := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: %q\nwrite: true\nforges: [{host: %q, kind: gitea}]\nremotes: [{url: %q, token: {env: TOKEN}}]\n",
		controlPlane, t.TempDir(), strings.TrimPrefix(s.URL, "http://"), s.URL+"/")
	settings, problems := config.Parse("fairlead.yaml", []byte(text), t.TempDir(), func(string) string { return token })
	if problems.Stops() {
		t.Fatal(problems)
	}
	found, err := doctor.Examine(t.Context(), doctor.Options{Settings: settings, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	lines := "\n"
	for _, f := range found {
		lines += fmt.Sprintf("%s %s: %s\n", f.Level, f.Subject, f.Message)
	}
	return strings.ReplaceAll(lines, s.URL, "SERVER")
}

// fillGitea pushes branches to a repository that has a first commit.
func fillGitea(t *testing.T, s *giteatest.Server, repo string, branches []scaffold.Branch) {
	t.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: s.Remote(repo), Dir: filepath.Join(t.TempDir(), "fill")})
	if err != nil {
		t.Fatal(err)
	}
	push(t, remote, branches)
}
