package answer

import (
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/drift"
)

// Explanation is the answer of /api/v1/explain: what fairlead explain prints.
type Explanation struct {
	Environment string `json:"environment"`
	Query       string `json:"query"`
	Text        string `json:"text"`
}

// Differences is the answer of /api/v1/diff: what fairlead diff prints of two environments, and the same by topic.
type Differences struct {
	From   string        `json:"from"`
	To     string        `json:"to"`
	Text   string        `json:"text"`
	Topics []drift.Topic `json:"topics"`
}

// NewDifferences returns a report as an answer, whose text has limit bytes at most.
func NewDifferences(r drift.Report, limit int) Differences {
	lines := r.Text()
	answer := Differences{From: r.From, To: r.To, Text: CleanText(lines[:min(len(lines), limit)]), Topics: []drift.Topic{}}
	for _, t := range r.Topics {
		shown := drift.Topic{Name: t.Name, Count: t.Count, Findings: []drift.Finding{}}
		for _, f := range t.Findings[:min(len(t.Findings), maxFindings)] {
			f.Change, f.Because, f.Names = CleanText(f.Change), CleanText(f.Because), list.Convert(f.Names, CleanText)
			shown.Findings = append(shown.Findings, f)
		}
		answer.Topics = append(answer.Topics, shown)
	}
	return answer
}

// maxFindings is how many differences of a topic have links; the text has more.
const maxFindings = 50

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
