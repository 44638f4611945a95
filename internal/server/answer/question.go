package answer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Explanation is the answer of /api/v1/explain: what fairlead explain prints, and the same in sections.
type Explanation struct {
	Environment string             `json:"environment"`
	Query       string             `json:"query"`
	Text        string             `json:"text"`
	Title       string             `json:"title"`
	Sections    []ExplainedSection `json:"sections"`
	// Cut reports whether there is more than the sections have.
	Cut bool `json:"cut,omitempty"`
	// Proposed is the open pull request by which clusters get what is explained; nil if they have it.
	Proposed *status.Pull `json:"proposed,omitempty"`
	// Past is the output that is explained, where a moment in the past was asked about.
	Past []PastOutput `json:"past,omitempty"`
}

// ExplainedSection is a part of an explanation; the first has no heading if it is about the title.
type ExplainedSection struct {
	Heading string           `json:"heading,omitempty"`
	Tables  []ExplainedTable `json:"tables"`
}

// ExplainedTable is rows of cells, indented by Depth steps.
type ExplainedTable struct {
	Depth int               `json:"depth"`
	Rows  [][]ExplainedCell `json:"rows"`
}

// ExplainedCell is a text, the question that explains it, and the page of the line that it names.
type ExplainedCell struct {
	Text  string `json:"text"`
	Query string `json:"query,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Explanation returns what explains something in an environment, whose text has limit bytes at most.
func (s Source) Explanation(environment, query string, d explain.Document, limit int) Explanation {
	lines := d.Text()
	answer := Explanation{
		Environment: environment, Query: query, Text: CleanText(lines[:min(len(lines), limit)]),
		Title: CleanText(d.Title), Sections: []ExplainedSection{}, Cut: len(lines) > limit,
	}
	if e, _ := s.Snapshot.FindEnvironment(environment); e.State != status.InSync && e.Proposed != nil {
		answer.Proposed = e.Pull
	}
	for _, section := range d.Sections {
		shown := ExplainedSection{Heading: CleanText(section.Heading), Tables: []ExplainedTable{}}
		for _, t := range section.Tables {
			rows := [][]ExplainedCell{}
			for _, row := range t.Rows {
				for _, c := range row {
					limit -= len(c.Text)
				}
				if limit < 0 {
					break
				}
				rows = append(rows, list.Convert(row, func(c explain.Cell) ExplainedCell {
					return ExplainedCell{CleanText(c.Text), CleanText(c.Query), s.findPlacePage(environment, c.At)}
				}))
			}
			shown.Tables = append(shown.Tables, ExplainedTable{t.Depth, rows})
		}
		answer.Sections = append(answer.Sections, shown)
	}
	return answer
}

// Differences is the answer of /api/v1/diff: what fairlead diff prints of two environments, and the same by topic.
type Differences struct {
	From   string        `json:"from"`
	To     string        `json:"to"`
	Text   string        `json:"text"`
	Topics []drift.Topic `json:"topics"`
	// Kind is the name of the topic that was asked for; "" for all. Counts has all that differ, whatever is asked for.
	Kind   string         `json:"kind,omitempty"`
	Counts map[string]int `json:"counts"`
	// Ahead are the commits of the base that only one of them has.
	Ahead []AheadCommits `json:"ahead,omitempty"`
	// Past are the outputs of the moments in the past that were asked about.
	Past []PastOutput `json:"past,omitempty"`
	// Proposed are the environments that are compared as an open pull request proposes them.
	Proposed []ProposedSide `json:"proposed,omitempty"`
}

// ProposedSide is an environment that is compared as its open pull request proposes it.
type ProposedSide struct {
	Environment string      `json:"environment"`
	Pull        status.Pull `json:"pull"`
	// Runs is the commit whose output is merged; nil if it is not known, or the one that is proposed.
	Runs *Commit `json:"runs,omitempty"`
}

// listProposed returns those of the sides of a comparison that are compared as a pull request proposes them.
func (s Source) listProposed(sides ...string) (all []ProposedSide) {
	for _, name := range sides {
		e, _ := s.Snapshot.FindEnvironment(name)
		if e.State == status.InSync || e.Proposed == nil || e.Pull == nil {
			continue
		}
		one := ProposedSide{Environment: name, Pull: *e.Pull}
		if stage, promoted := s.Snapshot.Chain.FindStage(name); promoted && !stage.Merged {
			one.Runs = s.describeCommit(s.findRunning(stage))
		}
		all = append(all, one)
	}
	return all
}

// AheadCommits are commits of the base that one environment has, and another one does not.
type AheadCommits struct {
	Environment string   `json:"environment"`
	Commits     []Commit `json:"commits"` // newest first
}

// Differences returns a report as an answer, whose text has limit bytes at most, with the topic of a name; "" for all.
func (s Source) Differences(r drift.Report, kind string, limit int) Differences {
	answer := Differences{From: r.From, To: r.To, Topics: []drift.Topic{}, Kind: kind, Counts: map[string]int{}, Proposed: s.listProposed(r.From, r.To)}
	for _, t := range r.Topics {
		answer.Counts[t.Name] = t.Count
	}
	if kind != "" {
		r.Topics = slices.DeleteFunc(slices.Clone(r.Topics), func(t drift.Topic) bool { return t.Name != kind })
	}
	lines := r.Text()
	if kind != "" && len(r.Topics) == 0 {
		lines = r.From + " and " + r.To + " do not differ in " + kind + "\n"
	}
	answer.Text = CleanText(lines[:min(len(lines), limit)])
	for _, t := range r.Topics {
		shown := drift.Topic{Name: t.Name, Count: t.Count, Findings: []drift.Finding{}}
		findings := slices.Clone(t.Findings) // those that nobody means first
		slices.SortStableFunc(findings, func(a, b drift.Finding) int {
			return cmp.Compare(slices.Index(drift.Meanings(), a.Meaning), slices.Index(drift.Meanings(), b.Meaning))
		})
		for _, f := range findings[:min(len(findings), maxFindings)] {
			f.Commits = s.findBringing(f, r.Base)
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

// findBringing returns the ids of the commits that only one side has, and that change the file which makes a
// difference: it is there until the other side has them.
func (s Source) findBringing(f drift.Finding, base *drift.Base) (ids []string) {
	if base == nil || f.Meaning != drift.OnItsWay {
		return nil
	}
	for _, c := range slices.Concat(base.OnlyFrom, base.OnlyTo) {
		known := s.Snapshot.Chain.FindCommit(c.ID)
		if slices.ContainsFunc(known.Paths, func(path string) bool { return slices.Contains(f.Files, "base/"+path) }) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// describeTitles returns the newest of some commits of the base, of which the title is known.
func (s Source) describeTitles(all []drift.Commit) (commits []Commit) {
	for _, c := range all[:min(len(all), maxFindings)] {
		one := *s.describeCommit(c.ID)
		one.Subject, one.Unrendered = CleanText(c.Title), c.Unrendered
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
