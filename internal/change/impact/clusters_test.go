package impact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// TestClustersMarkdownFits: whatever the number of steps and manifests, the plans take no more room than
// there is.
func TestClustersMarkdownFits(t *testing.T) {
	var r Report
	for i := range 20 {
		c := ClusterChange{Manifest: fmt.Sprintf("fleet/m-%d", i)}
		for j := range 60 {
			c.Steps = append(c.Steps, provision.Step{ID: fmt.Sprint(j), Kind: provision.AddNodes, Subject: provision.Subject{PoolRole: provision.Compute, Pool: fmt.Sprintf("p%d", j)}})
		}
		r.ClusterChanges = append(r.ClusterChanges, c)
	}
	for _, c := range []struct {
		limit int
		has   string
	}{
		{100_000, "and 20 more steps"}, {30_000, "and 50 more steps"}, {5_000, "60 steps"}, {100, "20 manifests with changes of clusters"}, {10, ""}, {0, ""},
	} {
		text := r.ClustersMarkdown(c.limit)
		if len(text) > c.limit || !strings.Contains(text, c.has) {
			t.Errorf("in %d bytes it has %d, and does not contain %q:\n%.300s", c.limit, len(text), c.has, text)
		}
	}
}

// TestClustersMarkdownIsQuoted: texts of people end neither a cell of the table nor a label of the graph.
func TestClustersMarkdownIsQuoted(t *testing.T) {
	hostile := "a|b`c\"]; <b>@all</b>\nd"
	c := ClusterChange{Manifest: hostile, Clouds: []provision.CloudChange{{Cloud: hostile}}, Steps: []provision.Step{
		{ID: hostile, Cluster: hostile, Kind: provision.AddNodes, Subject: provision.Subject{PoolRole: hostile, Pool: hostile}, Reason: []provision.Change{{Field: hostile, Old: hostile, New: hostile}}},
	}}
	text := c.Markdown(maxRows)
	for line := range strings.Lines(text) {
		if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); strings.HasPrefix(line, "|") && cells != 7 && cells != 4 {
			t.Errorf("a row has %d bars: %s", cells, line)
		}
		if strings.HasPrefix(line, "  s1[") && (strings.Count(line, `"`) != 2 || strings.ContainsAny(line, "<>;@`|")) {
			t.Errorf("a label may end early: %s", line)
		}
	}
	if !strings.Contains(text, "  s1[") {
		t.Errorf("there is no graph:\n%s", text)
	}
}

