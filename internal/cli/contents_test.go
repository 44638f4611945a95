package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/charttest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestDiffInside: with --inside, diff says what a version of a chart removes, and no request is
// sent without.
func TestDiffInside(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const deployment, database = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n"
	charts := charttest.Serve(t, map[string][]byte{"1.10.0": charttest.Of(t, "1.10.0", deployment, database), "99.0.0": charttest.Of(t, "99.0.0", deployment)})
	dir := t.TempDir()
	t.Chdir(dir)
	for side, version := range map[string]string{"old": "1.10.0", "new": "99.0.0"} {
		text := fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: shop}
spec: {url: https://charts.example.com/stable}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop}
spec:
  chart: {spec: {chart: shop, version: %s, sourceRef: {kind: HelmRepository, name: shop}}}
`, version)
		if err := os.MkdirAll(filepath.Join(dir, side, "cloud", "shop"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, side, "cloud", "shop", "reconciler.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"diff", "old", "new", "--map", "https://charts.example.com/stable=" + charts.URL}
	code, stdout, stderr := run(t.Context(), args...)
	if code != 4 || strings.Contains(stdout, "StatefulSet") || charts.Fetched.Load() != 0 {
		t.Errorf("without --inside: code %d, %d charts fetched\n%s%s", code, charts.Fetched.Load(), stdout, stderr)
	}
	code, stdout, stderr = run(t.Context(), append(args, "--inside")...)
	if code != 4 || !strings.Contains(stdout, "StatefulSet/db removed") || !strings.Contains(stdout, "REMOVE 1 object from shop") || charts.Fetched.Load() != 2 {
		t.Errorf("with --inside: code %d, %d charts fetched\n%s%s", code, charts.Fetched.Load(), stdout, stderr)
	}
}

// TestExplainInside: with --inside, explain lists the objects of an assignment's chart.
func TestExplainInside(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	charts := charttest.Serve(t, map[string][]byte{"1.10.0": charttest.Of(t, "1.10.0", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n")})
	dir := t.TempDir()
	for file, text := range map[string]string{
		"base/templates.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fleet, labels: {platform-config: \"true\"}}\ndata: {A: b}\n",
		"dev/all.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: cloud, labels: {at: cloud}}\nspec: {reconciler: flux-helm, namespaceService: default, configType: helm-values}\n---\n" +
			"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: all}\nspec:\n  deploymentTargetSelector: {labelSelector: {matchLabels: {app: shop}}}\n  clusterTypeSelector: {labelSelector: {matchLabels: {at: cloud}}}\n---\n" +
			"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: https://git.example.com/gitops, branch: dev, path: .}\n",
		"base/shop.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop, labels: {app: shop}}\nspec:\n  deploymentTargets:\n    - {name: web, environment: dev, manifests: {repo: https://charts.example.com, chart: shop, version: 1.10.0}}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"explain", "cloud/shop-web", "-e", "dev", "--base-dir", at("base"), "--environment-dir", at("dev"), "--map", "https://charts.example.com=" + charts.URL}
	code, stdout, stderr := run(t.Context(), append(args, "--inside")...)
	if code != 0 || !strings.Contains(stdout, "HelmRelease/shop-web (chart 1.10.0): StatefulSet.apps/db") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, _ := run(t.Context(), args...); code != 0 || strings.Contains(stdout, "StatefulSet") || charts.Fetched.Load() != 1 {
		t.Errorf("without --inside: code %d, %d charts fetched\n%s", code, charts.Fetched.Load(), stdout)
	}
}

// TestApproveOfChart: what a chart removes waits in the daemon and for the commands alike, so that
// the command of the pull request works.
func TestApproveOfChart(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("GIT_AUTHOR_NAME", "author")
	t.Setenv("GIT_AUTHOR_EMAIL", "author@git.example")
	const deployment, database = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n"
	charts := charttest.Serve(t, map[string][]byte{"1.10.0": charttest.Of(t, "1.10.0", deployment, database), "99.0.0": charttest.Of(t, "99.0.0", deployment)})
	dir := t.TempDir()
	t.Chdir(dir)
	command := func(code int, args ...string) string {
		t.Helper()
		got, stdout, stderr := run(t.Context(), args...)
		if got != code {
			t.Fatalf("%v: code %d\n%s%s", args, got, stdout, stderr)
		}
		return stdout
	}
	command(0, "init", dir, "--sample", "--environments", "dev,stage")
	replaceIn(t, "fairlead.yaml", "write: false", "write: true\nmerge: {dev: direct}\nnetwork: {allow: [127.0.0.1]}")
	gittest.Git(t, dir, "clone", "--quiet", "control-plane.git", "work")
	push := func(branch, file, text string) {
		t.Helper()
		gittest.Git(t, "work", "checkout", "--quiet", branch)
		if err := os.WriteFile(filepath.Join("work", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, "work", "commit", "--quiet", "--all", "--message", "change")
		gittest.Git(t, "work", "push", "--quiet", "origin", branch)
	}
	for _, name := range []string{"cloud", "edge"} {
		file := "cluster-types/" + name + ".yaml"
		text := gittest.Git(t, "work", "show", "origin/dev:"+file)
		before, rest, _ := strings.Cut(text, "reconciler: ")
		_, after, _ := strings.Cut(rest, "\n")
		push("dev", file, before+"reconciler: flux-helm\n"+after+"\n")
	}
	deploy := func(version string) {
		push("main", "workloads/hello.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: hello, labels: {app: hello}}\nspec:\n  deploymentTargets:\n    - {name: web, environment: dev, manifests: {repo: \""+charts.URL+"\", chart: shop, version: "+version+"}}\n")
		command(0, "serve", "--once")
		command(0, "serve", "--once")
	}
	deploy("1.10.0")
	deploy("99.0.0")
	if text := command(0, "explain", "promotion", "dev"); !strings.Contains(text, "--removals: it removes StatefulSet/db of hello-web") {
		t.Errorf("explain promotion:\n%s", text)
	}
	command(1, "approve", "dev", strings.Repeat("0", 40), "--removals")
	id := regexp.MustCompile("fairlead approve dev ([0-9a-f]{40}) --removals").FindStringSubmatch(command(0, "status"))
	if id == nil {
		t.Fatal("status does not name the change")
	}
	command(0, "approve", "dev", id[1], "--removals")
	command(0, "serve", "--once")
	if text := gittest.Git(t, "gitops.git", "show", "dev:cloud/hello-web/reconciler.yaml"); !strings.Contains(text, "99.0.0") {
		t.Errorf("after its approval, it is not merged:\n%s", text)
	}
}
