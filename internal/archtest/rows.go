package archtest

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/problem"
)

// A row is one level of the picture in docs/architecture.md: its packages know
// the packages of the rows above, and not each other.
type row struct {
	name     string // the picture's word for it
	pure     bool
	packages string // folders from the root of the module, with spaces between
}

const (
	pure   = true
	impure = false
)

// rows is the picture, from top to bottom. It also has the packages of later
// issues, so that their place is settled before they are written.
var rows = []row{
	{"words", pure, "internal/problem internal/tree internal/panics internal/pattern internal/recent"},
	{"text", pure, "internal/manifest internal/kustomize internal/templatefunc internal/kubename internal/gitname"},
	{"written", pure, "templates schemas"},
	{"written", pure, "internal/model"},
	{"wanted", pure, "internal/schedule"},
	{"wanted", pure, "internal/values"},
	{"wanted", pure, "internal/render internal/stack internal/provision"},
	{"wanted", pure, "internal/output"},
	{"wanted", pure, "internal/impact internal/explain internal/drift internal/scaffold"},
	{"progress", pure, "internal/rollout"},
	{"progress", pure, "internal/gate"},
	{"progress", pure, "internal/promote"},
	{"world", impure, "internal/parallel"},
	{"world", impure, "internal/pack"},
	{"world", impure, "internal/git/objects internal/git/wire internal/git/sign internal/git/lock internal/git/program internal/git/giturl"},
	{"world", impure, "internal/git/partial"},
	{"world", impure, "internal/git"},
	{"world", impure, "internal/forge internal/config"},
	{"world", impure, "internal/github internal/gitlab internal/gitea"},
	{"world", impure, "internal/access"},
	{"uses", impure, "internal/source internal/observe"},
	{"uses", impure, "internal/publish"},
	{"uses", impure, "internal/folders internal/ephemeral"},
	{"uses", impure, "internal/verify"},
	{"memory", impure, "internal/status internal/metrics internal/place"},
	{"run", impure, "internal/remotes"},
	{"run", impure, "internal/chain"},
	{"run", impure, "internal/cycle internal/webhook internal/doctor internal/lever"},
	{"run", impure, "internal/web"},
	{"run", impure, "internal/daemon internal/display"},
	{"run", impure, "internal/cli/frame"},
	{"run", impure, "internal/cli/levers internal/cli/audit"},
	{"run", impure, "internal/cli"},
	{"run", impure, "cmd/fairlead"},
	{"tests", pure, "internal/fleet"},
	{"tests", impure, "internal/gittest internal/giteatest"},
	{"tests", impure, "internal/golden internal/githubfake internal/gitlabfake internal/forgetest internal/crdtest internal/deploytest internal/archtest"},
}

// place is where a package stands.
type place struct {
	dir   string
	level int // index of the row
	row
}

// places gives every package of the picture, from top to bottom.
func (s *source) places() []place {
	var all []place
	for level, r := range s.rows {
		for _, dir := range strings.Fields(r.packages) {
			all = append(all, place{dir: dir, level: level, row: r})
		}
	}
	return all
}

func (s *source) placeOf(dir string) (place, bool) {
	for _, p := range s.places() {
		if p.dir == dir {
			return p, true
		}
	}
	return place{}, false
}

// checkRows reports a package that has no place, an import of a package that
// does not stand above, and a pure package that knows one that is not.
func checkRows(src *source) problem.List {
	var l problem.List
	for _, p := range src.packages {
		at, ok := src.placeOf(p.dir)
		if !ok {
			l.Addf(problem.Pos{File: p.dir}, "", "give it a row in internal/archtest/rows.go and in "+pagePath,
				"the package has no place in the picture")
			continue
		}
		for _, f := range p.code() {
			l = append(l, checkImportsOf(src, f, at)...)
		}
	}
	return l
}

func checkImportsOf(src *source, f *file, at place) problem.List {
	var l problem.List
	for _, i := range f.imports() {
		dir, ok := ours(i.path)
		if !ok {
			continue
		}
		to, known := src.placeOf(dir)
		switch {
		case known && to.level >= at.level:
			l.Addf(f.pos(i.spec), "", "data goes one way: move what both need to a row above, or pass it in",
				"%s imports %s, which does not stand above it", at.dir, dir)
		case known && at.pure && !to.pure:
			l.Addf(f.pos(i.spec), "", "a pure package gets what it needs as values",
				"%s is pure and imports %s, which is not", at.dir, dir)
		}
	}
	return l
}
