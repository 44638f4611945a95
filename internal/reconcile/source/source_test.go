package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// run calls Git in dir and gives what it prints.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// branch makes a branch of a repository hold the files, and gives its commit.
func branch(t *testing.T, dir, name string, files map[string]string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		run(t, dir, "init", "-q", "-b", name)
	} else {
		run(t, dir, "checkout", "-q", "--orphan", name)
		run(t, dir, "rm", "-rqf", "--ignore-unmatch", ".")
	}
	writeAll(t, dir, files)
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-qm", name)
	return run(t, dir, "rev-parse", "HEAD")
}

func object(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", kind, name, spec)
}

const (
	cpURL   = "https://git.example.com/team/control-plane"
	appsURL = "https://git.example.com/team/apps"
)

func environment(name, branch string) string {
	return object("Environment", name, "{controlPlane: {repo: "+cpURL+", branch: "+branch+", path: .}}")
}

// controlPlane is a repository with the branches main, dev and stage, and one with
// workloads.
func controlPlane(t *testing.T) (cp, apps string, base string) {
	t.Helper()
	cp, apps = t.TempDir(), t.TempDir()
	branch(t, apps, "main", map[string]string{"deploy/a.yaml": object("Workload", "a", "{}"), "README.yaml": "no: object\n"})
	base = branch(t, cp, "main", map[string]string{
		".sourceignore":           ".environments/\nscratch/\n",
		".environments/dev.yaml":  environment("dev", "dev"),
		".environments/edge.yaml": environment("stage", "stage-eu"),
		"scratch/x.yaml":          "not: read\n",
		"templates/t.yaml":        object("Template", "t", "{type: config, manifests: []}"),
		"registrations.yaml": object("WorkloadRegistration", "apps", "{workload: {repo: "+appsURL+", branch: main, path: ./deploy}, workspace: w}") +
			"---\n" + object("WorkloadRegistration", "lost", "{workload: {repo: "+appsURL+", branch: nope, path: .}}") +
			"---\n" + object("WorkloadRegistration", "astray", "{workload: {repo: "+appsURL+", branch: main, path: nowhere}}"),
	})
	for _, env := range []string{"dev", "stage-eu"} {
		branch(t, cp, env, map[string]string{
			"base-repo.yaml": object("BaseRepo", "main", "{repo: "+cpURL+", branch: main, path: ., commit: "+base+"}"),
			"ct.yaml":        object("ClusterType", env, "{reconciler: r, namespaceService: n, configType: t}"),
		})
	}
	run(t, cp, "checkout", "-q", "main")
	writeAll(t, cp, map[string]string{"templates/later.yaml": object("Template", "later", "{type: config, manifests: []}")})
	run(t, cp, "add", "-A")
	run(t, cp, "commit", "-qm", "later")
	return cp, apps, base
}

// show writes an input as text: each layer with its files, then the problems.
func show(t *testing.T, o source.Options, env string, at source.Revisions) string {
	t.Helper()
	o.CacheDir, o.Parser = t.TempDir(), model.NewParser()
	s, err := source.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	in, problems, err := s.ReadAt(context.Background(), env, at)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range in.Layers {
		fmt.Fprintf(&b, "%d %s %s:", l.Kind, l.Name, l.Prefix)
		for path := range l.Files.All() {
			b.WriteString(" " + path)
		}
		b.WriteString("\n")
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "%s\n", p)
	}
	return b.String()
}

func want(t *testing.T, got string, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(lines, "\n")+"\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const (
	baseLayer = "1 main : .sourceignore registrations.yaml templates/t.yaml"
	devLayer  = "2 dev : base-repo.yaml ct.yaml"
	appsLayer = "3 apps deploy: a.yaml"
)

// TestRepositories reads a control plane from Git: the base at the commit that was
// promoted, and everything that is wrong in one run.
func TestRepositories(t *testing.T) {
	cp, apps, _ := controlPlane(t)
	bareCP := filepath.Join(t.TempDir(), "cp.git")
	run(t, cp, "clone", "-q", "--bare", cp, bareCP)
	run(t, bareCP, "remote", "remove", "origin")
	clone := filepath.Join(t.TempDir(), "clone") // has main only; the others are its origin's
	run(t, cp, "clone", "-q", cp, clone)
	run(t, clone, "remote", "set-url", "origin", cpURL+".git")
	head := run(t, apps, "rev-parse", "HEAD")
	for name, location := range map[string]string{"work tree": cp, "bare": bareCP, "clone": clone} {
		t.Run(name, func(t *testing.T) {
			o := source.Options{ControlPlane: location, Map: map[string]string{appsURL: apps}}
			problems := []string{
				`base/registrations.yaml:6: WorkloadRegistration/lost: ` + appsURL + ` has no branch or commit "nope"`,
				`base/registrations.yaml:11: WorkloadRegistration/astray: ` + appsURL + ` has no folder "nowhere" at commit ` + head,
			}
			want(t, show(t, o, "dev", source.Revisions{}), append([]string{devLayer, baseLayer, appsLayer}, problems...)...)
			o.Base = "main"
			want(t, show(t, o, "dev", source.Revisions{}), append([]string{devLayer, "1 main : .sourceignore registrations.yaml templates/later.yaml templates/t.yaml", appsLayer}, problems...)...)
		})
	}
}

