package source

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestCopyStacks: an ephemeral environment has the stacks that it asks for, under names of its own, and
// what is asked for and is not there is a problem.
func TestCopyStacks(t *testing.T) {
	files, err := tree.FromFiles(map[string][]byte{"stacks.yaml": []byte(`apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec: {state: {bucket: zmart-state, region: us-east-1}, modules: {branch: modules}}
---
apiVersion: stable.cloudknit.io/v1
kind: Team
metadata: {name: checkout}
spec: {teamName: checkout, teardownProtection: true, configRepo: {source: x, path: .}}
---
apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-dev, namespace: zmart-config}
spec: {teamName: checkout, envName: dev, components: [{name: a, type: terraform, destroyProtection: true, module: {source: x}}]}
---
apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-other, namespace: zmart-config}
spec: {teamName: checkout, envName: other, components: [{name: a, type: terraform, module: {source: x}}]}
---
apiVersion: fairlead.io/v1alpha1
kind: PlanApproval
metadata: {name: of-the-first}
spec: {stack: checkout/dev, component: a, plan: plan-modules-0123456789, inputs: "0123456789abcdef", output: "` + strings.Repeat("a", 40) + `"}
---
apiVersion: fairlead.io/v1alpha1
kind: PlanApproval
metadata: {name: of-its-copy}
spec: {stack: checkout/dev-pr-7, component: a, plan: plan-modules-0123456789, inputs: "0123456789abcdef", output: "` + strings.Repeat("a", 40) + `"}
---
apiVersion: fairlead.io/v1alpha1
kind: PlanRequest
metadata: {name: of-the-first}
spec: {stack: checkout/dev, component: a, after: "` + strings.Repeat("a", 40) + `"}
`)})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
	if len(m.Stacks.List) != 2 || len(m.Stacks.Approvals) != 2 || len(m.Stacks.Requests) != 1 {
		t.Fatalf("there are %d stacks", len(m.Stacks.List))
	}
	taken := *m
	like := func(name, subtype string, overlays ...model.OverlayData) *model.Stack {
		s := *m.Stacks.List[1]
		c := *s.Components[0]
		c.Subtype.Text, c.OverlayData = subtype, overlays
		s.EnvName.Text, s.Components = name, []*model.StackComponent{&c, nil}
		return &s
	}
	taken.Stacks.List = append(slices.Clone(m.Stacks.List), like("DEV-pr-7", ""), like("copied", "config"),
		like("placed", "", model.OverlayData{Name: model.Text{Text: "terraform.tf"}, Data: model.Text{Text: "terraform {\n  backend \"gcs\" {\n    bucket = \"a\"\n  }\n}\n"}}),
		like("noted", "", model.OverlayData{Name: model.Text{Text: "a.tf"}, Data: model.Text{Text: "# nothing"}}))
	for stack, want := range map[string]string{
		"checkout/dev": "its copy of the stack checkout/dev would be the stack checkout/dev-pr-7", "checkout/other": "", "checkout/noted": "",
		"checkout/copied": "the backend of the component a is in its root module", "checkout/placed": "the backend of the component a is in its root module",
	} {
		problems := (&Ephemeral{Name: "pr-7", Spec: &model.Ephemeral{Stacks: []string{stack}}}).CheckStacks(&taken)
		if problems.Stops() != (want != "") || want != "" && !strings.Contains(problems[0].String(), want) {
			t.Errorf("a copy of %s: %v", stack, problems)
		}
	}
	for _, c := range []struct {
		name   string
		stacks []string
		ending bool
		want   []string // the paths of its stacks
		says   string   // a part of its problems, "" for none
	}{
		{"none is asked for", nil, false, nil, "the stack checkout/dev is no part of the ephemeral environment"},
		{"one", []string{"checkout/dev"}, false, []string{"checkout/dev-pr-7"}, ""},
		{"both", []string{"checkout/other", "checkout/dev"}, false, []string{"checkout/dev-pr-7", "checkout/other-pr-7"}, ""},
		{"its time is over", []string{"checkout/dev"}, true, nil, ""},
		{"one that there is not", []string{"checkout/dve"}, false, nil, "there is no stack checkout/dve that it could have a copy of"},
	} {
		e := &Ephemeral{Name: "pr-7", Spec: &model.Ephemeral{Stacks: c.stacks}}
		own := e.copyStacks(m.Stacks, c.ending)
		var got []string
		for _, s := range own.List {
			got = append(got, stackPath(s))
			if s.Components[0].DestroyProtection {
				t.Errorf("%s: %s is protected", c.name, stackPath(s))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if len(c.stacks) > 0 && (own.Settings[0].Modules.Branch != "fairlead-modules-pr-7" || own.Teams[0].TeardownProtection) {
			t.Errorf("%s: the settings are %+v, and the team %+v", c.name, own.Settings[0].Modules, own.Teams[0])
		}
		approvals := 0
		for _, a := range own.Approvals {
			if a.Stack != "checkout/dev-pr-7" {
				t.Errorf("%s: the approval of a plan of %s is kept", c.name, a.Stack)
			}
			approvals++
		}
		if wanted := slices.Contains(c.stacks, "checkout/dev"); wanted != (approvals == 1) || len(own.Requests) != 0 {
			t.Errorf("%s: %d approvals of its own, and the requests %v", c.name, approvals, own.Requests)
		}
		problems := e.CheckStacks(m)
		if text := problems.Sorted(); (c.says == "") != (len(text) == 0) || c.says != "" && !strings.Contains(text[0].String(), c.says) {
			t.Errorf("%s: the problems are %v", c.name, text)
		}
	}
	if s := m.Stacks; !s.Teams[0].TeardownProtection || s.Settings[0].Modules.Branch != "modules" || !s.List[0].Components[0].DestroyProtection {
		t.Error("the model that the copies were made of has changed")
	}
}
