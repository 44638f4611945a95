package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// newRelease returns a repository with what .ci/release reads, and a CHANGELOG.md with a
// section for 0.1.0.
func newRelease(t *testing.T) (dir string) {
	t.Helper()
	needs(t, "bash", "git", "tar", "gzip", "awk", "sed", "sha256sum")
	dir = filepath.Join(t.TempDir(), "fairlead")
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS("../../../deploy")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".ci/release":  read(t, ".ci/release"),
		".gitignore":   read(t, ".gitignore"),
		"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n- Later.\n\n## 0.1.0 (2026-11-30)\n\n- The first.\n\n## 0.0.1\n\n- Before.\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Git(t, dir, "init", "-q")
	gittest.Git(t, dir, "add", "-A")
	gittest.Git(t, dir, "commit", "-qm", "all")
	return dir
}

func runRelease(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci/release"), args...)
	c.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := c.CombinedOutput()
	return string(out), err
}

const (
	image     = "ghcr.io/fairlead-io/fairlead"
	manifests = image + "/manifests"

	agentImage     = image + "-agent"
	agentManifests = agentImage + "/manifests"

	charts = "ghcr.io/fairlead-io/charts"
)

// TestReleaseDryRun does every step of a release but what leaves the machine: the notes
// are the version's section, the manifests are good and name the image by its digest, the
// same twice, and what is published is signed.
func TestReleaseDryRun(t *testing.T) {
	dir := newRelease(t)
	var printed strings.Builder
	for _, step := range [][]string{
		{"check", "v0.1.0"}, {"tools"}, {"archives", "v0.1.0"}, {"plugin", "v0.1.0"},
		{"image", "v0.1.0", image}, {"manifests", "v0.1.0", image, manifests},
		{"agent-image", "v0.1.0", agentImage}, {"agent-manifests", "v0.1.0", agentImage, agentManifests},
		{"chart", "v0.1.0", image, charts}, {"agent-chart", "v0.1.0", agentImage, charts},
	} {
		if step[0] == "archives" { // the notes are those that check has found
			if notes, err := os.ReadFile(filepath.Join(dir, "dist/notes.md")); err != nil || strings.TrimSpace(string(notes)) != "- The first." {
				t.Errorf("the notes are %q (%v)", notes, err)
			}
		}
		text, err := runRelease(t, dir, append([]string{"--dry-run"}, step...)...)
		if err != nil {
			t.Fatalf("%q: %v: %s", step, err, text)
		}
		printed.WriteString(text)
	}
	for _, want := range []string{
		"go install github.com/goreleaser/goreleaser/v2@v", "go install github.com/anchore/syft/cmd/syft@v",
		"go install github.com/sigstore/cosign/v3/cmd/cosign@v", "go install oras.land/oras/cmd/oras@v",
		"goreleaser release --clean --release-notes ", "docker buildx build --platform linux/amd64,linux/arm64",
		"cosign sign --yes " + agentImage + "@sha256:", "oras push " + agentManifests + ":v0.1.0 ", "cosign sign --yes " + agentManifests + "@sha256:",
		"cosign sign --yes " + image + "@sha256:", "oras push " + manifests + ":v0.1.0 ", "cosign sign --yes " + manifests + "@sha256:",
		"oras push " + charts + "/fairlead:0.1.0 ", "cosign sign --yes " + charts + "/fairlead@sha256:", "oras push " + charts + "/fairlead-agent:0.1.0 ",
	} {
		if !strings.Contains(printed.String(), "would run: "+want) && !strings.Contains(printed.String(), want) {
			t.Errorf("nothing runs %q:\n%s", want, printed.String())
		}
	}
	checkPlugin(t, filepath.Join(dir, "dist/flux-plugin.yaml"))
	checkManifests(t, filepath.Join(dir, "dist/manifests.tar.gz"), image)
	checkManifests(t, filepath.Join(dir, "dist/agent-manifests.tar.gz"), agentImage)
	for step, place := range map[string]string{"manifests": manifests, "chart": charts} {
		before, err := os.ReadFile(filepath.Join(dir, "dist", step+".digest"))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := runRelease(t, dir, "--dry-run", step, "v0.1.0", image, place); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if after, err := os.ReadFile(filepath.Join(dir, "dist", step+".digest")); err != nil || string(after) != string(before) || len(after) < 64 {
			t.Errorf("the %s is %q, and %q the second time (%v)", step, before, after, err)
		}
	}
	checkChart(t, filepath.Join(dir, "dist/chart.tgz"), "fairlead", image, "")
	checkChart(t, filepath.Join(dir, "dist/agent-chart.tgz"), "fairlead-agent", agentImage, agentValues)
}

// checkPlugin reads the manifest of the plugin of flux as Flux's RFC-0013 has it.
func checkPlugin(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var plugin struct {
		APIVersion, Kind, Name, Description, Homepage, Source, Bin string
		Versions                                                   []struct {
			Version   string
			Platforms []struct{ OS, Arch, URL, Checksum, ExtractPath string }
		}
	}
	if err := yaml.UnmarshalStrict(data, &plugin); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if plugin.APIVersion != "cli.fluxcd.io/v1beta1" || plugin.Bin != "flux-fairlead" || len(plugin.Versions) != 1 || len(plugin.Versions[0].Platforms) != 2 {
		t.Fatalf("the manifest is\n%s", data)
	}
	for _, p := range plugin.Versions[0].Platforms {
		if !strings.HasPrefix(p.URL, "https://github.com/fairlead-io/fairlead/releases/download/v0.1.0/fairlead_0.1.0_"+p.OS+"_"+p.Arch+".") ||
			!regexp.MustCompile("^sha256:[0-9a-f]{64}$").MatchString(p.Checksum) || (p.ExtractPath == "fairlead.exe") != (p.OS == "windows") {
			t.Errorf("a platform is %+v", p)
		}
	}
}

