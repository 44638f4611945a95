package stackfiles_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestUnreadFiles: a file that is no YAML stops the stack that is written in it. That one stays byte for byte
// as it is in the output, the other stacks go on, and nothing counts as deleted that may be in the file.
func TestUnreadFiles(t *testing.T) {
	dev, prod := stackText("checkout", "", ""), strings.ReplaceAll(stackText("checkout", "", ""), "dev", "prod")
	ops := strings.ReplaceAll(strings.ReplaceAll(dev, "dev", "ops"), "teamName: checkout", "teamName: billing")
	first, _, problems := keepTexts(t, map[string]string{"dev.yaml": dev, "prod.yaml": prod, "ops.yaml": ops}, tree.Tree{})
	if problems.Stops() || first.Sub("environments/checkout/prod").IsEmpty() || first.Sub("environments/billing/ops").IsEmpty() {
		t.Fatal(problems)
	}
	const broken = "  broken: [\n"
	changed := strings.Replace(prod, "description: the", "description: other", 1)
	team := "apiVersion: stable.cloudknit.io/v1\nkind: Team\nmetadata: {name: checkout}\nspec:\n  teamName: checkout\n  configRepo: {source: https://git.example.com/a, path: b}\n"
	for name, test := range map[string]struct {
		files   map[string]string
		deleted string // the stacks that are destroyed
		stops   string // a stack that is stopped, or how one of an unknown name is shown
		others  bool   // checkout/prod changes all the same
	}{
		"its file":               {map[string]string{"dev.yaml": dev + broken, "prod.yaml": changed, "ops.yaml": ops}, "", "checkout/dev", true},
		"its kind is misspelt":   {map[string]string{"dev.yaml": strings.Replace(dev, "kind: Environment", "kind: Enviroment", 1), "prod.yaml": changed, "ops.yaml": ops}, "", "checkout/dev", true},
		"another one is deleted": {map[string]string{"dev.yaml": dev + broken, "prod.yaml": changed}, "billing/ops", "checkout/dev", true},
		"renamed and broken":     {map[string]string{"new.yaml": dev + broken, "prod.yaml": changed, "ops.yaml": ops}, "", "checkout/dev", true},
		"another name, and broken": {map[string]string{"new.yaml": strings.ReplaceAll(dev, "envName: dev", "envName: next") + broken, "prod.yaml": changed}, "",
			"checkout/next", true},
		"second document":   {map[string]string{"all.yaml": prod + "---\n" + dev + broken, "ops.yaml": ops}, "", "checkout/dev", false},
		"first document":    {map[string]string{"all.yaml": dev + broken + "---\n" + prod, "ops.yaml": ops}, "", "checkout/dev", false},
		"no names":          {map[string]string{"dev.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {\n", "prod.yaml": changed}, "", "unknown (dev/dev.yaml)", true},
		"merge conflict":    {map[string]string{"dev.yaml": "<<<<<<< a\n" + dev + "=======\n" + ops + ">>>>>>> b\n", "prod.yaml": changed}, "", "unknown (dev/dev.yaml)", true},
		"never was a stack": {map[string]string{"dev.yaml": dev, "prod.yaml": changed, "ops.yaml": ops, "new.yaml": strings.ReplaceAll(dev, "envName: dev", "envName: next") + broken}, "", "checkout/next", true},
		"not UTF-8":         {map[string]string{"dev.yaml": dev + "# \xff\n", "prod.yaml": changed, "ops.yaml": ops}, "", "checkout/dev", true},
		"directive":         {map[string]string{"dev.yaml": "%YAML 1.2\n---\n" + dev, "prod.yaml": changed, "ops.yaml": ops}, "", "checkout/dev", true},
		"its Team":          {map[string]string{"dev.yaml": dev, "prod.yaml": changed, "ops.yaml": ops, "team.yaml": team + broken}, "", "checkout/dev", false},
		"its Team has a mistake": {map[string]string{"dev.yaml": dev, "prod.yaml": changed, "ops.yaml": ops,
			"team.yaml": strings.Replace(team, "spec:", "spec:\n  teardownProtection: maybe", 1)}, "", "checkout/dev", false},
		"a Team of no name":            {map[string]string{"dev.yaml": dev, "prod.yaml": changed, "ops.yaml": ops, "team.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Team\nmetadata: [\n"}, "", "billing/ops", false},
		"deleted, and its Team broken": {map[string]string{"prod.yaml": changed, "ops.yaml": ops, "team.yaml": team + broken}, "", "checkout/prod", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, deleted, problems := keepTexts(t, test.files, first)
			if problems.StopsEnvironment() || !problems.StopsStack(test.stops) || strings.Join(deleted, " ") != test.deleted {
				t.Fatalf("deleted %v, problems %v", deleted, problems)
			}
			for _, folder := range []string{"environments/checkout/dev", "environments/billing/ops", "team/checkout-team-environment/dev-environment-component"} {
				if !strings.HasSuffix(folder, test.deleted) || test.deleted == "" {
					if !tree.Equal(got.Sub(folder), first.Sub(folder)) {
						t.Errorf("%s does not stay as it is:\n%s", folder, changesOf(first, got))
					}
				}
			}
			if same := tree.Equal(got.Sub("environments/checkout/prod"), first.Sub("environments/checkout/prod")); same == test.others {
				t.Errorf("checkout/prod stays: %v", same)
			}
		})
	}
}

// TestUnreadFileOfOthers: a file that may hold something else than stacks stops the environment.
func TestUnreadFileOfOthers(t *testing.T) {
	dev := stackText("checkout", "", "")
	first, _, _ := keepTexts(t, map[string]string{"dev.yaml": dev}, tree.Tree{})
	for name, text := range map[string]string{
		"of no kind":       "a: [\n",
		"a policy":         "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {\n",
		"a stack and more": dev + "  a: [\n---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: a}\n",
		"without ---":      dev + "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {\n",
		"another project":  "apiVersion: environments.example.com/v1\nkind: Environment\nmetadata: {\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, problems := keepTexts(t, map[string]string{"dev.yaml": dev, "other.yaml": text}, first); !problems.StopsEnvironment() {
				t.Error(problems)
			}
		})
	}
}
