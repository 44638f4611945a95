package stackfiles_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestTerraformValidateCopied: Terraform takes root modules that were copied, with the outputs that are
// added to them. They need no provider.
func TestTerraformValidateCopied(t *testing.T) {
	needTerraform(t)
	count := 0
	golden.Run(t, "testdata/stacks/copied.txtar", func(t *testing.T, c *golden.Case) {
		files, problems := renderCase(t, c)
		if problems.Stops() {
			t.Fatal(problems)
		}
		for _, dir := range writeModules(t, t.TempDir(), files, func(string) bool { return false }) {
			if component := filepath.Base(filepath.Dir(dir)); component != "network" && component != "jobs" || filepath.Base(dir) != "terraform" {
				continue
			}
			runTerraform(t, dir, "init", "-backend=false", "-input=false")
			runTerraform(t, dir, "validate")
			count++
		}
	})
	if count != 2 {
		t.Errorf("%d root modules were validated", count)
	}
}

const copiedStack = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: a, namespace: zmart-config}\nspec:\n  teamName: checkout\n  envName: dev\n  components:\n" +
	"    - {name: root, type: terraform, subtype: config, module: {source: 'https://example.com/acme/roots', path: root}, outputs: [{name: a}]}\n" +
	"    - {name: own, type: terraform, subtype: config, module: {source: 'https://github.com/zl-zmart-tech/checkout-team-config', path: own}}\n" +
	"    - {name: user, type: terraform, dependsOn: [root], module: {source: aws, name: vpc}, variables: [{name: a, valueFrom: root.a}]}\n"

const copiedBackend = "terraform {\n  backend \"s3\" {\n    bucket = \"a\"\n    key    = \"%s\"\n  }\n}\n"

// TestCopiedCached: what the cache has of a component is not used when the root module that it copies, or
// whose state it reads, is another one.
func TestCopiedCached(t *testing.T) {
	var cache stackfiles.Cache
	seen := map[tree.ID]bool{}
	for i, step := range []struct {
		key, more, own string
		rendered       int
	}{
		{"a", "", "", 3}, {"b", "", "", 2}, {"b", "# more\n", "", 2}, {"b", "# more\n", "# own\n", 1},
	} {
		m, problems := model.Parse("dev",
			model.Layer{Kind: model.Env, Name: "dev", Files: filesOf(t, map[string]string{"stack.yaml": copiedStack, "settings.yaml": settingsText, "own/main.tf": fmt.Sprintf(copiedBackend, "own") + step.own})},
			model.Layer{Kind: model.Files, Name: "example.com/acme/roots", Commit: strings.Repeat("1", 40), Files: filesOf(t, map[string]string{
				"root/main.tf": fmt.Sprintf(copiedBackend, step.key) + step.more + "output \"a\" {\n  value = 1\n}\n"})})
		before := cache.Rendered()
		cached, more := stackfiles.RenderCached(m, &cache, nil)
		whole, _ := stackfiles.Render(m)
		if problems.Stops() || more.Stops() || cached.ID() != whole.ID() || seen[whole.ID()] {
			t.Errorf("step %d: %v %v, the same with a cache: %v, new: %v", i, problems, more, cached.ID() == whole.ID(), !seen[whole.ID()])
		}
		if rendered := cache.Rendered() - before; rendered != step.rendered {
			t.Errorf("step %d: %d components were rendered, want %d", i, rendered, step.rendered)
		}
		seen[whole.ID()] = true
	}
}

// TestCopiedHostile: what a repository may hold beside files, and more of them than anybody writes, is a
// problem, and nothing of it is published.
func TestCopiedHostile(t *testing.T) {
	unread := func(name string) tree.Entry {
		return tree.Entry{Name: name, Mode: tree.ModeFile, ID: tree.HashBlob([]byte("large"))}
	}
	many := make([]tree.Entry, 1_001)
	for i := range many {
		many[i] = tree.File(fmt.Sprintf("%d.txt", i), nil)
	}
	var large []tree.Entry
	for i := range 9 {
		large = append(large, tree.File(fmt.Sprintf("%d.bin", i), make([]byte, 1<<20)))
	}
	nested := func(unit, end string) tree.Entry { return tree.File("x"+end, []byte(strings.Repeat(unit, 300_000))) }
	for name, c := range map[string]struct {
		entries []tree.Entry
		says    string
	}{
		"link":         {[]tree.Entry{tree.Link("passwd", "/etc/passwd")}, "root/passwd is a link, and is not read"},
		"submodule":    {[]tree.Entry{{Name: "sub", Mode: tree.ModeSubmodule, ID: tree.HashBlob(nil)}}, "root/sub is a link, and is not read"},
		"large file":   {[]tree.Entry{unread("x.bin")}, "root/x.bin is too large to be read"},
		"many files":   {many, "its root module has 1003 files, and 1000 is the limit"},
		"large":        {large, "and 8388608 is the limit"},
		"nested":       {[]tree.Entry{nested("a{", ".tf")}, "is the limit"},
		"nested JSON":  {[]tree.Entry{nested("[", ".tf.json")}, "it is not JSON"},
		"deep folders": {[]tree.Entry{tree.Dir("a", tree.FromEntries([]tree.Entry{tree.Link("b", "..")}))}, "root/a/b is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			root := append([]tree.Entry{tree.File("main.tf", fmt.Appendf(nil, copiedBackend, "a")), tree.File("out.tf", []byte("output \"a\" {}\n"))}, c.entries...)
			m, _ := model.Parse("dev",
				model.Layer{Kind: model.Env, Name: "dev", Files: filesOf(t, map[string]string{"stack.yaml": copiedStack, "settings.yaml": settingsText, "own/main.tf": fmt.Sprintf(copiedBackend, "own")})},
				model.Layer{Kind: model.Files, Name: "example.com/acme/roots", Commit: strings.Repeat("1", 40), Files: tree.FromEntries([]tree.Entry{tree.Dir("root", tree.FromEntries(root))})})
			files, problems := stackfiles.Render(m)
			if !problems.Stops() || !files.IsEmpty() || !strings.Contains(fmt.Sprint(problems), c.says) {
				t.Errorf("the problems are %v", problems)
			}
		})
	}
}
