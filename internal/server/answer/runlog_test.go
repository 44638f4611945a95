package answer

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestOutcome: what became of a plan is said by what its own cluster reports, and by what the output approves.
func TestOutcome(t *testing.T) {
	p := stackview.ReportedPlan{PlanKey: stackview.PlanKey{Cluster: "east-1", Namespace: "shop", Object: "db"}, Plan: "plan-x", Inputs: "1", Digest: "sha256:1"}
	for _, c := range []struct {
		name, approval, digest, cluster, status string
		want                                    string
	}{
		{"waits", "", "", "east-1", stackview.Waits, "waits for approval: it waits until a person approves it"},
		{"approved", "plan-x", "", "east-1", stackview.Waits, "approved: east-1 has not applied it yet"},
		{"at work", "plan-x", "sha256:1", "east-1", stackview.Progressing, "approved: east-1 has not reported yet that it is applied"},
		{"applied", "plan-x", "sha256:1", "east-1", stackview.Ready, "applied: east-1 reports db ready"},
		{"applied without a person", "auto", "", "east-1", stackview.Ready, "applied: east-1 reports db ready"},
		{"destroyed", "plan-x", "", "east-1", stackview.Destroyed, "applied: east-1 reports db destroyed"},
		{"another content is approved", "plan-x", "sha256:2", "east-1", stackview.Waits, "not approved: another plan is approved, with the digest sha256:2"},
		{"ready, and not approved", "", "", "east-1", stackview.Ready, "ready: east-1 reports db ready, and the output approves no plan of it"},
		{"fails", "plan-x", "", "east-1", stackview.Failed, "failed: east-1 reports of db: quota"},
		{"drifted behind it", "plan-x", "", "east-1", stackview.Drifted, "applied: east-1 has applied it, and reports of db since: quota"},
		{"another cluster reports", "", "", "west-1", stackview.Ready, "planned: east-1 has not reported yet what becomes of it"},
	} {
		of := StackComponent{ComponentSummary: stackfiles.ComponentSummary{Name: "db", Plan: "plan-x", Inputs: "1", Approval: c.approval, Digest: c.digest}, Reported: &stackview.Status{Status: c.status, Cluster: c.cluster, Message: "quota"}}
		if got := findOutcome(of, p, true, nil); got.State.Word+": "+got.Reason != c.want || got.State.Tone == "" {
			t.Errorf("%s: %s: %s (%s)", c.name, got.State.Word, got.Reason, got.State.Tone)
		}
	}
}

