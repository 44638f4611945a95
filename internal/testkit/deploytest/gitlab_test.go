package deploytest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// template is a hidden job of GitLab CI.
type template struct {
	Extends, Image string
	Variables      map[string]string
	Before         []string            `json:"before_script"`
	Script         []string            `json:"script"`
	Rules          []map[string]string `json:"rules"`
	AllowFailure   struct {
		Codes int `json:"exit_codes"`
	} `json:"allow_failure"`
	Group     string `json:"resource_group"`
	Timeout   string
	Artifacts struct {
		When    string
		Reports map[string]string
	}
}

// readTemplates gives the hidden jobs, with what they extend.
func readTemplates(t *testing.T) (variables map[string]string, jobs map[string]template) {
	t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "ci/gitlab/fairlead.yml")), &all); err != nil {
		t.Fatal(err)
	}
	jobs = map[string]template{}
	for name, value := range all {
		text, err := yaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if name == "variables" {
			if err := yaml.UnmarshalStrict(text, &variables); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var one template
		if err := yaml.UnmarshalStrict(text, &one); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.HasPrefix(name, ".fairlead") {
			t.Errorf("the job %s would run in every pipeline that includes the file", name)
		}
		jobs[name] = one
	}
	for name, one := range jobs {
		if one.Extends != "" {
			one.Before, one.Image = jobs[one.Extends].Before, jobs[one.Extends].Image
			jobs[name] = one
		}
		if len(one.Before) == 0 || one.Image == "" {
			t.Errorf("%s does not install fairlead", name)
		}
	}
	return variables, jobs
}

// TestGitLabTemplates: they install the release, and do what the workflows of GitHub do.
func TestGitLabTemplates(t *testing.T) {
	needs(t, "sh", "git", "curl", "tar", "sha256sum")
	variables, jobs := readTemplates(t)
	if got := slices.Sorted(maps.Keys(jobs)); !slices.Equal(got, []string{".fairlead", ".fairlead-check-base", ".fairlead-check-environment", ".fairlead-promote", ".fairlead-wait"}) {
		t.Fatalf("the jobs are %q", got)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	fake := gitlabfake.Serve(t)
	t.Setenv("FAIRLEAD_GIT_TOKEN", fake.Token)
	for _, name := range []string{plane, gitops} {
		fake.Create(name)
	}
	fairlead(t, "init", t.TempDir(), "--sample", "--environments", "dev,stage", "--control-plane", fake.Git.URL(plane), "--forge", "git", "--gitops", fake.Git.URL(gitops))
	head := func(branch string) string { return gittest.Refs(t, fake.Git.Dir(plane))["refs/heads/"+branch] }
	self := newJob(t)
	url, checksum, broken := released(t, "#!/bin/sh\nexec "+filepath.Join(self.bin, "fairlead")+" \"$@\"\n")
	run := func(name string, more map[string]string) (*job, string, error) {
		t.Helper()
		j := newJob(t)
		for _, key := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
			delete(j.env, key)
		}
		j.env["PATH"] = os.Getenv("PATH") // fairlead is what was installed
		j.dir = filepath.Join(t.TempDir(), "builds")
		gittest.Git(t, t.TempDir(), "clone", "-q", fake.Git.Dir(plane), j.dir)
		maps.Copy(j.env, variables)
		maps.Copy(j.env, jobs[name].Variables)
		maps.Copy(j.env, map[string]string{
			"FAIRLEAD_VERSION": "v1.2.3", "FAIRLEAD_RELEASES": url, "FAIRLEAD_GIT_TOKEN": fake.Token,
			"CI_PROJECT_URL": strings.TrimSuffix(fake.Git.URL(plane), ".git"), "CI_API_V4_URL": fake.API(),
			"GITLAB_USER_NAME": "Alice", "GITLAB_USER_EMAIL": "alice@example.com",
		})
		maps.Copy(j.env, more)
		gittest.Git(t, j.dir, "checkout", "-q", "--detach", "origin/"+j.env["CHECKOUT"])
		if j.env["CHANGE"] != "" {
			changeLevel(t, j.dir)
		}
		printed, err := j.script("sh", strings.Join(slices.Concat(jobs[name].Before, jobs[name].Script), "\n"), nil)
		return j, printed, err
	}
	request := func(branch string) map[string]string {
		return map[string]string{"CHECKOUT": branch, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": branch, "CI_MERGE_REQUEST_DIFF_BASE_SHA": head(branch)}
	}
	if _, printed, err := run(".fairlead-check-base", request("main")); err != nil || !strings.Contains(printed, "no differences") {
		t.Errorf("a merge request to the base: %v: %s", err, printed)
	}
	changing := request("dev")
	changing["CHANGE"] = "yes"
	if _, printed, err := run(".fairlead-check-environment", changing); exitCode(err) != jobs[".fairlead-check-environment"].AllowFailure.Codes || !strings.Contains(printed, "LOG_LEVEL") {
		t.Errorf("a merge request to an environment that changes something: %v: %s", err, printed)
	}
	_, printed, err := run(".fairlead-promote", map[string]string{"CHECKOUT": "main", "FAIRLEAD_ENVIRONMENT": "dev", "FAIRLEAD_COMMIT": head("main")})
	if err != nil || !strings.Contains(gittest.Show(t, fake.Git.Dir(plane), "dev", "base-repo.yaml"), head("main")) {
		t.Errorf("promote: %v: %s", err, printed)
	}
	waits := map[string]string{"CHECKOUT": "main", "FAIRLEAD_ENVIRONMENT": "dev", "FAIRLEAD_COMMIT": head("main"), "FAIRLEAD_TIMEOUT": "0s"}
	j, printed, err := run(".fairlead-wait", waits)
	if told := dotenv(t, j, jobs[".fairlead-wait"]); err == nil || !strings.Contains(told, "state=timed-out\n") {
		t.Errorf("wait: %v: %s; the variables are %s", err, printed, told)
	}
	fake.SayStatus(plane, head("main"), gitlabfake.Status{Name: "dev environment", State: "success", Description: "Deployed"})
	j, printed, err = run(".fairlead-wait", waits)
	if told := dotenv(t, j, jobs[".fairlead-wait"]); err != nil || !strings.Contains(told, "state=deployed\n") {
		t.Errorf("wait: %v: %s; the variables are %s", err, printed, told)
	}
	waits["FAIRLEAD_CHECKSUM"] = strings.Repeat("a", len(checksum))
	if _, printed, err := run(".fairlead-wait", waits); err == nil || strings.Contains(printed, "has deployed") {
		t.Errorf("another checksum: %v: %s", err, printed)
	}
	delete(waits, "FAIRLEAD_CHECKSUM")
	*broken = true
	if _, printed, err := run(".fairlead-wait", waits); err == nil || strings.Contains(printed, "has deployed") {
		t.Errorf("tampered with: %v: %s", err, printed)
	}
}

// dotenv gives the variables that a job leaves for those that follow.
func dotenv(t *testing.T, j *job, of template) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, of.Artifacts.Reports["dotenv"]))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// changeLevel commits another level to a checkout of an environment.
func changeLevel(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "configs/environment.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "debug", "warning", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil || changed == string(text) {
		t.Fatalf("nothing was changed (%v)", err)
	}
	gittest.Git(t, dir, "commit", "-qam", "change")
}

// exitCode is that of a script; -1 if it did not run.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
