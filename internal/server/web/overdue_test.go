package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestOverdue: /readyz, the status and the page name an environment that has not finished a
// cycle for too long, and since when. It alone does not make the daemon unready; a loop that
// is late does.
func TestOverdue(t *testing.T) {
	store := &status.Store{}
	store.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK, Next: noon.Add(time.Minute)})
	store.SetEnvironment(status.Environment{Name: "dev", State: status.Failed, Reason: "internal error 0123456789ab", Checked: noon})
	store.StartEnvironment("dev", noon.Add(-16*time.Minute))
	h := New(Options{Store: store, OverdueAfter: 15 * time.Minute, Now: func() time.Time { return noon }})
	const said = "environment dev has not finished a cycle since 2026-"
	for target, wanted := range map[string][]string{
		"/readyz":        {"ready\n" + said, ": internal error 0123456789ab\n"},
		"/api/v1/status": {`"ready": true`, `"overdue": [`, `"environment": "dev"`, `"since": "2026-`},
		"/":              {"environment dev has not finished a cycle since ", " UTC", "internal error 0123456789ab"},
	} {
		w := ask(h, http.MethodGet, target)
		for _, text := range wanted {
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s: status %d, without %q:\n%s", target, w.Code, text, w.Body)
			}
		}
	}
	store.FinishEnvironment("dev")
	if w := ask(h, http.MethodGet, "/readyz"); w.Code != http.StatusOK || w.Body.String() != "ready\n" {
		t.Errorf("then /readyz is %d: %s", w.Code, w.Body)
	}
	store.StartCycle(noon.Add(-time.Hour))
	if w := ask(h, http.MethodGet, "/readyz"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "has not ended") {
		t.Errorf("with a cycle of an hour /readyz is %d: %s", w.Code, w.Body)
	}
}
