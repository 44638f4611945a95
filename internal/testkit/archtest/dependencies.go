package archtest

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// testsOnly is what the page says in its second cell of a dependency that must
// not get into the program.
const testsOnly = "tests"

// checkDependencies reports imports of modules that the page gives no reason
// for, modules that only tests should need, and reasons for modules that nothing
// imports.
func checkDependencies(src *source) problem.List {
	var l problem.List
	listed := src.readTable(dependenciesSection, 0)
	used := map[int]bool{}
	for _, p := range src.packages {
		for _, f := range p.files {
			for _, i := range f.imports() {
				if !isForeign(i.path) {
					continue
				}
				d, ok := findDependency(listed, i.path)
				used[d.line] = true
				switch {
				case !ok:
					l.Addf(f.pos(i.spec), "", "do without it, or give the reason in "+pagePath,
						"%s is in a module that %q does not name", i.path, dependenciesSection)
				case d.cells[1] == testsOnly && !f.test && !isWithin(p.dir, testFolder):
					l.Addf(f.pos(i.spec), "", "the page has it for tests only", "the program imports %s", i.path)
				}
			}
		}
	}
	for _, d := range listed {
		if !used[d.line] {
			l.Addf(problem.Pos{File: pagePath, Line: d.line}, "", "remove the line", "nothing imports %s", d.cells[0])
		}
	}
	return l
}

// isForeign reports whether an import is neither ours nor of the standard library.
func isForeign(importPath string) bool {
	_, mine := moduleFolder(importPath)
	first, _, _ := strings.Cut(importPath, "/")
	return !mine && strings.Contains(first, ".")
}

func findDependency(listed []tableLine, importPath string) (tableLine, bool) {
	for _, d := range listed {
		if len(d.cells) > 1 && isWithin(importPath, d.cells[0]) {
			return d, true
		}
	}
	return tableLine{}, false
}
