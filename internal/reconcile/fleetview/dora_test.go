package fleetview_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestMonths: the figures of DORA are those of the months, in either engine, also of what was added up.
func TestMonths(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		w.AddLab()
		for question, want := range map[string]string{
			"dora?environment=lab": `{"environment":"lab","month":"2026-08","deployments":2,"known":1,"failed":0,"leadSeconds":3720}
{"environment":"lab","month":"2026-09","deployments":0,"known":0,"failed":0}
{"environment":"lab","month":"2026-10","deployments":3,"known":3,"failed":1,"leadSeconds":3660,"restoreSeconds":7000}
{"environment":"lab","month":"2026-11","deployments":2,"known":2,"failed":1,"leadSeconds":1120}
`,
			"dora?environment=lab&since=2026-10-31&limit=1": `{"environment":"lab","month":"2026-10","deployments":3,"known":3,"failed":1,"leadSeconds":3660,"restoreSeconds":7000}
next: 00000 2026-10
`,
			"dora?environment=lab&since=2026-10-31&limit=1&after=00000+2026-10": `{"environment":"lab","month":"2026-11","deployments":2,"known":2,"failed":1,"leadSeconds":1120}
`,
			"dora?since=2026-11-02": `{"environment":"stage","month":"2026-11","deployments":1,"known":1,"failed":0}
{"environment":"prod","month":"2026-11","deployments":3,"known":3,"failed":1,"leadSeconds":1920}
{"environment":"lab","month":"2026-11","deployments":2,"known":2,"failed":1,"leadSeconds":1120}
`,
		} {
			if diff := cmp.Diff(want, answer(t, w, question)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", question, diff)
			}
		}
	})
}
