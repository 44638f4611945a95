package loop_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// takenStack returns a stack that takes a blueprint.
func takenStack(name, blueprint, env string) string {
	return fmt.Sprintf("apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: %s, annotations: {fairlead.io/blueprint: %s}}\nspec: {teamName: shop, envName: %s}\n", name, blueprint, env)
}

// blueprintFiles are a blueprint of two stacks of which one is active, its module, and a blueprint that reads it.
func blueprintFiles(active, tag string) map[string]string {
	return map[string]string{
		"modules/lb/main.tf": "output \"hostname\" { value = \"" + tag + "\" }\n",
		"blueprints/shop.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop, annotations: {fairlead.io/active: shop-" + active + "}}\n" +
			"spec: {components: [{name: lb, type: terraform, module: {source: ./modules/lb}, outputs: [{name: hostname}]}]}\n",
		"blueprints/edge.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: edge}\n" +
			"spec: {components: [{name: dns, type: terraform, module: {source: \"https://github.com/x/y?ref=v1.0\"}, variables: [{name: target, valueFrom: shop/lb.hostname}]}]}\n",
	}
}

var stateKey = regexp.MustCompile(`key\s+= "[^"]*"`)

// wantOwnStates checks that no environment writes a state that another one writes.
func (w *world) wantOwnStates(what string, environments ...string) {
	w.Helper()
	owners := map[string]string{}
	for _, environment := range environments {
		for name, text := range w.below(environment, "") {
			if !strings.HasSuffix(name, "/terraform/terraform.tf") {
				continue
			}
			key := stateKey.FindString(text)
			if other := owners[key]; key == "" || other != "" && other != environment {
				w.Fatalf("%s: %s and %s have the state %q: %s", what, environment, other, key, name)
			}
			owners[key] = environment
		}
	}
	if len(owners) == 0 {
		w.Fatalf("%s: there are no states", what)
	}
}

// TestBlueprintKilled: a commit of the base switches from blue to green and changes the module, while stage takes
// the name of a stack of dev; another commit reverts it. Killed at each step, the daemon ends where it does otherwise,
// and no environment ever has the state of another one.
func TestBlueprintKilled(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
	w.more += "parallel: 1\n"
	w.commitNow("main", "blueprints", blueprintFiles("blue", "one"))
	for _, environment := range []string{"dev", "stage"} {
		w.commitNow(environment, "take them", map[string]string{
			"stacks/settings.yaml": stackSettingsText, "stacks/edge.yaml": takenStack("edge", "edge", environment),
			"stacks/blue.yaml": takenStack("shop-blue", "shop", environment+"-blue"), "stacks/green.yaml": takenStack("shop-green", "shop", environment+"-green"),
		})
	}
	settle := func(data string) {
		d := w.begin(data)
		defer d.Close()
		for range 4 {
			d.pass(0)
		}
	}
	settle(w.data)
	first := map[string]map[string]string{}
	for _, environment := range []string{"dev", "stage"} {
		first[environment] = w.below(environment, "team")
	}
	for _, phase := range []struct {
		name   string
		before func()
		reads  map[string]string // the stack that edge reads, by environment
		steps  []string          // some of those that there are
	}{
		{"a switch", func() {
			w.commitNow("main", "green", blueprintFiles("green", "two"))
			w.commitNow("stage", "the name of dev", map[string]string{"stacks/green.yaml": takenStack("shop-green", "shop", "dev-green")})
		}, map[string]string{"dev": "shop/dev-green/", "stage": "shop/stage-blue/"}, []string{"put the issue", "commit to dev"}},
		{"a revert", func() {
			w.commitNow("stage", "its own name", map[string]string{"stacks/green.yaml": takenStack("shop-green", "shop", "stage-green")})
			w.people.Pull("main")
			gittest.Git(w, w.people.Dir, "revert", "--no-edit", "HEAD")
			w.people.Push("main")
		}, map[string]string{"dev": "shop/dev-blue/", "stage": "shop/stage-blue/"}, []string{"push the root modules", "merge the pull request", "commit to dev"}},
	} {
		phase.before()
		w.now = w.now.Add(time.Hour)
		before := w.save()
		settle(w.data)
		want := w.outcome()
		for environment, state := range phase.reads {
			name := "team/shop-team-environment/" + environment + "-environment-component/dns/terraform"
			if text := w.below(environment, name)["data.tf"]; !strings.Contains(text, state) {
				t.Errorf("%s: edge of %s does not read %s:\n%s", phase.name, environment, state, text)
			}
		}
		steps := w.killAtEveryStep(before, func(n int, step string) {
			what := fmt.Sprintf("%s, killed at step %d (%s)", phase.name, n, step)
			w.wantOwnStates(what, "dev", "stage")
			if !strings.HasPrefix(step, "ask ") { // nothing was done since the last one
				settle(w.data)
				w.wantOutcome(what, want)
			}
		})
		for _, step := range phase.steps {
			if !slices.Contains(steps, step) {
				t.Errorf("%s: the steps were %q, without %q", phase.name, steps, step)
			}
		}
		settle(w.data)
		w.wantOutcome(phase.name+", never killed", want)
	}
	for environment, files := range first {
		if diff := cmp.Diff(files, w.below(environment, "team")); diff != "" {
			t.Errorf("reverted, the root modules of %s are others (-before +after):\n%s", environment, diff)
		}
	}
}

