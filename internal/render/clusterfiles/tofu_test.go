package clusterfiles_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// modulesCommit is the commit at which the modules of a case were read.
const modulesCommit = "1111111111111111111111111111111111111111"

// renderTofu renders the environment of a case, with the modules below modules in its archive as those of
// its repository. Without any, the repository was not read.
func renderTofu(t *testing.T, c *golden.Case) (tree.Tree, problem.List) {
	t.Helper()
	layers := append(c.Layers(t), model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: c.Tree(t, "templates")})
	if modules := c.Tree(t, "modules"); !modules.IsEmpty() {
		layers = append(layers, model.Layer{Kind: model.Files, Name: "example.com/gull/infra-modules@v1.4.0", Commit: modulesCommit, Files: modules})
	}
	m, problems := model.Parse(c.Environment(), layers...)
	files, more := output.Render(m, nil, output.Options{})
	return files.Sub(clusterfiles.Folder), append(problems, more...).Sorted()
}

// TestTofuFiles shows the files of manifests that tofu-controller carries out, and builds each folder as
// Flux does.
func TestTofuFiles(t *testing.T) {
	golden.Run(t, "testdata/tofu/*.txtar", func(t *testing.T, c *golden.Case) {
		files, problems := renderTofu(t, c)
		c.Want(t, "problems", golden.Problems(problems))
		c.Want(t, "files", golden.Files(files))
		if problems.Stops() {
			return
		}
		checkObjects(t, files)
		checkReached(t, files)
		for file, data := range files.All() {
			if path.Base(file) == provision.LockFile { // no object
				continue
			}
			for _, m := range objectName.FindAllSubmatch(data, -1) {
				if err := kubename.Check(string(m[1])); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	})
}

// objectName matches the name of an object, or of what one refers to.
var objectName = regexp.MustCompile(`(?m)^ +name: "?([^"\n]*)"?$`)

// moduleSource matches the source of a module that a root module calls.
var moduleSource = regexp.MustCompile(`"git::https://example\.com/gull/infra-modules//([^?"]+)[^"]*"`)

// TestTofuValidate: Terraform takes the root modules, with the modules of the case, which are stubs.
func TestTofuValidate(t *testing.T) {
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("SKIPPED: terraform is not on PATH, so the root modules were not checked by Terraform itself")
	}
	count := 0
	golden.Run(t, "testdata/tofu/read.txtar", func(t *testing.T, c *golden.Case) {
		files, problems := renderTofu(t, c)
		if problems.Stops() {
			t.Fatal(golden.Problems(problems))
		}
		into := t.TempDir()
		for file, data := range c.Tree(t, "modules").All() {
			writeFile(t, filepath.Join(into, filepath.FromSlash(file)), data)
		}
		for file, data := range files.All() {
			if path.Ext(file) != ".tf" {
				continue
			}
			dir := filepath.Join(into, path.Base(path.Dir(file)))
			local := moduleSource.ReplaceAll(data, []byte(`"../$1"`))
			if bytes.Equal(local, data) {
				t.Errorf("%s calls no module of the case", file)
			}
			writeFile(t, filepath.Join(dir, "main.tf"), local)
			runTerraform(t, dir, "fmt", "-check")
			runTerraform(t, dir, "init", "-backend=false", "-input=false")
			runTerraform(t, dir, "validate")
			count++
		}
	})
	if count < 7 {
		t.Errorf("only %d root modules were validated", count)
	}
}

func writeFile(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func runTerraform(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "terraform", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_DATA_DIR=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("terraform %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
}

// randomManifest returns a manifest with up to four pools of each kind and load balancers. Pools have a
// type each, so that a test can change one.
func randomManifest(r *rand.Rand, serverType string) string {
	var pools, control, compute, balancers, lbPools strings.Builder
	add := func(list *strings.Builder, name string) {
		machine := "cpx22"
		if name == "control-0" {
			machine = serverType
		}
		fmt.Fprintf(&pools, "      - {name: %s, providerSpec: {name: hetzner-1, region: r%d}, count: %d, serverType: %s, image: a}\n", name, r.IntN(2), 1+r.IntN(3), machine)
		fmt.Fprintf(list, "%s,", name)
	}
	for i := range 1 + r.IntN(3) {
		add(&control, fmt.Sprintf("control-%d", i))
	}
	for i := range 1 + r.IntN(3) {
		add(&compute, fmt.Sprintf("compute-%d", i))
	}
	api := r.IntN(2) == 0
	for i := range r.IntN(3) {
		lbPools.Reset()
		add(&lbPools, fmt.Sprintf("lb-%d", i))
		roles := "web"
		if i == 0 && api {
			roles = "api,web"
		}
		fmt.Fprintf(&balancers, "      - {name: front-%d, roles: [%s], targetedK8s: one, pools: [%s], dns: {dnsZone: example.org, provider: hetzner-1, hostname: h%d}}\n", i, roles, lbPools.String(), i)
	}
	balancing := "\n    roles: []\n    clusters: []"
	if balancers.Len() > 0 {
		balancing = "\n    roles:\n      - {name: web, protocol: tcp, port: 443, targetPort: 30443, targetPools: [compute-0]}\n"
		if api {
			balancing += "      - {name: api, protocol: tcp, port: 6443, targetPort: 6443, targetPools: [control-0]}\n"
		}
		balancing += "    clusters:\n" + balancers.String()
	}
	return fmt.Sprintf(`apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: m, namespace: fleet, annotations: {fairlead.io/executor: tofu, fairlead.io/existing-secrets: fleet/a}}
spec:
  providers: [{name: hetzner-1, providerType: hetzner, secretRef: {name: a, namespace: fleet}}]
  nodePools:
    dynamic:
%s  kubernetes:
    clusters: [{name: one, version: 1.35.0, network: 192.168.0.0/20, pools: {control: [%s], compute: [%s]}}]
  loadBalancers:%s
`, pools.String(), control.String(), compute.String(), balancing)
}

const randomSettings = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://example.com/gull/gitops, branch: dev, path: .}
---
apiVersion: fairlead.io/v1alpha1
kind: ClusterModules
metadata: {name: infra}
spec:
  repo: https://example.com/gull/infra-modules
  ref: v1.4.0
  providers: {hetzner: {network: {path: n}, pool: {path: p}, dns: {path: d}}}
  bootstrap: {path: b}
  loadBalancer: {path: l}
`

// renderTexts renders a manifest with the modules of randomSettings, and other objects.
func renderTexts(t *testing.T, manifest, more string) (tree.Tree, problem.List) {
	t.Helper()
	files, err := tree.FromFiles(map[string][]byte{"m.yaml": []byte(manifest), "s.yaml": []byte(randomSettings), "more.yaml": []byte(more)})
	if err != nil {
		t.Fatal(err)
	}
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
	all, found := output.Render(m, nil, output.Options{})
	return all.Sub(clusterfiles.Folder), append(problems, found...)
}

func renderText(t *testing.T, manifest string) tree.Tree {
	t.Helper()
	files, problems := renderTexts(t, manifest, "")
	if problems.Stops() {
		t.Fatalf("%s\n%s", golden.Problems(problems), manifest)
	}
	return files
}

// TestTofuApproval: a plan is approved for the inputs that it was made from, and for no others.
func TestTofuApproval(t *testing.T) {
	manifest := func(machine string) string { return randomManifest(rand.New(rand.NewPCG(1, 1)), machine) }
	before := renderText(t, manifest("cpx22")).Sub("tofu/fleet-m/objects")
	part := ""
	for _, e := range before.Entries() {
		if strings.Contains(e.Name, "-np-control-control-0") {
			part = e.Name
		}
	}
	textOf := func(files tree.Tree, file string) string {
		e, _ := files.Lookup(path.Join(part, file))
		return string(e.Data)
	}
	field := func(text, name string) string {
		_, rest, _ := strings.Cut(text, name+": ")
		value, _, _ := strings.Cut(rest, "\n")
		return strings.Trim(value, `"`)
	}
	commit, inputs := field(textOf(before, "gitrepository.yaml"), "commit"), field(textOf(before, "terraform.yaml"), "fairlead.io/inputs")
	approval := fmt.Sprintf(`{apiVersion: fairlead.io/v1alpha1, kind: PlanApproval, metadata: {name: a},
  spec: {stack: clusters/fleet-m, component: %s, plan: plan-fairlead-modules-dev-%s, inputs: "%s", output: "%040d"}}
`, part, commit[:10], inputs, 0)
	if got := field(textOf(before, "terraform.yaml"), "approvePlan"); got != "" {
		t.Errorf("without an approval, approvePlan is %q", got)
	}
	after, problems := renderTexts(t, manifest("cpx22"), approval)
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	if got, want := field(textOf(after.Sub("tofu/fleet-m/objects"), "terraform.yaml"), "approvePlan"), "plan-fairlead-modules-dev-"+commit[:10]; got != want {
		t.Errorf("approvePlan is %q, want %q", got, want)
	}
	if got := field(textOf(after.Sub("tofu/fleet-m/objects"), "gitrepository.yaml"), "commit"); got != commit {
		t.Errorf("the approval moves the pin from %s to %s", commit, got)
	}
	if _, problems := renderTexts(t, manifest("cpx32"), approval); problems.Stops() || !strings.Contains(golden.Problems(problems), "is not for the plan") {
		t.Errorf("with other inputs: %s", golden.Problems(problems))
	}
	other := strings.Replace(approval, part, "other", 1)
	if _, problems := renderTexts(t, manifest("cpx22"), other); problems.Stops() || !strings.Contains(golden.Problems(problems), "which is not in this environment") {
		t.Errorf("of another part: %s", golden.Problems(problems))
	}
}

// TestTofuRandom: whatever a manifest has, Flux reaches every folder, each Kustomization waits only for
// those before it, and so in no circle; and another type of machine of one pool changes the objects and
// the root module of that pool alone.
func TestTofuRandom(t *testing.T) {
	for seed := range uint64(12) {
		files := renderText(t, randomManifest(rand.New(rand.NewPCG(seed, 1)), "cpx22"))
		checkReached(t, files)
		checkObjects(t, files)
		changed := renderText(t, randomManifest(rand.New(rand.NewPCG(seed, 1)), "cpx32"))
		for was, is := range tree.ZipChanged(files.Sub("tofu/fleet-m"), changed.Sub("tofu/fleet-m")) {
			if was.Name != "modules" && was.Name != "objects" {
				continue
			}
			for part := range tree.ZipChanged(was.Tree(), is.Tree()) {
				if !strings.Contains(part.Name, "-np-control-control-0") {
					t.Errorf("seed %d: %s/%s changes with a pool that is not its own", seed, was.Name, part.Name)
				}
			}
		}
	}
}

// TestTofuPlans: plans that a person approves are compared if the settings say with what, a request has one
// part planned again, and what a part made goes with its object only where no plan is approved.
func TestTofuPlans(t *testing.T) {
	manifest := randomManifest(rand.New(rand.NewPCG(1, 1)), "cpx22")
	const settings = `{apiVersion: fairlead.io/v1alpha1, kind: StackSettings, metadata: {name: stacks}, spec: {state: {bucket: states, region: us-east-1}, plans: {webhook: "http://fairlead.svc/webhooks/plans"}}}
`
	before, problems := renderTexts(t, manifest, settings)
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	parts := before.Sub("tofu/fleet-m/objects")
	part := ""
	for _, e := range parts.Entries() {
		terraform, _ := e.Tree().Lookup("terraform.yaml")
		if !e.IsDir() {
			continue
		}
		part = e.Name
		for _, want := range []string{"destroyResourcesOnDeletion: false", "storeReadablePlan: json", "url: http://fairlead.svc/webhooks/plans", "stage: post-planning"} {
			if !bytes.Contains(terraform.Data, []byte(want)) {
				t.Errorf("%s has no %q:\n%s", e.Name, want, terraform.Data)
			}
		}
	}
	request := fmt.Sprintf("---\n{apiVersion: fairlead.io/v1alpha1, kind: PlanRequest, metadata: {name: r}, spec: {stack: clusters/fleet-m, component: %s, after: %040d}}\n", part, 7)
	after, problems := renderTexts(t, manifest, settings+request)
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	for was, is := range tree.ZipChanged(before.Sub("tofu/fleet-m/modules"), after.Sub("tofu/fleet-m/modules")) {
		text, _ := is.Tree().Lookup("fairlead_request.tf")
		if was.Name != part || !bytes.Contains(text.Data, []byte(fmt.Sprintf("%040d", 7))) {
			t.Errorf("a request for %s changes %s: %s", part, was.Name, text.Data)
		}
	}
	if after.ID() == before.ID() {
		t.Error("a request has nothing planned again")
	}
	for text, want := range map[string]string{
		strings.Replace(request, part, "othre", 1):                    "there is no component othre of InputManifest/m to plan again",
		request + strings.Replace(request, "name: r}", "name: s}", 1): "there is another PlanRequest of the component " + part,
	} {
		if _, problems := renderTexts(t, manifest, settings+text); !strings.Contains(golden.Problems(problems), want) {
			t.Errorf("the problems are %s, want %q", golden.Problems(problems), want)
		}
	}
	broken := strings.Replace(settings, "http://fairlead.svc", "http://user:pass@fairlead.svc", 1)
	if _, problems := renderTexts(t, manifest, broken); !problems.Stops() || !strings.Contains(golden.Problems(problems), "spec.plans.webhook is not a URL") {
		t.Errorf("with a password in the URL: %s", golden.Problems(problems))
	}
}
