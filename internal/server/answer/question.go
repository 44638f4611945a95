package answer

import (
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Explanation is the answer of /api/v1/explain: what fairlead explain prints.
type Explanation struct {
	Environment string `json:"environment"`
	Query       string `json:"query"`
	Text        string `json:"text"`
}

// Differences is the answer of /api/v1/diff: what fairlead diff prints of two environments.
type Differences struct {
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"`
}

// CleanText returns a text of several lines without control characters, and without what looks like a
// password or a token: everyone who reaches the page may read it.
func CleanText(lines string) string {
	return text.MaskSecrets(strings.Map(func(c rune) rune {
		if c != '\n' && (unicode.IsControl(c) || !unicode.IsPrint(c) && !unicode.IsSpace(c)) {
			return ' '
		}
		return c
	}, lines))
}
