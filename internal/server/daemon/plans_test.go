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
    - {name: server, type: terraform, module: {source: "https://github.com/x/y?ref=v1.0"}}
---
apiVersion: fairlead.io/v1alpha1
kind: ClusterModules
metadata: {name: infra}
spec:
  repo: https://example.com/gull/infra-modules
  ref: v1.4.0
  providers:
    hetzner: {network: {path: modules/network}, pool: {path: modules/pool}}
  bootstrap: {path: modules/k3s}
---
apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/executor: tofu, fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
`

// TestServePlans: what the daemon renders makes tofu-controller ask the daemon, which says yes to the
// plan that was approved and to no other: of a component of a stack, and of a part of a cluster, which goes
// without destroying what nobody has approved. The test stands in for tofu-controller: it sends the object of
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
			texts := []string{gittest.Git(t, o.GitOps, "show", "fairlead/dev:environments/checkout/dev/server/objects/terraform.yaml")}
			for part := range strings.FieldsSeq(gittest.Git(t, o.GitOps, "ls-tree", "--name-only", "fairlead/dev:clusters/tofu/fleet-edge/objects")) {
				texts = append(texts, gittest.Git(t, o.GitOps, "show", "fairlead/dev:clusters/tofu/fleet-edge/objects/"+part+"/terraform.yaml"))
			}
			if len(texts) != 4 {
				t.Errorf("there are %d Terraform objects", len(texts))
			}
			for _, text := range texts {
				wantAnswers(t, base, text, read.Digest, plan, other)
			}
		},
	})
	if err != nil || !asked {
		t.Errorf("it ended with %v; asked: %v", err, asked)
	}
}

// wantAnswers asks about a plan, and about another one, with an object as it may be on a cluster.
func wantAnswers(t *testing.T, base, text, digest string, plan, other []byte) {
	t.Helper()
	deleted := strings.Replace(text, "metadata:\n", "metadata:\n  deletionTimestamp: \"2026-11-20T09:12:44Z\"\n", 1)
	destroyed := strings.Replace(deleted, "destroyResourcesOnDeletion: false", "destroyResourcesOnDeletion: true", 1)
	if destroyed == deleted {
		t.Errorf("the object destroys what it made when it is deleted:\n%s", text)
	}
	for _, c := range []struct {
		name, object, approved, digest string
		plan                           []byte
		passed                         bool
		want                           string
	}{
		{"no approval", text, "", "", plan, true, "the plan is not applied"},
		{"the approved plan", text, "plan-1", digest, plan, true, "the plan is the approved one"},
		{"another plan of the same name", text, "plan-1", digest, other, false, tfplan.Differs},
		{"an approval without a digest", text, "plan-1", "", plan, false, "the approval names no digest"},
		{"auto", text, "auto", digest, plan, false, "the object is not as Fairlead has rendered it"},
		{"deleted", deleted, "", "", other, true, "the plan is not applied"},
		{"deleted, and somebody has it destroy", destroyed, "", "", other, false, "the object is deleted, and nobody has approved"},
		{"deleted, with an approval of another plan", destroyed, "plan-1", digest, other, false, tfplan.Differs},
		{"deleted, with an approval", destroyed, "plan-1", digest, plan, true, "the plan is the approved one"},
	} {
		answer := askAboutPlan(t, base, c.object, c.approved, c.digest, c.plan)
		if answer.Passed != c.passed || !strings.HasPrefix(answer.Reason, c.want) {
			t.Errorf("%s: %+v, want %q", c.name, answer, c.want)
		}
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
