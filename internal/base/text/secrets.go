package text

import (
	"regexp"
	"strings"
	"unicode"
)

var userPattern = regexp.MustCompile(`://[^/\s"'<>]+@`)

var secretPatterns = []struct {
	pattern *regexp.Regexp
	masked  string
}{
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{16,}`), "$1 ***"},
	{regexp.MustCompile(`(?i)\b([a-z_-]*(?:password|passwd|token|secret|apikey|api_key|api-key|signature))(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s"',;&]+)`), "$1$2***"},
	{regexp.MustCompile(`\b(?:gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AKIA)[A-Za-z0-9_-]{16,}`), "***"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), "***"},
}

// CleanLine returns a text from outside as one printable line, with secrets masked.
func CleanLine(text string) string {
	text = OneLine(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			return ' '
		}
		return c
	}, text))
	return MaskSecrets(text)
}

// MaskSecrets masks what looks like a password or token, also in URLs.
func MaskSecrets(text string) string {
	text = userPattern.ReplaceAllStringFunc(text, func(user string) string {
		if user == "://git@" {
			return user
		}
		return "://***@"
	})
	for _, p := range secretPatterns {
		text = p.pattern.ReplaceAllString(text, p.masked)
	}
	return text
}
