package ledger_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestCauseOfFailure: an object that has failed is the cause itself unless it is known that another one
// pulls the output, and waits for it.
func TestCauseOfFailure(t *testing.T) {
	const fleet, infra = "Kustomization/flux-system/fleet", "Kustomization/flux-system/infra"
	now := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	prod := ledger.Group{Environment: "prod", ClusterType: "large"}
	failed := func(object, revision string) ledger.Report {
		return ledger.Report{Object: ledger.Object{Name: object}, Phase: ledger.Failed, Target: revision, Message: "no matches for kind", Said: now}
	}
	for _, c := range []struct {
		name     string
		platform string // "" if it is not known
		reports  []ledger.Report
		want     ledger.Cause
		object   string
	}{
		{"the only object, at a revision that is not known", "", []ledger.Report{failed(fleet, "X")}, ledger.CauseFailed, fleet},
		{"the platform object, at a revision that is not known", fleet, []ledger.Report{failed(fleet, "X")}, ledger.CauseFailed, fleet},
		{"the platform object, at the output", fleet, []ledger.Report{failed(fleet, "P1"), failed(infra, "P1")}, ledger.CauseFailed, fleet},
		{"another object", fleet, []ledger.Report{
			{Object: ledger.Object{Name: fleet}, Phase: ledger.Progressing, Target: "P1", Said: now}, failed(infra, "P1"),
		}, ledger.CauseDependency, infra},
	} {
		l := ledger.New(100)
		l.Receive(ledger.Contact{Name: "e1", Group: prod, Platform: c.platform, Received: now}, c.reports)
		newest := ledger.Output{Revision: "P1", Merged: now.Add(-time.Hour), Folders: map[string]string{"large": "l1"}}
		var outputs ledger.Outputs
		outputs.Add(newest)
		all := l.FindSituations(ledger.Wanted{Environment: "prod", Output: newest}, &outputs, now)
		if len(all) != 1 || all[0].Reason.Cause != c.want || all[0].Reason.Object.Name != c.object {
			t.Errorf("%s: %+v, want %s by %s", c.name, all, c.want, c.object)
		}
	}
}

// TestAwaitedPlans: a cluster on which only plans wait for approval is at work, and waits: what
// applies its Terraform objects is reported as failed. One on which only resources have drifted has failed because of that.
func TestAwaitedPlans(t *testing.T) {
	const fleet, database, apps = "Kustomization/flux-system/fleet", "Terraform/shop/db", "Kustomization/shop/db"
	const drift, plan, stalled = "a node is gone", "", "health check failed: failed early due to stalled resources: [Terraform/shop/db status: 'Failed']"
	now := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	says := func(object string, phase ledger.Phase, message string) ledger.Report {
		return ledger.Report{Object: ledger.Object{Name: object}, Phase: phase, Target: "P1", Message: message, Said: now}
	}
	newest := ledger.Output{Revision: "P1", Merged: now.Add(-time.Minute), Folders: map[string]string{"large": "l1"}}
	var outputs ledger.Outputs
	outputs.Add(newest)
	for name, c := range map[string]struct {
		reports []ledger.Report
		class   ledger.Class
		cause   ledger.Cause
		object  string
	}{
		"a plan waits":                {[]ledger.Report{says(fleet, ledger.Ready, ""), says(database, ledger.Waiting, plan), says(apps, ledger.Failed, stalled)}, ledger.ClassProgressing, ledger.CauseApproval, database},
		"what pulls the output waits": {[]ledger.Report{says(fleet, ledger.Failed, stalled), says(database, ledger.Waiting, plan)}, ledger.ClassProgressing, ledger.CauseApproval, database},
		"it has drifted":              {[]ledger.Report{says(fleet, ledger.Ready, ""), says(database, ledger.Drifted, drift), says(apps, ledger.Failed, stalled)}, ledger.ClassFailed, ledger.CauseDrift, database},
		"it has drifted and failed":   {[]ledger.Report{says(fleet, ledger.Ready, ""), says(database, ledger.Drifted, drift), says("Kustomization/web/web", ledger.Failed, "timeout")}, ledger.ClassFailed, ledger.CauseFailed, "Kustomization/web/web"},
		"one drifted and one waits":   {[]ledger.Report{says(fleet, ledger.Ready, ""), says(database, ledger.Drifted, drift), says("Terraform/shop/net", ledger.Waiting, plan)}, ledger.ClassFailed, ledger.CauseDrift, database},
		"the plan failed":             {[]ledger.Report{says(fleet, ledger.Ready, ""), says(database, ledger.Failed, "no such module"), says(apps, ledger.Failed, stalled)}, ledger.ClassFailed, ledger.CauseFailed, apps},
		"and something else failed":   {[]ledger.Report{says(fleet, ledger.Ready, ""), says(database, ledger.Waiting, plan), says("Kustomization/web/web", ledger.Failed, "timeout")}, ledger.ClassFailed, ledger.CauseFailed, "Kustomization/web/web"},
		"it fails for another reason": {[]ledger.Report{says(fleet, ledger.Ready, ""), says(database, ledger.Waiting, plan), says(apps, ledger.Failed, "kustomize build failed")}, ledger.ClassFailed, ledger.CauseFailed, apps},
	} {
		l := ledger.New(100)
		l.Receive(ledger.Contact{Name: "e1", Group: ledger.Group{Environment: "prod", ClusterType: "large"}, Platform: fleet, Received: now}, c.reports)
		all := l.FindSituations(ledger.Wanted{Environment: "prod", Output: newest, AllObjects: true}, &outputs, now)
		if len(all) != 1 || all[0].Class != c.class || all[0].Reason.Cause != c.cause || all[0].Reason.Object.Name != c.object {
			t.Errorf("%s: %+v, want %s: %s by %s", name, all, c.class, c.cause, c.object)
		}
	}
}
