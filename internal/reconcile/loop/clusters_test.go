package loop_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const inputManifestText = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
      - {name: two, version: 1.36.0, network: 192.168.3.0/24, pools: {control: [control], compute: []}}
`

// TestProvisionedClusters: a cluster that is removed without leave stops the environment, over a restart,
// and its output stays; with leave it is removed.
func TestProvisionedClusters(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	const file = "20-inputmanifest/input-manifest.yaml"
	wantClusters := func(one, two bool) {
		t.Helper()
		text := w.below("dev", "clusters/claudie/fleet-edge")[file]
		if strings.Contains(text, "name: one") != one || strings.Contains(text, "name: two") != two {
			t.Errorf("the manifest of the output is\n%s", text)
		}
	}
	d := w.begin(w.data)
	w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": inputManifestText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	wantClusters(true, true)

	lines := strings.SplitAfter(inputManifestText, "\n")
	removed := strings.Join(lines[:len(lines)-2], "")
	w.commitNow("dev", "one cluster less", map[string]string{"clusters/edge.yaml": removed})
	d.cycle()
	d = w.begin(t.TempDir()) // it remembers nothing
	d.cycle()
	wantClusters(true, true)
	d.wantProblem("dev", "cluster two is removed, and would be destroyed")

	w.commitNow("dev", "it is to go", map[string]string{"clusters/edge.yaml": strings.Replace(removed, "annotations: {", "annotations: {fairlead.io/decommission: \"true\", ", 1)})
	d.cycle()
	w.merge("dev")
	wantClusters(true, false)
}

// TestEditedLock: what somebody did to the clusters of an output is named, and what counts is what Fairlead
// wrote: the guards hold, the clusters are not new, and the next change writes it again.
func TestEditedLock(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	const folder, lock = "clusters/claudie/fleet-edge", "lock.yaml"
	d := w.begin(w.data)
	w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": inputManifestText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	written := w.below("dev", folder)
	people := w.server.Work(t, "out")
	edited := strings.Replace(written[lock], "192.168.2.0/24", "192.168.9.0/24", 1)
	_, state, _ := strings.Cut(edited, "\nstate:\n")
	digest := sha256.Sum256([]byte(strings.ReplaceAll("\n"+state, "\n  ", "\n")[1:]))
	for _, edit := range []struct {
		name, said string
		do         func()
	}{
		{"edited", folder + "/" + lock + " of the output: it was edited by hand", func() { people.Write(folder+"/"+lock, edited) }},
		{"edited with its digest", folder + "/" + lock + " of the output: it was edited by hand", func() {
			people.Write(folder+"/"+lock, regexp.MustCompile("sha256:[0-9a-f]+").ReplaceAllString(edited, fmt.Sprintf("sha256:%x", digest)))
		}},
		{"all of the manifest deleted", folder + " of the output: it was deleted", func() { people.Remove(folder) }},
		{"all deleted", folder + " of the output: it was deleted", func() {
			people.Remove("clusters")
			people.Remove(".fairlead")
		}},
	} {
		people.Pull("dev")
		edit.do()
		people.Commit("clusters that suit")
		people.Push("dev")
		w.edit("dev", "clusters/edge.yaml", "192.168.2.0/24", "192.168.9.0/24")
		d = w.begin(t.TempDir()) // it remembers nothing
		d.cycle()
		d.wantProblem("dev", "cluster one: the network cannot change (192.168.2.0/24 → 192.168.9.0/24)")
		if all := d.state("dev").Problems; !strings.Contains(fmt.Sprint(all), edit.said) {
			t.Errorf("%s: it is not named: %v", edit.name, all)
		}
		w.edit("dev", "clusters/edge.yaml", "192.168.9.0/24", "192.168.2.0/24")
		d.cycle()
		if title := w.open("dev").Title; strings.Contains(title, "create") {
			t.Errorf("%s: the clusters are new: %s", edit.name, title)
		}
		w.merge("dev")
		now := w.below("dev", folder)
		if plan := now["plan.yaml"]; !strings.Contains(plan, "steps: []") {
			t.Errorf("%s: there are steps: %s", edit.name, plan)
		}
		now["plan.yaml"] = written["plan.yaml"]
		if !maps.Equal(now, written) {
			t.Errorf("%s: the output has %v", edit.name, now)
		}
		d.cycle()
		if all := d.state("dev").Problems; len(all) > 0 || len(w.openOf("dev")) > 0 {
			t.Errorf("%s: in the end there is %v", edit.name, all)
		}
	}
}

// TestTemplateGone: when a commit of Claudie's templates leaves its repository, the environment stops with
// a problem, also for a daemon that begins anew, and what was rendered stays as it is. When it is back the
// environment goes on.
func TestTemplateGone(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.server.Create("templates")
	templates := w.server.Work(t, "templates")
	templates.Switch("main")
	templates.Write("a.tpl", "a\n")
	commit := templates.Commit("templates")
	templates.Push("main")
	tag := func(args ...string) {
		gittest.Git(t, w.server.Dir("templates"), append([]string{"tag"}, args...)...)
	}
	tag("v0.12.0", commit)
	w.more += "map: {\"https://github.com/berops/claudie-config\": \"" + w.server.URL("templates") + "\"}\n"
	const reference = `apiVersion: claudie.io/v1beta1
