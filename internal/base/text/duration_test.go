package text_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for given, want := range map[string]time.Duration{
		"7d": 7 * day, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "-2d": -2 * day, "90s": 90 * time.Second, "0": 0,
	} {
		if got, err := text.ParseDuration(given); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", given, got, err, want)
		}
	}
	for _, given := range []string{"", "d", "7", "7 d", "7D", "1w", "999999999999d", "one day"} {
		if got, err := text.ParseDuration(given); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", given, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 30 * time.Minute: "30m", 10 * time.Second: "10s", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s",
		100 * time.Hour: "100h", 1500 * time.Millisecond: "1.5s",
	} {
		if got := text.FormatDuration(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}
