package daemon_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestRolloutRebuilt: a cluster that was built anew under its name does not count, until people adopt it
// and the one before is silent; then that one does not count.
func TestRolloutRebuilt(t *testing.T) {
	w, revision := beginRollouts(t, "rollout: {of: expected}", "1", "0", ledgerSecret)
	report := func(uid string, codes ...int) {
		t.Helper()
		w.wantCode(w.postAgent("e1", "e1", uid, w.entry("fleet", "cloud", "ready", revision, "")), codes...)
	}
	good := []int{http.StatusNoContent, http.StatusOK}
	report("uid-old", good...)
	w.awaitVerdict("pass", "1 of 1 cluster ready")
	report("uid-new", http.StatusConflict)
	w.awaitVerdict("wait", "0 of 1 cluster ready", "1 contested (e1)")
	w.pass(4 * time.Minute)
	report("uid-new", http.StatusConflict)
	files := baseConfig("more", "", "yes") // so that there is another output
	files[".fairlead/clusters/e1.yaml"] = fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: ClusterKey\nmetadata: {name: e1}\nspec: {epoch: 0, adopted: %q, reason: built anew}\n",
		w.clock().Format(time.RFC3339))
	commit := w.commit(files)
	w.await("dev has that commit", func(s snapshot) bool {
		stage, ok := s.Chain.FindStage("dev")
		return ok && stage.Commit == commit && stage.Merged
	})
	revision = "dev@sha1:" + w.head("dev")
	report("uid-new", good...)
	w.awaitVerdict("pass", "1 of 1 cluster ready")
	report("uid-old", http.StatusConflict)
	w.awaitVerdict("wait", "0 of 1 cluster ready", "1 contested (e1)")
}

// TestRolloutEventsOfTwo: two clusters that report under one name by events are found out by the uid of an
// object that comes back.
func TestRolloutEventsOfTwo(t *testing.T) {
	w, revision := beginRollouts(t, "rollout: {of: expected}", "1", "0", ledgerSecret)
	report := func(uid string, codes ...int) {
		t.Helper()
		w.uid = uid
		w.pass(2 * time.Minute)
		w.wantCode(w.postFlux("e1", "fleet", revision, ""), codes...)
	}
	good := []int{http.StatusAccepted, http.StatusOK}
	report("uid-1", good...)
	report("uid-2", good...) // perhaps the object was made anew
	w.awaitVerdict("pass", "1 of 1 cluster ready")
	report("uid-1", good...)
	report("uid-2", http.StatusConflict)
	w.awaitVerdict("wait", "0 of 1 cluster ready", "1 contested (e1)")
}
