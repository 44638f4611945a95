package config

import (
	"regexp"
	"strconv"
	"strings"
)

var percentage = regexp.MustCompile(`^\d{1,3}(\.\d+)?%$`)

// parsePercentage parses a percentage and returns it as a part of one; false if it is malformed.
func parsePercentage(percent string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	return n / 100, err == nil && percentage.MatchString(percent) && n <= 100
}

// ShouldVerify reports whether a rendering is to be repeated from scratch and compared. random, in
// [0, 1), is compared with the share of renderings that the settings select.
func (s *Settings) ShouldVerify(random float64) bool {
	part, ok := parsePercentage(s.Verify)
	return ok && random < part
}
