package kubestatus

import (
	"regexp"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// longestMessage is the greatest length of a message, in bytes.
const longestMessage = 200

var durationPattern = regexp.MustCompile(`(?:\b|^)(?:\d+(?:\.\d+)?(?:h|ms|µs|m|s))+\b`)

// cleanMessage returns a message on one line, without what changes although nothing happens, without
// what looks like a password, without what Terraform prints each time, and not longer than it is worth.
func cleanMessage(message string) string {
	message = durationPattern.ReplaceAllString(text.CleanLine(text.ShortenTerraform(message)), "#s")
	return text.Shorten(message, longestMessage-len("…"))
}
