package text

import (
	"strings"
	"time"
)

// Layouts that name a zone, layouts of a day and a time of day that do not, and layouts of a time of day.
var (
	exactLayouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00"}
	dayLayouts   = []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05"}
	clockLayouts = []string{"15:04", time.TimeOnly}
)

// dayWords are words for days, as their distance from today.
var dayWords = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// ParsePast parses a time as people write one that is over: a time of RFC 3339, a day, a day and a time of day, "yesterday
// 17:48", "10:00" for the last time it was, or a duration before now, "36h", "-2h" or "5m ago". What names no zone is in the
// zone of now. A day is its beginning. As in Git, "yesterday" alone is 24 hours ago. It reports whether the text is a time,
// which may still be in the future.
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

// ParseNext parses a time as people write one that is to come: like [ParsePast], but "18:00" is the next time it will be, and
// a duration, "36h" or "in 2d", is from now, and not zero.
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

// ParseExactTime parses a time of RFC 3339, with or without seconds, and reports whether the text is one.
func ParseExactTime(text string) (time.Time, bool) {
	for _, layout := range exactLayouts {
		at, err := time.Parse(layout, text)
		if err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// parseTime parses a time, or a time of today, which isClock reports.
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
