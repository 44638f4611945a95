package daemon_test

import (
	"strings"
	"testing"
)

// TestRolloutListed: a ClusterList on the branch of an environment says which clusters a gate waits for, by
// name and by group.
func TestRolloutListed(t *testing.T) {
	w := newRollouts(t, "rollout: {of: expected, groups: {by: group, percent: {canary: 100, default: 50}}}", "", "")
	first := baseHead(w)
	w.people.Switch("dev")
	w.people.Write("clusters.yaml", `apiVersion: fairlead.io/v1alpha1
kind: ClusterList
metadata: {name: dev}
spec:
  clusters:
    - {name: east-1, type: cloud, group: canary}
    - {name: east-7, type: cloud, group: canary}
    - {name: west-1, type: cloud, group: rest}
    - {name: west-2, type: cloud, group: rest}
    - {name: shop-1, type: edge, group: rest}
    - {name: shop-2, type: edge, group: rest}
`)
	w.people.Commit("list the clusters")
	w.people.Push("dev")
	w.people.Switch("main")
	w.serve(ledgerSecret)
	w.await("the first output", merged("dev"))
	output := w.head("dev")
	agent := func(name string) { w.agent(name, w.entry("fleet", "cloud", "ready", "dev@sha1:"+output, "")) }
	agent("east-1")
	agent("west-1")
	w.argoCD("shop-1", "Healthy", output)
	w.awaitVerdict("wait", "canary: 1 of 2 clusters ready", "1 unheard (east-7)")
	w.wantStanding("ready=3 expected=6 unheard=3 failed=0")
	behind := w.page("/api/v1/fleet/behind?environment=dev")
	for _, name := range []string{"east-7", "west-2", "shop-2"} {
		if !strings.Contains(behind, `"cluster": "`+name+`"`) {
			t.Errorf("%s is not named in\n%s", name, behind)
		}
	}
	agent("east-7")
	w.awaitVerdict("pass")
	w.await("prod has the commit", has("prod", first))
}

// TestRolloutExcluded: a cluster that a closed list does not name, or whose key is bound to another environment, neither stops
// nor passes an environment, whatever it reports: here by an event with an old output, and a failure of the new one.
func TestRolloutExcluded(t *testing.T) {
	const list = "apiVersion: fairlead.io/v1alpha1\nkind: ClusterList\nmetadata: {name: dev}\nspec: {closed: true, clusters: [{name: east-1, type: cloud}]}\n"
	const bound = "apiVersion: fairlead.io/v1alpha1\nkind: ClusterKey\nmetadata: {name: zz-3}\nspec: {epoch: 0, environments: [prod]}\n"
	for _, c := range []struct {
		proof, branch, file, text, why string
		failure                        string
	}{
		{"rollout: {clusters: 1}", "dev", "clusters.yaml", list, "not in ClusterList/dev, which is closed", ""},
		{"rollout: {clusters: 1}", "dev", "clusters.yaml", list, "not in ClusterList/dev", "timeout"},
		{"rollout: {of: expected}", "dev", "clusters.yaml", list, "not in ClusterList/dev", ""},
		{"rollout: {of: expected}", "dev", "clusters.yaml", list, "not in ClusterList/dev", "timeout"},
		{"rollout: {clusters: 1}", "main", ".fairlead/clusters/zz-3.yaml", bound, "its key is for prod", ""},
		{"rollout: {of: expected}", "main", ".fairlead/clusters/zz-3.yaml", bound, "its key is for prod", "timeout"},
	} {
		w := newRollouts(t, c.proof, "1", "0")
		w.people.Switch(c.branch)
		w.people.Write(c.file, c.text)
		w.people.Commit("who counts")
		w.people.Push(c.branch)
		w.people.Switch("main")
		w.serve(ledgerSecret)
		w.await("the first output", merged("dev"))
		old := w.head("dev")
		w.agent("east-1", w.entry("fleet", "cloud", "ready", "dev@sha1:"+old, ""))
		w.awaitVerdict("pass", "1 of 1 cluster ready")
		w.commit(baseConfig("size", "", "large"))
		w.await("the second output", func(s snapshot) bool { return merged("dev")(s) && w.head("dev") != old })
		if c.failure != "" {
			old = w.head("dev")
		}
		w.flux("zz-3", "fleet", "dev@sha1:"+old, c.failure)
		w.awaitVerdict("wait", "0 of 1 cluster ready", "not counted: zz-3")
		w.agent("east-1", w.entry("fleet", "cloud", "ready", "dev@sha1:"+w.head("dev"), ""))
		w.awaitVerdict("pass", "1 of 1 cluster ready", "not counted: zz-3")
		w.wantStanding("ready=1 expected=1 unheard=0 failed=0")
		if got := w.page("/api/v1/fleet/clusters?environment=dev&cluster=zz-3"); !strings.Contains(got, `"standing": "excluded"`) || !strings.Contains(got, c.why) {
			t.Errorf("%s: the cluster is shown as\n%s", c.why, got)
		}
		w.stop()
	}
}
