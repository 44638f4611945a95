package archtest

import (
	"go/ast"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// sizes are the most lines that a file and a function may have, the most methods of a type, and how
// many of a hundred functions may be named by one word; tests are not counted.
type sizes struct{ file, function, methods, oneWord int }

var limits = sizes{file: 500, function: 80, methods: 40, oneWord: 12}

// checkSizes reports files and functions that have grown too large to be read in
// one go.
func checkSizes(src *source) problem.List {
	var l problem.List
	for _, p := range src.packages {
		for _, f := range p.programFiles() {
			if most := src.limits.file; f.lines > most {
				l.Addf(problem.Pos{File: f.path}, "", "split it by noun", "the file has %d lines, more than %d", f.lines, most)
			}
			l = append(l, longFunctions(f, src.limits.function)...)
		}
	}
	return l
}

func longFunctions(f *file, most int) problem.List {
	var l problem.List
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			if lines := f.line(n.End()) - f.line(n.Pos()) + 1; lines > most {
				l.Addf(f.pos(n), "", "give its steps names", "the function has %d lines, more than %d", lines, most)
			}
		}
		return true
	})
	return l
}
