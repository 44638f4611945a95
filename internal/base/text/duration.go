package text

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var days = regexp.MustCompile(`[0-9]+(\.[0-9]+)?d`)

// ParseDuration parses a length of time as [time.ParseDuration] does, and also knows days, of 24
// hours: "7d", "1d12h".
func ParseDuration(text string) (time.Duration, error) {
	return time.ParseDuration(days.ReplaceAllStringFunc(text, func(d string) string {
		n, err := strconv.ParseFloat(d[:len(d)-1], 64)
		if err != nil { // out of range
			return d
		}
		return strconv.FormatFloat(24*n, 'f', -1, 64) + "h"
	}))
}

// FormatDuration writes a duration without trailing zeros: "30m", where String returns "30m0s".
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
