package deploytest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// fairlead runs the program, which must end well.
func fairlead(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(t.Context(), args, &out, &errs); code != 0 {
		t.Fatalf("fairlead %q: exit code %d\n%s%s", args, code, &out, &errs)
	}
	return out.String()
}

const (
	plane  = "acme/control-plane"
	gitops = "acme/gitops"
)

// site is a GitHub with a control plane and a GitOps repository.
type site struct {
	*testing.T
	fake   *githubfake.Server
	people *gittest.Work // in the control plane
	config string        // the settings of a daemon
}

// newSite makes one with the sample of fairlead init.
func newSite(t *testing.T) *site {
	t.Helper()
	needs(t, "bash", "git")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("FAIRLEAD_SITE_TOKEN", "fake-token")
	s := &site{T: t, fake: githubfake.Serve(t), config: filepath.Join(t.TempDir(), "fairlead.yaml")}
	s.fake.Create(plane)
	s.fake.Create(gitops)
	fairlead(t, "init", filepath.Dir(s.config), "--sample", "--environments", "dev,stage",
		"--control-plane", s.fake.Git.URL(plane), "--forge", "git", "--gitops", s.fake.Git.URL(gitops))
	s.people = s.fake.Git.Work(t, plane)
	s.people.Pull("main")
	settings := fmt.Sprintf("controlPlane: {repo: %q}\nwrite: true\npromotion: external\ndataDir: data\nforges: [{host: %q, kind: github, api: %q}]\nremotes: [{url: %q, token: {env: FAIRLEAD_SITE_TOKEN}}]\n",
		s.fake.Git.URL(plane), strings.TrimPrefix(s.server(), "http://"), s.fake.API(), s.server()+"/")
	if err := os.WriteFile(s.config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// server gives the URL of the server.
func (s *site) server() string { return strings.TrimSuffix(s.fake.Git.URL(""), "/.git") }

// job gives a runner of a workflow of the control plane.
func (s *site) job(expressions map[string]string) *job {
	s.Helper()
	j := newJob(s.T)
	maps.Copy(j.env, map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": s.server(), "GITHUB_API_URL": s.fake.API(), "GITHUB_REPOSITORY": plane,
	})
	j.expressions = map[string]string{
		"github.server_url": s.server(), "github.repository": plane, "github.actor": "alice", "github.actor_id": "7",
		"github.token": s.fake.Token, "secrets.token || github.token": s.fake.Token,
	}
	maps.Copy(j.expressions, expressions)
	return j
}

func (s *site) branch(repo, name string) string {
	return gittest.Refs(s, s.fake.Git.Dir(repo))["refs/heads/"+name]
}

// TestCheckSteps: a pull request to the base and one to an environment.
func TestCheckSteps(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct {
		name, base, file, from, to string
		fails                      bool
		prints, summary            string
	}{
		{name: "base", base: "main", file: "configs/fleet.yaml", from: "\ndata:\n", to: "\ndata:\n  NEW_KEY: of-us\n", prints: "stage: ", summary: "### stage"},
		{name: "environment", base: "dev", file: "configs/environment.yaml", from: "debug", to: "warning", prints: "dev: ", summary: "### dev"},
		{name: "nothing", base: "dev", file: "README.md", from: "\n", to: "\n\n", prints: "no differences", summary: "Nothing."},
		{name: "broken", base: "main", file: "configs/fleet.yaml", from: "\ndata:\n", to: "\ndata: [\n", fails: true, prints: "::error file=configs/fleet.yaml,line="},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.T = t
			isBase, isOther := fmt.Sprint(test.base == "main"), fmt.Sprint(test.base != "main")
			j := s.job(map[string]string{
				"github.base_ref": test.base, "inputs.strict": "false", "github.base_ref == inputs.base": isBase, "github.base_ref != inputs.base": isOther,
			})
			j.dir = filepath.Join(t.TempDir(), "checkout") // as actions/checkout leaves it: no branch, and all of the others' branches
			gittest.Git(t, t.TempDir(), "clone", "-q", s.fake.Git.Dir(plane), j.dir)
			gittest.Git(t, j.dir, "checkout", "-q", "--detach", "origin/"+test.base)
			text, err := os.ReadFile(filepath.Join(j.dir, test.file))
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), test.from, test.to, 1)
			if err := os.WriteFile(filepath.Join(j.dir, test.file), []byte(changed), 0o600); err != nil || changed == string(text) {
				t.Fatalf("nothing was changed (%v)", err)
			}
			gittest.Git(t, j.dir, "commit", "-qam", "merge of the pull request")
			printed, err := j.run("check")
			if (err != nil) != test.fails || !strings.Contains(printed, test.prints) || !strings.Contains(j.wrote("GITHUB_STEP_SUMMARY"), test.summary) {
				t.Errorf("%v; it prints\n%s\nand the summary is\n%s", err, printed, j.wrote("GITHUB_STEP_SUMMARY"))
			}
		})
	}
}

