package stackfiles_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// comparedSettings are those of an environment whose plans are compared before they are applied.
const comparedSettings = settingsText + "  plans: {webhook: \"http://fairlead.fairlead.svc:8080/webhooks/plans\"}\n"

// comparedPlans stands in for tofu-controller in an environment whose plans are compared: it makes plans
// that depend on what there is in the world, keeps one for people while none is approved, makes it again
// before it applies one that is, and asks whether that may be applied.
type comparedPlans struct {
	world map[string]int    // what there is, by component: plans depend on it, and inputs do not
	kept  map[string]string // the plans that people can read
	read  map[string]string // the plans that were read when they were approved, by digest
	// applied and refused are how many plans were.
	applied, refused int
}

// digestField returns the field of an approval with the digest of the plan that a person reads.
func (p *comparedPlans) digestField(name string) string {
	if p == nil {
		return ""
	}
	plan, err := tfplan.Read([]byte(p.kept[name]))
	if err != nil {
		return ""
	}
	p.read[plan.Digest] = p.kept[name]
	return fmt.Sprintf(", digest: %q", plan.Digest)
}

// runPlans is what tofu-controller does with the objects that are published.
func (a *approvals) runPlans() {
	p := a.compared
	for _, name := range a.graph.names() {
		pin := a.pin(a.published, name)
		if pin == "" {
			continue
		}
		o := a.terraform(a.published, name)
		action := "create"
		if o.Spec.Destroy {
			action = "delete"
		}
		plan := fmt.Sprintf(`{"format_version":"1.2","timestamp":"%d","resource_changes":[{"address":"module.%s.x","change":{"actions":[%q],"before":{"world":%d},"after":{"pin":%q}}}]}`,
			len(a.history), name, action, p.world[name], pin)
		if o.Spec.ApprovePlan == "" {
			p.kept[name] = plan
		}
		answer := a.askAboutPlan(name, plan)
		if o.Spec.ApprovePlan == "" || !answer.Passed {
			p.refused += map[bool]int{false: 1}[answer.Passed]
			continue
		}
		p.applied++
		if read := p.read[o.Metadata.Annotations[tfplan.DigestAnnotation]]; withoutTime(a.T, read) != withoutTime(a.T, plan) {
			a.Fatalf("%s: the plan\n%s\nis applied, and what was read is\n%s\n%s", name, plan, read, strings.Join(a.steps, "\n"))
		}
	}
}

// askAboutPlan asks what tofu-controller asks: with the object that is published.
func (a *approvals) askAboutPlan(component, plan string) tfplan.Answer {
	a.Helper()
	e, _ := a.published.Lookup("environments/checkout/dev/" + component + "/objects/terraform.yaml")
	var object map[string]any
	if err := yaml.Unmarshal(e.Data, &object); err != nil {
		a.Fatal(err)
	}
	object["status"] = map[string]any{"tfplan": json.RawMessage(plan)}
	question, err := json.Marshal(object)
	if err != nil {
		a.Fatal(err)
	}
	answer, err := tfplan.AnswerQuestion(question)
	if err != nil {
		a.Fatal(err)
	}
	return answer
}

// withoutTime returns a plan without the time at which it was made.
func withoutTime(t *testing.T, plan string) string {
	t.Helper()
	var parts map[string]any
	if err := json.Unmarshal([]byte(plan), &parts); err != nil {
		t.Fatal(err)
	}
	delete(parts, "timestamp")
	text, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestApprovalsAreCompared: where plans are compared, no sequence of edits, teardowns, deletions,
// approvals, renderings and changes of what there is in the world has a plan applied that does anything
// but what the person has read, though plans of one id do different things.
func TestApprovalsAreCompared(t *testing.T) {
	applied, refused := 0, 0
	for seed := range uint64(12) {
		a := newApprovals(t, seed)
		a.compared = &comparedPlans{world: map[string]int{}, kept: map[string]string{}, read: map[string]string{}}
		a.render()
		a.commit()
		for range 80 {
			a.steps = append(a.steps, a.step())
			a.commit()
			if a.r.IntN(4) > 0 {
				a.render()
			}
		}
		applied, refused = applied+a.compared.applied, refused+a.compared.refused
	}
	if applied < 20 || refused < 20 {
		t.Errorf("%d plans were applied, and %d refused: that tries little", applied, refused)
	}
}

// TestComparedMistakes: an approval whose digest is missing, or counts for nothing, is told as such; the
// digest of an approval cannot be changed after it counted.
func TestComparedMistakes(t *testing.T) {
	const stack = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: checkout-dev}\nspec:\n  teamName: checkout\n  envName: dev\n  components:\n" +
		"    - {name: eks, type: terraform, module: {source: \"https://github.com/x/y?ref=v1.0\"}}\n    - {name: auto, type: terraform, autoApprove: true, module: {source: \"https://github.com/x/y?ref=v1.0\"}}\n"
	digest, other := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	texts := map[string]string{"stack.yaml": stack, "settings.yaml": comparedSettings}
	first, _, problems := followTexts(t, texts, nil)
	if problems.Stops() {
		t.Fatal(problems)
	}
	a := &approvals{T: t}
	if auto := a.terraform(first, "auto"); auto.Spec.StoreReadablePlan != "json" || len(auto.Spec.Webhooks) > 0 {
		t.Errorf("plans that no person approves are compared: %+v", auto.Spec)
	}
	approval := func(files map[string]string, digest string) map[string]string {
		o := a.terraform(first, "eks")
		if files["settings.yaml"] == "" {
			plain, _, _ := followTexts(t, files, nil)
			o = a.terraform(plain, "eks")
		}
		out := maps.Clone(files)
		out["approval.yaml"] = fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanApproval\nmetadata: {name: a}\nspec: {stack: checkout/dev, component: eks, plan: %q, inputs: %q, output: %q%s}\n",
			"plan-fairlead-modules-dev-"+a.pin(first, "eks")[:10], o.Metadata.Annotations[stackfiles.InputsAnnotation], outputCommit(0), digest)
		return out
	}
	second, _, problems := followTexts(t, approval(texts, ", digest: "+digest), []tree.Tree{first})
	if problems.Stops() || a.terraform(second, "eks").Metadata.Annotations[tfplan.DigestAnnotation] != digest {
		t.Fatalf("the approved digest is not in the output: %v", problems)
	}
	deleted := approval(texts, ", digest: "+digest)
	delete(deleted, "stack.yaml")
	for _, c := range []struct {
		name    string
		texts   map[string]string
		history []tree.Tree
		want    string
	}{
		{"no digest", approval(texts, ""), []tree.Tree{first}, "the approval has no digest of the plan of the component eks"},
		{"no digest of a digest", approval(texts, ", digest: abc"), []tree.Tree{first}, `spec.digest is "abc"`},
		{"not compared", approval(map[string]string{"stack.yaml": stack}, ", digest: "+digest), nil, "the digest of the plan of the component eks is not compared with anything"},
		{"no longer compared", func() map[string]string {
			m := approval(texts, ", digest: "+digest)
			delete(m, "settings.yaml")
			return m
		}(), []tree.Tree{first, second}, "the approval is not for the plan of the component eks"},
		{"another digest", approval(texts, ", digest: "+other), []tree.Tree{first, second}, "an approval of the plan of the component eks has counted before"},
		{"torn down", deleted, []tree.Tree{first, second}, "the approval is not for the plan of the component eks"},
	} {
		_, _, problems := followTexts(t, c.texts, c.history)
		if !strings.Contains(fmt.Sprint(problems), c.want) {
			t.Errorf("%s: %v, want %q", c.name, problems, c.want)
		}
	}
}
