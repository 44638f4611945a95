// Package text formats counts and messages, and parses times.
//
// What the package keeps true: results depend only on the arguments. Nothing is escaped, which the
// place of display decides.
package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Count returns a number with its noun: "1 file", "2 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// OneLine replaces white space, and what controls terminals or the direction of text, by single spaces.
func OneLine(text string) string { return strings.Join(strings.FieldsFunc(text, separates), " ") }

func separates(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// ShortCommit abbreviates a commit id.
func ShortCommit(id string) string { return id[:min(7, len(id))] }

var commitPrefix = regexp.MustCompile(`^[0-9a-f]{4,40}$`)

// IsCommitPrefix reports whether id is 4 to 40 lower-case hex digits.
func IsCommitPrefix(id string) bool { return commitPrefix.MatchString(id) }

// IsCommit reports whether id is 40 lower-case hex digits.
func IsCommit(id string) bool { return len(id) == 40 && IsCommitPrefix(id) }

// Shorten cuts a text longer than limit bytes and appends an ellipsis.
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

// Limit cuts a text to so many characters, the last of which is an ellipsis.
func Limit(text string, characters int) string {
	if runes := []rune(text); len(runes) > characters {
		return string(runes[:max(0, characters-1)]) + "…"
	}
	return text
}

// Join lists words as in "a, b and c", where last is " and ".
func Join(words []string, last string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + last + words[n-1]
	}
	return strings.Join(words, "")
}

// LongestBackticks returns the longest run of backticks: a Markdown code span needs longer
// delimiters.
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
