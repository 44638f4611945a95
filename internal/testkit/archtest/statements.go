package archtest

import (
	"go/ast"
	"go/token"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// checkStatements reports statements that stand before the condition of an if and change
// what was there before: a reader looks for them in a line of their own. A variable that
// the if declares for itself may stand there.
func checkStatements(src *source) problem.List {
	var l problem.List
	src.eachFile(func(_ *pkg, f *file) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			stmt, ok := n.(*ast.IfStmt)
			if ok && stmt.Init != nil && !declares(stmt.Init) {
				l.Addf(f.pos(stmt), "", "give the statement a line of its own", "a statement is hidden in an if")
			}
			return true
		})
	})
	return l
}

func declares(s ast.Stmt) bool {
	assign, ok := s.(*ast.AssignStmt)
	return ok && assign.Tok == token.DEFINE
}
