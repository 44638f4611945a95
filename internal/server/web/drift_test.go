package web

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// openDrifted returns a site whose clusters have drifted: of an object twice at once, until it ended, and of another.
func openDrifted(t *testing.T) (http.Handler, *ledgerworld.World) {
	t.Helper()
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	const dns, database = "Terraform/shop-eu/shop-eu-dns", "Terraform/shop-eu/shop-eu-database"
	for _, r := range []struct {
		minute          int
		cluster, object string
		phase           ledger.Phase
	}{
		{0, "east-1", dns, ledger.Ready}, {0, "east-2", dns, ledger.Ready}, {0, "east-1", database, ledger.Ready},
		{5, "east-1", dns, ledger.Drifted}, {10, "east-2", dns, ledger.Drifted}, {12, "east-1", dns, ledger.Waiting}, {15, "east-1", dns, ledger.Ready}, {20, "east-2", dns, ledger.Ready},
		{25, "east-1", database, ledger.Drifted},
	} {
		message := ""
		if r.phase == ledger.Drifted {
			message = "aws_route53_record.www has changed"
		}
		w.ReportObjectAt(ledgerworld.Now.Add(time.Duration(r.minute-60)*time.Minute), "prod", r.cluster, r.object, r.phase, "main@sha1:"+rootModule, message)
	}
	return New(Options{Store: fleet(), Fleet: w.View, Now: func() time.Time { return ledgerworld.Now }, History: pastActions}), w
}

// TestDriftEvents: drift that begins and ends is an event of the history each, of all clusters together, and of the end
// with the begin.
func TestDriftEvents(t *testing.T) {
	h, w := openDrifted(t)
	golden(t, "testdata/history/drift.html", mainOf(ask(h, http.MethodGet, "/history?q=shop-eu").Body.String()))
	for query, want := range map[string]string{"what=drifted": `"total": 2,`, "what=drift+ended": `"total": 1,`, "what=drifted&q=east-2": `"total": 1,`, "what=drifted&env=stage": `"total": 0,`} {
		if body := ask(h, http.MethodGet, "/api/v1/history?"+query).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: %s", query, body)
		}
	}
	w.View.Ask = func(context.Context, func(*ledgerdb.Store) error) error { return errors.New("it is locked") }
	body := ask(New(Options{Store: fleet(), Fleet: w.View, History: pastActions}), http.MethodGet, "/history").Body.String()
	if !strings.Contains(body, "Drift is missing here") || !strings.Contains(body, "carol") {
		t.Error("without the ledger, the page does not say what is missing, or has nothing else:", body)
	}
}
