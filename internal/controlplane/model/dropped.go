package model

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// maxProblems bounds the problems that are kept of a file, of a folder, and of a repository:
// as many that stop the environment, and as many warnings. If a folder has more that stop it,
// the rest of the folder is not read.
const maxProblems = 1000

// droppedCounts counts the problems that were found and not kept.
type droppedCounts struct {
	stops, warnings int
	files           int // that were not read
}

func (d *droppedCounts) add(o droppedCounts) {
	d.stops, d.warnings, d.files = d.stops+o.stops, d.warnings+o.warnings, d.files+o.files
}

func (d *droppedCounts) trimProblems(l problem.List) problem.List {
	kept, stops, warnings := l.Trimmed(maxProblems)
	d.stops, d.warnings = d.stops+stops, d.warnings+warnings
	return kept
}

func (c *content) isFull() bool {
	if len(c.problems) < maxProblems {
		return false
	}
	stops, _ := c.problems.Count()
	return stops >= maxProblems
}

func (c *content) countUnread(entries []tree.Entry) {
	for _, e := range entries {
		if e.IsDir() {
			c.dropped.files += e.Tree().Count()
		} else {
			c.dropped.files++
		}
	}
}

// withDropped returns the content of a layer with a problem that counts those that were not
// kept, if there are any.
func (c *content) withDropped(l Layer) *content {
	d := c.dropped
	if d == (droppedCounts{}) {
		return c
	}
	said := *c
	said.problems = c.problems[:len(c.problems):len(c.problems)]
	last := problem.Pos{Layer: l.displayName()}
	if len(c.problems) > 0 {
		last = c.problems[len(c.problems)-1].Pos
	}
	const hint = "fix those that are shown first"
	if d.warnings > 0 {
		said.problems.Warnf(last, "", hint, "and %d more", d.warnings)
	}
	switch {
	case d.files > 0:
		said.problems.Addf(last, "", hint, "and %d more here; %d files were not read, because there are too many problems", d.stops, d.files)
	case d.stops > 0:
		said.problems.Addf(last, "", hint, "and %d more", d.stops)
	}
	said.stacks.Unread = slices.Clip(said.stacks.Unread)
	said.confineToTeam(l, problem.Pos{Layer: l.displayName()})
	return &said
}

// readGuarded returns the content that read returns. If the parser panics, the content has a
// problem at pos instead.
func readGuarded(l Layer, pos problem.Pos, read func() *content) (c *content) {
	err := panics.RunLibrary("the YAML reader", func() error {
		c = read()
		return nil
	})
	if err != nil {
		c = &content{broken: true}
		c.problems.Addf(pos, "", "look for what is unusual in it", "the file cannot be read: %v", err)
	}
	c.confineToTeam(l, pos)
	c.problems, c.progress.Problems = c.dropped.trimProblems(c.problems), c.dropped.trimProblems(c.progress.Problems)
	return c
}

func (p *Parser) isCanceled() bool { return p.Canceled != nil && p.Canceled() }
