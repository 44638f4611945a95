package model

import (
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// maxProblems bounds what is said of a file, of a folder, and of a repository: as many
// problems that stop the environment, and as many warnings. In a folder with more that stop
// it, the rest is not read.
const maxProblems = 1000

// dropped is what was found and is not said.
type dropped struct {
	stops, warnings int
	files           int // that were not read
}

func (d *dropped) add(o dropped) {
	d.stops, d.warnings, d.files = d.stops+o.stops, d.warnings+o.warnings, d.files+o.files
}

// trim keeps the first problems of a list, and counts the others.
func trim(l problem.List, d *dropped) problem.List {
	if len(l) <= maxProblems {
		return l
	}
	kept := make(problem.List, 0, 2*maxProblems)
	stops, warnings := 0, 0
	for _, p := range l {
		switch {
		case p.Warning && warnings < maxProblems:
			warnings++
		case !p.Warning && stops < maxProblems:
			stops++
		case p.Warning:
			d.warnings++
			continue
		default:
			d.stops++
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// isFull reports whether enough was found that stops the environment.
func (c *content) isFull() bool {
	if len(c.problems) < maxProblems {
		return false
	}
	stops, _ := c.problems.Count()
	return stops >= maxProblems
}

// skip counts what is not read of a folder from an entry on.
func (c *content) skip(entries []tree.Entry) {
	for _, e := range entries {
		if e.IsDir() {
			c.dropped.files += e.Tree().Count()
		} else {
			c.dropped.files++
		}
	}
}

// withDropped returns the content of a layer with what was found and is not said; of which
// there is mostly nothing.
func (c *content) withDropped(l Layer) *content {
	d := c.dropped
	if d == (dropped{}) {
		return c
	}
	said := *c
	said.problems = c.problems[:len(c.problems):len(c.problems)]
	last := problem.Pos{Layer: l.display()}
	if len(c.problems) > 0 {
		last = c.problems[len(c.problems)-1].Pos
	}
	const hint = "mend those that are shown first"
	if d.warnings > 0 {
		said.problems.Warnf(last, "", hint, "and %d more", d.warnings)
	}
	switch {
	case d.files > 0:
		said.problems.Addf(last, "", hint, "and %d more here, and %d files are not read, because there are so many problems", d.stops, d.files)
	case d.stops > 0:
		said.problems.Addf(last, "", hint, "and %d more", d.stops)
	}
	return &said
}

// contain reads something into a content, or reports at a place that the parser panicked.
func contain(at problem.Pos, read func() *content) (c *content) {
	err := panics.Library("the YAML reader", func() error {
		c = read()
		return nil
	})
	if err != nil {
		c = &content{}
		c.problems.Addf(at, "", "look for what is unusual in it", "the file cannot be read: %v", err)
	}
	c.problems = trim(c.problems, &c.dropped)
	c.progress.Problems = trim(c.progress.Problems, &c.dropped)
	return c
}

func (p *Parser) isCanceled() bool { return p.Canceled != nil && p.Canceled() }

// unread returns what a layer holds whose reading was canceled.
func unread(l Layer) *content {
	c := &content{}
	c.problems.Addf(problem.Pos{Layer: l.display()}, "", "", "it was not read to the end, because the program ends")
	return c
}
