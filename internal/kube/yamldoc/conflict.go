package yamldoc

import (
	"bytes"
	"regexp"
)

// ConflictHint is what to do about a text that [ConflictLine] finds.
const ConflictHint = "keep one of the two sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"

var conflictMarker = regexp.MustCompile(`(?m)^<{7} `)

// ConflictLine returns the line of the first conflict that Git has left in a text that is not YAML; 0
// if there is none.
func ConflictLine(text []byte) int {
	at := conflictMarker.FindIndex(text)
	if at == nil {
		return 0
	}
	return 1 + bytes.Count(text[:at[0]], []byte("\n"))
}
