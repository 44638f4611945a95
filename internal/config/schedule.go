package config

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	defaultInterval = time.Minute
	leastDuration   = time.Second
	// cronStep is the resolution of cron.
	cronStep = time.Minute
	// jitterPart: the default jitter is the interval divided by it.
	jitterPart = 10
)

// NextPoll returns the time of the next poll. Cron uses now's time zone. random, in [0, 1), scales
// the jitter.
func (s *Settings) NextPoll(now time.Time, random float64) time.Time {
	next := now.Add(s.Schedule.Interval)
	if s.Schedule.cron != nil {
		next = s.Schedule.cron.Next(now)
	}
	return next.Add(time.Duration(random * float64(s.Schedule.Jitter)))
}

func (c *checker) checkSchedule(s *Schedule) {
	step := cronStep
	switch {
	case c.isGiven("schedule.interval") && c.isGiven("schedule.cron"):
		c.addProblem("schedule.cron", "remove one of them", "schedule.interval is set too")
		return
	case c.isGiven("schedule.cron"):
		c.checkCron(s)
	case c.isGiven("schedule.interval"):
		c.checkLeast("schedule.interval", s.Interval)
		step = s.Interval
	default:
		s.Interval, step = defaultInterval, defaultInterval
	}
	if !c.isGiven("schedule.jitter") {
		s.Jitter = step / jitterPart
	}
	switch {
	case c.isBroken("schedule.jitter") || c.isBroken("schedule.interval"):
	case s.Jitter < 0:
		c.addProblem("schedule.jitter", "0 switches it off", "%s is negative", s.Jitter)
	case s.cron == nil && s.Jitter > step:
		c.addProblem("schedule.jitter", "a tenth of the interval is usual", "%s is longer than the interval, %s", s.Jitter, step)
	}
}

func (c *checker) checkLeast(path string, d time.Duration) {
	if d < leastDuration && !c.isBroken(path) {
		c.addProblem(path, "write 1s or more", "%s is shorter than %s", d, leastDuration)
	}
}

func (c *checker) checkCron(s *Schedule) {
	if c.isBroken("schedule.cron") {
		return
	}
	parsed, err := parseCron(s.Cron)
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), ": strconv.")
		c.addProblem("schedule.cron", `write five fields (minute, hour, day, month, weekday) as in "*/5 * * * *", or @hourly`, "%q is not a cron expression: %s", s.Cron, reason)
		return
	}
	// From this date on, every valid day is within the library's range.
	if parsed.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		c.addProblem("schedule.cron", "the date does not exist, such as 30 February", "%q never matches a date", s.Cron)
		return
	}
	s.cron = parsed
}

// parseCron rejects a time zone alone, on which the library panics.
func parseCron(expression string) (cron.Schedule, error) {
	if strings.Contains(expression, "TZ=") && !strings.Contains(expression, " ") {
		return nil, errors.New("nothing follows the time zone")
	}
	return cron.ParseStandard(expression)
}

// leastOverdue is the default minimum of OverdueAfter. It exceeds the ten minutes of a failing
// remote's pause.
const leastOverdue = 15 * time.Minute
