package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// module is the import path of the module that is looked at.
const module = "github.com/fairlead-io/fairlead"

// source is everything that the rules look at.
type source struct {
	fset *token.FileSet
	house
	fsys      fs.FS
	packages  []*pkg
	page      []byte // what is at pagePath, nil if there is nothing
	documents []*document
}

// pkg is one folder with Go files.
type pkg struct {
	dir   string // from the root of the module, with slashes
	files []*file
}

type file struct {
	path   string
	test   bool
	lines  int
	syntax *ast.File
	fset   *token.FileSet
}

// readSource parses all Go files below the root, and reads the Markdown ones. Dot-folders
// and testdata are no part of the program, as for the go command.
func readSource(fsys fs.FS) (*source, error) {
	src := &source{fset: token.NewFileSet(), fsys: fsys}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && isSkipped(d.Name()) {
			return fs.SkipDir
		}
		switch {
		case d.IsDir():
			return nil
		case path.Ext(name) == ".go":
			return src.addFile(fsys, name)
		case path.Ext(name) == ".md":
			return src.addDocument(fsys, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	src.page, err = fs.ReadFile(fsys, pagePath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	return src, nil
}

func isSkipped(dir string) bool {
	return dir == "testdata" || strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_")
}

func (s *source) addDocument(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	s.documents = append(s.documents, newDocument(name, string(data)))
	return nil
}

func (s *source) addFile(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(s.fset, name, data, parser.ParseComments)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	// WalkDir may go into a subfolder between two files of a package.
	p := s.findPackage(dir)
	if p == nil {
		p = &pkg{dir: dir}
		s.packages = append(s.packages, p)
	}
	p.files = append(p.files, &file{
		path:   name,
		test:   strings.HasSuffix(name, "_test.go"),
		lines:  bytes.Count(data, []byte("\n")),
		syntax: syntax,
		fset:   s.fset,
	})
	return nil
}

// findPackage returns the package in a folder, or nil.
func (s *source) findPackage(dir string) *pkg {
	for _, p := range s.packages {
		if p.dir == dir {
			return p
		}
	}
	return nil
}

// programFiles returns the package's files that are part of the program.
func (p *pkg) programFiles() []*file {
	var code []*file
	for _, f := range p.files {
		if !f.test {
			code = append(code, f)
		}
	}
	return code
}

// eachFile calls visit for every file that is part of the program.
func (s *source) eachFile(visit func(*pkg, *file)) {
	for _, p := range s.packages {
		for _, f := range p.programFiles() {
			visit(p, f)
		}
	}
}

func (f *file) pos(n ast.Node) problem.Pos {
	return problem.Pos{File: f.path, Line: f.line(n.Pos())}
}

func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

// imported is one import of a file.
type imported struct {
	path string
	name string // what the file calls it: its alias, or the name that the path suggests
	spec *ast.ImportSpec
}

func (f *file) imports() []imported {
	var all []imported
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it, so this cannot be
		}
		name := path.Base(strings.TrimSuffix(p, "/v2"))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all = append(all, imported{path: p, name: name, spec: spec})
	}
	return all
}

// importName returns the name by which the file knows an imported package, or "".
func (f *file) importName(importPath string) string {
	for _, i := range f.imports() {
		if i.path == importPath {
			return i.name
		}
	}
	return ""
}

// selectedName returns the name in "pkg.name"; "" if n is something else.
func selectedName(n ast.Node, pkg string) string {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || pkg == "" {
		return ""
	}
	if id, ok := sel.X.(*ast.Ident); !ok || id.Name != pkg {
		return ""
	}
	return sel.Sel.Name
}

func moduleFolder(importPath string) (dir string, ok bool) {
	return strings.CutPrefix(importPath, module+"/")
}

// isWithin reports whether a folder or an import path is root or below it.
func isWithin(name, root string) bool {
	return name == root || strings.HasPrefix(name, root+"/")
}
