package loop_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPreviewOfDeletedStack: the preview of a pull request that deletes the file of a stack says what the
// daemon does after the merge: it destroys the components, in a change that the preview has named.
func TestPreviewOfDeletedStack(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	people := fake.Git.Work(t, githubCP)
	people.Pull("dev")
	people.Write("stacks/settings.yaml", stackSettingsText)
	people.Write("stacks/checkout.yaml", stackFileText)
	people.Commit("a stack")
	people.Push("HEAD:dev")
	d.cycle()
	fake.Merge(githubOut, d.state("dev").Pull.Number, false)
	d.cycle()

	gittest.Git(t, people.Dir, "rm", "-q", "stacks/checkout.yaml")
	commit := people.Commit("it is not needed any more")
	people.Push("HEAD:closing")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "closing", Base: "dev", Title: "closing"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	d.cycle()
	text := strings.Join(fake.Comments(githubCP, number), "\n")
	const what = "**What:** DESTROY infrastructure of `eks` and `network` in `checkout/dev`"
	if !strings.Contains(text, what) || strings.Contains(text, "REMOVE") || !strings.Contains(text, "the file of the stack checkout/dev was deleted: its components are destroyed") {
		t.Errorf("the preview says:\n%s", text)
	}
	named := regexp.MustCompile("fairlead.io/removals: ([0-9a-f]{40})`").FindStringSubmatch(text)
	if named == nil {
		t.Fatalf("the change is not named:\n%s", text)
	}
	fake.Merge(githubCP, number, false)
	d.cycle()
	e := d.state("dev")
	if e.Pull == nil || len(e.Withheld) != 1 || e.Withheld[0].Acknowledge != named[1] {
		t.Fatalf("it is withheld for %+v, and was named %s", e.Withheld, named[1])
	}
	if !strings.HasPrefix(e.Pull.Title, "dev: DESTROY eks and network in checkout/dev") {
		t.Errorf("the title of the pull request is %s", e.Pull.Title)
	}
}

// TestPreviewOfStacks: the preview of a pull request compares with what the output has of stacks: a stack that
// is torn down already, whose plan can be approved. It stops only the stack that another environment has.
func TestPreviewOfStacks(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev", "stage")
	people := fake.Git.Work(t, githubCP)
	commit := func(branch, from string, files map[string]string) string {
		people.Pull(from)
		for file, text := range files {
			if text == "" {
				gittest.Git(t, people.Dir, "rm", "-q", file)
			} else {
				people.Write(file, text)
			}
		}
		commit := people.Commit("a change")
		people.Push("HEAD:" + branch)
		return commit
	}
	publish := func(environment string, files map[string]string) {
		commit(environment, environment, files)
		d.cycle()
		fake.Merge(githubOut, d.state(environment).Pull.Number, false)
		d.cycle()
	}
	propose := func(branch string, files map[string]string) string {
		head := commit(branch, "dev", files)
		number := fake.Propose(githubCP, githubfake.Proposed{Head: branch, Base: "dev", Title: branch})
		gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), head)
		d.cycle()
		return strings.Join(fake.Comments(githubCP, number), "\n")
	}
	publish("dev", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText, "stacks/till.yaml": otherStackText})
	publish("dev", map[string]string{"stacks/checkout.yaml": ""})
	output := gittest.Git(t, fake.Git.Dir(githubOut), "show", "dev:environments/checkout/dev/eks/objects/terraform.yaml")
	inputs := regexp.MustCompile(`fairlead.io/inputs: (\S+)`).FindStringSubmatch(output)
	source := gittest.Git(t, fake.Git.Dir(githubOut), "show", "dev:environments/checkout/dev/eks/objects/gitrepository.yaml")
	pin := regexp.MustCompile(`branch: (\S+)\s+commit: ([0-9a-f]{10})`).FindStringSubmatch(source)
	if inputs == nil || pin == nil {
		t.Fatalf("the plan is not known:\n%s\n%s", output, source)
	}
	approval := fmt.Sprintf(`apiVersion: fairlead.io/v1alpha1
kind: PlanApproval
metadata: {name: checkout-dev-eks}
spec: {stack: checkout/dev, component: eks, plan: plan-%s-%s, inputs: %s, output: %s}
`, strings.ReplaceAll(pin[1], "/", "-"), pin[2], inputs[1], strings.TrimSpace(gittest.Git(t, fake.Git.Dir(githubOut), "rev-parse", "dev")))
	text := propose("approving", map[string]string{"stacks/approval.yaml": approval})
	if !strings.Contains(text, "**What:** APPROVE destruction of `eks` in `checkout/dev`") || !strings.Contains(text, "deletes things on clusters") || strings.Contains(text, "problem") {
		t.Errorf("the preview of an approval says:\n%s", text)
	}

	third := strings.NewReplacer("checkout", "shop").Replace(stackFileText)
	publish("stage", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/shop.yaml": third, "stacks/own.yaml": ownState("shop/one")})
	text = propose("copying", map[string]string{"stacks/shop.yaml": third, "stacks/own.yaml": ownState("shop/two"), "stacks/till.yaml": strings.ReplaceAll(otherStackText, "ref=v1.0", "ref=v2.0")})
	for _, want := range []string{"### 2 problems", "environment stage has the stack shop/dev too", "its state is that of the component net of the stack shop/one in environment stage", "Stopped by problems, and would stay as it is: shop/dev, shop/two", "queue"} {
		if !strings.Contains(text, want) {
			t.Errorf("the preview of a copy does not say %q:\n%s", want, text)
		}
	}
}
