package stackfiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shownBy names, for each sentence of the specification of stacks that asks for proof, what shows it: a folder
// and a test in it, or a golden case of this package and what that must say.
var shownBy = []struct {
	what string
	by   []string
}{
	{"golden case 1: E2, an item of an output, and a file of variables", []string{"files/two-components: data.terraform_remote_state.networking.outputs.private_subnets[0]"}},
	{"golden case 2: E1 with its overlay", []string{"files/overlay: provider \"kubernetes\" {"}},
	{"golden case 2: teardown protects what a protected component needs", []string{"stacks/overlay-teardown: component networking is not destroyed: it is protected", "stacks/protected-teardown: component networking is not destroyed: eks needs it, and is protected"}},
	{"golden case 3: E3 and E6 torn down, reversed, with the same root modules, not approved", []string{
		"stacks/hello: hello-world-videos after [hello-world-images]", "stacks/hello-teardown: hello-world-images after [hello-world-videos]: destroy true, approvePlan \"\"",
		"stacks/teardown-approved: sensitive = true", "TestChangeStays", "TestOrder", "TestApprovals",
	}},
	{"golden case 4: the form of the README", []string{"files/readme: kind: HelmRelease", "files/readme: CloudKnit does not take the type helm"}},
	{"golden case 5: legacy forms", []string{"stacks/legacy: which is no component of this stack", "stacks/legacy-mended: -- modules --"}},
	{"golden case 6: a circle", []string{"stacks/graph-mistakes: in a circle: a -> b -> c -> a", "TestCircle"}},
	{"golden case 6: a component that needs itself", []string{"stacks/graph-mistakes: component self depends on itself"}},
	{"golden case 6: a name given twice", []string{"stacks/graph-mistakes: two components are named networking"}},
	{"golden case 6: an unknown dependency", []string{"stacks/graph-mistakes: depends on networkings, which is no component of this stack"}},
	{"golden case 6: a dependency named twice", []string{"stacks/graph-mistakes: component twice depends on networking twice"}},
	{"golden case 6: valueFrom of what is not needed", []string{"stacks/value-mistakes: component apart takes a value from networking, and does not depend on it"}},
	{"golden case 6: a scope of a secret", []string{"stacks/value-mistakes: the scope of the secret password cannot be \"organisation\""}},
	{"golden case 6: an output that is not there", []string{"stacks/value-mistakes: valueFrom names the output vpc_ids, which networking does not have"}},
	{"golden case 7: selectiveReconcile", []string{
		"stacks/select: checkout-dev-bare after []: destroy false, approvePlan \"\", suspended", "stacks/select-skip: checkout-dev-bare after []: destroy false, approvePlan \"\"",
		"stacks/select-teardown: checkout-dev-hit-local after []: destroy true", "stacks/select-skip-teardown: checkout-dev-miss after []: destroy true", "stacks/select-helm: suspended",
	}},
	{"golden case 8: autoApprove", []string{"stacks/auto-approve: checkout-on-false after []: destroy false, approvePlan \"\"", "stacks/auto-approve: checkout-off-true after []: destroy false, approvePlan \"auto\""}},
	{"golden case 9: zlocals", []string{"stacks/zlocals: CloudKnit leaves ${zlocals.a_b-0} as it is written", "stacks/zlocals-mistakes: contains ${}, which refers to nothing", "stacks/zlocals-literal: component source: module.source holds ${zlocals.region}", "stacks/value-mistakes: there is no zlocal named regoin", "stacks/file-mistakes: ${zlocals.bar} refers to nothing that is known"}},
	{"golden case 10: paths of secrets", []string{"stacks/secrets: \"/zmart/checkout/dev/postgres/db\"", "stacks/secrets: \"/zmart/db\""}},
	{"golden case 11: a deleted stack, until it is destroyed", []string{"TestDeleted", "TestDeletedOrder", "../../reconcile/loop TestDeletedStack"}},
	{"golden case 11: a component that is removed", []string{"TestDeletedCases", "TestStays"}},
	{"golden case 12: one component's change moves its pin alone", []string{"TestChangeStays", "TestCache"}},
	{"golden case 13: an approval that is stale when destruction begins", []string{"TestApprovals", "TestApprovalsAreCompared", "TestStaleApproval"}},

	{"E1", []string{"files/overlay: -- files --", "stacks/example-placeholders: spec.teamName cannot be \"${TeamName}\""}},
	{"E2", []string{"files/two-components: -- files --", "stacks/example-company: -- modules --"}},
	{"E3", []string{"stacks/hello: -- modules --", "stacks/example-placeholders: spec.teamName cannot be \"${team}\""}},
	{"E4", []string{"files/readme: -- files --"}},
	{"E5", []string{"stacks/legacy-mended: -- modules --"}},
	{"E6", []string{"stacks/teardown-approved: -- modules --"}},
	{"E7", []string{"stacks/example-team: -- problems --", "stacks/example-company: -- modules --"}},
	{"E8", []string{"stacks/example-company: companyName: mytestorg"}},

	{"V1: one stack of a team and a name", []string{"stacks/same-stack: they would share their state", "../../controlplane/stack TestCheckEnvironments", "../../reconcile/loop TestClaimedStack", "../../reconcile/loop TestPreviewOfStacks"}},
	{"V2: names that are missing", []string{"stacks/names: spec.envName cannot be \"\""}},
	{"V3: the team is there", []string{"stacks/team-missing: there is no Team with spec.teamName checkout"}},
	{"V4: names", []string{"stacks/names: spec.teamName cannot be \"team_one\""}},
	{"V5: the namespace", []string{"stacks/names-namespace: -- problems --"}},
	{"V6: a component at least", []string{"stacks/names: a stack has at least one component"}},
	{"V7: names of components", []string{"stacks/names: the name of a component cannot be \"1st\"", "stacks/names: 64 characters long"}},
	{"V8: types", []string{"stacks/type-mistakes: component pulumi: the type cannot be \"pulumi\""}},
	{"V12: valueFrom", []string{"stacks/value-mistakes: valueFrom cannot be \"networking.vpc_id.arn\"", "stacks/type-mistakes: valueFrom cannot be \"network.ids[0].arn\""}},
	{"V13: files that are there", []string{"stacks/file-mistakes: variablesFile: there is no file vars/missin.tfvars", "stacks/other-files-mistakes: -- problems --"}},
	{"V14: nothing new is destroyed", []string{"TestDeletedCases"}},
	{"V15: names stay", []string{"TestDeletedCases", "../../reconcile/loop TestStoppedStackRenamed"}},
	{"fields that are not known", []string{"stacks/names: spec has no field \"components2\"", "stacks/type-mistakes: spec has no field \"autoReconcile\""}},
	{"Team and Company", []string{"stacks/team-mistakes: -- problems --", "stacks/team-follow-mistakes: and this is the repository of the team checkout"}},
	{"not validated by CloudKnit: a variable inline and in the file", []string{"stacks/file-mistakes: bucket is in this file, and in the variables or secrets of the component too"}},
	{"not validated by CloudKnit: a component that needs Applications", []string{"stacks/argocd-folder: -- order --", "stacks/argocd-destroy: -- order --"}},
	{"not validated by CloudKnit: tags", []string{"stacks/zlocals: the tag \"words\" does not become a label", "stacks/type-mistakes: component tagged"}},
	{"not validated by CloudKnit: overlays of one name", []string{"stacks/file-mistakes: the overlays over/a.tf and other/a.tf are both a.tf"}},
	{"not validated by CloudKnit: a value and a valueFrom", []string{"stacks/value-mistakes: the variable both has a value and a valueFrom"}},

	{"bad input: a module repository that cannot be read", []string{"TestModuleMoveCached", "../../reconcile/loop TestModuleMove", "stacks/module-mistakes: -- problems --"}},
	{"bad input: a file of variables that is no HCL", []string{"stacks/file-mistakes: the file of variables cannot be parsed"}},
	{"bad input: an overlay that leaves its folder", []string{"stacks/file-mistakes: overlayFiles: ../../secret is outside of the folder of the environment", "stacks/file-mistakes: the name of overlayData cannot be \"../up.tf\""}},
	{"bad input: a secret in clear", []string{"stacks/secrets-clear: -- problems --"}},
	{"bad input: names that are too long together", []string{"stacks/names-long: -- order --"}},

	{"terraform takes the root modules", []string{"TestTerraformValidate", "TestTerraformValidateCopied", "TestTerraformFormat"}},
	{"objects are valid for Flux and tofu-controller", []string{"TestFiles", "TestStacks", "../../testkit/crdtest TestCheck"}},
	{"the order is the graph, and all of it is in reach", []string{"TestOrder", "TestCircle", "TestDeletedOrder"}},
	{"no plan is approved but the one that was", []string{"TestApprovals", "TestApprovalsAreCompared", "TestSeenApproval", "../../cli/stacksim TestReconcile"}},
	{"blueprints: merged, named, and mistakes in them", []string{"stacks/blueprint: -- modules --", "stacks/blueprint-mistakes: -- problems --"}},
	{"blueprints: prod plans what dev has planned, but for what it sets itself", []string{"TestBlueprintsArePlannedAlike"}},
	{"no two environments have one state", []string{"../../controlplane/stack TestNoSharedState"}},
	{"a change of a blueprint goes from dev to prod", []string{"../../cli TestStackChain"}},
	{"a large fleet of stacks", []string{"BenchmarkRender"}},
	{"the guide and the tutorial are typed", []string{"../../testkit/docstest TestCommands"}},
}

// TestShown: what is said to show a sentence of the specification is there.
func TestShown(t *testing.T) {
	for _, s := range shownBy {
		for _, one := range s.by {
			if !isShown(t, one) {
				t.Errorf("%s: there is no %s", s.what, one)
			}
		}
	}
}

// isShown reports whether there is a test, or a golden case that says something.
func isShown(t *testing.T, one string) bool {
	t.Helper()
	if name, says, ok := strings.Cut(one, ": "); ok {
		text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), says)
	}
	folder, name, ok := strings.Cut(one, " ")
	if !ok {
		folder, name = ".", one
	}
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
