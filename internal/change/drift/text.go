package drift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

const (
	maxTitles  = 10
	shownNames = 5
)

// Text returns the report for a terminal: a line per topic, then findings. The caller
// must escape texts of the control plane.
func (r Report) Text() string {
	if r.IsEmpty() {
		return fmt.Sprintf("%s and %s do not differ\n", r.From, r.To)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s → %s\n", r.From, r.To)
	if r.Base != nil {
		fmt.Fprintf(&b, "  base commit: %s\n", r.Base.summaryText(r))
	}
	for _, t := range r.Topics {
		fmt.Fprintf(&b, "  %s: %s\n", t.Name, t.Summary(r.From, r.To))
	}
	if r.Shared > 0 {
		fmt.Fprintf(&b, "  files: the same in %d of %s that both have\n", r.Same, text.Count(r.Shared, "assignment"))
	}
	r.Base.writeText(&b, r)
	for _, t := range r.Topics {
		fmt.Fprintf(&b, "\n%s\n", t.Name)
		for _, f := range t.Findings {
			f.writeText(&b)
		}
	}
	return b.String()
}

type sideCommits struct {
	name    string
	commits []Commit
}

func (s sideCommits) countUnrendered() (n int) {
	for _, c := range s.commits {
		if c.Unrendered {
			n++
		}
	}
	return n
}

func (c *Base) sidesOf(r Report) []sideCommits {
	return []sideCommits{{r.From, c.OnlyFrom}, {r.To, c.OnlyTo}}
}

func (c *Base) summaryText(r Report) string {
	var parts []string
	for _, side := range c.sidesOf(r) {
		if n := len(side.commits); n > 0 {
			more := fmt.Sprintf("%s has %s more", side.name, text.Count(n, "commit"))
			if idle := side.countUnrendered(); idle > 0 {
				more += fmt.Sprintf(" (%d change nothing that is rendered)", idle)
			}
			parts = append(parts, more)
		}
	}
	if parts == nil {
		return fmt.Sprintf("%s has %s, %s has %s", r.From, shortID(c.From), r.To, shortID(c.To))
	}
	return strings.Join(parts, ", ")
}

func (c *Base) writeText(b *strings.Builder, r Report) {
	if c == nil {
		return
	}
	fmt.Fprintf(b, "\nbase commit\n  %s has %s, %s has %s\n", r.From, shortID(c.From), r.To, shortID(c.To))
	for _, side := range c.sidesOf(r) {
		for _, one := range side.commits[:min(len(side.commits), maxTitles)] {
			fmt.Fprintf(b, "  only in %s: %s %s\n", side.name, shortID(one.ID), one.Title)
		}
		if more := len(side.commits) - maxTitles; more > 0 {
			fmt.Fprintf(b, "  only in %s: and %d more\n", side.name, more)
		}
	}
}

func shortID(commit string) string { return cmp.Or(text.ShortCommit(commit), "none") }

// Summary returns the counts of objects in one environment only, and of differences.
func (t Topic) Summary(from, to string) string {
	counts := map[string]int{}
	for _, f := range t.Findings {
		counts[f.Only] += f.Count
	}
	var parts []string
	for _, name := range []string{from, to} {
		if n := counts[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d only in %s", n, name))
		}
	}
	if counts[""] > 0 {
		changes := len(slices.DeleteFunc(slices.Clone(t.Findings), func(f Finding) bool { return f.Only != "" }))
		parts = append(parts, fmt.Sprintf("%s in %s", text.Count(changes, "difference"), text.Count(counts[""], "place")))
	}
	return strings.Join(parts, ", ")
}

func (f Finding) writeText(b *strings.Builder) {
	what := f.Change
	if f.Only != "" {
		what = "only in " + f.Only
	}
	names := strings.Join(f.Names[:min(len(f.Names), shownNames)], ", ")
	switch more := f.Count - min(len(f.Names), shownNames); {
	case names == "":
		fmt.Fprintf(b, "  %s: %d\n", what, f.Count)
	case more > 0:
		fmt.Fprintf(b, "  %s: %d, %s and %d more\n", what, f.Count, names, more)
	default:
		fmt.Fprintf(b, "  %s: %s\n", what, names)
	}
	if f.Because != "" {
		fmt.Fprintf(b, "      %s\n", f.Because)
	}
}
