package archtest

import (
	"go/ast"
	"go/doc"
	"go/token"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// minPackageComment is the lines that a package needs at least to say what it
// keeps true.
const minPackageComment = 3

// checkComments reports packages that do not say what they keep true, and
// exported names that do not say what they are.
func checkComments(src *source) problem.List {
	var l problem.List
	for _, p := range src.packages {
		if n := packageComment(p); n < minPackageComment {
			l.Addf(problem.Pos{File: p.dir}, "", "say what the package keeps true",
				"the package comment has %d lines, fewer than %d", n, minPackageComment)
		}
		for _, f := range p.programFiles() {
			for _, e := range exportedNames(f) {
				if !e.explains {
					l.Addf(f.pos(e.id), "", "say what it gives, in which unit or shape, and when it fails",
						"the exported %s %s has no comment", e.kind, e.id.Name)
				}
			}
		}
	}
	return l
}

// packageComment returns the number of lines of the package's comment, which may be
// in a test if the package has nothing else.
func packageComment(p *pkg) int {
	files := p.programFiles()
	if len(files) == 0 {
		files = p.files
	}
	lines := 0
	for _, f := range files {
		if doc := strings.TrimSpace(f.syntax.Doc.Text()); doc != "" {
			lines += 1 + strings.Count(doc, "\n")
		}
	}
	return lines
}

// synopsis returns the first sentence of the package's comment, without "Package name".
func (p *pkg) synopsis() string {
	for _, f := range p.files {
		if f.syntax.Doc != nil {
			var d doc.Package
			return strings.TrimPrefix(d.Synopsis(f.syntax.Doc.Text()), "Package "+f.syntax.Name.Name+" ")
		}
	}
	return ""
}

// exportedNames returns what a file exports: package-level names, and methods of
// exported types.
func exportedNames(f *file) []exported {
	var all []exported
	for _, d := range f.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch t := receiverName(d); {
			case !d.Name.IsExported():
			case t == "":
				all = append(all, exported{d.Name, "function", d.Doc != nil})
			case ast.IsExported(t):
				all = append(all, exported{d.Name, "method", d.Doc != nil})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				all = append(all, exportedSpec(d, spec)...)
			}
		}
	}
	return all
}

func exportedSpec(d *ast.GenDecl, spec ast.Spec) []exported {
	group := d.Doc != nil
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			return []exported{{s.Name, "type", group || s.Doc != nil}}
		}
	case *ast.ValueSpec:
		kind := "variable"
		if d.Tok == token.CONST {
			kind = "constant"
		}
		var all []exported
		for _, id := range s.Names {
			if id.IsExported() {
				all = append(all, exported{id, kind, group || s.Doc != nil || s.Comment != nil})
			}
		}
		return all
	}
	return nil
}
