package text

import (
	"strings"
	"time"
)

// Layouts with a zone, with a day but no zone, and of a time of day.
var (
	exactLayouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00"}
	dayLayouts   = []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05"}
	clockLayouts = []string{"15:04", time.TimeOnly}
)

var dayWords = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// ParsePast parses a past time: RFC 3339, a day with or without a time, "yesterday 17:48", "10:00"
// for the latest one, or a duration ago ("36h", "-2h", "5m ago"). The default zone is now's.
// "yesterday" alone is 24 hours ago, as in Git. The result may still be in the future.
func ParsePast(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	length := strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(text, "ago"), "-"))
	d, err := ParseDuration(length)
	if err == nil && d >= 0 {
		return now.Add(-d).Truncate(time.Second), true
	}
	at, isClock, ok := parseTime(text, now)
	if isClock && at.After(now) {
		at = at.AddDate(0, 0, -1)
	}
	return at, ok
}

// ParseNext is [ParsePast] for a future time: "18:00" is the next one, and a positive duration
// ("36h", "in 2d") is from now.
func ParseNext(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	d, err := ParseDuration(strings.TrimSpace(strings.TrimPrefix(text, "in ")))
	if err == nil && d > 0 {
		return now.Add(d).Truncate(time.Second), true
	}
	at, isClock, ok := parseTime(text, now)
	if isClock && !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, ok
}

// ParseExactTime parses RFC 3339 with optional seconds.
func ParseExactTime(text string) (time.Time, bool) {
	for _, layout := range exactLayouts {
		at, err := time.Parse(layout, text)
		if err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func parseTime(text string, now time.Time) (at time.Time, isClock, ok bool) {
	if at, ok := ParseExactTime(text); ok {
		return at, false, true
	}
	for _, layout := range dayLayouts {
		at, err := time.ParseInLocation(layout, text, now.Location())
		if err == nil {
			return at, false, true
		}
	}
	word, clock, _ := strings.Cut(text, " ")
	distance, isDay := dayWords[strings.ToLower(word)]
	if isDay && clock == "" {
		return now.AddDate(0, 0, distance).Truncate(time.Second), false, true
	}
	if !isDay {
		clock = text
	}
	for _, layout := range clockLayouts {
		c, err := time.Parse(layout, strings.TrimSpace(clock))
		if err == nil {
			year, month, day := now.AddDate(0, 0, distance).Date()
			return time.Date(year, month, day, c.Hour(), c.Minute(), c.Second(), 0, now.Location()), !isDay, true
		}
	}
	return time.Time{}, false, false
}
