package archtest

import (
	"go/ast"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// allowances are what a rule lets through: from a place, "file.go: Func", to the
// reason why.
type allowances map[string]string

// eachNode calls visit for every node of the program and its tests, with the place it is in.
func eachNode(src *source, visit func(f *file, place string, n ast.Node)) {
	for _, p := range src.packages {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				place := f.path + ": " + declName(d)
				ast.Inspect(d, func(n ast.Node) bool {
					if n != nil {
						visit(f, place, n)
					}
					return true
				})
			}
		}
	}
}

// checkExcept reports what found says of each node, but for the places on the list;
// and the places on the list where found says nothing any more.
func (a allowances) checkExcept(src *source, list string, found func(f *file, n ast.Node) problem.List) problem.List {
	var l problem.List
	used := map[string]bool{}
	eachNode(src, func(f *file, place string, n ast.Node) {
		problems := found(f, n)
		if _, allowed := a[place]; !allowed {
			l = append(l, problems...)
		} else if len(problems) > 0 {
			used[place] = true
		}
	})
	for _, place := range slices.Sorted(maps.Keys(a)) {
		if !used[place] {
			l.Addf(problem.Pos{File: list}, "", "remove it from the list", "nothing needs the exception for %s", place)
		}
	}
	return l
}

// declName returns the name of a function or a method, "Type.Method"; "" for
// other declarations.
func declName(d ast.Decl) string {
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if t := receiverName(fn); t != "" {
		return t + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// receiverName returns the name of a method's type, "" for a function.
func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
