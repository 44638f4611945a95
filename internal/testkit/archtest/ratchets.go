package archtest

import (
	"cmp"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// ratchets are limits that the program does not keep yet: each has what is there now, and may only
// become smaller.
type ratchets struct {
	// methods are the methods of types with more than [sizes] allows, by "folder: Type".
	methods map[string]int
	// products are the folders of what is not of the kernel, and importers the files outside of them that
	// import them.
	products  []string
	importers int
	// words are the most words of comments.
	words int
}

var ourRatchets = ratchets{
	methods: map[string]int{
		"internal/change/explain: explainer":      46,
		"internal/cli/stacksim: cluster":          48,
		"internal/cli: commandContext":            65,
		"internal/config: checker":                44,
		"internal/controlplane/clusters: checker": 47,
		"internal/controlplane/model: reader":     47,
		"internal/controlplane/provision: unit":   52,
		"internal/forge/gitea: Forge":             44,
		"internal/forge/github: Forge":            43,
		"internal/git: Remote":                    43,
		"internal/git: Repository":                59,
		"internal/ledger: Ledger":                 51,
		"internal/reconcile/actions: Session":     68,
		"internal/reconcile/doctor: examination":  63,
		"internal/reconcile/fleetview: View":      42,
		"internal/reconcile/ledgerdb: Store":      42,
		"internal/reconcile/loop: Loop":           142,
		"internal/reconcile/promoter: Promoter":   102,
		"internal/reconcile/publish: attempt":     47,
		"internal/reconcile/recorder: Recorder":   90,
		"internal/reconcile/source: Source":       52,
		"internal/render/output: pass":            42,
		"internal/render/rootmodule: generator":   68,
		"internal/render/stackfiles: keeper":      49,
		"internal/server/answer: Source":          150,
		"internal/server/web: site":               131,
	},
	products: []string{
		"internal/cli/demochain",
		"internal/cli/demostack",
		"internal/cli/stacksim",
		"internal/controlplane/claudie",
		"internal/controlplane/clusters",
		"internal/controlplane/provision",
		"internal/controlplane/stack",
		"internal/reconcile/stackview",
		"internal/render/clusterfiles",
		"internal/render/clustermodule",
		"internal/render/rootmodule",
		"internal/render/stackfiles",
		"internal/render/tfobject",
		"internal/render/tfplan",
	},
	importers: 99,
	words:     167_000,
}

// checkMethods reports types with so many methods that what a method needs cannot be seen.
func checkMethods(src *source) problem.List {
	counts, first := map[string]int{}, map[string]problem.Pos{}
	src.eachFile(func(p *pkg, f *file) {
		if isWithin(p.dir, testFolder) {
			return
		}
		for _, d := range f.syntax.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if !isFunc || receiverName(fn) == "" {
				continue
			}
			name := p.dir + ": " + receiverName(fn)
			counts[name]++
			if _, known := first[name]; !known {
				first[name] = f.pos(fn)
			}
		}
	})
	var l problem.List
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n, most := counts[name], cmp.Or(src.ratchets.methods[name], src.limits.methods)
		if n > most {
			l.Addf(first[name], "", "give a part of its work a type or a function of its own", "%s has %d methods, more than %d", name, n, most)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(src.ratchets.methods)) {
		switch n, most := counts[name], src.ratchets.methods[name]; {
		case n <= src.limits.methods:
			l.Addf(problem.Pos{File: ratchetsFile}, "", "remove it from the list", "nothing needs the exception for %s", name)
		case n < most:
			l.Addf(problem.Pos{File: ratchetsFile}, "", "lower its limit", "%s has %d methods, and the list allows %d", name, n, most)
		}
	}
	return l
}

const ratchetsFile = "internal/testkit/archtest/ratchets.go"

// checkImporters reports files of the kernel that import what is not of it, if there are more than before.
func checkImporters(src *source) problem.List {
	isProduct := func(dir string) bool {
		return slices.ContainsFunc(src.ratchets.products, func(root string) bool { return isWithin(dir, root) })
	}
	var importers []problem.Pos
	src.eachFile(func(p *pkg, f *file) {
		if isProduct(p.dir) || isWithin(p.dir, testFolder) {
			return
		}
		i := slices.IndexFunc(f.imports(), func(i imported) bool {
			dir, ours := moduleFolder(i.path)
			return ours && isProduct(dir)
		})
		if i >= 0 {
			importers = append(importers, f.pos(f.imports()[i].spec))
		}
	})
	var l problem.List
	switch n, most := len(importers), src.ratchets.importers; {
	case n > most:
		l.Addf(importers[n-1], "", "have the kernel call it through what it already imports", "%d files import packages of stacks and clusters, more than %d", n, most)
	case n < most:
		l.Addf(problem.Pos{File: ratchetsFile}, "", "lower the limit", "%d files import packages of stacks and clusters, and the limit is %d", n, most)
	}
	return l
}

// checkWords reports that comments have become longer than the program can bear: what a name and a signature say needs
// no comment.
func checkWords(src *source) problem.List {
	words, longest, most := 0, "", 0
	src.eachFile(func(p *pkg, f *file) {
		if isWithin(p.dir, testFolder) {
			return
		}
		n := 0
		for _, c := range f.syntax.Comments {
			n += len(strings.Fields(c.Text()))
		}
		words += n
		if n > most {
			longest, most = f.path, n
		}
	})
	var l problem.List
	if limit := src.ratchets.words; words > limit {
		l.Addf(problem.Pos{File: longest}, "", "delete comments that repeat the signature, this file's first", "the comments have %d words, more than %d", words, limit)
	}
	return l
}