// TestPromoteSteps: the commit gets into the record, directly and by pull request, under
// both names of the input.
func TestPromoteSteps(t *testing.T) {
	s := newSite(t)
	head := s.branch(plane, "main")
	inputs := func(commit, pull string) map[string]string {
		return map[string]string{
			"inputs.environment": "dev", "inputs.commit || inputs.promoted_commit_id": commit, "inputs.reason": "the \"release\" of $(May)",
			"inputs.pull-request": pull, "inputs.force": "false", "inputs.url": "", "inputs.lane": "",
		}
	}
	before := s.branch(plane, "dev")
	printed, err := s.job(inputs(head, "true")).run("promote")
	if err != nil || !strings.Contains(printed, "once pull request https://") || s.branch(plane, "dev") != before {
		t.Fatalf("by pull request: %v: %s", err, printed)
	}
	printed, err = s.job(inputs(head, "false")).run("promote")
	if err != nil || !strings.Contains(printed, "dev gets "+head[:7]) {
		t.Fatalf("%v: %s", err, printed)
	}
	record := gittest.Show(t, s.fake.Git.Dir(plane), "dev", "base-repo.yaml")
	message := gittest.Git(t, s.fake.Git.Dir(plane), "log", "-1", "--format=%an <%ae>%n%B", "dev")
	if !strings.Contains(record, "commit: "+head) || !strings.HasPrefix(message, "alice <7+alice@users.noreply.github.com>\n") ||
		!strings.Contains(message, `the "release" of $(May)`) {
		t.Errorf("the record is\n%s\nby\n%s", record, message)
	}
	printed, err = s.job(inputs("1234567", "false")).run("promote")
	if err == nil || !strings.Contains(printed, "fairlead: error: ") {
		t.Errorf("a commit that is not there: %v: %s", err, printed)
	}
}

// TestPromoteInputs: Kalypso starts cd.yaml with two inputs, and GitHub takes no start that
// lacks one which is required.
func TestPromoteInputs(t *testing.T) {
	var declared struct {
		On map[string]struct {
			Inputs map[string]struct{ Required bool }
		} `json:"on"`
	}
	readTriggers(t, read(t, workflowFile("promote")), &declared)
	for _, event := range []string{"workflow_dispatch", "workflow_call"} {
		inputs := declared.On[event].Inputs
		for _, name := range []string{"environment", "commit", "promoted_commit_id"} {
			if _, ok := inputs[name]; !ok {
				t.Errorf("%s has no input %s", event, name)
			}
		}
		for name, input := range inputs {
			if input.Required != (name == "environment") {
				t.Errorf("%s: that %s is required is said to be %v", event, name, input.Required)
			}
		}
	}
}

// TestWaitSteps: what others say of the commit ends the waiting.
func TestWaitSteps(t *testing.T) {
	s := newSite(t)
	commit := s.branch(plane, "main")
	for _, test := range []struct {
		said          []githubfake.Status
		fails         bool
		state, prints string
	}{
		{nil, true, "timed-out", "stage has not deployed " + commit[:7] + " in 0s: it was not promoted to stage yet"},
		{[]githubfake.Status{{Context: "stage environment", State: "pending", Description: "Deploying"}}, true, "timed-out", "Deploying"},
		{[]githubfake.Status{{Context: "dev environment", State: "success", Description: "Deployed"}}, true, "timed-out", "Deploying"},
		{[]githubfake.Status{{Context: "stage environment", State: "success", Description: "Deployed"}}, false, "deployed", "stage has deployed " + commit[:7]},
		{[]githubfake.Status{{Context: "stage environment", State: "failure", Description: "Failed to deploy"}}, true, "failed", "Failed to deploy"},
	} {
		for _, said := range test.said {
			s.fake.Say(plane, "kalypso", commit, said)
		}
		j := s.job(map[string]string{"inputs.environment": "stage", "inputs.commit || github.sha": commit, "inputs.timeout": "0s"})
		printed, err := j.run("wait")
		out := j.wrote("GITHUB_OUTPUT")
		if (err != nil) != test.fails || !strings.Contains(printed, test.prints) || !strings.Contains(out, "state="+test.state+"\n") || !strings.Contains(out, "\ncommit="+commit+"\n") {
			t.Errorf("after %v: %v; it prints\n%s\nand the outputs are\n%s", test.said, err, printed, out)
		}
	}
	j := s.job(map[string]string{"inputs.environment": "stage", "inputs.commit || github.sha": "HEAD~nowhere", "inputs.timeout": "0s"})
	if printed, err := j.run("wait"); err == nil || !strings.Contains(printed, "HEAD~nowhere is ") {
		t.Errorf("no commit: %v: %s", err, printed)
	}
	j = s.job(map[string]string{"inputs.environment": "stage", "inputs.commit || github.sha": commit, "inputs.timeout": "0s", "github.token": "wrong"})
	if printed, err := j.run("wait"); err == nil || !strings.Contains(printed, "the token was not accepted") || strings.Contains(printed, "wrong") {
		t.Errorf("a wrong token: %v: %s", err, printed)
	}
}
