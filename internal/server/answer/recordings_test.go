package answer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// readComponent returns the component that a recorded Terraform object is of, as the output has it at that time.
func readComponent(t *testing.T, s recordings.Step, object string) stackfiles.ComponentSummary {
	t.Helper()
	var o struct {
		Spec struct {
			Destroy     bool
			ApprovePlan string
			SourceRef   struct{ Name string }
			Ref         struct{ Branch, Commit string }
		}
	}
	c := stackfiles.ComponentSummary{Name: "database", Action: stackfiles.Apply}
	raw := s.Find(object)
	if raw == nil {
		return c
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(object, "/")
	c.Object, c.Approval = parts[2], o.Spec.ApprovePlan
	if o.Spec.Destroy {
		c.Action = stackfiles.Destroy
	}
	if source := s.Find("GitRepository/" + parts[1] + "/" + o.Spec.SourceRef.Name); source != nil {
		if err := json.Unmarshal(source, &o); err != nil {
			t.Fatal(err)
		}
		if commit := o.Spec.Ref.Commit; commit != "" {
			c.Plan = "plan-" + o.Spec.Ref.Branch + "-" + commit[:10]
		}
	}
	return c
}

// TestRecordedStacks: the row of a stack whose one component is what was recorded, and the status that "stack show" prints of
// the component, which are the same. States in which something is at work are left out.
func TestRecordedStacks(t *testing.T) {
	for _, c := range []struct{ recording, object, want string }{
		{"01-first-plan", "s01/shop-dev-database", "waits for approval, ready"},
		{"02-change-manual", "s02/shop-dev-database", "waits for approval, ready, waits for approval, ready"},
		{"02b-change-manual-no-outputs-secret", "s02b/shop-dev-database", "waits for approval, ready, waits for approval, ready"},
		{"03-change-auto", "s03/shop-dev-database", "ready"},
		{"04-outputs-only", "s04/shop-dev-database", "waits for approval, ready, waits for approval, ready"},
		{"05-no-changes", "s05/shop-dev-database", "waits for approval, ready"},
		{"06-plan-fails", "s06b/shop-dev-database", "failed, waits for approval, ready, failed"},
		{"07-apply-fails-auto", "s07a/shop-dev-database", "failed, ready"},
		{"07-apply-fails-manual", "s07m/shop-dev-database", "waits for approval, failed, waits for approval, ready"},
		{"08-drift", "s08/shop-dev-database", "waits for approval, ready, drifted, waits for approval, ready"},
		{"08b-drift-auto", "s08b/shop-dev-database", "ready, drifted, ready"},
		{"09-drift-while-plan-waits", "s09/shop-dev-database", "waits for approval, ready, waits for approval, ready"},
		{"10a-destroy-manual", "s10a/shop-dev-database", "waits for approval, ready, waits for approval, destroyed"},
		{"10b-destroy-onDeletion", "s10b/shop-dev-database", "waits for approval, ready"},
		{"11b-destroy-auto-order-seal", "s11c/shop-dev-networking", "ready, destroyed"},
		{"11b-destroy-auto-order-seal", "s11c/shop-dev-database", "waits for approval, ready, waits for approval, failed"},
		{"12-wrong-plan-id", "s12/shop-dev-database", "waits for approval, ready"},
		{"13-vars-same-commit", "s13/shop-dev-database", "waits for approval, ready, waits for approval"},
		{"13b-destroy-same-commit", "s13b/shop-dev-database", "waits for approval, ready, destroyed"},
		{"14-suspend-force", "s14/shop-dev-database", "waits for approval, ready, suspended, waits for approval, ready"},
		{"15c-kustomization-gate-seal", "s15c/shop-dev-database", "waits for approval, ready, waits for approval, ready, failed, waits for approval, destroyed"},
	} {
		r := recordings.Load(t, c.recording)
		if got := strings.Join(readStackRows(t, r, c.object), ", "); got != c.want {
			t.Errorf("%s: the stack of %s\n%s\nwant\n%s", c.recording, c.object, got, c.want)
		}
	}
}

// readStackRows returns the words of the row of a stack that has the component of an object alone.
func readStackRows(t *testing.T, r *recordings.Recording, object string) (rows []string) {
	t.Helper()
	l := ledger.New(1000)
	namespace, name, _ := strings.Cut(object, "/")
	key := StackObject{"dev", namespace, name}
	r.Replay(0, func(s recordings.Step, q agentapi.Request) {
		contact := q.Contact(q.Sent)
		contact.Group = ledger.Group{Environment: "dev"}
		l.Receive(contact, q.Reports(0))
		component := readComponent(t, s, "Terraform/"+object)
		component.Object = name
		var reports []stackview.Report
		for _, kind := range []string{"Kustomization", "Terraform"} {
			o := ledger.Object{Cluster: l.FindCluster(q.Cluster).ID, Name: kind + "/" + object}
			if of, known := l.Find(o); known {
				reports = append(reports, stackview.Report{Cluster: q.Cluster, Object: o.Name, Phase: of.Phase.String(), Revision: of.Revision, Message: of.Message, Plan: of.Plan})
			}
		}
		k := stackview.Known{Stack: stackview.Stack{Environment: "dev", Summary: stackfiles.Summary{Stack: "shop/dev", Namespace: namespace, Components: []stackfiles.ComponentSummary{component}}}, Merged: true}
		src := Source{
			Snapshot:     status.Snapshot{Environments: []status.Environment{{Name: "dev"}}, Stacks: map[string][]stackview.Known{"dev": {k}}},
			StackReports: map[StackObject][]stackview.Report{key: reports},
		}
		row := src.Stacks(StackFilter{}).Items[0]
		shown := stackview.SummarizeStatuses([]string{stackview.FindStatus(component, reports).Status})
		if waits := len(row.Waiting) == 1; shown != row.State.Word || waits != (shown == stackview.Waits) || (len(row.Drifted) == 1) != (shown == stackview.Drifted) {
			t.Errorf("%s at %s: the row is %+v, and %q is printed", r.Name, s.Time, row, shown)
		}
		if isSettled := row.State.Tone == Good || row.State.Tone == Waiting || row.State.Tone == Bad || row.State.Tone == Stopped; isSettled && (len(rows) == 0 || rows[len(rows)-1] != shown) {
			rows = append(rows, shown)
		}
	})
	return rows
}
