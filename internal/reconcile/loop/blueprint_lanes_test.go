package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// laneBlueprint returns a blueprint with a module at a version.
func laneBlueprint(name, ref string) string {
	return "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: " + name + "}\nspec: {components: [{name: queue, type: terraform, module: {source: \"https://github.com/x/y?ref=" + ref + "\"}}]}\n"
}

// runsStacks has the clusters of environments report each component of their outputs: as failed, if its module is "bad".
func (w *world) runsStacks(environments ...string) {
	w.Helper()
	for _, environment := range environments {
		outer, files := forge.Success, w.below(environment, "")
		for _, team := range []string{"hello", "shop"} {
			module, isThere := files["team/"+team+"-team-environment/"+environment+"-environment-component/queue/terraform/module.tf"]
			if !isThere {
				continue
			}
			outcome, text := forge.Success, "ready"
			if strings.Contains(module, "ref=bad") {
				outcome, outer, text = forge.Failure, forge.Failure, "the plan failed"
			}
			w.says(environment, "kustomization/"+team+"-"+environment+"-queue/1", outcome, text)
		}
		w.says(environment, "kustomization/apps/1", outer, "")
	}
}

// TestBlueprintLanes: a blueprint is a lane as any part of the base: while that of one team fails in dev, that of the
// other is planned and proven there by itself, and goes on to stage and prod.
func TestBlueprintLanes(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "stage", "prod")
	w.more = "write: true\n"
	commit := func(names map[string]string, message string, files map[string]string) {
		names[w.commitNow("main", message, files)] = fmt.Sprint(len(names) + 1)
	}
	names := map[string]string{}
	commit(names, "two teams", map[string]string{
		promotionFile: "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  lanes: {each: blueprints/*}\n" +
			"  environments:\n    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct}\n    - {name: prod, after: [stage], merge: direct}\n",
		"blueprints/hello.yaml": laneBlueprint("hello", "v1.0"), "blueprints/shop.yaml": laneBlueprint("shop", "v1.0"),
	})
	for _, environment := range []string{"dev", "stage", "prod"} {
		files := map[string]string{"stacks/settings.yaml": stackSettingsText}
		for _, team := range []string{"hello", "shop"} {
			files["stacks/"+team+".yaml"] = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: " + team + "}\nspec: {teamName: " + team + ", envName: " + environment + "}\n"
		}
		w.commitNow(environment, "take them", files)
	}
	d := w.begin(w.data)
	settle := func() {
		for range 4 {
			d.settle("dev", "stage", "prod")
			w.runsStacks("dev", "stage", "prod")
		}
		d.settle("dev", "stage", "prod")
	}
	settle()
	w.wantBases(names, "dev=1 stage=1 prod=1")
	commit(names, "shop fails", map[string]string{"blueprints/shop.yaml": laneBlueprint("shop", "bad")})
	settle()
	w.wantBases(names, "dev=2 stage=1 prod=1")
	commit(names, "hello is fine", map[string]string{"blueprints/hello.yaml": laneBlueprint("hello", "v2.0")})
	settle()
	w.wantBases(names, "dev=3 stage=1,hello=3 prod=1,hello=3")
	commit(names, "shop is fine", map[string]string{"blueprints/shop.yaml": laneBlueprint("shop", "v2.0")})
	settle()
	w.wantBases(names, "dev=4 stage=4 prod=4")
}
