package answer

import (
	"cmp"
	"slices"
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
	// Ahead are the commits of the base that only one of them has.
	Ahead []AheadCommits `json:"ahead,omitempty"`
}

// AheadCommits are commits of the base that one environment has, and another one does not.
type AheadCommits struct {
	Environment string   `json:"environment"`
	Commits     []Commit `json:"commits"` // newest first
}

// Differences returns a report as an answer, whose text has limit bytes at most.
func (s Source) Differences(r drift.Report, limit int) Differences {
	lines := r.Text()
	answer := Differences{From: r.From, To: r.To, Text: CleanText(lines[:min(len(lines), limit)]), Topics: []drift.Topic{}}
	for _, t := range r.Topics {
		shown := drift.Topic{Name: t.Name, Count: t.Count, Findings: []drift.Finding{}}
		findings := slices.Clone(t.Findings) // those that nobody means first
		slices.SortStableFunc(findings, func(a, b drift.Finding) int {
			return cmp.Compare(slices.Index(drift.Meanings(), a.Meaning), slices.Index(drift.Meanings(), b.Meaning))
		})
		for _, f := range findings[:min(len(findings), maxFindings)] {
			f.Change, f.Because, f.Names = CleanText(f.Change), CleanText(f.Because), list.Convert(f.Names, CleanText)
			shown.Findings = append(shown.Findings, f)
		}
		answer.Topics = append(answer.Topics, shown)
	}
	if r.Base != nil {
		for _, side := range []struct {
			name    string
			commits []drift.Commit
		}{{r.From, r.Base.OnlyFrom}, {r.To, r.Base.OnlyTo}} {
			if len(side.commits) > 0 {
				answer.Ahead = append(answer.Ahead, AheadCommits{side.name, s.describeTitles(side.commits)})
			}
		}
	}
	return answer
}

// describeTitles returns the newest of some commits of the base, of which the title is known.
func (s Source) describeTitles(all []drift.Commit) (commits []Commit) {
	for _, c := range all[:min(len(all), maxFindings)] {
		one := *s.describeCommit(c.ID)
		one.Subject = CleanText(c.Title)
		commits = append(commits, one)
	}
	return commits
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
