package kubestatus

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// longestMessage is the greatest length of a message, in bytes.
const longestMessage = 200

var (
	durationPattern = regexp.MustCompile(`(?:\b|^)(?:\d+(?:\.\d+)?(?:h|ms|µs|m|s))+\b`)
	secretPattern   = regexp.MustCompile(`(?i)\b([a-z_-]*(?:password|passwd|token|secret|apikey|api_key|api-key))(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s"',;&]+)`)
	userPattern     = regexp.MustCompile(`(://[^/\s:@]*):[^/\s@]+@`)
)

// cleanMessage returns a message on one line, without what changes although nothing happens, without
// what looks like a password, and not longer than it is worth.
func cleanMessage(message string) string {
	message = text.OneLine(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			return ' '
		}
		return c
	}, message))
	message = secretPattern.ReplaceAllString(message, "$1$2***")
	message = userPattern.ReplaceAllString(message, "$1:***@")
	message = durationPattern.ReplaceAllString(message, "#s")
	return text.Shorten(message, longestMessage-len("…"))
}
