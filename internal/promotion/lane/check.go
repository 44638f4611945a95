package lane

import (
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// maxProblems bounds the problems of a partition.
const maxProblems = 20

// Check returns the problems of a partition with the files of the base, and with its templates: files that two lanes have,
// patterns that match nothing, and templates in a lane. of is the object that defines the lanes.
func (p Partition) Check(files tree.Tree, templates []*model.Template, of *model.Object) problem.List {
	c := checker{matched: map[*pattern]bool{}, reported: map[[2]*pattern]bool{}, of: of}
	all := make([]*pattern, len(p.patterns))
	for i := range p.patterns {
		all[i] = &p.patterns[i]
	}
	c.checkFolder("", 0, files, all)
	for _, m := range all {
		if !c.matched[m] {
			c.problems.Warnf(m.written, of.Subject(), "correct it, or remove it", "the path %s matches nothing in the base", m.text)
		}
	}
	for _, t := range templates {
		if lane := p.FindLane(t.Pos.File); t.Pos.Layer == "base" && lane != Platform {
			c.problems.Addf(t.Pos, t.Subject(), "move it out of the paths of the lane", "lane %s has a template, and templates belong to the platform: workloads of other lanes may use them", lane)
		}
	}
	return c.problems.Capped(maxProblems)
}

// checker matches files with patterns.
type checker struct {
	of       *model.Object
	matched  map[*pattern]bool
	reported map[[2]*pattern]bool
	problems problem.List
}

func (c *checker) checkFolder(folder string, depth int, files tree.Tree, patterns []*pattern) {
	for _, e := range files.Entries() {
		at := path.Join(folder, e.Name)
		var deeper, matching []*pattern
		for _, m := range patterns {
			if depth < len(m.parts) {
				if is, _ := path.Match(m.parts[depth], e.Name); !is {
					continue
				}
			}
			deeper = append(deeper, m)
			c.matched[m] = c.matched[m] || m.lane == "" && depth == len(m.parts)-1 // its folder exists
			if m.findLane(strings.Split(at, "/")) != Platform {
				matching = append(matching, m)
			}
		}
		for i, m := range matching {
			c.matched[m] = true
			if other := matching[0]; i > 0 && other.lane != m.lane && !c.reported[[2]*pattern{other, m}] {
				c.reported[[2]*pattern{other, m}] = true
				c.problems.Addf(m.written, c.of.Subject(), "change the paths so that it belongs to one lane", "%s belongs to two lanes: %s by %s, and %s by %s", at, other.lane, other.text, m.lane, m.text)
			}
		}
		isSettled := len(deeper) == 1 && len(matching) == 1
		if e.IsDir() && len(deeper) > 0 && !isSettled {
			c.checkFolder(at, depth+1, e.Tree(), deeper)
		}
	}
}
