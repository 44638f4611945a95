package stackfiles_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// chainBlueprint is a random blueprint: the values of the variables of its components, which have modules in the base.
type chainBlueprint [][]int

func newChainBlueprint(r *rand.Rand) chainBlueprint {
	b := make(chainBlueprint, 1+r.IntN(4))
	for i := range b {
		b[i] = make([]int, 1+r.IntN(4))
		for j := range b[i] {
			b[i][j] = r.IntN(3)
		}
	}
	return b
}

// base returns the files of the base.
func (b chainBlueprint) base(t *testing.T) tree.Tree {
	t.Helper()
	files := map[string][]byte{}
	text := "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop}\nspec:\n  components:\n"
	for i, values := range b {
		module := ""
		text += fmt.Sprintf("    - name: c%d\n      type: terraform\n      module: {source: ./modules/m%d}\n      variables:\n", i, i)
		for j, value := range values {
			module += fmt.Sprintf("variable \"v%d\" { type = number }\n", j)
			text += fmt.Sprintf("        - {name: v%d, value: \"%d\"}\n", j, value)
		}
		files[fmt.Sprintf("modules/m%d/main.tf", i)] = []byte(module)
	}
	files["shop.yaml"] = []byte(text)
	made, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// render returns the root modules of an environment that sets some variables itself, by "component/variable".
func (b chainBlueprint) render(t *testing.T, env string, overrides map[string]int) map[string]string {
	t.Helper()
	text := "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop}\nspec:\n  teamName: shop\n  envName: " + env + "\n  components:\n"
	for i, values := range b {
		own := ""
		for j := range values {
			if value, set := overrides[fmt.Sprintf("c%d/v%d", i, j)]; set {
				own += fmt.Sprintf("        - {name: v%d, value: \"%d\"}\n", j, value)
			}
		}
		text += fmt.Sprintf("    - name: c%d\n", i)
		if own != "" {
			text += "      variables:\n" + own
		}
	}
	files, err := tree.FromFiles(map[string][]byte{"shop.yaml": []byte(text), "settings.yaml": []byte(settingsText)})
	if err != nil {
		t.Fatal(err)
	}
	m, problems := model.Parse(env, model.Layer{Kind: model.Base, Name: "main", Files: b.base(t)}, model.Layer{Kind: model.Env, Name: env, Files: files})
	rendered, more := stackfiles.Render(m)
	if all := append(problems, more...); all.Stops() {
		t.Fatalf("%v\n%s", all.Sorted(), text)
	}
	modules := map[string]string{}
	for name, data := range rendered.Sub(stackfiles.ModulesFolder).All() {
		modules[strings.ReplaceAll(name, env+"-environment", "E-environment")] = strings.ReplaceAll(string(data), "shop/"+env+"/", "shop/E/")
	}
	return modules
}

// TestBlueprintsArePlannedAlike: the root modules that a blueprint becomes in prod are those of dev, byte by byte, but
// for the key of the state and the lines of variables that prod sets itself.
func TestBlueprintsArePlannedAlike(t *testing.T) {
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 35))
		b := newChainBlueprint(r)
		overrides := map[string]int{}
		for i, values := range b {
			for j := range values {
				if r.IntN(3) == 0 {
					overrides[fmt.Sprintf("c%d/v%d", i, j)] = 10 + r.IntN(9)
				}
			}
		}
		dev, prod := b.render(t, "dev", nil), b.render(t, "prod", overrides)
		if len(dev) != len(prod) || len(dev) == 0 {
			t.Fatalf("seed %d: dev has %d files, and prod %d", seed, len(dev), len(prod))
		}
		found := 0
		for name, text := range dev {
			lines, got := strings.Split(text, "\n"), strings.Split(prod[name], "\n")
			if len(lines) != len(got) {
				t.Fatalf("seed %d: %s has %d lines in dev, and %d in prod", seed, name, len(lines), len(got))
			}
			for i, line := range lines {
				if line == got[i] {
					continue
				}
				component := strings.Split(name, "/")[2]
				variable := strings.Fields(got[i])[0]
				value, set := overrides[component+"/"+variable]
				if want := fmt.Sprintf("%q", fmt.Sprint(value)); !set || !strings.HasSuffix(got[i], want) {
					t.Fatalf("seed %d: %s has %q in dev, and %q in prod", seed, name, line, got[i])
				}
				found++
			}
		}
		if found != len(overrides) {
			t.Fatalf("seed %d: %d lines differ, and %d variables are overridden", seed, found, len(overrides))
		}
	}
}
