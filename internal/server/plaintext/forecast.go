package plaintext

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// FormatArrivals returns a line for each arrival, and what it waits for below.
func FormatArrivals(arrivals []promote.Arrival, now time.Time, to *display.Stream) string {
	var rows [][]string
	for _, a := range arrivals {
		rows = append(rows, []string{a.Environment, whenText(a, now), a.Reason})
	}
	lines := to.FormatRows([]display.Column{{Heading: "ENVIRONMENT"}, {Heading: "WHEN"}, {Heading: "WHY", Fit: display.Wrap}}, rows)
	var b strings.Builder
	b.WriteString(lines[0])
	for i, a := range arrivals {
		b.WriteString(lines[i+1])
		if len(a.WaitsFor) == 1 && a.Delays == nil {
			continue
		}
		for _, w := range slices.Concat(a.WaitsFor, a.Delays) {
			fmt.Fprintf(&b, "  waits for %s\n", display.SanitizeLine(w.String()))
		}
	}
	return b.String()
}

func whenText(a promote.Arrival, now time.Time) string {
	switch a.State {
	case promote.ArrivalHas, promote.ArrivalReached:
		if a.Time.IsZero() {
			return "there"
		}
		return "there for " + display.FormatAge(now.Sub(a.Time))
	case promote.ArrivalProposed:
		if a.Time.IsZero() {
			return "promoted"
		}
		return "promoted " + display.FormatAge(now.Sub(a.Time)) + " ago"
	case promote.ArrivalExpected:
		if !a.Time.After(now) {
			return "now"
		}
		return fmt.Sprintf("%s, in %s", display.FormatMoment(a.Time), display.FormatAge(a.Time.Sub(now)))
	case promote.ArrivalNever:
		return "never"
	case promote.ArrivalLeftOut:
		return "left out"
	case promote.ArrivalWaits:
		if !a.NotBefore.IsZero() {
			return "not before " + display.FormatMoment(a.NotBefore)
		}
	}
	return "not known"
}