// clusterOutputOf returns an output with the files of the manifest fleet/edge of an executor.
func clusterOutputOf(t *testing.T, executor string, files map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for file, text := range files {
		if err := b.Add("clusters/"+executor+"/fleet-edge/"+file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

func lockOf(t *testing.T, s provision.State) string {
	t.Helper()
	lock, err := provision.EncodeLock(&s)
	if err != nil {
		t.Fatal(err)
	}
	return string(lock)
}

// TestDeletedLockPlan: a manifest whose lock somebody deleted is not new: what changes is what its plan says.
func TestDeletedLockPlan(t *testing.T) {
	was, is := parseState(t, titledClusters), parseState(t, strings.ReplaceAll(titledClusters, "1.35.0", "1.36.0"))
	transition, err := provision.NewTransition(&was, &is, nil)
	if err != nil {
		t.Fatal(err)
	}
	lock := lockOf(t, is)
	plan, err := provision.EncodePlan(transition, []byte(lockOf(t, was)), []byte(lock))
	if err != nil {
		t.Fatal(err)
	}
	old := clusterOutputOf(t, "claudie", map[string]string{"flux.yaml": "kind: Kustomization\n"})
	for name, test := range map[string]struct{ plan, want string }{
		"with its plan": {string(plan), "upgrade Kubernetes of clusters one and two (rolling); restore the folder of manifest fleet/edge"},
		"without":       {"", "change manifest clusters/claudie/fleet-edge (steps not known)"},
	} {
		new := clusterOutputOf(t, "claudie", map[string]string{"flux.yaml": "kind: Kustomization\n", "lock.yaml": lock, "plan.yaml": test.plan})
		if title := Compare(old, new, Options{}).Title(300); title != test.want {
			t.Errorf("%s: the title is %q, want %q", name, title, test.want)
		}
	}
}

// TestRestoredFolder: a change that takes back what somebody did to the output says so, and no more than that.
func TestRestoredFolder(t *testing.T) {
	is := parseState(t, titledClusters)
	lock := lockOf(t, is)
	planFrom := func(before provision.State, from string) string {
		transition, err := provision.NewTransition(&before, &is, nil)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := provision.EncodePlan(transition, []byte(from), []byte(lock))
		if err != nil {
			t.Fatal(err)
		}
		return string(plan)
	}
	same, first := planFrom(is, lock), planFrom(provision.State{}, "")
	none := tree.Tree{}
	output := func(lock, plan, flux string) tree.Tree {
		return clusterOutputOf(t, "claudie", map[string]string{"flux.yaml": flux, "lock.yaml": lock, "plan.yaml": plan})
	}
	for name, test := range map[string]struct {
		old, new tree.Tree
		want     bool
	}{
		"the folder was deleted":   {none, output(lock, same, "a: b\n"), true},
		"the lock was edited":      {output(strings.Replace(lock, "1.35.0", "1.36.0", 1), first, "a: b\n"), output(lock, same, "a: b\n"), true},
		"another file was edited":  {output(lock, first, "a: c\n"), output(lock, same, "a: b\n"), true},
		"it is new":                {none, output(lock, first, "a: b\n"), false},
		"other files are rendered": {output(lock, first, "a: c\n"), output(lock, first, "a: b\n"), false},
	} {
		r := Compare(test.old, test.new, Options{})
		isTitled := strings.Contains(r.Title(300), "restore the folder of manifest fleet/edge")
		if body := r.ClustersMarkdown(10_000); isTitled != test.want || strings.Contains(body, "It restores the folder of the manifest") != test.want {
			t.Errorf("%s: the title is %q, and the body\n%s", name, r.Title(300), body)
		}
	}
}

// TestRemovedManifest: a change that removes the last files of a manifest is titled so, and has no table of clouds
// that have no nodes.
func TestRemovedManifest(t *testing.T) {
	was := parseState(t, titledClusters)
	was.Spec.Kubernetes.Clusters, was.Spec.LoadBalancers.Clusters, was.ClusterTypes = nil, nil, nil
	r := Compare(clusterOutputOf(t, "claudie", map[string]string{"flux.yaml": "kind: Kustomization\n", "lock.yaml": lockOf(t, was)}), tree.Tree{}, Options{})
	if title := r.Title(300); title != "remove manifest fleet/edge" {
		t.Errorf("the title is %q", title)
	}
	if body := r.ClustersMarkdown(10_000); !strings.Contains(body, "drop provider hetzner-1") || strings.Contains(body, "| cloud |") {
		t.Errorf("the body is\n%s", body)
	}
}

// TestRecopiedKubeconfigs: a change of what copies a kubeconfig is none of files alone.
func TestRecopiedKubeconfigs(t *testing.T) {
	lock := lockOf(t, parseState(t, titledClusters))
	output := func(one, two string) tree.Tree {
		return clusterOutputOf(t, "claudie", map[string]string{
			"flux.yaml": "kind: Kustomization\n", "lock.yaml": lock,
			"30-kubeconfigs/one.yaml": "apiVersion: " + one + "\nkind: A\n", "30-kubeconfigs/two.yaml": "apiVersion: external-secrets.io/v1\nkind: B\nspec: {a: " + two + "}\n",
		})
	}
	r := Compare(output("external-secrets.io/v1", "a"), output("kyverno.io/v1", "b"), Options{})
	if title := r.Title(300); title != "replace what copies the kubeconfig of cluster one" {
		t.Errorf("the title is %q", title)
	}
	if body := r.ClustersMarkdown(10_000); !strings.Contains(body, "- Gives the kubeconfig's Secret another owner, and makes it anew, for: `one`\n") {
		t.Errorf("the body is\n%s", body)
	}
}

// TestReleasedClusters: a change that lets Flux remove a cluster of Cluster API says so.
func TestReleasedClusters(t *testing.T) {
	lock := lockOf(t, parseState(t, strings.Replace(titledClusters, "claudie", "capi", 1)))
	const kept = "metadata:\n  annotations:\n    kustomize.toolkit.fluxcd.io/prune: disabled\n"
	old := clusterOutputOf(t, "capi", map[string]string{"lock.yaml": lock, "20-clusters/cluster-one.yaml": kept, "20-clusters/cluster-two.yaml": "kind: Cluster\n"})
	new := clusterOutputOf(t, "capi", map[string]string{"lock.yaml": lock, "20-clusters/cluster-one.yaml": "kind: Cluster\n---\n" + kept, "20-clusters/cluster-two.yaml": "kind: Cluster\n"})
	r := Compare(old, new, Options{})
	if title := r.Title(300); title != "let cluster one be removed by the next change" {
		t.Errorf("the title is %q", title)
	}
	if text := r.ClustersMarkdown(10_000); !strings.Contains(text, "- Lets the next commit remove: `one`\n") {
		t.Errorf("the body is\n%s", text)
	}
}
