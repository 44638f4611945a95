package daemon_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// beginRollouts serves a world with so many clusters of each type expected, and waits for the first output
// of dev.
func beginRollouts(t *testing.T, proof, cloud, edge, settings string) (w *rollouts, revision string) {
	t.Helper()
	w = newRollouts(t, proof, cloud, edge)
	w.serve(settings)
	w.await("the first output", merged("dev"))
	return w, "dev@sha1:" + w.head("dev")
}

// TestRolloutSilent: a cluster that has missed three reports keeps a rollout from passing that had passed,
// until it says the same again (case 10); once it is retired, nobody waits for it.
func TestRolloutSilent(t *testing.T) {
	w, revision := beginRollouts(t, "rollout: {of: expected}", "1", "0", ledgerSecret)
	ready := func(cluster string) { w.agent(cluster, w.entry("fleet", "cloud", "ready", revision, "")) }
	ready("e1")
	ready("e2")
	w.awaitVerdict("pass", "2 of 2 clusters ready")
	w.pass(4 * time.Minute)
	ready("e2")
	w.awaitVerdict("wait", "1 of 2 clusters ready", "1 silent (e1)")
	ready("e1")
	w.awaitVerdict("pass", "2 of 2 clusters ready")
	w.pass(4 * time.Minute)
	key := func(retired string) {
		w.commit(map[string]string{".fairlead/clusters/e1.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: ClusterKey\nmetadata: {name: e1}\nspec: {epoch: 0" + retired + "}\n"})
		w.await("dev has that commit", merged("dev"))
		revision = "dev@sha1:" + w.head("dev")
	}
	key(fmt.Sprintf(", retired: %q, reason: sold", w.clock().Format(time.RFC3339)))
	ready("e1") // which takes no retirement back
	ready("e2")
	w.awaitVerdict("pass", "1 of 1 cluster ready")
	key("")
	ready("e1")
	ready("e2")
	w.awaitVerdict("pass", "2 of 2 clusters ready")
}

// TestRolloutGroups: a cluster that was never in touch counts as not ready, and a group may have a lower
// bar (case 15).
func TestRolloutGroups(t *testing.T) {
	for _, c := range []struct{ proof, status, want string }{
		{"rollout: {of: expected}", "wait", "3 of 4 clusters ready (75%, wants 100%): 1 unheard (of cloud)"},
		{"rollout: {of: expected, groups: {by: clusterType, percent: {default: 60}}}", "pass", "3 of 4 clusters ready, and enough in each of 2 groups"},
	} {
		w, revision := beginRollouts(t, c.proof, "3", "1", ledgerSecret)
		w.agent("e1", w.entry("fleet", "cloud", "ready", revision, ""))
		w.flux("e2", "fleet", revision, "")
		w.argoCD("w1", "Healthy", w.head("dev"))
		w.awaitVerdict(c.status, c.want)
	}
}

// TestRolloutObjects: with objects: all, a workload that has failed fails the rollout, which the platform
// object alone does not show.
func TestRolloutObjects(t *testing.T) {
	for objects, want := range map[string]string{"platform": "pass", "all": "fail"} {
		w, revision := beginRollouts(t, "rollout: {of: expected, objects: "+objects+"}", "1", "0", ledgerSecret)
		w.pass(time.Minute)
		w.agent("e1", w.entry("fleet", "cloud", "ready", revision, ""), w.entry("web", "", "failed", "master@sha1:"+w.head("dev"), "no image"))
		words := []string{"1 of 1 cluster ready"}
		if want == "fail" {
			words = []string{"e1: no image"}
		}
		w.awaitVerdict(want, words...)
	}
}