// TestRunsOfStack: the runs of a stack are what its clusters reported, the newest first, each with the plan that was sent
// meanwhile.
func TestRunsOfStack(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, time.January, 5, 9, minute, 0, 0, time.UTC) }
	plan := func(id, inputs string, minute int) stackview.ReportedPlan {
		return stackview.ReportedPlan{PlanKey: stackview.PlanKey{Cluster: "east-1", Namespace: "shop", Object: "shop-db"}, ID: id, Plan: "plan-x-aaaaaaaaaa", Inputs: inputs, When: at(minute)}
	}
	of := stackview.Known{Stack: stackview.Stack{Environment: "dev", Summary: stackfiles.Summary{Stack: "shop/dev", Namespace: "shop", Components: []stackfiles.ComponentSummary{{Name: "db", Object: "shop-db", Plan: "plan-x-aaaaaaaaaa", Inputs: "2", Action: stackfiles.Destroy}}}}, Merged: true}
	s := Source{Snapshot: status.Snapshot{
		ReportedPlans: map[stackview.PlanKey]stackview.ReportedPlan{plan("new", "2", 31).PlanKey: plan("new", "2", 31)},
		PastPlans:     []stackview.ReportedPlan{plan("early", "1", 1), plan("old", "1", 11)},
	}}
	object := StackObject{"dev", "shop", "shop-db"}
	const revision = "main@sha1:aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
	span := func(phase ledger.Phase, message string, from, to int) StackSpan {
		one := StackSpan{"east-1", ledger.Span{Since: at(from), Phase: phase, Message: message, Revision: revision}}
		if phase == ledger.Waiting {
			one.Message, one.Plan.ID = "", message
		}
		if to > 0 {
			one.Until = at(to)
		}
		return one
	}
	terraform := stackview.Report{Cluster: "east-1", Object: "Terraform/shop/shop-db", Phase: "ready", Revision: revision, Since: at(40), Plan: ledger.Plan{Destroys: true}}
	kustomization := func(cluster, phase string, since int) stackview.Report {
		return stackview.Report{Cluster: cluster, Object: "Kustomization/shop/shop-db", Phase: phase, Since: at(since)}
	}
	const waits = "plan-x-aaaaaaaaaa"
	s.StackSpans = map[StackObject][]StackSpan{object: {span(ledger.Waiting, waits, 10, 20), span(ledger.Ready, "", 20, 30), span(ledger.Waiting, waits, 30, 40), span(ledger.Ready, "", 40, 0)}}
	const before = ", 09:30 waits for approval new, 09:20 ready, 09:10 waits for approval old, 09:01 planned early"
	for _, c := range []struct {
		name    string
		reports []stackview.Report
		want    string
	}{
		{"destroyed", []stackview.Report{terraform, kustomization("east-1", "ready", 40)}, "09:40 destroyed"},
		{"not yet", []stackview.Report{terraform, kustomization("east-1", "progressing", 50)}, "09:40 ready"},
		{"on another cluster", []stackview.Report{terraform, kustomization("east-1", "progressing", 50), kustomization("west-1", "ready", 50)}, "09:40 ready"},
		{"destroyed within a minute, while its object stays ready", []stackview.Report{terraform, kustomization("east-1", "ready", 52)}, "09:52 destroyed, 09:40-09:52 ready"},
	} {
		s.StackReports = map[StackObject][]stackview.Report{object: c.reports}
		var got []string
		for _, r := range s.listRuns(of) {
			line := r.Since.Format("15:04")
			if r.Until.Equal(at(52)) {
				line += r.Until.Format("-15:04")
			}
			line += " " + r.State.Word
			if r.Plan != nil {
				line += " " + r.Plan.ID
			}
			got = append(got, line)
		}
		if text := strings.Join(got, ", "); text != c.want+before {
			t.Errorf("%s: the runs are %s", c.name, text)
		}
	}
}

// TestPlanToApply: a plan that is applied is none to apply, also where its component has drifted since.
func TestPlanToApply(t *testing.T) {
	of := stackfiles.ComponentSummary{Name: "db", Object: "shop-db", Plan: "plan-x", Inputs: "1", Approval: "plan-x"}
	k := stackview.Known{Stack: stackview.Stack{Environment: "dev", Summary: stackfiles.Summary{Stack: "shop/dev", Namespace: "shop"}}, Merged: true}
	p := stackview.ReportedPlan{PlanKey: stackview.PlanKey{Cluster: "east-1", Namespace: "shop", Object: "shop-db"}, ID: "id", Plan: "plan-x", Inputs: "1"}
	s := Source{Snapshot: status.Snapshot{ReportedPlans: map[stackview.PlanKey]stackview.ReportedPlan{p.PlanKey: p}}}
	s.StackReports = map[StackObject][]stackview.Report{{"dev", "shop", "shop-db"}: {{Cluster: "east-1", Object: "Terraform/shop/shop-db"}}}
	for word, want := range map[string]bool{stackview.Waits: true, stackview.Failed: true, stackview.Progressing: true, stackview.Drifted: false, stackview.Ready: false, stackview.Destroyed: false} {
		got := s.findRun(k, StackComponent{ComponentSummary: of, Reported: &stackview.Status{Status: word, Cluster: "east-1"}})
		if (got != nil) != want {
			t.Errorf("a component that is %s has the plan %+v to apply", word, got)
		}
	}
}

// TestStackSince: a stack is in a good state since its last component is, and in another one since the first component is.
func TestStackSince(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, time.January, 5, 9, minute, 0, 0, time.UTC) }
	component := func(word string, minute int) StackComponent {
		return StackComponent{Reported: &stackview.Status{Status: word, Since: at(minute)}}
	}
	all := []StackComponent{{}, component(stackview.Ready, 20), component(stackview.Drifted, 30), component(stackview.Drifted, 10)}
	for _, c := range []struct {
		state State
		want  time.Time
	}{
		{State{Good, stackview.Ready}, at(30)}, {State{Bad, stackview.Drifted}, at(10)}, {State{Bad, stackStopped}, time.Time{}},
	} {
		if got := findSince(c.state, all); !got.Equal(c.want) {
			t.Errorf("%s since %s, want %s", c.state.Word, got, c.want)
		}
	}
}
