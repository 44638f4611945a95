package archtest

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// A folder is one level of the picture in docs/architecture.md: the packages in it,
// and below it, import each other and those of the folders above.
type folder struct {
	path string // from the root of the module
	pure bool   // whether its packages decide, and leave disk, network and clock to others
}

const (
	pure   = true
	impure = false
)

// folders is the picture, from top to bottom.
var folders = []folder{
	{"internal/base", pure},
	{"internal/kube", pure},
	{"templates", pure},
	{"deploy", pure},
	{"internal/controlplane", pure},
	{"schemas", pure},
	{"internal/render", pure},
	{"internal/change", pure},
	{"internal/ledger", pure},
	{"internal/promotion", pure},
	{"internal/git", impure},
	{"internal/forge", impure},
	{"internal/config", impure},
	{"internal/reconcile", impure},
	{"internal/server", impure},
	{"internal/agent", impure},
	{"internal/cli", impure},
	{"cmd", impure},
	{testFolder, impure},
}

// testFolder holds what only tests import.
const testFolder = "internal/testkit"

func (s *source) folderIndex(dir string) int {
	for i, f := range s.folders {
		if isWithin(dir, f.path) {
			return i
		}
	}
	return -1
}

// isPure reports whether a package is in a pure folder.
func (s *source) isPure(dir string) bool {
	level := s.folderIndex(dir)
	return level >= 0 && s.folders[level].pure
}

// checkFolders reports packages outside of all folders, and imports of packages in a
// folder below.
func checkFolders(src *source) problem.List {
	var l problem.List
	for _, p := range src.packages {
		level := src.folderIndex(p.dir)
		if level < 0 {
			l.Addf(problem.Pos{File: p.dir}, "", "move it into the folder of its work, or add the folder to internal/testkit/archtest/folders.go",
				"the package is in no folder of the picture")
			continue
		}
		for _, f := range p.programFiles() {
			l = append(l, checkImportsOf(src, f, p.dir, level)...)
		}
	}
	return l
}

func checkImportsOf(src *source, f *file, dir string, level int) problem.List {
	var l problem.List
	for _, i := range f.imports() {
		to, ok := moduleFolder(i.path)
		if !ok {
			continue
		}
		if src.folderIndex(to) > level {
			l.Addf(f.pos(i.spec), "", "data goes one way: move what both need to a folder above, or pass it in",
				"%s imports %s, which is in a folder below", dir, path.Clean(to))
		}
	}
	return l
}