// TestRolloutFailureReported: the status of the commit says which clusters a rollout failed on, is renewed
// when others have failed too, and is that of success as soon as they are mended.
func TestRolloutFailureReported(t *testing.T) {
	w, revision := beginRollouts(t, "rollout: {of: expected, failures: {percent: 2}}", "3", "0", ledgerSecret)
	w.pass(time.Minute)
	w.flux("e1", "fleet", revision, "timeout")
	w.awaitVerdict("fail", "1 of 3 clusters failed, and 2% may: e1: timeout")
	w.wantSaid("dev", "failure Failed to deploy: 1 of 3 clusters failed, and 2% may: e1: timeout")
	w.flux("e2", "fleet", revision, "timeout")
	w.awaitVerdict("fail", "2 of 3 clusters failed, and 2% may: e1: timeout, e2")
	w.wantSaid("dev", "failure Failed to deploy: 1 of 3 clusters failed, and 2% may: e1: timeout")
	w.pass(10 * time.Minute)
	w.flux("e3", "fleet", revision, "timeout")
	w.awaitVerdict("fail", "3 of 3 clusters failed, and 2% may: e1: timeout, e2, e3")
	w.wantSaid("dev", "failure Failed to deploy: 3 of 3 clusters failed, and 2% may: e1: timeout, e2, e3")
	w.pass(time.Minute)
	for _, cluster := range []string{"e1", "e2", "e3"} {
		w.flux(cluster, "fleet", revision, "")
	}
	w.awaitVerdict("pass", "3 of 3 clusters ready")
	w.wantSaid("dev", "success Deployed")
}

// TestRolloutWithoutLedger: a gate for those that report gives the same verdict with a ledger as without
// one.
func TestRolloutWithoutLedger(t *testing.T) {
	for _, ledger := range []string{"", ledgerSecret} {
		w, revision := beginRollouts(t, "rollout: {clusters: 2}", "", "", "webhooks: {flux: {secret: {file: shared}}}\n"+ledger)
		w.shared("e1", revision, "")
		w.awaitVerdict("wait", "1 of 2 clusters ready, 1 no report yet")
		w.shared("e2", revision, "timeout")
		w.awaitVerdict("fail", "Kustomization/flux-system/fleet failed on e2: timeout")
		w.pass(time.Minute)
		w.shared("e2", revision, "")
		w.awaitVerdict("pass", "2 of 2 clusters ready")
	}
}

// TestRolloutNew: a ledger that began lately waits for clusters that it may not know yet.
func TestRolloutNew(t *testing.T) {
	w, revision := beginRollouts(t, "rollout: {of: expected}", "", "", ledgerSecret)
	w.agent("e1", w.entry("fleet", "cloud", "ready", revision, ""))
	w.awaitVerdict("wait", "1 of 1 cluster ready; the ledger is new, and other clusters are waited for until")
	for range 16 {
		w.pass(time.Minute)
		w.agent("e1", w.entry("fleet", "cloud", "ready", revision, ""))
	}
	w.awaitVerdict("pass", "1 of 1 cluster ready")
}

// TestRolloutStoreLost: a ledger that is gone when the daemon starts again lets no gate pass.
func TestRolloutStoreLost(t *testing.T) {
	w, revision := beginRollouts(t, "rollout: {of: expected}", "1", "0", ledgerSecret)
	for _, cluster := range []string{"e1", "e2"} {
		w.agent(cluster, w.entry("fleet", "cloud", "ready", revision, ""))
	}
	w.awaitVerdict("pass", "2 of 2 clusters ready")
	w.stop()
	w.loseStore()
	w.serve(ledgerSecret)
	w.last = snapshot{}
	w.awaitVerdict("wait", "the database of the ledger was emptied")
	w.agent("e1", w.entry("fleet", "cloud", "ready", revision, ""))
	w.awaitVerdict("wait", "the database of the ledger was emptied", "Of the others: 1 of 1 cluster ready")
}

// TestRolloutForged: who does not have the key of a cluster speaks for none, and changes no verdict.
func TestRolloutForged(t *testing.T) {
	w, revision := beginRollouts(t, "rollout: {of: expected}", "2", "0", ledgerSecret)
	entry := w.entry("fleet", "cloud", "ready", revision, "")
	w.agent("e1", entry)
	w.wantCode(w.postAgent("e2", "e1", "uid-e2", entry), http.StatusUnauthorized)
	w.wantCode(w.postAgent("e1", "e1", "uid-other", entry), http.StatusConflict)
	w.awaitVerdict("wait", "0 of 2 clusters ready", "1 unheard (of cloud)", "1 contested (e1)")
}