// TestInfrastructureKilled: a change of a module goes from dev to prod, stage is rolled back to before it, and the stacks of
// stage are cloned into a new environment. Killed at each step, until the last environment has it, the daemon ends where it does
// otherwise, and no environment ever has the state of another one.
func TestInfrastructureKilled(t *testing.T) {
	all := []string{"dev", "stage", "prod"}
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n    - {name: prod, after: [stage], merge: direct, proof: []}\n", "dev", "stage", "prod", "eu")
	w.more += "parallel: 1\nmerge: {eu: direct}\n"
	w.commitNow("main", "blueprints", blueprintFiles("blue", "one"))
	take := func(environment, owner string) {
		w.commitNow(environment, "take them", map[string]string{
			"stacks/settings.yaml": stackSettingsText, "stacks/edge.yaml": takenStack("edge", "edge", owner),
			"stacks/blue.yaml": takenStack("shop-blue", "shop", owner+"-blue"), "stacks/green.yaml": takenStack("shop-green", "shop", owner+"-green"),
		})
	}
	for _, environment := range all {
		take(environment, environment)
	}
	const cycles = 4
	settle := func(data string) {
		d := w.begin(data)
		defer d.Close()
		for range cycles {
			d.pass(0)
		}
	}
	settle(w.data)
	first := recordText(w, w.head("cp", "main"))
	for _, phase := range []struct {
		name   string
		before func()
		has    map[string]string // what the module outputs, by branch
	}{
		{"a change", func() { w.commitNow("main", "two", blueprintFiles("blue", "two")) }, map[string]string{"dev": "two", "stage": "two", "prod": "two"}},
		{"a rollback", func() {
			w.commitNow("stage", "roll back", map[string]string{"base-repo.yaml": first, "hold.yaml": own("Hold", "hold", "{reason: two is rejected}")})
		}, map[string]string{"dev": "two", "fairlead/stage": "one", "prod": "two"}}, // it is held
		{"a clone with the names of stage", func() { take("eu", "stage") }, map[string]string{"fairlead/stage": "one", "eu": ""}},
		{"a clone", func() { take("eu", "eu") }, map[string]string{"fairlead/stage": "one", "eu": "two"}},
	} {
		phase.before()
		w.now = w.now.Add(time.Hour)
		before := w.save()
		settle(w.data)
		want := w.outcome()
		for branch, tag := range phase.has {
			environment := strings.TrimPrefix(branch, "fairlead/")
			text := w.below(branch, "team/shop-team-environment/"+environment+"-blue-environment-component/lb/terraform/module")["main.tf"]
			if (text == "") != (tag == "") || !strings.Contains(text, tag) {
				t.Errorf("%s: the module of %s is not %q:\n%s", phase.name, branch, tag, text)
			}
		}
		for n := 1; ; n++ {
			w.restore(before)
			step := w.diesAt(n, w.data, fmt.Sprintf("%s=%d", cyclesVariable, cycles))
			if step == "" {
				break
			}
			what := fmt.Sprintf("%s, killed at step %d (%s)", phase.name, n, step)
			w.wantOwnStates(what, "dev", "stage", "prod", "eu")
			if !strings.HasPrefix(step, "ask ") { // nothing was done since the last one
				settle(w.data)
				w.wantOutcome(what, want)
			}
		}
	}
}
