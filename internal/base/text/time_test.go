package text_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

func TestParseTimes(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 30, 15, 7, time.FixedZone("", 3600))
	for _, c := range []struct{ written, past, next string }{
		{"2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"},
		{"2026-11-20T10:00+02:00", "2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z"},
		{"2026-11-20", "2026-11-19T23:00:00Z", "2026-11-19T23:00:00Z"},
		{"2026-11-20 10:00", "2026-11-20T09:00:00Z", "2026-11-20T09:00:00Z"},
		{"2026-11-20T10:00:09", "2026-11-20T09:00:09Z", "2026-11-20T09:00:09Z"},
		{"10:00", "2026-11-28T09:00:00Z", "2026-11-29T09:00:00Z"},
		{"18:00", "2026-11-27T17:00:00Z", "2026-11-28T17:00:00Z"},
		{"12:30:15", "2026-11-28T11:30:15Z", "2026-11-29T11:30:15Z"},
		{"today 18:00", "2026-11-28T17:00:00Z", "2026-11-28T17:00:00Z"},
		{"Yesterday 17:48", "2026-11-27T16:48:00Z", "2026-11-27T16:48:00Z"},
		{"yesterday", "2026-11-27T11:30:15Z", "2026-11-27T11:30:15Z"},
		{"tomorrow 9:05", "2026-11-29T08:05:00Z", "2026-11-29T08:05:00Z"},
		{"36h", "2026-11-26T23:30:15Z", "2026-11-29T23:30:15Z"},
		{"-2h", "2026-11-28T09:30:15Z", ""},
		{"5m ago", "2026-11-28T11:25:15Z", ""},
		{"in 2d", "", "2026-11-30T11:30:15Z"},
		{"0s", "2026-11-28T11:30:15Z", ""},
		{"--2h", "", ""}, {"ago", "", ""}, {"yesterday 25:00", "", ""}, {"7", "", ""}, {"2026-13-01", "", ""}, {"noon", "", ""}, {"", "", ""}, {"yesterdays", "", ""},
	} {
		show := func(at time.Time, ok bool) string {
			if !ok {
				return ""
			}
			return at.UTC().Format(time.RFC3339Nano)
		}
		if past, next := show(text.ParsePast(c.written, now)), show(text.ParseNext(c.written, now)); past != c.past || next != c.next {
			t.Errorf("%q: %q in the past, and %q in the future, want %q and %q", c.written, past, next, c.past, c.next)
		}
	}
}
