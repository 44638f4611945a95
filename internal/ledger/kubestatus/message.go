package kubestatus

import (
	"regexp"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// longestMessage is in bytes.
const longestMessage = 200

var durationPattern = regexp.MustCompile(`(?:\b|^)(?:\d+(?:\.\d+)?(?:h|ms|µs|m|s))+\b`)

// cleanMessage returns a short message on one line, without changing durations, passwords and the
// boilerplate of Terraform.
func cleanMessage(message string) string {
	message = durationPattern.ReplaceAllString(text.CleanLine(text.ShortenTerraform(message)), "#s")
	return text.Shorten(message, longestMessage-len("…"))
}