kind: TemplateGitReference
metadata: {name: pinned, namespace: claudie}
spec:
  endpoint: {url: github.com/berops/claudie-config, protocol: https}
  commit: v0.12.0
  paths: {terraformer: a, playbooks: b, configLb: c, configK8s: d, manifestsK8s: e}
`
	d := w.begin(w.data)
	w.commitNow("dev", "clusters", map[string]string{
		"clusters/templates.yaml": reference,
		"clusters/edge.yaml":      strings.Replace(inputManifestText, "namespace: fleet}}", "namespace: fleet}, templatesRef: {name: pinned, namespace: claudie}}", 1),
	})
	d.cycle()
	w.merge("dev")
	d.cycle()
	files := w.below("dev", "clusters")

	tag("--delete", "v0.12.0")
	w.edit("dev", "clusters/edge.yaml", "count: 3", "count: 5")
	d.cycle()
	const gone = "v0.12.0 is not in the repository https://github.com/berops/claudie-config"
	d.wantProblem("dev", gone)
	d = w.begin(t.TempDir()) // it remembers nothing
	d.cycle()
	d.wantProblem("dev", gone)
	if now := w.below("dev", "clusters"); len(w.openOf("dev")) > 0 || !maps.Equal(now, files) {
		t.Errorf("the output changes: %v", now)
	}

	tag("v0.12.0", commit)
	d.cycle()
	w.merge("dev")
	if manifest := w.below("dev", "clusters/claudie/fleet-edge/20-inputmanifest")["input-manifest.yaml"]; !strings.Contains(manifest, "count: 5") {
		t.Errorf("it does not go on: %s", manifest)
	}
}

// TestOutputWithClustersMoves: in another place of the output nothing is known of the clusters, and all guards
// would be off: it stays where it is while it has clusters.
func TestOutputWithClustersMoves(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": inputManifestText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	file := gittest.Show(t, w.people.Dir, "origin/dev", "gitops-repo.yaml")
	for _, path := range []string{"sub", "."} {
		w.commitNow("dev", "moved", map[string]string{"gitops-repo.yaml": strings.Replace(file, "path: .", "path: "+path, 1)})
		d.cycle()
		d.cycle()
		if path == "." {
			break
		}
		d.wantProblem("dev", "the output moves, and has cluster one of fleet/edge and cluster two of fleet/edge where it was")
		if pulls := w.openOf("dev"); len(pulls) > 0 {
			t.Errorf("it is proposed: %+v", pulls)
		}
	}
	if problems := d.state("dev").Problems; len(problems) > 0 {
		t.Errorf("back where it was, it has the problems %v", problems)
	}
}

// TestEnvironmentWithClustersLeaves: the output of an environment that is removed from the control plane
// stays while it has clusters, also for a daemon that begins anew: a removal that is open is withdrawn. The
// environment comes back with its guards, and does not go before its clusters are destroyed.
func TestEnvironmentWithClustersLeaves(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.more += "merge: {prod: direct}\n"
	d := w.begin(w.data)
	w.commitNow("prod", "clusters", map[string]string{"clusters/edge.yaml": inputManifestText})
	d.cycle()
	w.letIn("prod")
	d.cycle()
	head := w.head("out", "prod")
	file := gittest.Show(t, w.people.Dir, "origin/main", ".environments/prod.yaml")

	w.remove("prod")
	for range 2 {
		d.cycle()
		d.cycle()
		d.wantProblem("prod", "its output stays, since without it nothing would manage cluster one of fleet/edge and cluster two of fleet/edge")
		if hint := d.state("prod").Problems[0].Hint; !strings.HasPrefix(hint, "bring .environments/prod.yaml back") {
			t.Errorf("the hint is %q", hint)
		}
		if pulls := w.pullsOf("removal of prod"); len(pulls) > 0 || w.head("out", "prod") != head {
			t.Errorf("the removal is proposed: %+v", pulls)
		}
		d = w.begin(t.TempDir()) // it remembers nothing
	}

	w.people.Pull("main")
	w.people.Write(".environments/prod.yaml", file)
	w.people.Commit("it is back")
	w.people.Push("main")
	lines := strings.SplitAfter(inputManifestText, "\n")
	w.commitNow("prod", "a cluster less", map[string]string{"clusters/edge.yaml": strings.Join(lines[:len(lines)-2], "")})
	d.cycle()
	d.wantProblem("prod", "cluster two is removed, and would be destroyed")

	const annotated = "annotations: {fairlead.io/existing-secrets: fleet/hetzner, fairlead.io/decommission: \"true\"}"
	w.commitNow("prod", "no clusters", map[string]string{"clusters/edge.yaml": "{apiVersion: claudie.io/v1beta1, kind: InputManifest, metadata: {name: edge, namespace: fleet, " + annotated + "},\n" +
		"  spec: {providers: [{name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}]}}\n"})
	d.cycle()
	w.letIn("prod")
	d.cycle()
	w.remove("prod")
	d.cycle()
	d.cycle()
	d.wantProblem("prod", "cluster one of fleet/edge, which is being destroyed")
}
