package daemon_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const planStack = `apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec:
  state: {bucket: states, region: us-east-1}
  modules: {repo: "https://git.example/gitops"}
  plans: {webhook: "http://fairlead.fairlead.svc:8080/webhooks/plans"}
---
apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-dev, namespace: zmart-config}
spec:
  teamName: checkout
  envName: dev
  components:
    - {name: server, type: terraform, module: {source: "https://github.com/x/y?ref=v1"}}
`

// TestServePlans: what the daemon renders makes tofu-controller ask the daemon, which says yes to the
// plan that was approved and to no other. The test stands in for tofu-controller: it sends the object of
// the output, as it may have changed, with a plan of Terraform's.
func TestServePlans(t *testing.T) {
	dir, o := began(t)
	work := filepath.Join(dir, "work")
	gittest.Git(t, dir, "clone", "--quiet", "--branch", "dev", o.ControlPlane, work)
	if err := os.WriteFile(filepath.Join(work, "stack.yaml"), []byte(planStack), 0o644); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, work, "add", "stack.yaml")
	gittest.Git(t, work, "commit", "--quiet", "--message", "A stack")
	gittest.Git(t, work, "push", "--quiet")
	plan, err := os.ReadFile("../../render/tfplan/testdata/update.json")
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile("../../render/tfplan/testdata/destroy.json")
	if err != nil {
		t.Fatal(err)
	}
	read, err := tfplan.Read(plan)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := limited(t)
	defer stop()
	base, asked := "", false
	err = daemon.Serve(ctx, daemon.Options{
		Settings: settings(t, dir, "controlPlane: {repo: plane.git}\nlisten: 127.0.0.1:0\ndataDir: data\nschedule: {interval: 1h}\nwrite: true\n"),
		Version:  "v1", Log: &bytes.Buffer{},
		Ready: func(address string) { base = "http://" + address },
		After: func(status.Snapshot) {
			defer stop()
			asked = true
			text := gittest.Git(t, o.GitOps, "show", "fairlead/dev:environments/checkout/dev/server/objects/terraform.yaml")
			for _, c := range []struct {
				name, approved, digest string
				plan                   []byte
				passed                 bool
				want                   string
			}{
				{"no approval", "", "", plan, true, "the plan is not applied"},
				{"the approved plan", "plan-1", read.Digest, plan, true, "the plan is the approved one"},
				{"another plan of the same name", "plan-1", read.Digest, other, false, tfplan.Differs},
				{"an approval without a digest", "plan-1", "", plan, false, "the approval names no digest"},
				{"auto", "auto", read.Digest, plan, false, "the object is not as Fairlead has rendered it"},
			} {
				answer := askAboutPlan(t, base, text, c.approved, c.digest, c.plan)
				if answer.Passed != c.passed || !strings.HasPrefix(answer.Reason, c.want) {
					t.Errorf("%s: %+v, want %q", c.name, answer, c.want)
				}
			}
		},
	})
	if err != nil || !asked {
		t.Errorf("it ended with %v; asked: %v", err, asked)
	}
}

// askAboutPlan sends an object with a plan to the address that the object names, at the daemon that is
// served at base.
func askAboutPlan(t *testing.T, base, object, approved, digest string, plan []byte) (answer tfplan.Answer) {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	spec, annotations := o["spec"].(map[string]any), o["metadata"].(map[string]any)["annotations"].(map[string]any)
	hook := spec["webhooks"].([]any)[0].(map[string]any)
	if hook["stage"] != "post-planning" || hook["payloadType"] != "SpecAndPlan" || hook["testExpression"] != "${{ .passed }}" || spec["storeReadablePlan"] != "json" {
		t.Errorf("the object is %v", spec)
	}
	spec["approvePlan"], o["status"] = approved, map[string]any{"tfplan": json.RawMessage(plan)}
	if digest != "" {
		annotations[tfplan.DigestAnnotation] = digest
	}
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	address := base + strings.TrimPrefix(hook["url"].(string), "http://fairlead.fairlead.svc:8080")
	response, err := http.Post(address, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", response.Status, err)
	}
	return answer
}
