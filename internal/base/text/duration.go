package text

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var days = regexp.MustCompile(`[0-9]+(\.[0-9]+)?d`)

// ParseDuration is [time.ParseDuration] with days of 24 hours: "7d", "1d12h".
func ParseDuration(text string) (time.Duration, error) {
	return time.ParseDuration(days.ReplaceAllStringFunc(text, func(d string) string {
		n, err := strconv.ParseFloat(d[:len(d)-1], 64)
		if err != nil { // out of range
			return d
		}
		return strconv.FormatFloat(24*n, 'f', -1, 64) + "h"
	}))
}

// FormatDuration omits trailing zeros: "30m" instead of "30m0s".
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
