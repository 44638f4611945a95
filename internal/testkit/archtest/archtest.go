// Package archtest holds the rules of docs/architecture.md as code: its test
// reads the source of the whole module and fails where a rule is broken.
//
// What the package keeps true: data goes one way (a package imports only what
// is in its own folder of the picture or one above, see [folders]); the pure core has no clock, disk, network, logger
// or context; files, functions and packages stay small; names say what a thing
// is; everything exported is explained; the page says the same as the code; and
// Markdown has lines of at most 100 columns and links that lead somewhere.
//
// A rule is a function from the source to problems, and a line in [rules]. Each
// has a text in testdata that it must report, so that no rule can pass by being
// blind. What a rule lets through is a list in source, each entry with its reason;
// an entry that nothing needs any more is reported too.
package archtest

import (
	"io/fs"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// A house is what the rules measure by: ours, or a small one in their tests.
type house struct {
	folders         []folder
	limits          sizes
	goroutineOwners allowances
	panics, clocks  allowances
	searched        allowances
	ratchets        ratchets
}

// ourHouse is what this module is measured by.
var ourHouse = house{folders, limits, goroutineOwners, panics, clocks, searched, ourRatchets}

// A rule looks at the whole source and says what is wrong.
type rule struct {
	name  string
	check func(*source) problem.List
}

// rules is every rule, in the order of the page.
var rules = []rule{
	{"folders", checkFolders},
	{"purity", checkPurity},
	{"walls", checkWalls},
	{"goroutines", checkGoroutines},
	{"context", checkContext},
	{"sizes", checkSizes},
	{"methods", checkMethods},
	{"importers", checkImporters},
	{"words", checkWords},
	{"names", checkNames},
	{"searchable", checkSearchable},
	{"statements", checkStatements},
	{"embedding", checkEmbedding},
	{"reports", checkReports},
	{"sentences", checkSentences},
	{"comments", checkComments},
	{"forbidden", checkForbidden},
	{"page", checkPage},
	{"walk", checkWalk},
	{"dependencies", checkDependencies},
	{"markdown", checkMarkdown},
}

// Check reads the module whose root is fsys and gives what breaks the rules of
// the house, sorted; the subject of each problem is the name of its rule. The
// error means that the source could not be read.
func Check(fsys fs.FS) (problem.List, error) {
	return checkRules(fsys, ourHouse, rules)
}

func checkRules(fsys fs.FS, h house, rules []rule) (problem.List, error) {
	src, err := readSource(fsys)
	if err != nil {
		return nil, err
	}
	src.house = h
	var all problem.List
	for _, r := range rules {
		for _, p := range r.check(src) {
			p.Subject = r.name
			all = append(all, p)
		}
	}
	return all.Sorted(), nil
}
