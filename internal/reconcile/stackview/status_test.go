package stackview

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestComponentStatus: the status of a component by what clusters report of its objects.
func TestComponentStatus(t *testing.T) {
	const (
		now    = "fairlead-modules-dev@sha1:aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
		before = "fairlead-modules-dev@sha1:1111111111bbbbbbbbbbccccccccccdddddddddd"
	)
	report := func(cluster, kind, phase, revision, message string) Report {
		return Report{Cluster: cluster, Object: kind + "/checkout/db", Phase: phase, Revision: revision, Message: message}
	}
	for _, c := range []struct {
		name    string
		plan    string
		reports []Report
		want    string // the status, and the cluster
	}{
		{"not reported", "plan-x-aaaaaaaaaa", nil, ""},
		{"ready", "plan-x-aaaaaaaaaa", []Report{report("a", "Terraform", "ready", now, ""), report("a", "Kustomization", "ready", "dev@sha1:1", "")}, "ready a"},
		{"ready with the root module of before", "plan-x-aaaaaaaaaa", []Report{report("a", "Terraform", "ready", before, ""), report("a", "Kustomization", "progressing", "dev@sha1:1", "")}, "behind a"},
		{"a Kustomization that is not ready yet", "plan-x-aaaaaaaaaa", []Report{report("a", "Kustomization", "progressing", "", ""), report("a", "Terraform", "ready", now, "")}, "progressing a"},
		{"a plan that waits", "plan-x-aaaaaaaaaa", []Report{report("a", "Kustomization", "failed", "", "health check failed"), report("a", "Terraform", "waiting", before, "")}, "waits for approval a"},
		{"drift", "plan-x-aaaaaaaaaa", []Report{report("a", "Terraform", "drifted", now, "aws_instance.a")}, "drifted a"},
		{"another plan than the approved one", "plan-x-aaaaaaaaaa", []Report{report("a", "Kustomization", "failed", "", "health check failed"), report("a", "Terraform", "failed", before, "the plan differs from the approved one: it is sha256:1, and sha256:2 was approved")}, "plan differs a"},
		{"a failure", "plan-x-aaaaaaaaaa", []Report{report("a", "Terraform", "failed", now, "error running Init: drift: no")}, "failed a"},
		{"without an agent", "plan-x-aaaaaaaaaa", []Report{report("a", "Kustomization", "failed", "", "health check failed")}, "failed a"},
		{"a chart", "", []Report{report("a", "HelmRelease", "ready", "1.2.0", ""), report("a", "Kustomization", "ready", "", "")}, "ready a"},
		{"suspended", "plan-x-aaaaaaaaaa", []Report{report("a", "Terraform", "suspended", now, "")}, "suspended a"},
		{"a plan that waits while its Kustomization is ready", "plan-x-aaaaaaaaaa", []Report{report("a", "Kustomization", "ready", "dev@sha1:1", ""), report("a", "Terraform", "waiting", before, "")}, "waits for approval a"},
		{"two clusters, the worst one counts", "plan-x-aaaaaaaaaa", []Report{report("b", "Terraform", "ready", now, ""), report("a", "Terraform", "progressing", now, "")}, "progressing a"},
		{"two clusters, in the same state", "plan-x-aaaaaaaaaa", []Report{report("b", "Terraform", "ready", now, ""), report("a", "Terraform", "ready", now, "")}, "ready a"},
		{"a phase that is none of ours", "plan-x-aaaaaaaaaa", []Report{report("a", "Terraform", "other", now, "")}, "unknown a"},
	} {
		got := FindStatus(stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: c.plan}, c.reports)
		if text := strings.TrimSpace(got.Status + " " + got.Cluster); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
		for i, r := range c.reports {
			c.reports[i].Plan.Destroys = r.Phase == "ready"
		}
		got = FindStatus(stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: c.plan, Action: stackfiles.Destroy}, c.reports)
		if text := strings.TrimSpace(got.Status + " " + got.Cluster); text != strings.NewReplacer("ready", "destroyed", "behind", "progressing").Replace(c.want) {
			t.Errorf("%s, being destroyed: %q, where a component that stays is %q", c.name, text, c.want)
		}
	}
}

// TestNotDestroyed: a component that is to be destroyed is not, however ready its objects are, before its Terraform object
// says so.
func TestNotDestroyed(t *testing.T) {
	c := stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: "plan-x-aaaaaaaaaa", Action: stackfiles.Destroy}
	got := FindStatus(c, []Report{{Cluster: "a", Object: "Kustomization/checkout/db", Phase: "ready"}, {Cluster: "a", Object: "Terraform/checkout/db", Phase: "ready", Revision: "x@sha1:aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"}})
	if got.Status != Progressing {
		t.Errorf("it is %s", got.Status)
	}
}

// TestStatusSince: a component is ready since its object is, whatever commit its Kustomization is at, and destroyed only
// since that is ready too.
func TestStatusSince(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, time.January, 5, 9, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		action        stackfiles.Action
		kustomization string
		want          string
	}{
		{stackfiles.Apply, "ready", "ready 09:10"},
		{stackfiles.Apply, "progressing", "progressing 09:20"},
		{stackfiles.Destroy, "progressing", "progressing 09:20"},
		{stackfiles.Destroy, "ready", "destroyed 09:20"},
	} {
		got := FindStatus(stackfiles.ComponentSummary{Name: "db", Object: "db", Action: c.action}, []Report{
			{Cluster: "a", Object: "Kustomization/checkout/db", Phase: c.kustomization, Since: at(20)}, {Cluster: "a", Object: "Terraform/checkout/db", Phase: "ready", Since: at(10), Plan: ledger.Plan{Destroys: c.action == stackfiles.Destroy}},
		})
		if text := got.Status + got.Since.Format(" 15:04"); text != c.want {
			t.Errorf("%s, its Kustomization %s: %s, want %s", c.action, c.kustomization, text, c.want)
		}
	}
}

// TestSummarizeStatuses: the status of a stack in few words.
func TestSummarizeStatuses(t *testing.T) {
	for _, c := range []struct {
		statuses []string
		want     string
	}{
		{[]string{"ready", "ready", "ready"}, "ready"},
		{[]string{"ready", "failed", "ready"}, "1 failed, 2 ready"},
		{[]string{"waits for approval", "", ""}, "1 waits for approval, 2 not reported"},
		{[]string{"waits for approval", "waits for approval", "plan differs", "plan differs", "plan differs"}, "3 plans differ, 2 wait for approval"},
		{[]string{"plan differs", "waits for approval", "ready"}, "1 plan differs, 1 waits for approval, 1 ready"},
		{[]string{"", "", ""}, "not reported"},
		{nil, ""},
	} {
		if got := SummarizeStatuses(c.statuses); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
