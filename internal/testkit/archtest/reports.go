package archtest

import (
	"go/ast"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// deciders are the packages that decide what happens, and report it.
var deciders = []string{"internal/reconcile/loop", "internal/reconcile/promoter"}

// checkReports reports where what decides could read a report: in a decider only report.go, which
// writes reports, names what they are made of; and nothing reads back what the store has.
func checkReports(src *source) problem.List {
	var l problem.List
	src.eachFile(func(p *pkg, f *file) {
		if !slices.Contains(deciders, p.dir) {
			return
		}
		reports := f.importName(module + "/internal/reconcile/status")
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if name := selectedName(n, reports); name != "" && name != "Store" && path.Base(f.path) != "report.go" {
				l.Addf(f.pos(n), "", "decide from a value of the package, and write the report from it in report.go", "status.%s is named outside of report.go", name)
			}
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Snapshot" {
				l.Addf(f.pos(n), "", "keep what is decided from in the package", "reports are read back")
			}
			return true
		})
	})
	return l
}
