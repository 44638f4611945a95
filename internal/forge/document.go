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

// Document is the body of a pull request or issue of ours: the text, and below it
// what we must know of it.
type Document struct {
	Text   string
	Mark   string
	Labels []string // that we gave it, sorted
	Reason string   // why we closed it, one line
	// MergeReason is why a person merged it, one line.
	MergeReason string
}

// maxBody is how many characters all forges take.
const maxBody = 65536

var (
	markLine  = regexp.MustCompile(`(?m)^<!-- fairlead: (.+) -->[ \t]*$`)
	labelLine = regexp.MustCompile(`(?m)^<!-- fairlead-labels: (\[.*\]) -->[ \t]*$`)
	mergeLine = regexp.MustCompile(`(?m)^\*\*Merged:\*\* (.+)$`)
	closeLine = regexp.MustCompile(`(?m)^\*\*Closed:\*\* (.+)$`)
)

// Format returns the body. A text that is too long is cut.
func (d Document) Format() (string, error) {
	if err := checkMark(d.Mark); err != nil {
		return "", err
	}
	end := fmt.Sprintf("\n\n<!-- fairlead: %s -->", d.Mark)
	if len(d.Labels) > 0 {
		names, err := json.Marshal(d.Labels) // in which > is escaped
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

// ParseDocument understands a body. It is none of ours if it has no mark; of several
// the last one counts, as what is above it may be from outside.
func ParseDocument(body string) (Document, bool) {
	body = strings.ReplaceAll(body, "\r\n", "\n") // from GitHub's editor
	all := markLine.FindAllStringSubmatchIndex(body, -1)
	if len(all) == 0 {
		return Document{}, false
	}
	at := all[len(all)-1]
	d := Document{Text: strings.TrimSuffix(body[:at[0]], "\n\n"), Mark: body[at[2]:at[3]]}
	end := body[at[1]:]
	if m := labelLine.FindStringSubmatch(end); m != nil && json.Unmarshal([]byte(m[1]), &d.Labels) != nil {
		d.Labels = nil // a person edited it
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
