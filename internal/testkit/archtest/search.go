package archtest

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// riddles are names that say nothing when they are read alone at the call.
var riddles = []string{
	"at", "of", "said", "told", "given", "gone", "coming", "past", "beside", "look", "say", "tell", "give", "bring", "carry", "stand", "fares", "matters",
}

// checkSearchable reports functions that cannot be searched for: those named by a riddle,
// those named by one word and called from other files, and too many of one word over all.
// A method may have one word, since its receiver completes it.
func checkSearchable(src *source) problem.List {
	var l problem.List
	all, short := 0, 0
	for _, p := range src.packages {
		if isWithin(p.dir, testFolder) {
			continue
		}
		for _, f := range p.programFiles() {
			for _, d := range f.syntax.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				all++
				if isOneWord(fn.Name.Name) {
					short++
				}
				l = append(l, checkSearch(p, f, fn)...)
			}
		}
	}
	if most := all * src.limits.oneWord / 100; short > most {
		l.Addf(problem.Pos{File: "internal"}, "", "name functions by a verb and an object",
			"%d of %d functions are named by one lower-case word, more than %d %%", short, all, src.limits.oneWord)
	}
	return l
}

func checkSearch(p *pkg, f *file, fn *ast.FuncDecl) problem.List {
	var l problem.List
	name := fn.Name.Name
	switch {
	case slices.Contains(riddles, strings.ToLower(name)):
		l.Addf(f.pos(fn), "", "name it by a verb and an object", "%s says nothing when it is read alone", name)
	case fn.Recv == nil && isOneWord(name) && usedElsewhere(p, f, name):
		l.Addf(f.pos(fn), "", "name it by a verb and an object", "%s is called from other files, and is one word", name)
	}
	return l
}

func isOneWord(name string) bool {
	return name == strings.ToLower(name) && !strings.Contains(name, "_") && name != "main"
}

// usedElsewhere reports whether another file of the package uses a name that it does not
// declare itself.
func usedElsewhere(p *pkg, own *file, name string) bool {
	for _, f := range p.programFiles() {
		if f == own || f.importsAs(name) {
			continue
		}
		for _, id := range f.syntax.Unresolved {
			if id.Name == name {
				return true
			}
		}
	}
	return false
}

func (f *file) importsAs(name string) bool {
	return slices.ContainsFunc(f.imports(), func(i imported) bool { return i.name == name })
}
