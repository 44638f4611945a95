package fleetview_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// TestRecordedHistory: a plan that waits is one row of the history for all the time that it waits, and checks for drift are
// none, however often an agent reads: once a second, or after each step. States of less than a minute in which
// something is at work have no row.
func TestRecordedHistory(t *testing.T) {
	for _, c := range []struct{ recording, object, want string }{
		{"01-first-plan", "Terraform/s01/shop-dev-database", "waits for approval f7179b, ready f7179b"},
		{"02-change-manual", "Terraform/s02/shop-dev-database", "waits for approval 92ad38, ready 92ad38, waits for approval cca906, ready cca906"},
		{"08-drift", "Terraform/s08/shop-dev-database", "waits for approval dd9051, ready dd9051, drifted dd9051, waits for approval f0f0d6 drift, ready f0f0d6"},
		{"09-drift-while-plan-waits", "Terraform/s09/shop-dev-database", "waits for approval 478594, ready 478594, waits for approval d3cb4a, ready d3cb4a"},
		{"10a-destroy-manual", "Terraform/s10a/shop-dev-database", "waits for approval 426679, ready 426679, waits for approval 958d90 destroys, ready 958d90 destroys"},
		{"15b-kustomization-default-seal", "Terraform/s15b/shop-dev-database", "waits for approval 120d7f, ready 120d7f, waits for approval 8b0aac, ready 8b0aac"},
		{"15b-kustomization-default-seal", "Kustomization/s15b/shop-dev-database", "waits for approval 74c803, ready 74c803, waits for approval d42850, ready e2b542"},
		{"15c-kustomization-gate-seal", "Kustomization/s15c/stacks", "waits for approval 35f8c9, ready 35f8c9, waits for approval c54a09, ready 01c636, waits for approval 8f6534, ready 8910d9, ready 2e7c4b"},
	} {
		r := recordings.Load(t, c.recording)
		intervals := []time.Duration{time.Second, 0}
		if strings.HasPrefix(c.object, "Kustomization/") { // the steps of its own and those of what it applies are too close
			intervals = intervals[:1]
		}
		for _, interval := range intervals {
			if got := strings.Join(readHistory(t, r, interval, c.object), ", "); got != c.want {
				t.Errorf("%s every %s: the history of %s is\n%s\nwant\n%s", c.recording, interval, c.object, got, c.want)
			}
		}
	}
}

// readHistory returns the rows of an object in what "fairlead fleet history" prints after a recording.
func readHistory(t *testing.T, r *recordings.Recording, interval time.Duration, object string) (rows []string) {
	t.Helper()
	now := r.Start
	of := recorder.Open(t.Context(), recorder.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
	defer of.Close()
	r.Replay(interval, func(_ recordings.Step, q agentapi.Request) {
		now = q.Sent
		contact := q.Contact(q.Sent)
		contact.Group = ledger.Group{Environment: "dev", ClusterType: "large"}
		of.Receive(contact, q.Reports(0))
	})
	if err := of.Flush(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	view := &fleetview.View{Ledger: of, Ask: of.Ask, Now: func() time.Time { return now }}
	page, err := view.FindHistories(t.Context(), fleetview.Query{Workload: object, Limit: fleetview.MaxItems})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range page.Items {
		row := p.Phase
		target := p.Revision
		if p.Attempted != "" {
			target = p.Attempted
		}
		if commit := ledger.ParseRevision(target).Commit; commit != "" {
			row += " " + commit[:6]
		}
		if p.Plan.Destroys {
			row += " destroys"
		}
		if p.Plan.Drift {
			row += " drift"
		}
		rows = append(rows, row)
	}
	return rows
}
