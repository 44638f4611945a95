package forge

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxComment is the number of characters of a comment that all forges accept.
const MaxComment = maxBody

func commentLine(mark string) string { return fmt.Sprintf("<!-- fairlead-comment: %s -->", mark) }

// FormatComment returns the text of our one comment with a hidden mark. It cuts the body to fit
// limit characters.
func FormatComment(mark, body string, limit int) (string, error) {
	if err := checkMark(mark); err != nil {
		return "", err
	}
	end := "\n\n" + commentLine(mark)
	return FitMarkdown(strings.TrimSpace(unixLines(body)), limit-utf8.RuneCountInString(end)) + end, nil
}

// IsComment reports whether a comment ends with the mark.
func IsComment(text, mark string) bool {
	text = strings.TrimSpace(unixLines(text))
	return text == commentLine(mark) || strings.HasSuffix(text, "\n"+commentLine(mark))
}

// SameComment compares texts of comments, ignoring line endings, which forges and browsers change.
func SameComment(a, b string) bool {
	return strings.TrimSpace(unixLines(a)) == strings.TrimSpace(unixLines(b))
}

func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
