package source_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// filtered gives the paths that are left of files. The first line of a case names
// files; ".sourceignore" ones have the text of ignores.
func filtered(t *testing.T, paths string, ignores map[string]string) string {
	t.Helper()
	var b tree.Builder
	for path := range strings.FieldsSeq(paths) {
		if err := b.Add(path, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range ignores {
		if err := b.Add(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	for path := range source.Filter(b.Tree()).All() {
		if !strings.HasSuffix(path, ".sourceignore") {
			left = append(left, path)
		}
	}
	return strings.Join(left, " ")
}

func TestFilter(t *testing.T) {
	for _, c := range []struct{ name, ignore, paths, want string }{
		{"defaults", "", "a.yaml .hidden/b.yaml .gitignore .github/w.yml x/.github/w.yml pic.jpg x/y.tar.gz .sops.yaml x/.sops.yaml .travis.yml gitlab.yml", ".hidden/b.yaml a.yaml gitlab.yml"},
		{"a folder", "dir/\n", "dir/a x/dir/b dirs/c x/dir2", "dirs/c x/dir2"},
		{"a folder is not a file", "dir/\n", "x/dir dir/a", "x/dir"},
		{"a name", "a.yaml\n", "a.yaml x/a.yaml a.yaml.b", "a.yaml.b"},
		{"anchored", "/a.yaml\n", "a.yaml x/a.yaml", "x/a.yaml"},
		{"anchored by a slash inside", "x/a.yaml\n", "x/a.yaml y/x/a.yaml", "y/x/a.yaml"},
		{"star", "*.tmp\nx*z\n", "a.tmp x/b.tmp xyz xy/z a.tmpl", "a.tmpl xy/z"},
		{"question mark and class", "a?c\n[x-z]1\n[!a]2\n", "abc a/c ac x1 w1 b2 a2", "a/c a2 ac w1"},
		{"double star", "**/gen/\ndocs/**\na/**/z\n", "gen/a x/gen/b docs/c docs/d/e a/z a/b/c/z z", "z"},
		{"negation", "*.yaml\n!keep.yaml\n", "a.yaml keep.yaml x/keep.yaml", "keep.yaml x/keep.yaml"},
		{"negation below an ignored folder", "dir/\n!dir/keep\n", "dir/a dir/keep", "dir/keep"},
		{"the last match decides", "!a\na\n", "a b", "b"},
		{"take back a default", "!*.png\n", "a.png b.jpg", "a.png"},
		{"comments and blanks", "# a\n\n   \n\\#b\n", "a #b", "a"},
		{"windows line ends", "a\r\nb\r\n", "a b c", "c"},
		{"a broken class", "[a\n", "[a a", "a"},
	} {
		if got := filtered(t, c.paths, map[string]string{".sourceignore": c.ignore}); got != c.want {
			t.Errorf("%s: left are %q, want %q", c.name, got, c.want)
		}
	}
	nested := map[string]string{"x/.sourceignore": "/a\nb\n", ".sourceignore": "c\n", "x/y/.sourceignore": "!b\n"}
	if got, want := filtered(t, "a b c x/a x/b x/c x/y/a x/y/b", nested), "a b x/y/a x/y/b"; got != want {
		t.Errorf("nested: left are %q, want %q", got, want)
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add("dir/\n!a*\n[x-z]?\n**/b", "dir/a")
	f.Add("\\ \n[!]\n/", "a/b/c")
	f.Fuzz(func(t *testing.T, ignore, path string) {
		if tree.CheckPath(path) != nil || strings.Contains(path, ".sourceignore") || strings.ContainsAny(path, " \t\n\r\v\f\u0085\u00a0") {
			return
		}
		files, err := tree.FromFiles(map[string][]byte{path: []byte("x"), ".sourceignore": []byte(ignore)})
		if err != nil {
			return
		}
		once := source.Filter(files)
		if again := source.Filter(files); once.ID() != again.ID() {
			t.Errorf("%q on %q: left are %d files, then %d", ignore, path, once.Count(), again.Count())
		}
		commented := "#" + strings.ReplaceAll(ignore, "\n", "\n#")
		with, err := tree.FromFiles(map[string][]byte{path: []byte("x"), ".sourceignore": []byte(commented)})
		if err != nil {
			return
		}
		_, keptWith := source.Filter(with).Lookup(path)
		_, keptWithout := source.Filter(mustTree(t, path)).Lookup(path)
		if keptWith != keptWithout {
			t.Errorf("a file of comments, %q, decides on %q", commented, path)
		}
	})
}

func mustTree(t *testing.T, path string) tree.Tree {
	t.Helper()
	files, err := tree.FromFiles(map[string][]byte{path: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestIgnores: what is said of single files is what is left out of a folder.
func TestIgnores(t *testing.T) {
	const patterns = "dir/\n!dir/keep\n*.tmp\n!a.tmp\n/top\nx/**/z\n[a-c]1\n"
	paths := "dir/a dir/keep x/dir y/a.tmp b.tmp top x/top x/y/z/w x/z a1/b d1"
	ignores := source.NewIgnoreMatcher(patterns)
	var left []string
	for path := range strings.FieldsSeq(paths) {
		if !ignores(path) {
			left = append(left, path)
		}
	}
	slices.Sort(left)
	if got, want := strings.Join(left, " "), filtered(t, paths, map[string]string{".sourceignore": patterns}); got != want {
		t.Errorf("left are %q, and of the folder %q", got, want)
	}
}

// TestFilterLayer: pictures and archives stay where stacks are, unless somebody leaves them out.
func TestFilterLayer(t *testing.T) {
	all, err := tree.FromFiles(map[string][]byte{
		".sourceignore": []byte("*.gif\n"), "net/lambda.zip": nil, "net/a.tar.gz": nil, "a.png": nil, "a.gif": nil, ".sops.yaml": nil, ".github/a.yaml": nil, "a.yaml": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[model.LayerKind]string{
		model.Env: ".sourceignore a.png a.yaml net/a.tar.gz net/lambda.zip", model.TeamStacks: ".sourceignore a.png a.yaml net/a.tar.gz net/lambda.zip",
		model.Base: ".sourceignore a.yaml", model.Workloads: ".sourceignore a.yaml",
	} {
		kept, err := source.FilterLayer(kind, all)
		var files []string
		for file := range kept.All() {
			files = append(files, file)
		}
		if got := strings.Join(files, " "); got != want || err != nil {
			t.Errorf("%v: kept are %q, want %q: %v", kind, got, want, err)
		}
	}
}

// TestManyPatterns matches as many patterns with wildcards as there may be, and no more.
func TestManyPatterns(t *testing.T) {
	files := map[string][]byte{"a.yaml": []byte("a"), strings.Repeat("n", 5000): []byte("n"), "x/b.txt": []byte("b")}
	for name, c := range map[string]struct {
		patterns string
		refused  string
	}{
		"names":        {strings.Repeat("/x/y\n*.txt\n", 20_000), ""},
		"few":          {strings.Repeat("**/*a*/**\n", 500), ""},
		"too many":     {strings.Repeat("**/*a*/**\n", 501), ".sourceignore has patterns with wildcards beyond the first 500 of the repository"},
		"far too many": {strings.Repeat("**/*a*/**\n", 200_000), ".sourceignore has patterns with wildcards beyond the first 500 of the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(files)
			all[".sourceignore"] = []byte(c.patterns)
			read, err := tree.FromFiles(all)
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			if _, err := source.FilterLayer(model.Env, read); err != nil {
				said = err.Error()
			}
			if said != c.refused {
				t.Errorf("it says %q, want %q", said, c.refused)
			}
		})
	}
}
