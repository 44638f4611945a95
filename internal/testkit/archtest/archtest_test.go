package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of testdata")

// TestHouse looks at this module.
func TestHouse(t *testing.T) {
	problems, err := Check(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%v\n\thint: %s", p, p.Hint)
	}
}

// TestRules returns each rule a source that breaks it in every way it knows, with
// what it must let through beside it.
func TestRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			golden := filepath.Join("testdata", r.name+".txtar")
			archive, err := txtar.ParseFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			files, want := split(archive)
			got := report(t, files, r)
			if got == "" {
				t.Error("the rule reports nothing: it cannot fail")
			}
			if *update {
				archive.Files = append(archive.Files[:len(archive.Files)-1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(golden, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// split returns the files of a case, and its last one: what is wanted.
func split(archive *txtar.Archive) (files fstest.MapFS, want string) {
	files = fstest.MapFS{}
	last := len(archive.Files) - 1
	for _, f := range archive.Files[:last] {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return files, string(archive.Files[last].Data)
}

// small is a house for the cases.
var small = house{
	folders: []folder{
		{"internal/base", pure},
		{"internal/controlplane", pure},
		{"internal/git", impure},
		{"internal/forge", impure},
		{"cmd", impure},
		{testFolder, impure},
	},
	limits:          sizes{file: 8, function: 4, methods: 2, oneWord: 60},
	goroutineOwners: allowances{"internal/git/git.go: pool.each": "waits"},
	searched: allowances{
		"internal/git/git.go: readStatus": "a Git server",
		"internal/git/git.go: formatMark": "nothing needs it",
	},
	ratchets: ratchets{
		methods:  map[string]int{"internal/git: Pool": 4, "internal/git: Mirror": 3, "internal/git: Lock": 3},
		products: []string{"internal/stack", "internal/cluster"}, importers: 1, words: 12,
	},
	panics: allowances{
		"internal/controlplane/model/model.go: mustParse": "it is a constant",
		"internal/controlplane/model/model.go: gone":      "nobody knows any more",
	},
}

func report(t *testing.T, files fstest.MapFS, r rule) string {
	t.Helper()
	problems, err := checkRules(files, small, []rule{r})
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, p := range problems {
		if p.Hint == "" {
			t.Errorf("%v: there is no hint", p)
		}
		lines.WriteString(p.String() + "\n")
	}
	return lines.String()
}

// TestPage writes the page's table with -update, and without looks that one is written.
func TestPage(t *testing.T) {
	file := filepath.Join("../../..", pagePath)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	src, err := readSource(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	src.house = ourHouse
	lines := src.readTable(packagesSection, 0)
	if len(lines) == 0 {
		t.Fatalf("%s has no table in %q", pagePath, packagesSection)
	}
	if !*update {
		return
	}
	all := strings.SplitAfter(string(page), "\n")
	first, last := lines[0].line-3, lines[len(lines)-1].line
	text := strings.Join(all[:first], "") + src.packageTable() + strings.Join(all[last:], "")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenSource(t *testing.T) {
	_, err := Check(fstest.MapFS{"internal/controlplane/model/a.go": &fstest.MapFile{Data: []byte("package")}})
	if err == nil || !strings.Contains(err.Error(), "internal/controlplane/model/a.go") {
		t.Errorf("the error does not name the file: %v", err)
	}
}
