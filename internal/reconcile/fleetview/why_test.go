package fleetview

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// TestExplainUnknown: a cluster may see an output before Fairlead does, but not for long.
func TestExplainUnknown(t *testing.T) {
	since := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := ledger.Situation{
		Standing: ledger.Standing{Cluster: &ledger.Cluster{Platform: "Kustomization/flux-system/platform"}, Class: ledger.ClassUnknown},
		Platform: ledger.State{Phase: ledger.Ready, Revision: "prod@sha1:0a1b"}, Since: since,
	}
	for after, want := range map[time.Duration]string{
		0:                            "it has prod@sha1:0a1b, which is no output that is known yet",
		10*time.Minute - time.Second: "it has prod@sha1:0a1b, which is no output that is known yet",
		10 * time.Minute:             "it has prod@sha1:0a1b, which is not one of ours",
	} {
		of := situations{wants: ledgerdb.Wants{Newest: ledger.Output{Revision: "prod@sha1:0c0d"}}, now: since.Add(after)}
		if got := explainSituation(s, of); got != want {
			t.Errorf("after %s: %q, want %q", after, got, want)
		}
	}
}

// TestExplainNoRevision: a cluster that reports no revision is not said to have one.
func TestExplainNoRevision(t *testing.T) {
	s := ledger.Situation{
		Standing: ledger.Standing{Cluster: &ledger.Cluster{Platform: "Kustomization/flux-system/platform"}, Class: ledger.ClassUnknown},
		Platform: ledger.State{Phase: ledger.Ready},
	}
	of := situations{wants: ledgerdb.Wants{Newest: ledger.Output{Revision: "prod@sha1:0c0d"}}}
	if got, want := explainSituation(s, of), "its platform object reports no revision"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestExplainAwaited: a cluster on which plans wait for approval, and its objects, are said to wait, and one on which
// resources were changed to have drifted, and not to have failed.
func TestExplainAwaited(t *testing.T) {
	s := ledger.Situation{
		Standing: ledger.Standing{Cluster: &ledger.Cluster{Names: []ledger.Naming{{Name: "east"}}}, Class: ledger.ClassProgressing},
		Reason:   ledger.Reason{Cause: ledger.CauseApproval, Object: ledger.Object{Name: "Terraform/shop/db"}, Plan: ledger.Plan{ID: "plan-main-aaaa"}},
	}
	if c := newCluster(s, situations{}); c.Word != "waits for approval" || c.Why != "Terraform/shop/db waits for approval of plan-main-aaaa" {
		t.Errorf("the cluster is %+v", c)
	}
	s.Class, s.Reason = ledger.ClassFailed, ledger.Reason{Cause: ledger.CauseDrift, Object: ledger.Object{Name: "Terraform/shop/db"}, Message: "a node is gone"}
	if c := newCluster(s, situations{}); c.Word != "drifted" || c.Standing != "failed" || c.Why != "Terraform/shop/db has drifted: a node is gone" {
		t.Errorf("the cluster that has drifted is %+v", c)
	}
	for _, o := range []struct {
		object, message string
		phase           ledger.Phase
		want            string
	}{
		{"Terraform/shop/db", "", ledger.Waiting, "waits for approval"}, {"Terraform/shop/db", "", ledger.Ready, "ready"},
		{"Terraform/shop/db", "no such module", ledger.Failed, "failed"}, {"Terraform/shop/net", "a node is gone", ledger.Drifted, "drifted"},
		{"Kustomization/shop/db", "", ledger.Waiting, "waits for approval"},
	} {
		if got := phaseWord(o.object, o.phase, o.message); got != o.want {
			t.Errorf("fleet where has %s for %+v", got, o)
		}
	}
}
