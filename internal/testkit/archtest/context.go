package archtest

import (
	"go/ast"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// checkContext reports a context that is kept in a struct, or is a parameter but
// not the first.
func checkContext(src *source) problem.List {
	var l problem.List
	src.eachFile(func(_ *pkg, f *file) {
		name := f.importName("context")
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if isContext(field.Type, name) {
						l.Addf(f.pos(field), "", "pass it to the methods that need it", "a context is kept in a struct")
					}
				}
			case *ast.FuncType:
				for i, param := range n.Params.List {
					if isContext(param.Type, name) && (i > 0 || len(param.Names) > 1) {
						l.Addf(f.pos(param), "", "put ctx first", "the context is not the first parameter")
					}
				}
			}
			return true
		})
	})
	return l
}

func isContext(t ast.Expr, name string) bool { return selectedName(t, name) == "Context" }
