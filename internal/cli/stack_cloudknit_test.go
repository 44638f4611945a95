package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
)

var envNameLine = regexp.MustCompile(`(?m)^  envName: (\S+)$`)

// TestStackCloneCloudKnit: each environment that users of CloudKnit write is cloned into another environment by the
// command, and is rendered there as it is in the first one, but for its name. Then a blueprint is made of each, and nothing
// changes.
func TestStackCloneCloudKnit(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("../render/stackfiles/testdata/cloudknit.txtar")
	if err != nil {
		t.Fatal(err)
	}
	c := &stackChain{T: t, folder: demoFolder(t.TempDir())}
	if err := c.folder.create(t.Context(), "127.0.0.1:0", true, "dev", "eu"); err != nil {
		t.Fatal(err)
	}
	shared := map[string]string{"stacks/settings.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: stacks}\nspec:\n  state: {bucket: states, region: eu-1}\n  modules: {repo: \"https://git.example.com/gitops\"}\n"}
	stacks := map[string]string{}
	var names []string
	for _, f := range archive.Files {
		switch name, isShared := strings.CutPrefix(f.Name, "files/"); {
		case name == "team.yaml":
			shared["stacks/team.yaml"] = string(f.Data)
		case isShared:
			stacks[name] = string(f.Data)
		case strings.HasSuffix(name, ".yaml") && !strings.Contains(name, "/"):
			stacks["stacks/"+name] = string(f.Data)
			names = append(names, envNameLine.FindStringSubmatch(string(f.Data))[1])
		}
	}
	if len(names) != 25 {
		t.Fatalf("there are %d environments, and 25 are wanted", len(names))
	}
	for _, e := range []string{"dev", "eu"} {
		c.fairlead("promote", e, "main", "--force", "--reason", "the first commit")
		c.commit(e, "settings and the team", shared)
	}
	c.commit("dev", "what users of CloudKnit write", stacks)
	for _, name := range names {
		c.fairlead("stack", "clone", "dev", "checkout/"+name, "checkout/"+name+"-eu", "--into", "eu")
	}
	dev, eu := c.render("dev"), c.render("eu")
	components := 0
	for file, text := range dev {
		for _, name := range names {
			file, text = renameStack(file, name), renameStack(text, name)
		}
		text = strings.ReplaceAll(text, "fairlead-modules-dev", "fairlead-modules-eu")
		if strings.HasPrefix(file, "team/") && eu[file] != text {
			t.Errorf("%s is not what dev has:\n%s\nbut\n%s", file, text, eu[file])
		}
		if strings.HasSuffix(file, "/terraform/terraform.tf") {
			components++
		}
	}
	if components < 50 || len(dev) != len(eu) {
		t.Errorf("dev has %d components with root modules in %d files, and eu %d files", components, len(dev), len(eu))
	}
	for _, name := range names {
		c.fairlead("stack", "clone", "dev", "checkout/"+name, "blueprint/of-"+strings.ToLower(name))
	}
	c.fairlead("promote", "dev", "main", "--force", "--reason", "the blueprints")
	for _, name := range names {
		c.fairlead("stack", "clone", "dev", "checkout/"+name, "blueprint/of-"+strings.ToLower(name))
	}
	isRecord := func(name string, _ string) bool { return strings.HasPrefix(name, ".") } // of the commits
	if diff := cmp.Diff(dev, c.render("dev"), cmpopts.IgnoreMapEntries(isRecord)); diff != "" {
		t.Errorf("with blueprints, dev is rendered otherwise (-before +after):\n%s", diff)
	}
}

// renameStack puts the name of a clone in the place of that of a stack, in paths and keys of states.
func renameStack(text, name string) string {
	text = strings.ReplaceAll(text, "/"+name+"-environment-component/", "/"+name+"-eu-environment-component/")
	return strings.ReplaceAll(text, "checkout/"+name+"/", "checkout/"+name+"-eu/")
}

// render returns the files of an environment as a command renders them. Stacks that are stopped fail the test.
func (c *stackChain) render(environment string) map[string]string {
	c.Helper()
	out := c.folder.path("rendered-" + environment)
	var stdout, stderr bytes.Buffer
	if code := Main(c.Context(), []string{"render", "-e", environment, "--control-plane", c.folder.path("control-plane.git"), "-o", out}, &stdout, &stderr); code != 0 {
		c.Fatalf("render %s: %s", environment, stderr.String())
	}
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(out), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(out, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	return all
}
