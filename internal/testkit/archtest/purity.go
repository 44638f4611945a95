package archtest

import (
	"cmp"
	"go/ast"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// impureImports are the packages (and all below them) that bring the world in:
// disk, network, processes, loggers and contexts. path/filepath is among
// them because its answers depend on the machine; paths of a tree use path.
var impureImports = []string{
	"context", "crypto/rand", "io/fs", "io/ioutil", "log", "net", "os", "path/filepath", "plugin",
	"syscall", "testing", "golang.org/x/sys", "github.com/go-git", "github.com/spf13/cobra",
}

// pureImports are the exceptions: below an impure one, and only text.
var pureImports = []string{"net/url", "net/netip"}

// clockNames is what of package time a pure package must not use; durations and
// times that were passed in are values like others.
var clockNames = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"}

// seededNames is what of math/rand a pure package may use: a generator that was
// made from a seed is a value. All else draws from a generator of the process.
var seededNames = []string{"Rand", "Source", "New", "NewPCG", "NewChaCha8", "NewZipf", "PCG", "ChaCha8", "Zipf"}

// checkPurity reports what lets the world into a pure package.
func checkPurity(src *source) problem.List {
	var l problem.List
	src.eachFile(func(p *pkg, f *file) {
		if !src.isPure(p.dir) {
			return
		}
		for _, i := range f.imports() {
			if bringsTheWorld(i.path) {
				l.Addf(f.pos(i.spec), "", "pass in what it gives, as a value", "%s is pure and imports %s", p.dir, i.path)
			}
		}
		l = append(l, clockAndChance(p, f)...)
	})
	return l
}

func clockAndChance(p *pkg, f *file) problem.List {
	var l problem.List
	clock, rand := f.importName("time"), cmp.Or(f.importName("math/rand"), f.importName("math/rand/v2"))
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if name := selectedName(n, clock); slices.Contains(clockNames, name) {
			l.Addf(f.pos(n), "", "pass the time in", "%s is pure and uses time.%s", p.dir, name)
		}
		if name := selectedName(n, rand); name != "" && !slices.Contains(seededNames, name) {
			l.Addf(f.pos(n), "", "pass a generator in", "%s is pure and uses rand.%s", p.dir, name)
		}
		return true
	})
	return l
}

func bringsTheWorld(importPath string) bool {
	return withinAny(importPath, impureImports) && !withinAny(importPath, pureImports)
}

func withinAny(name string, roots []string) bool {
	for _, root := range roots {
		if isWithin(name, root) {
			return true
		}
	}
	return false
}
