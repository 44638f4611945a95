package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"

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

// clocks are the tests that may compare with the clock, each with the reason why a slow machine cannot fail it.
var clocks = allowances{
	"internal/reconcile/loop/endurance_test.go: endureAlone":   "a process of its own gets what is left of the time that the tests have",
	"internal/server/web/simulate_test.go: TestSimulationEnds": "the deadline of a request comes closer as time goes by",
}

// checkForbidden reports init functions, panics, and marks of unfinished work;
// sleeping tests, which are slow on a good day and fail on a bad one, and tests that measure
// time: they count what is done, and benchmarks measure.
func checkForbidden(src *source) problem.List {
	const list = "internal/testkit/archtest/forbidden.go"
	l := append(src.panics.checkExcept(src, list, findPanic), src.clocks.checkExcept(src, list, findMeasuring)...)
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

// measures are the functions that measure time, by their packages.
var measures = map[string][]string{"time": {"Since", "Until"}, "testing": {"Benchmark"}, "syscall": {"Getrusage"}}

// timers are the methods that say how long something took.
var timers = []string{"Elapsed", "UserTime", "SystemTime", "SysUsage"}

// findMeasuring reports what measures time in a test that is not a benchmark.
func findMeasuring(f *file, n ast.Node) problem.List {
	var l problem.List
	selected, ok := n.(*ast.SelectorExpr)
	if !ok || !f.test || strings.HasSuffix(f.path, "bench_test.go") {
		return nil
	}
	measuring := slices.Contains(timers, selected.Sel.Name)
	for path, names := range measures {
		measuring = measuring || slices.Contains(names, selectedName(n, f.importName(path)))
	}
	if measuring {
		l.Addf(f.pos(n), "", "count what is done, or measure it in a file *bench_test.go", "a test measures time with %s", selected.Sel.Name)
	}
	return l
}

func findPanic(f *file, n ast.Node) problem.List {
	var l problem.List
	call, ok := n.(*ast.CallExpr)
	if !ok || f.test {
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
