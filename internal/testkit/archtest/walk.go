package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// walkSection tells how one change goes through the program, a step a line.
const walkSection = "## The walk of one change"

var (
	walkStep = regexp.MustCompile(`^\d+\. `)
	// declaredName is what the page calls a function or a type of ours: `pkg.Name` or
	// `pkg.Type.Name`.
	declaredName = regexp.MustCompile("`([a-z]+)\\.([A-Za-z]+(?:\\.[A-Za-z]+)?)`")
)

// checkWalk reports steps of the walk that name no function to open, and names of our
// packages anywhere on the page that the source does not declare.
func checkWalk(src *source) problem.List {
	var l problem.List
	declared := src.declarations()
	in, steps, unnamed := false, 0, 0 // the line of a step that has named no function yet
	endStep := func() {
		if unnamed > 0 {
			l.Addf(problem.Pos{File: pagePath, Line: unnamed}, "", "name the function to open, as `pkg.Type.Name`", "the step names no function")
		}
		unnamed = 0
	}
	for i, text := range strings.Split(string(src.page), "\n") {
		if strings.HasPrefix(text, "## ") {
			endStep()
			in = text == walkSection
		}
		if in && walkStep.MatchString(text) {
			endStep()
			steps, unnamed = steps+1, i+1
		}
		for _, m := range declaredName.FindAllStringSubmatch(text, -1) {
			unnamed = 0
			if names, ours := declared[m[1]]; ours && !slices.Contains(names, m[2]) {
				l.Addf(problem.Pos{File: pagePath, Line: i + 1}, "", "name the function as it is called today", "there is no %s.%s", m[1], m[2])
			}
		}
	}
	endStep()
	if steps == 0 {
		l.Addf(problem.Pos{File: pagePath}, "", "tell how one change goes through the program", "%q has no steps", walkSection)
	}
	return l
}

// declarations returns what each package declares, by the package's name: functions,
// types, and methods as "Type.Method".
func (s *source) declarations() map[string][]string {
	all := map[string][]string{}
	s.eachFile(func(_ *pkg, f *file) {
		name := f.syntax.Name.Name
		for _, d := range f.syntax.Decls {
			if gen, ok := d.(*ast.GenDecl); ok {
				all[name] = append(all[name], specNames(gen)...)
				continue
			}
			all[name] = append(all[name], declName(d))
		}
	})
	return all
}

func specNames(d *ast.GenDecl) []string {
	var all []string
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			all = append(all, spec.Name.Name)
			for _, id := range memberNames(spec.Type) {
				all = append(all, spec.Name.Name+"."+id.Name)
			}
		case *ast.ValueSpec:
			for _, id := range spec.Names {
				all = append(all, id.Name)
			}
		}
	}
	return all
}

// memberNames returns the fields of a struct, and the methods of an interface.
func memberNames(t ast.Expr) []*ast.Ident {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	var all []*ast.Ident
	for _, field := range list.List {
		all = append(all, field.Names...)
	}
	return all
}
