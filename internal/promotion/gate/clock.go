package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	// Embeds the time zones, which an empty image lacks.
	_ "time/tzdata"
)

// opening is a time window that opens when a zone's clocks match cron, for a duration. If clocks
// are set back, it opens at both times; a skipped time is the moment of the change.
type opening struct {
	schedule cron.Schedule
	length   time.Duration
	zone     *time.Location
}

var knownZones = []string{
	"UTC", "Europe/London", "Europe/Dublin", "Europe/Lisbon", "Europe/Madrid", "Europe/Paris", "Europe/Berlin", "Europe/Amsterdam", "Europe/Brussels",
	"Europe/Zurich", "Europe/Vienna", "Europe/Rome", "Europe/Prague", "Europe/Warsaw", "Europe/Stockholm", "Europe/Oslo", "Europe/Copenhagen",
	"Europe/Helsinki", "Europe/Athens", "Europe/Bucharest", "Europe/Kyiv", "Europe/Istanbul", "America/New_York", "America/Toronto", "America/Chicago",
	"America/Denver", "America/Los_Angeles", "America/Sao_Paulo", "America/Mexico_City", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Asia/Singapore",
	"Asia/Dubai", "Asia/Seoul", "Asia/Jerusalem", "Australia/Sydney", "Pacific/Auckland", "Africa/Johannesburg", "Africa/Lagos",
}

func parseCron(text string) (cron.Schedule, error) {
	if strings.Contains(text, "=") {
		return nil, fmt.Errorf("the zone is written as timeZone")
	}
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
}

// maxClockChanges bounds the search for one opening: cron gives up after five years, and no zone
// changes more than four times a year.
const maxClockChanges = 40

// nextOpening returns the first opening after a time; zero if there is none in about five years. It
// searches each period between clock changes in UTC.
func (o opening) nextOpening(after time.Time) time.Time {
	at := after.In(o.zone)
	_, offset := at.Zone()
	from := wallClock(after, offset)
	for range maxClockChanges {
		_, end := at.ZoneBounds()
		next := o.schedule.Next(from)
		if !next.IsZero() {
			if opens := next.Add(-offsetDuration(offset)); end.IsZero() || opens.Before(end) {
				return opens
			}
		}
		if end.IsZero() {
			return time.Time{}
		}
		before := offset
		_, offset = end.In(o.zone).Zone()
		if skipped := o.schedule.Next(wallClock(end, before).Add(-time.Second)); !skipped.IsZero() && skipped.Before(wallClock(end, offset)) {
			return end
		}
		at, from = end.In(o.zone), wallClock(end, offset).Add(-time.Second)
	}
	return time.Time{}
}

func wallClock(t time.Time, offset int) time.Time { return t.UTC().Add(offsetDuration(offset)) }

func offsetDuration(n int) time.Duration { return time.Duration(n) * time.Second }

func (o opening) closingTime(now time.Time) time.Time {
	// Some opening is after low; none is after high.
	low, high := now.Add(-o.length), now
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2)
		if next := o.nextOpening(middle); next.IsZero() || next.After(now) {
			high = middle
		} else {
			low = middle
		}
	}
	return o.nextOpening(low).Add(o.length)
}
