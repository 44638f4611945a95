package fleetview_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestUnheard: a cluster that is expected by name, as one that an environment provisions, is listed by that
// name where it should run a workload, though it was never in touch; and once, however small the pages are.
func TestUnheard(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		w.Recorder.SetListed("prod", map[string]string{"edge-8": "large", "edge-9": "large", "edge-7": "unused"}, "")
		const found = `{"name":"edge-9","environment":"prod","clusterType":"large","standing":"unheard","why":"it was never in touch"}` + "\n"
		if got := answer(t, w, "clusters?cluster=edge-9"); got != found {
			t.Errorf("it is listed as %s", got)
		}
		all := answer(t, w, "where?workload=checkout&environment=prod")
		const placed = `{"cluster":"edge-9","environment":"prod","clusterType":"large","object":"Kustomization/flux-system/checkout-api","phase":"unheard","message":"it was never in touch"}`
		if !strings.HasSuffix(all, placed+"\n") || !strings.Contains(all, `"cluster":"edge-8"`) || strings.Contains(all, "edge-7") {
			t.Errorf("it runs where: %s", all)
		}
		if past := answer(t, w, "where?workload=checkout&at=2026-11-23T12:00:00Z"); strings.Contains(past, "edge-") {
			t.Errorf("it ran in the past where: %s", past)
		}
		for limit := 1; limit <= 4; limit++ {
			if got := collectPlacements(t, w, limit); got != all {
				t.Errorf("in pages of %d:\n%s\nwant:\n%s", limit, got, all)
			}
		}
	})
}

// collectPlacements returns all pages of the question where checkout runs in prod.
func collectPlacements(t *testing.T, w *ledgerworld.World, limit int) string {
	t.Helper()
	var b strings.Builder
	for after, pages := "", 0; ; pages++ {
		q := fleetview.Query{Workload: "checkout", Environment: "prod", Limit: limit, After: after}
		page, err := w.View.FindPlacements(t.Context(), q)
		check(t, err)
		for _, p := range page.Items {
			text, err := json.Marshal(p)
			check(t, err)
			b.Write(append(text, '\n'))
		}
		if page.Next == "" {
			return b.String()
		}
		after = page.Next
		if _, err := url.ParseQuery("after=" + url.QueryEscape(after)); err != nil || pages > 50 {
			t.Fatalf("after %d pages: %q, %v", pages, after, err)
		}
	}
}
