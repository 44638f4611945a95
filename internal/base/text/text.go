// Package text formats counts and messages for sentences, and reads lengths of time.
//
// What the package keeps true: its results depend on the arguments only; nothing is escaped, which
// is left to those who know where the text is shown.
package text

import (
	"fmt"
	"regexp"
	"strings"
)

// Count returns a number with its noun: "1 file", "2 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// OneLine returns a text on one line, with single spaces between its words.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ShortCommit returns the beginning of a commit's id, for people.
func ShortCommit(id string) string { return id[:min(7, len(id))] }

// commitPrefix matches what IsCommitPrefix describes.
var commitPrefix = regexp.MustCompile(`^[0-9a-f]{4,40}$`)

// IsCommitPrefix reports whether a text may name a commit: 4 or more of the first digits of an id.
func IsCommitPrefix(id string) bool { return commitPrefix.MatchString(id) }

// Shorten returns a text that is at most limit bytes long unchanged, and the beginning of a longer
// one with an ellipsis.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

var plainShell = regexp.MustCompile(`^[A-Za-z0-9._/@:-]+$`)

// QuoteShell returns a text as one word of a shell.
func QuoteShell(text string) string {
	if plainShell.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Limit returns a text of at most so many characters unchanged, and the beginning of a longer one,
// of which the last character is an ellipsis.
func Limit(text string, characters int) string {
	if runes := []rune(text); len(runes) > characters {
		return string(runes[:max(0, characters-1)]) + "…"
	}
	return text
}

// Join lists words as in "a, b and c"; last is what stands before the last one, as in " and ".
func Join(words []string, last string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + last + words[n-1]
	}
	return strings.Join(words, "")
}

// LongestBackticks returns the length of the longest run of backticks: Markdown shows a text as
// code between longer ones.
func LongestBackticks(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		run++
		if text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
