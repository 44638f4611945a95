package stack

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// readSchedule returns how often drift of a component is looked for by its cronSchedule; 0 for as
// often as the settings say. Clusters know no hours, but the time since they looked last, so that
// counts which is the shortest between two runs.
func (r *resolver) readSchedule(c *Component) time.Duration {
	s, written := c.Stack, c.CronSchedule
	switch {
	case written.Text == "":
		return 0
	case c.Type == ArgoCD:
		r.warnf(s, written.Line, "", "component %s: cronSchedule has no effect on Applications of Argo CD: their drift is looked for every spec.interval of StackSettings", c.Name)
		return 0
	case c.Type != Terraform:
		r.warnf(s, written.Line, "", "component %s: cronSchedule has no effect on a chart: its drift is corrected at once", c.Name)
		return 0
	}
	interval, err := shortestGap(written.Text)
	if err != nil {
		r.addf(s, written.Line, `write five fields (minute, hour, day, month, weekday) as in "0 6 * * *"`, "component %s: cronSchedule cannot be %q: %v", c.Name, text.Shorten(written.Text, 100), err)
		return 0
	}
	r.warnf(s, written.Line, "", "component %s: drift is looked for every %s, the shortest time between two runs of cronSchedule, and not at its hours; CloudKnit does not look for it", c.Name, text.FormatDuration(interval))
	return interval
}

// maxRuns bounds how many runs of a schedule are looked at.
const maxRuns = 2_000

// shortestGap returns the shortest time between two runs of a schedule within a year, or the first one
// if there is none in a year.
func shortestGap(expression string) (time.Duration, error) {
	if strings.Contains(expression, "=") {
		return 0, fmt.Errorf("it cannot have a time zone")
	}
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(expression)
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), ": strconv.")
		return 0, fmt.Errorf("%s", reason)
	}
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) // of a leap year
	at, end, shortest := schedule.Next(begin), begin.AddDate(1, 1, 0), time.Duration(0)
	for range maxRuns {
		next := schedule.Next(at)
		if at.IsZero() || next.IsZero() {
			return 0, fmt.Errorf("it never matches a date")
		}
		gap := next.Sub(at)
		if shortest == 0 || gap < shortest {
			shortest = gap
		}
		if next.After(end) || shortest <= minInterval {
			break
		}
		at = next
	}
	return max(shortest, minInterval), nil
}
