package deploytest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// release is what matters of .goreleaser.yaml.
type release struct {
	Version int
	Builds  []struct {
		Main, Binary      string
		Env, Goos, Goarch []string
		Flags, Ldflags    []string
		Time              string `json:"mod_timestamp"`
	}
	Archives []struct {
		Program stamped `json:"builds_info"`
		Files   []struct {
			Src  string
			Info stamped
		}
	}
	Checksum struct{ Algorithm string }
	Sboms    []struct{ Artifacts, Cmd string }
	Release  struct{ Draft bool }
}

// stamped is what a file in an archive says of itself.
type stamped struct{ Owner, Group, Mtime string }

var reproducible = stamped{"root", "root", "{{ .CommitDate }}"}

func readRelease(t *testing.T) release {
	t.Helper()
	var r release
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Version != 2 || len(r.Builds) != 2 || len(r.Archives) != 1 || len(r.Sboms) != 1 {
		t.Fatalf("want version 2 with two builds, one archive and SBOM: %+v", r)
	}
	return r
}

// TestReleaseBuild: the programs are static, and the same for the same commit.
func TestReleaseBuild(t *testing.T) {
	for i, name := range []string{"fairlead", "fairlead-agent"} {
		b := readRelease(t).Builds[i]
		if b.Main != "./cmd/"+name || b.Binary != name || !slices.Equal(b.Env, []string{"CGO_ENABLED=0"}) {
			t.Errorf("it builds %s to %s with %q", b.Main, b.Binary, b.Env)
		}
		if !slices.Equal(b.Flags, []string{"-trimpath"}) || b.Time != "{{ .CommitTimestamp }}" {
			t.Errorf("flags %q, time %q: not the same for the same commit", b.Flags, b.Time)
		}
		if !slices.Contains(b.Goos, "linux") || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) {
			t.Errorf("it is for %q on %q", b.Goos, b.Goarch)
		}
		checkStamp(t, strings.Join(b.Ldflags, " "), "v{{ .Version }}")
	}
}

// TestReleaseFiles: what is in an archive is there, and its times are the commit's.
func TestReleaseFiles(t *testing.T) {
	r := readRelease(t)
	a := r.Archives[0]
	if a.Program != reproducible {
		t.Errorf("the program is stamped %q", a.Program)
	}
	var names []string
	for _, f := range a.Files {
		names = append(names, f.Src)
		found, err := filepath.Glob(filepath.Join("../../..", strings.ReplaceAll(f.Src, "**", "*")))
		if err != nil || len(found) == 0 {
			t.Errorf("there is no %s (%v)", f.Src, err)
		}
		if f.Info != reproducible {
			t.Errorf("%s is stamped %q", f.Src, f.Info)
		}
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		if !slices.Contains(names, name) {
			t.Errorf("the archives lack %s", name)
		}
	}
	if r.Checksum.Algorithm != "sha256" || r.Sboms[0].Artifacts != "archive" || r.Sboms[0].Cmd != "syft" {
		t.Errorf("checksums %q, an SBOM of each %q by %q", r.Checksum.Algorithm, r.Sboms[0].Artifacts, r.Sboms[0].Cmd)
	}
	if !r.Release.Draft {
		t.Error("a release is public before somebody has looked at it")
	}
}

var stamp = regexp.MustCompile(`-X github\.com/fairlead-io/fairlead/(\S+)\.(\w+)=([^"]*)`)

// checkStamp holds a flag of the linker to the source. The linker says nothing of a
// variable that does not exist, or that is no text without a value.
func checkStamp(t *testing.T, flags, version string) {
	t.Helper()
	m := stamp.FindStringSubmatch(flags)
	if m == nil || m[3] != version {
		t.Fatalf("%q does not stamp the version as %s", flags, version)
	}
	if !declares(t, m[1], m[2]) {
		t.Errorf("%s has no `var %s string`", m[1], m[2])
	}
}

// declares reports whether a package has `var NAME string`, without a value.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join("../../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && slices.ContainsFunc(g.Specs, isText(name)) {
				return true
			}
		}
	}
	return false
}

func isText(name string) func(ast.Spec) bool {
	return func(s ast.Spec) bool {
		v := s.(*ast.ValueSpec)
		kind, ok := v.Type.(*ast.Ident)
		return ok && kind.Name == "string" && len(v.Names) == 1 && v.Names[0].Name == name && v.Values == nil
	}
}
