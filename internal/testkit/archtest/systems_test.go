package archtest_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // of imports that are vendored in the standard library
	Standard        bool
	DepOnly         bool
}

// TestOtherSystems has the program compile on the systems that people use it on and CI is not: all
// types are checked, from the source. To build it there would take minutes, where nothing is cached,
// and finds nothing more.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("-short checks the types for this system alone, which building does")
	}
	for _, system := range []string{"darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			checkTypes(t, system)
		})
	}
}

// checkTypes checks the types of all packages with what they import, which comes before them in
// the list. Bodies of functions are looked into where they are ours.
func checkTypes(t *testing.T, system string) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,DepOnly", "./...")
	list.Dir = filepath.Join("..", "..", "..")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+runtime.GOARCH, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath != "unsafe" {
			checked[p.ImportPath] = p.check(t, system, checked)
		}
	}
}

func (p listed) check(t *testing.T, system string, checked map[string]*types.Package) *types.Package {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	c := types.Config{
		IgnoreFuncBodies: p.DepOnly,
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		Importer:         importer{p.ImportMap, checked},
		Error: func(err error) {
			if !p.DepOnly {
				t.Errorf("%s: %v", system, err)
			}
		},
	}
	made, err := c.Check(p.ImportPath, files, parsed, nil)
	if err != nil && p.DepOnly && !p.Standard {
		t.Errorf("%s: %v", system, err)
	}
	return made
}

// importer knows what was checked before.
type importer struct {
	renamed map[string]string
	checked map[string]*types.Package
}

func (i importer) Import(name string) (*types.Package, error) {
	if renamed, ok := i.renamed[name]; ok {
		name = renamed
	}
	if p, ok := i.checked[name]; ok {
		return p, nil
	}
	return nil, errors.New(name + " was not listed before what imports it")
}