func TestUnknown(t *testing.T) {
	cp, _, _ := controlPlane(t)
	o := source.Options{ControlPlane: cp}
	want(t, show(t, o, "stag", source.Revisions{}), "base/.environments: Environment/stag: there is no such environment")
	o.Parser, o.CacheDir = model.NewParser(), t.TempDir()
	s, err := source.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReadAt(context.Background(), "dev", source.Revisions{Environment: "nope"}); !errors.Is(err, git.ErrNoRevision) {
		t.Errorf("a revision that was asked for is not there: %v, want ErrNoRevision", err)
	}
	if _, err := source.Open(context.Background(), source.Options{ControlPlane: t.TempDir(), Parser: o.Parser}); err == nil {
		t.Error("a folder that is no repository was opened as a control plane")
	}
}

// TestNoWorkload: a registration that names no repository is one problem, without an empty
// name in it.
func TestNoWorkload(t *testing.T) {
	for _, spec := range []string{"{workspace: w}", "{workload: {branch: main, path: .}, workspace: w}"} {
		cp, apps, _ := controlPlane(t)
		run(t, cp, "checkout", "-q", "dev")
		writeAll(t, cp, map[string]string{"bad.yaml": object("WorkloadRegistration", "bad", spec)})
		run(t, cp, "add", "-A")
		run(t, cp, "commit", "-qm", "bad")
		run(t, cp, "checkout", "-q", "main")
		s, err := source.Open(t.Context(), source.Options{ControlPlane: cp, Map: map[string]string{appsURL: apps}, CacheDir: t.TempDir(), Parser: model.NewParser()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Render(t.Context(), "dev", source.Revisions{}, &output.Cache{})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, p := range r.Problems {
			if p.Subject == "WorkloadRegistration/bad" {
				said = append(said, p.Summary)
			}
		}
		if len(said) != 1 || !strings.HasPrefix(said[0], "spec.workload") || !strings.HasSuffix(said[0], "is required") {
			t.Errorf("%s: %q", spec, said)
		}
	}
}

// TestMapped reads the environment's branch in a repository of its own, and reports
// a repository that is not there.
func TestMapped(t *testing.T) {
	cp, _, _ := controlPlane(t)
	other := t.TempDir()
	branch(t, other, "dev", map[string]string{"only.yaml": object("ClusterType", "x", "{}")})
	run(t, cp, "remote", "add", "origin", "https://git.example.com/another/repository")
	o := source.Options{ControlPlane: cp, Map: map[string]string{cpURL: other, appsURL: filepath.Join(other, "nothing")}}
	want(t, show(t, o, "dev", source.Revisions{}), "2 dev : only.yaml",
		"1 main : .sourceignore registrations.yaml templates/later.yaml templates/t.yaml",
		"base/registrations.yaml:1: WorkloadRegistration/apps: there is no repository at "+filepath.Join(other, "nothing")+", which stands for "+appsURL,
		"base/registrations.yaml:6: WorkloadRegistration/lost: there is no repository at "+filepath.Join(other, "nothing")+", which stands for "+appsURL,
		"base/registrations.yaml:11: WorkloadRegistration/astray: there is no repository at "+filepath.Join(other, "nothing")+", which stands for "+appsURL,
		"dev: Environment/dev: the environment has no BaseRepo; the head of the base is used")
}

// TestFolders reads plain folders, with what a folder may hold besides files.
func TestFolders(t *testing.T) {
	base, env, apps := t.TempDir(), t.TempDir(), t.TempDir()
	writeAll(t, base, map[string]string{
		"r.yaml": object("WorkloadRegistration", "apps", "{workload: {repo: "+appsURL+", branch: main, path: .}}") +
			"---\n" + object("WorkloadRegistration", "other", "{workload: {repo: "+appsURL+", branch: main, path: .}}"),
		".git/config":   "secret",
		"pic.png":       "ignored",
		".github/x.yml": "ignored: true",
	})
	writeAll(t, env, map[string]string{"b.yaml": object("BaseRepo", "main", "{repo: r, branch: main, path: .}") + "---\n" + object("BaseRepo", "extra", "{repo: r, branch: main, path: .}")})
	writeAll(t, apps, map[string]string{"w.yaml": object("Workload", "a", "{}")})
	for name, target := range map[string]string{"in.yaml": "b.yaml", "out.yaml": "../../secret", "abs.yaml": "/etc/passwd"} {
		if err := os.Symlink(target, filepath.Join(env, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("mkfifo", filepath.Join(env, "pipe.yaml")).Run(); err != nil {
		t.Fatal(err)
	}
	o := source.Options{BaseDir: base, EnvironmentDir: env, Workloads: map[string]string{"apps": apps, "othr": apps}}
	want(t, show(t, o, "dev", source.Revisions{}), "2 dev : b.yaml", "1 main : r.yaml", "3 apps : w.yaml",
		"WorkloadRegistration/othr: --workload names a registration that environment dev does not have",
		"dev/abs.yaml:1: Symlink/abs.yaml: the symbolic link leads out of the repository, to /etc/passwd",
		"dev/out.yaml:1: Symlink/out.yaml: the symbolic link leads out of the repository, to ../../secret",
		"base/r.yaml:6: WorkloadRegistration/other: its workloads are left out: there is no folder for them",
		"dev/b.yaml:6: BaseRepo/extra: it is not read: --base-dir stands for BaseRepo/main",
		"dev/in.yaml:1: Symlink/in.yaml: symbolic links are not read, as in Flux")
}

// TestEnvironments: each is read once, and what is wrong in .environments is said
// although Flux does not load that folder with the rest.
func TestEnvironments(t *testing.T) {
	cp, _, _ := controlPlane(t)
	writeAll(t, cp, map[string]string{".environments/dev.yaml": environment("dev", "dev") + "  colour: red\n"})
	run(t, cp, "commit", "-qam", "colour")
	s, err := source.Open(context.Background(), source.Options{ControlPlane: cp, CacheDir: t.TempDir(), Parser: model.NewParser()})
	if err != nil {
		t.Fatal(err)
	}
	found, problems, err := s.Environments(context.Background())
	if err != nil || len(found) == 0 {
		t.Fatalf("%v %v", found, err)
	}
	if len(problems) != 1 || problems[0].Pos.File != ".environments/dev.yaml" {
		t.Errorf("the problems are %v, want one in .environments/dev.yaml", problems)
	}
	again, _, _ := s.Environments(context.Background())
	if &again[0] != &found[0] {
		t.Error("the environments were read twice")
	}
}

// TestRenderAgain renders an environment of which nothing changes, while something cannot be
// read that is not of it, and after: what is wrong with it is said as before.
func TestRenderAgain(t *testing.T) {
	cp := t.TempDir()
	base := branch(t, cp, "main", map[string]string{
		".environments/dev.yaml": environment("dev", "dev"), "unused.yaml": object("Template", "t", "{type: config, manifests: []}"),
	})
	branch(t, cp, "dev", map[string]string{
		"base-repo.yaml": object("BaseRepo", "main", "{repo: "+cpURL+", branch: main, path: ., commit: "+base+"}"),
		"gitops.yaml":    object("GitOpsRepo", "dev", "{repo: https://git.example.com/gitops, branch: dev, path: .}"),
	})
	run(t, cp, "checkout", "-q", "main")
	s, err := source.Open(context.Background(), source.Options{ControlPlane: cp, Map: map[string]string{cpURL: cp}, CacheDir: t.TempDir(), Parser: model.NewParser()})
	if err != nil {
		t.Fatal(err)
	}
	var cache output.Cache
	render := func() source.Rendered {
		t.Helper()
		if err := s.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		r, err := s.Render(context.Background(), "dev", source.Revisions{}, &cache)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	fine := render()
	_, warnings := fine.Problems.Count()
	if warnings == 0 {
		t.Fatalf("there is no warning that could be lost: %v", fine.Problems)
	}
	writeAll(t, cp, map[string]string{".environments/dev.yaml": environment("dev", "dev") + "---\nspec: {}\n"})
	run(t, cp, "commit", "-qam", "a typo")
	if broken := render(); !broken.Problems.Stops() || broken.Model != fine.Model {
		t.Errorf("with a typo elsewhere the problems are %v", broken.Problems)
	}
	writeAll(t, cp, map[string]string{".environments/dev.yaml": environment("dev", "dev")})
	run(t, cp, "commit", "-qam", "mended")
	if diff := cmp.Diff(fine.Problems, render().Problems); diff != "" {
		t.Errorf("afterwards the problems are others (-before +after):\n%s", diff)
	}
}

// TestNoBranch has a misspelt field, so that nothing says where the environment is.
func TestNoBranch(t *testing.T) {
	cp := t.TempDir()
	branch(t, cp, "main", map[string]string{".environments/dev.yaml": object("Environment", "dev", "{controlPlan: {repo: "+cpURL+", branch: dev, path: .}}")})
	want(t, show(t, source.Options{ControlPlane: cp}, "dev", source.Revisions{}),
		`base/.environments/dev.yaml:1: Environment/dev: it names no branch`,
		`base/.environments/dev.yaml:4: Environment/dev: spec has no field "controlPlan"`,
		`base/.environments/dev.yaml:4: Environment/dev: spec.controlPlane is required`)
}
