package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// searches are the functions of strings and bytes that look for their second argument in the first.
var searches = []string{
	"Contains", "Count", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "HasPrefix", "HasSuffix", "Index", "LastIndex",
	"Replace", "ReplaceAll", "Split", "SplitN", "TrimPrefix", "TrimSuffix",
}

// inSentence matches a text that is in sentences: a word, and what follows it after a space. oneWord matches one that is
// searched for in sentences, where it may be anywhere.
var (
	inSentence = regexp.MustCompile(`[A-Za-z]{2,}[,:;]? `)
	oneWord    = regexp.MustCompile(`^[a-z]{3,}$`)
)

// checkSentences reports where the program searches a text for words: what Fairlead wrote has a kind or a field beside its
// words, which decides. Text of others, which has nothing else, is on the list.
func checkSentences(src *source) problem.List {
	constants := src.findConstants()
	return src.searched.checkExcept(src, "internal/testkit/archtest/searched.go", func(f *file, n ast.Node) problem.List {
		var l problem.List
		call, isCall := n.(*ast.CallExpr)
		if !isCall || f.test || isWithin(f.path, testFolder) {
			return nil
		}
		if words := f.searchedWords(call, constants); words != "" {
			l.Addf(f.pos(call), "", "look at a kind or a field; if others wrote the text, add the function to the list", "a text is searched for %q", words)
		}
		return l
	})
}

// searchedWords returns the words that a call searches a text for; "" for none.
func (f *file) searchedWords(call *ast.CallExpr, constants map[string]ast.Expr) string {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := fn.X.(*ast.Ident)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	isSearch := (of.Name == "strings" || of.Name == "bytes") && len(call.Args) > 1 && slices.Contains(searches, fn.Sel.Name)
	isPattern := of.Name == "regexp" && (fn.Sel.Name == "MustCompile" || fn.Sel.Name == "Compile")
	switch {
	case isSearch:
		return f.findWords(call.Args[1], fn.Sel.Name == "Contains", constants)
	case isPattern:
		return f.findWords(call.Args[0], false, constants)
	}
	return ""
}

// findConstants returns the constants of all packages, as "package.Name".
func (s *source) findConstants() map[string]ast.Expr {
	all := map[string]ast.Expr{}
	s.eachFile(func(_ *pkg, f *file) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			d, isDecl := n.(*ast.GenDecl)
			if !isDecl || d.Tok != token.CONST {
				return true
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				for i, value := range v.Values {
					all[f.syntax.Name.Name+"."+v.Names[i].Name] = value
				}
			}
			return false
		})
	})
	return all
}

// findWords returns the first literal of an expression, or of a constant in it, that is in sentences; "" for none. single
// reports whether one word counts.
func (f *file) findWords(e ast.Expr, single bool, constants map[string]ast.Expr) (words string) {
	ast.Inspect(e, func(n ast.Node) bool {
		var text string
		switch n := n.(type) {
		case *ast.BasicLit:
			text = literalOf(n)
		case *ast.Ident:
			text = literalOf(constants[f.syntax.Name.Name+"."+n.Name])
		case *ast.SelectorExpr:
			of, isName := n.X.(*ast.Ident)
			if isName {
				text = literalOf(constants[of.Name+"."+n.Sel.Name])
			}
		}
		if words == "" && (inSentence.MatchString(text) || single && oneWord.MatchString(strings.TrimSpace(text))) {
			words = text
		}
		return true
	})
	return words
}

// literalOf returns the text of a literal; "" for what is none.
func literalOf(e ast.Expr) string {
	literal, isLiteral := e.(*ast.BasicLit)
	if !isLiteral {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value) // a number has no words
	return text
}
