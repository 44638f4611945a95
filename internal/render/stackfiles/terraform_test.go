package stackfiles_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// needTerraform skips a test where there is no terraform.
func needTerraform(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("SKIPPED: terraform is not on PATH, so the root modules were not checked by Terraform itself")
	}
}

func runTerraform(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "terraform", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_DATA_DIR=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("terraform %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
}

// writeModules writes the root modules of a case, and returns their folders.
func writeModules(t *testing.T, into string, files tree.Tree, skip func(name string) bool) []string {
	t.Helper()
	seen := map[string]bool{}
	var folders []string
	for file, data := range files.Sub(stackfiles.ModulesFolder).All() {
		path := filepath.Join(into, filepath.FromSlash(file))
		if skip(filepath.Base(path)) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if dir := filepath.Dir(path); !seen[dir] {
			seen[dir] = true
			folders = append(folders, dir)
		}
	}
	return folders
}

// TestTerraformFormat: the generated files are as Terraform formats them, and it can parse them.
func TestTerraformFormat(t *testing.T) {
	needTerraform(t)
	into, modules := t.TempDir(), 0
	golden.Run(t, "testdata/*/*.txtar", func(t *testing.T, c *golden.Case) {
		files, _ := renderCase(t, c)
		modules += len(writeModules(t, filepath.Join(into, filepath.Base(t.Name())), files, func(name string) bool { return !strings.HasSuffix(name, ".tf") }))
	})
	if modules < 40 {
		t.Errorf("only %d root modules were checked", modules)
	}
	runTerraform(t, into, "fmt", "-check", "-diff", "-recursive")
}

// TestTerraformValidate: Terraform takes the generated root modules. The modules that they call are
// stubs with the variables that they are given and the outputs that they are asked for. What needs
// the AWS provider is left out, because no provider can be had here: its files are parsed by
// TestTerraformFormat.
func TestTerraformValidate(t *testing.T) {
	needTerraform(t)
	count := 0
	for _, pattern := range []string{"testdata/files/two-components.txtar", "testdata/files/readme.txtar", "testdata/stacks/hello.txtar", "testdata/stacks/settings-all.txtar", "testdata/stacks/live.txtar", "testdata/stacks/helm.txtar"} {
		golden.Run(t, pattern, func(t *testing.T, c *golden.Case) {
			files, problems := renderCase(t, c)
			if problems.Stops() {
				t.Fatal(problems)
			}
			folders := writeModules(t, t.TempDir(), files, func(name string) bool { return strings.HasPrefix(name, "provider") || name == "versions.tf" })
			for _, dir := range folders {
				stubModule(t, dir)
				runTerraform(t, dir, "init", "-backend=false", "-input=false")
				runTerraform(t, dir, "validate")
				count++
			}
		})
	}
	if count < 8 {
		t.Errorf("only %d root modules were validated", count)
	}
}

// stubModule has a root module call a stub.
func stubModule(t *testing.T, dir string) {
	t.Helper()
	root := parseHCL(t, filepath.Join(dir, "module.tf"))
	module := root.Body().Blocks()[0].Body()
	stub := hclwrite.NewEmptyFile()
	for name := range module.Attributes() {
		if name != "source" && name != "version" {
			stub.Body().AppendNewBlock("variable", []string{name})
		}
	}
	if outputs := filepath.Join(dir, "outputs.tf"); fileExists(outputs) {
		for _, o := range parseHCL(t, outputs).Body().Blocks() {
			stub.Body().AppendNewBlock("output", o.Labels()).Body().SetAttributeValue("value", cty.ListVal([]cty.Value{cty.StringVal("a")}))
		}
	}
	module.SetAttributeValue("source", cty.StringVal("./stub"))
	module.RemoveAttribute("version")
	if err := os.Mkdir(filepath.Join(dir, "stub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"module.tf": root.Bytes(), "stub/stub.tf": stub.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func parseHCL(t *testing.T, path string) *hclwrite.File {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, diagnostics := hclwrite.ParseConfig(text, path, hcl.InitialPos)
	if diagnostics.HasErrors() {
		t.Fatal(fmt.Sprint(diagnostics))
	}
	return f
}
