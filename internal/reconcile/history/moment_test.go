package history_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// TestParseMoment: a moment is a time, a day or a commit, and nothing else.
func TestParseMoment(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-20": "2026-11-20T23:59:59Z", "2026-11-20T10:00:00Z": "2026-11-20T10:00:00Z", "2026-11-20T10:00Z": "2026-11-20T10:00:00Z", "2026-11-20T10:00:00+01:00": "2026-11-20T09:00:00Z",
		"4be1c2d": "4be1c2d", "4BE1": "4be1", "4be": "", "main": "", "": "", "../../x": "", "2026-13-01": "", "prod": "",
	} {
		m, ok := history.ParseMoment(text)
		got := m.Commit
		if !m.Time.IsZero() {
			got = m.Time.UTC().Format(time.RFC3339)
		}
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %v, want %q", text, got, ok, want)
		}
	}
}
