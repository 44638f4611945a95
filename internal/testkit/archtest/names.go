package archtest

import (
	"go/ast"
	"path"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// vagueWords are words that say nothing of what is inside.
var vagueWords = []string{"util", "helper", "common", "misc", "manager", "service", "handler"}

// checkNames reports packages, files and exported names that are drawers, getters,
// or say their package's name again. Fields are left alone: they often are the
// names of other people's formats.
func checkNames(src *source) problem.List {
	var l problem.List
	for _, p := range src.packages {
		for _, f := range p.files {
			name := f.syntax.Name.Name
			for _, w := range []string{name, path.Base(p.dir), strings.TrimSuffix(path.Base(f.path), ".go")} {
				if d := vagueWord(w); d != "" {
					l.Addf(problem.Pos{File: f.path}, "", "name it for what is in it", "%q in the name of a package or file says nothing", d)
				}
			}
			if f.test {
				continue
			}
			for _, e := range exportedNames(f) {
				l = append(l, checkName(f, name, e)...)
			}
		}
	}
	return l
}

// exported is one exported name of a package, or method of an exported type.
type exported struct {
	id       *ast.Ident
	kind     string // "function", "method", "type", "constant", "variable"
	explains bool   // it has a comment, its own or that of its group
}

func checkName(f *file, pkgName string, e exported) problem.List {
	var l problem.List
	name := e.id.Name
	if d := vagueWord(name); d != "" {
		l.Addf(f.pos(e.id), "", "name it for what it is or does", "%q in %s says nothing", d, name)
	}
	if rest, ok := strings.CutPrefix(name, "Get"); ok && startsWord(rest) && e.isFunction() {
		l.Addf(f.pos(e.id), "", "name it for what it gives", "%s is named Get", name)
	}
	if rest, ok := strings.CutSuffix(name, "Impl"); ok && rest != "" {
		l.Addf(f.pos(e.id), "", "name it for what sets it apart", "%s is named Impl", name)
	}
	if e.kind != "method" && repeatsPackage(name, pkgName) {
		l.Addf(f.pos(e.id), "", "readers see the package's name before it", "%s.%s says %q twice", pkgName, name, pkgName)
	}
	return l
}

func (e exported) isFunction() bool { return e.kind == "function" || e.kind == "method" }

func repeatsPackage(name, pkgName string) bool {
	if len(name) <= len(pkgName) || !strings.EqualFold(name[:len(pkgName)], pkgName) {
		return false
	}
	return startsWord(name[len(pkgName):])
}

// startsWord reports whether s is the beginning of a new word, or nothing.
func startsWord(s string) bool {
	return s == "" || !unicode.IsLower([]rune(s)[0])
}

// vagueWord returns the drawer, in singular or plural, that is a whole word of a name.
func vagueWord(name string) string {
	for _, w := range splitWords(name) {
		for _, d := range vagueWords {
			if w == d || w == d+"s" {
				return w
			}
		}
	}
	return ""
}

// splitWords splits a name at underscores and changes of case, in lower case:
// "HTTPServer_test" is "http", "server", "test".
func splitWords(name string) []string {
	var all []string
	runes := []rune(name)
	start := 0
	for i := range runes {
		switch {
		case !unicode.IsLetter(runes[i]) && !unicode.IsDigit(runes[i]):
			all, start = append(all, string(runes[start:i])), i+1
		case i > start && unicode.IsUpper(runes[i]) && endsBefore(runes, i):
			all, start = append(all, string(runes[start:i])), i
		}
	}
	all = append(all, string(runes[start:]))
	return strings.Fields(strings.ToLower(strings.Join(all, " ")))
}

// endsBefore reports whether a word ends before the upper-case letter at i: after
// a lower-case one, or before one ("HTTP|Server").
func endsBefore(runes []rune, i int) bool {
	return !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}
