package archtest

import (
	"go/ast"
	"regexp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// panics are the functions that may give up, each with the reason why what they
// find cannot be.
var panics = allowances{
	"internal/testkit/fleet/fleet.go: newTree":                   "the paths of a fleet are made here, not read",
	"internal/controlplane/model/decode.go: decoder.decodeValue": "which types the specs are made of is in source",
	"internal/base/panics/panics.go: Relay.Raise":                "it has happened in another goroutine, and is carried on to its barrier",
	"internal/render/part.go: newBlock":                          "the part was cut from a template that did parse",
	"internal/base/tree/tree.go: FromEntries":                    "the caller checks names that come from outside, as its comment says",
	"schemas/schemas.go: schemaNames":                            "what is embedded can be read",
	"schemas/schemas.go: readSchema":                             "what is embedded can be read",
	"templates/templates.go: Files":                              "what is embedded can be read, and has the names of files",
}

// unfinished finds the marks of work that was left for later. It is written so
// that it does not find itself.
var unfinished = regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b`)

// checkForbidden reports init functions, panics, and marks of unfinished work;
// and sleeping tests, which are slow on a good day and fail on a bad one.
func checkForbidden(src *source) problem.List {
	l := src.panics.checkExcept(src, "internal/testkit/archtest/forbidden.go", findPanic)
	for _, p := range src.packages {
		for _, f := range p.files {
			l = append(l, findInit(f)...)
			l = append(l, findUnfinished(f)...)
			if f.test {
				l = append(l, findSleep(f)...)
			}
		}
	}
	return l
}

func findPanic(f *file, n ast.Node) problem.List {
	var l problem.List
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
		l.Addf(f.pos(n), "", "return an error; if it cannot happen, say why in internal/testkit/archtest/forbidden.go", "panic is called")
	}
	return l
}

func findInit(f *file) problem.List {
	var l problem.List
	for _, d := range f.syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && declName(d) == "init" {
			l.Addf(f.pos(fn), "", "make a list in source, or a value that is passed in", "there is an init function")
		}
	}
	return l
}

func findUnfinished(f *file) problem.List {
	var l problem.List
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			if mark := unfinished.FindString(c.Text); mark != "" {
				l.Addf(f.pos(c), "", "finish it, or write an issue", "%s marks unfinished work", mark)
			}
		}
	}
	return l
}

func findSleep(f *file) problem.List {
	var l problem.List
	clock := f.importName("time")
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if selectedName(n, clock) == "Sleep" {
			l.Addf(f.pos(n), "", "wait for what the test waits for", "a test sleeps")
		}
		return true
	})
	return l
}
