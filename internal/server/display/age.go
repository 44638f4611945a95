package display

import (
	"fmt"
	"time"
)

// FormatAge returns a duration in its largest unit: "45s", "12m", "3h", "9d".
func FormatAge(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Abs(); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// FormatMoment returns a time in UTC: "Mon 2026-01-05 09:00 UTC".
func FormatMoment(t time.Time) string { return t.UTC().Format("Mon 2006-01-02 15:04 MST") }
