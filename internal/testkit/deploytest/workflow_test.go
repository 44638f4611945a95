package deploytest

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// TestMain lets the test's own program be fairlead, under that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "fairlead" {
		os.Exit(cli.RunProcess())
	}
	os.Exit(m.Run())
}

// workflows are the reusable ones, which people call.
var workflows = []string{"check", "promote", "wait"}

func workflowFile(name string) string { return ".github/workflows/" + name + ".yaml" }

// step is one of a workflow or an action.
type step struct {
	ID, Name, If, Uses, Run, Shell string
	With, Env                      map[string]string
}

// workflow is what matters of one; each has one job, of its own name.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions, Env, Outputs map[string]string
		Steps                     []step
	}
}

func readWorkflow(t *testing.T, name string) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(read(t, workflowFile(name))), &w); err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 1 || len(w.Jobs[name].Steps) == 0 {
		t.Fatalf("%s has not one job of its name: %+v", name, w)
	}
	return w
}

// TestActionlint: GitHub takes all workflows, ours and those that people call.
func TestActionlint(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../.github/workflows/*.y*ml")
	if err != nil || len(files) < len(workflows)+1 {
		t.Fatalf("%d workflows (%v)", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found, err := linter.Lint(file, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found {
			t.Errorf("%v", one)
		}
	}
	broken := strings.Replace(read(t, workflowFile("wait")), "inputs.timeout", "inputs.tiemout", 1)
	if found, err := linter.Lint("broken.yaml", []byte(broken), nil); err != nil || len(found) == 0 {
		t.Errorf("a broken one is taken (%v)", err)
	}
}

var (
	pinned = regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40}$`)
	own    = "fairlead-io/fairlead@main"
)

// TestWorkflowsAreSafe: what is not ours is pinned by its commit; no input gets into a
// script but as a variable; a job has the rights that it needs, and says so.
func TestWorkflowsAreSafe(t *testing.T) {
	for _, name := range workflows {
		w := readWorkflow(t, name)
		if w.Permissions == nil || len(w.Permissions) > 0 || len(w.Jobs[name].Permissions) == 0 {
			t.Errorf("%s: the rights of the workflow are %v, those of its job %v", name, w.Permissions, w.Jobs[name].Permissions)
		}
		installed := false
		for _, s := range w.Jobs[name].Steps {
			if s.Uses != "" && s.Uses != own && !pinned.MatchString(s.Uses) {
				t.Errorf("%s uses %s, which can change", name, s.Uses)
			}
			installed = installed || s.Uses == own && strings.HasPrefix(s.With["version"], "${{ inputs.version ")
			if strings.Contains(s.Run, "${{") {
				t.Errorf("%s: an expression is part of a script: %s", name, s.Run)
			}
			if s.Run != "" && (!strings.HasPrefix(s.Run, "fairlead ") || strings.ContainsAny(s.Run, ";|&<>`\n")) {
				t.Errorf("%s: a step does more than call fairlead: %s", name, s.Run)
			}
		}
		if !installed {
			t.Errorf("%s does not install the version that it was asked for", name)
		}
	}
}

// job is a runner: what expressions are, and where steps write.
type job struct {
	*testing.T
	dir         string            // of the checkout
	expressions map[string]string // what is between ${{ and }}
	env         map[string]string // that GitHub sets
	bin         string
}

func newJob(t *testing.T) *job {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "fairlead")); err != nil {
		t.Fatal(err)
	}
	return &job{T: t, dir: home, bin: bin, expressions: map[string]string{}, env: map[string]string{
		"HOME": home, "XDG_CACHE_HOME": home, "PATH": bin + ":" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"RUNNER_TEMP": home, "CI": "true",
		"GITHUB_OUTPUT": filepath.Join(home, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(home, "summary"), "GITHUB_PATH": filepath.Join(home, "path"),
	}}
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// value gives a text with the values of its expressions; one that is not known fails the
// test.
func (j *job) value(text string) string {
	j.Helper()
	return expression.ReplaceAllStringFunc(text, func(match string) string {
		return j.known(expression.FindStringSubmatch(match)[1])
	})
}

func (j *job) known(name string) string {
	j.Helper()
	value, ok := j.expressions[name]
	if !ok {
		j.Errorf("the expression %q is not known here", name)
	}
	return value
}

// run runs the steps of a workflow that call something, as GitHub would, and gives what
// they printed. The first that fails ends it.
func (j *job) run(name string) (printed string, err error) {
	j.Helper()
	w := readWorkflow(j.T, name).Jobs[name]
	for _, s := range w.Steps {
		if s.Run == "" || s.If != "" && j.known(s.If) != "true" {
			continue
		}
		env := map[string]string{}
		for _, more := range []map[string]string{w.Env, s.Env} {
			for key, value := range more {
				env[key] = j.value(value)
			}
		}
		text, err := j.script("bash", s.Run, env)
		if printed += text; err != nil {
			return printed, err
		}
	}
	return printed, nil
}

// script runs a script as runners do.
func (j *job) script(shell, text string, env map[string]string) (string, error) {
	file := filepath.Join(j.TempDir(), "script")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		j.Fatal(err)
	}
	args := []string{"-e", file}
	if shell == "bash" {
		args = []string{"--noprofile", "--norc", "-e", "-o", "pipefail", file}
	}
	c := exec.CommandContext(j.Context(), shell, args...)
	c.Dir = j.dir
	all := maps.Clone(j.env)
	maps.Copy(all, env)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c.Env = append(c.Env, key+"="+all[key])
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

// wrote gives what steps wrote to a file of the runner.
func (j *job) wrote(name string) string {
	j.Helper()
	text, err := os.ReadFile(j.env[name])
	if err != nil && !os.IsNotExist(err) {
		j.Fatal(err)
	}
	return string(text)
}

// readTriggers reads the part of a workflow below "on", which YAML 1.1 takes for a boolean.
func readTriggers(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(strings.Replace(text, "\non:", "\n\"on\":", 1)), into); err != nil {
		t.Fatal(err)
	}
}
