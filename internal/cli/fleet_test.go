package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// TestParsePast: the ledger is not asked about the future, of which it would answer with today.
func TestParsePast(t *testing.T) {
	now := time.Date(2026, 11, 23, 13, 5, 0, 0, time.UTC)
	for _, c := range []struct {
		value string
		want  string // "" if it is refused
	}{
		{"36h", "2026-11-22T01:05:00Z"},
		{"7d", "2026-11-16T13:05:00Z"},
		{"2026-11-01", "2026-11-01T00:00:00Z"},
		{"2026-11-23T14:05:00+01:00", "2026-11-23T13:05:00Z"},
		{"0s", "2026-11-23T13:05:00Z"},
		{"-7d", "2026-11-16T13:05:00Z"},
		{"2026-11-24", ""},
		{"2026-11-23T13:05:01Z", ""},
		{"7", ""},
		{"yesterday", "2026-11-22T13:05:00Z"},
		{"yesterday 17:48", "2026-11-22T17:48:00Z"},
		{"17:48", "2026-11-22T17:48:00Z"},
		{"today 17:48", ""},
	} {
		var stderr bytes.Buffer
		cc := newCommandContext(&app{stderr: display.NewStream(&stderr)})
		cc.now = func() time.Time { return now }
		at, err := cc.parsePast("--at", c.value)
		got := at.UTC().Format(time.RFC3339)
		if err != nil {
			got = ""
		}
		if got != c.want {
			t.Errorf("parsePast(%s) = %q (%v), want %q", c.value, got, err, c.want)
		}
		if noted := strings.Contains(stderr.String(), "--at is "+c.want); noted != strings.HasSuffix(c.value, "17:48") && err == nil {
			t.Errorf("parsePast(%s) notes %q", c.value, &stderr)
		}
	}
}

// TestExampleFleet: the example of the README has no problem and no warning.
func TestExampleFleet(t *testing.T) {
	const fleet = "../../testdata/fleet/"
	for _, env := range []string{"dev", "stage"} {
		var out, errs bytes.Buffer
		code := Main(context.Background(), []string{
			"check", "--strict", "-e", env, "--base-dir", fleet + "base", "--environment-dir", fleet + env,
			"--workload", "platform-svc=" + fleet + "workloads/platform-svc", "--workload", "shop=" + fleet + "workloads/shop",
		}, &out, &errs)
		if code != exitOK {
			t.Errorf("%s: exit code %d\n%s%s", env, code, out.String(), errs.String())
		}
	}
}
