package forge

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxComment is how many characters of a comment all forges take.
const MaxComment = maxBody

func commentLine(mark string) string { return fmt.Sprintf("<!-- fairlead-comment: %s -->", mark) }

// FormatComment returns the text of our one comment with a mark, which is not shown. A
// body that is too long for a comment of so many characters is cut.
func FormatComment(mark, body string, limit int) (string, error) {
	if err := checkMark(mark); err != nil {
		return "", err
	}
	end := "\n\n" + commentLine(mark)
	return FitMarkdown(strings.TrimSpace(unixLines(body)), limit-utf8.RuneCountInString(end)) + end, nil
}

// IsComment reports whether a comment ends with a mark.
func IsComment(text, mark string) bool {
	text = strings.TrimSpace(unixLines(text))
	return text == commentLine(mark) || strings.HasSuffix(text, "\n"+commentLine(mark))
}

// SameComment reports whether two texts of comments say the same: forges and
// browsers change how lines end.
func SameComment(a, b string) bool {
	return strings.TrimSpace(unixLines(a)) == strings.TrimSpace(unixLines(b))
}

func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