// checkChart unpacks a chart that is published, and renders it as its user does.
func checkChart(t *testing.T, archive, name, image, values string) {
	t.Helper()
	into := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", into).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	deployment := renderChart(t, filepath.Join(into, name), name, values)["Deployment"].(*appsv1.Deployment)
	equal(t, "the image and the chart", []string{deployment.Spec.Template.Spec.Containers[0].Image, deployment.Labels["helm.sh/chart"], deployment.Labels["app.kubernetes.io/version"]},
		`["`+image+":v0.1.0@sha256:"+strings.Repeat("0", 64)+`", "`+name+`-0.1.0", "v0.1.0"]`)
}

// checkManifests unpacks what is published, and builds it as its user does.
func checkManifests(t *testing.T, archive, image string) {
	t.Helper()
	into := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", into).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	objects, problems := kustomize.Build(files(t, into), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, o := range objects {
		var deployment struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Image string } }
				}
			}
		}
		if err := yaml.Unmarshal(o.YAML, &deployment); err != nil {
			t.Fatal(err)
		}
		if deployment.Kind != "Deployment" {
			continue
		}
		got := deployment.Spec.Template.Spec.Containers[0].Image
		if want := image + ":v0.1.0@sha256:" + strings.Repeat("0", 64); got != want {
			t.Errorf("the image is %s, want %s", got, want)
		}
		return
	}
	t.Error("there is no Deployment")
}

// TestReleaseRefused: a release that is not complete does not begin.
func TestReleaseRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare string // a line that is added to CHANGELOG.md
		args    []string
		want    string
	}{
		{"no version", "", []string{"--dry-run", "check", "0.1.0"}, "0.1.0 is not a version, such as v0.1.0"},
		{"no section", "", []string{"--dry-run", "check", "v0.2.0"}, `CHANGELOG.md has no section "## 0.2.0" with something in it`},
		{"a longer version", "", []string{"--dry-run", "check", "v0.1.0-rc.1"}, `no section "## 0.1.0-rc.1"`},
		{"not committed", "more\n", []string{"--dry-run", "check", "v0.1.0"}, "there are changes that are not committed"},
		{"no tag", "", []string{"check", "v0.1.0"}, "the commit is not tagged v0.1.0"},
		{"no step", "", []string{"publish"}, "[--dry-run] check VERSION"},
		{"another step first", "", []string{"--dry-run", "manifests", "v0.1.0", image, manifests}, "dist/image.digest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := newRelease(t)
			if c.prepare != "" {
				file := filepath.Join(dir, "CHANGELOG.md")
				if err := os.WriteFile(file, []byte("# Changelog\n\n## 0.1.0\n\n- "+c.prepare), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := runRelease(t, dir, c.args...); err == nil || !strings.Contains(text, c.want) {
				t.Errorf("%v: %s\nwant %q", err, text, c.want)
			}
		})
	}
}

var releaseStep = regexp.MustCompile(`\.ci/release (?:--dry-run )?([a-z-]+)`)

// TestReleaseWorkflow: it does all steps in their order, with actions that cannot change,
// and only the job that publishes may write.
func TestReleaseWorkflow(t *testing.T) {
	var w struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			If, Environment string
			Needs           string
			Permissions     map[string]string
			Steps           []step
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/release.yml")), &w); err != nil {
		t.Fatal(err)
	}
	if w.Permissions == nil || len(w.Permissions) > 0 {
		t.Errorf("the rights of the workflow are %v, want none", w.Permissions)
	}
	for name, j := range w.Jobs {
		for right, level := range j.Permissions {
			if level == "write" && (name != "release" || j.If != "github.event_name == 'push'" || j.Environment == "") {
				t.Errorf("%s may write %s", name, right)
			}
		}
		if name != "test" && j.Needs != "test" {
			t.Errorf("%s does not wait for the tests", name)
		}
		for _, s := range j.Steps {
			if s.Uses != "" && !pinned.MatchString(s.Uses) {
				t.Errorf("%s uses %s, which can change", name, s.Uses)
			}
			if strings.Contains(s.Run, "${{") {
				t.Errorf("%s: an expression is part of a script: %s", name, s.Run)
			}
		}
	}
	var steps []string
	attested := 0
	for _, s := range w.Jobs["release"].Steps {
		if m := releaseStep.FindStringSubmatch(s.Run); m != nil {
			steps = append(steps, m[1])
		}
		if strings.HasPrefix(s.Uses, "actions/attest-build-provenance@") {
			attested++
		}
	}
	if !slices.Equal(steps, []string{"check", "tools", "archives", "plugin", "image", "manifests", "agent-image", "agent-manifests", "chart", "agent-chart"}) || attested != 7 {
		t.Errorf("the steps are %q, and %d of what they publish is attested", steps, attested)
	}
}
