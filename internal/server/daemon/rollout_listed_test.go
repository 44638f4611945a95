package daemon_test

import (
	"strings"
	"testing"
)

// TestRolloutListed: a ClusterList on the branch of an environment says which clusters a gate waits for, by
// name and by wave.
func TestRolloutListed(t *testing.T) {
	w := newRollouts(t, "rollout: {of: expected, groups: {by: wave, percent: {canary: 100, default: 50}}}", "", "")
	first := baseHead(w)
	w.people.Switch("dev")
	w.people.Write("clusters.yaml", `apiVersion: fairlead.io/v1alpha1
kind: ClusterList
metadata: {name: dev}
spec:
  clusters:
    - {name: east-1, type: cloud, wave: canary}
    - {name: east-7, type: cloud, wave: canary}
    - {name: west-1, type: cloud, wave: rest}
    - {name: west-2, type: cloud, wave: rest}
    - {name: shop-1, type: edge, wave: rest}
    - {name: shop-2, type: edge, wave: rest}
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
