package archtest

import (
	"go/ast"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// settingsNames are how the types end that say how something is to be done.
var settingsNames = []string{"Options", "Settings", "Config"}

// checkEmbedding reports structs that embed options: whoever holds the struct then
// reaches settings that are meant for a part of it.
func checkEmbedding(src *source) problem.List {
	var l problem.List
	src.eachFile(func(_ *pkg, f *file) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if name := typeName(field.Type); len(field.Names) == 0 && isSettings(name) {
					l.Addf(f.pos(field), "", "name the field, or copy what is needed", "%s is embedded", name)
				}
			}
			return true
		})
	})
	return l
}

func isSettings(name string) bool {
	for _, end := range settingsNames {
		if strings.HasSuffix(strings.ToLower(name), strings.ToLower(end)) {
			return true
		}
	}
	return false
}

// typeName returns the name of a type without its package, "" if it has none.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return ""
}
