package forge

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Document is the body of our pull request or issue: a text, followed by our metadata.
type Document struct {
	Text        string
	Mark        string
	Labels      []string // that we added, sorted
	Reason      string
	MergeReason string
}

// maxBody is the number of characters that all forges accept.
const maxBody = 65536

var (
	markLine  = regexp.MustCompile(`(?m)^<!-- fairlead: (.+) -->[ \t]*$`)
	labelLine = regexp.MustCompile(`(?m)^<!-- fairlead-labels: (\[.*\]) -->[ \t]*$`)
	mergeLine = regexp.MustCompile(`(?m)^\*\*Merged:\*\* (.+)$`)
	closeLine = regexp.MustCompile(`(?m)^\*\*Closed:\*\* (.+)$`)
)

// Format returns the body. It cuts a text that is too long.
func (d Document) Format() (string, error) {
	if err := checkMark(d.Mark); err != nil {
		return "", err
	}
	end := fmt.Sprintf("\n\n<!-- fairlead: %s -->", d.Mark)
	if len(d.Labels) > 0 {
		names, err := json.Marshal(d.Labels) // json escapes >
		if err != nil {
			return "", err
		}
		end += fmt.Sprintf("\n<!-- fairlead-labels: %s -->", names)
	}
	if d.MergeReason != "" {
		end += "\n\n**Merged:** " + d.MergeReason
	}
	if d.Reason != "" {
		end += "\n\n**Closed:** " + d.Reason
	}
	return text.Limit(d.Text, maxBody-utf8.RuneCountInString(end)) + end, nil
}

func checkMark(mark string) error {
	if mark == "" || mark != strings.TrimSpace(mark) || strings.ContainsAny(mark, "\r\n") || strings.Contains(mark, "--"+">") {
		return fmt.Errorf("%q cannot be a mark in a pull request", mark)
	}
	return nil
}

// ParseDocument returns false for a body without a mark. The last mark counts: the text above it
// may come from outside.
func ParseDocument(body string) (Document, bool) {
	body = strings.ReplaceAll(body, "\r\n", "\n") // GitHub's editor writes CRLF
	all := markLine.FindAllStringSubmatchIndex(body, -1)
	if len(all) == 0 {
		return Document{}, false
	}
	at := all[len(all)-1]
	d := Document{Text: strings.TrimSuffix(body[:at[0]], "\n\n"), Mark: body[at[2]:at[3]]}
	end := body[at[1]:]
	if m := labelLine.FindStringSubmatch(end); m != nil && json.Unmarshal([]byte(m[1]), &d.Labels) != nil {
		d.Labels = nil // edited by a person
	}
	slices.Sort(d.Labels)
	if m := mergeLine.FindStringSubmatch(end); m != nil {
		d.MergeReason = m[1]
	}
	if m := closeLine.FindStringSubmatch(end); m != nil {
		d.Reason = m[1]
	}
	return d, true
}
