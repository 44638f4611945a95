package yamldoc

import (
	"bytes"
	"regexp"
)

// ConflictHint is the hint for a conflict.
const ConflictHint = "keep one of the two sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"

var conflictMarker = regexp.MustCompile(`(?m)^<{7} `)

// ConflictLine returns the line of Git's first conflict marker in a text that is not YAML, or 0.
func ConflictLine(text []byte) int {
	at := conflictMarker.FindIndex(text)
	if at == nil {
		return 0
	}
	return 1 + bytes.Count(text[:at[0]], []byte("\n"))
}
