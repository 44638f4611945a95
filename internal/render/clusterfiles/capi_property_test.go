package clusterfiles_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// capiPool is a pool of a random manifest.
type capiPool struct {
	count, max, disk              int
	serverType, image, zone, tier string
	spot, tainted                 bool
}

func randomPool(r *rand.Rand) capiPool {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	return capiPool{
		count: 1 + 2*r.IntN(2), max: r.IntN(2) * 5, disk: r.IntN(2) * 50, serverType: pick("t3.medium", "t3.large"),
		image: pick("ami-1", "ami-2"), zone: pick("", "eu-central-1a"), tier: pick("", "core", "edge"),
		spot: r.IntN(2) == 0, tainted: r.IntN(2) == 0,
	}
}

// mutate changes some fields of a pool.
func (p capiPool) mutate(r *rand.Rand) capiPool {
	other := randomPool(r)
	for _, change := range []func(){
		func() { p.count = other.count }, func() { p.max = other.max }, func() { p.disk = other.disk }, func() { p.image = other.image },
		func() { p.serverType = other.serverType }, func() { p.zone = other.zone }, func() { p.tier = other.tier },
		func() { p.spot, p.tainted = other.spot, other.tainted },
	} {
		if r.IntN(3) == 0 {
			change()
		}
	}
	return p
}

func (p capiPool) text(name string, control bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "      - name: %s\n        providerSpec: {name: aws-1, region: eu-central-1, zone: %q}\n        serverType: %s\n        image: %s\n", name, p.zone, p.serverType, p.image)
	if p.max > 0 && !control {
		fmt.Fprintf(&b, "        autoscaler: {min: 0, max: %d}\n", p.max)
	} else {
		fmt.Fprintf(&b, "        count: %d\n", p.count)
	}
	if p.disk > 0 {
		fmt.Fprintf(&b, "        storageDiskSize: %d\n", p.disk)
	}
	if p.tier != "" {
		fmt.Fprintf(&b, "        labels: {tier: %s, node-role.kubernetes.io/%s: \"\"}\n", p.tier, p.tier)
	}
	if p.tainted {
		b.WriteString("        taints: [{key: tier, value: x, effect: NoSchedule}]\n")
	}
	if p.spot && !control {
		b.WriteString("        spot: true\n")
	}
	return b.String()
}

// capiManifest returns a manifest with a control pool and compute pools.
func capiManifest(pools []capiPool, minor int) string {
	var b strings.Builder
	b.WriteString("apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata:\n  name: edge\n  namespace: fleet\n" +
		"  annotations: {fairlead.io/executor: capi, fairlead.io/existing-secrets: capa-system/aws}\nspec:\n  providers:\n" +
		"    - {name: aws-1, providerType: aws, secretRef: {name: aws, namespace: capa-system}}\n  nodePools:\n    dynamic:\n")
	var compute []string
	for i, p := range pools {
		name := fmt.Sprintf("pool-%d", i)
		b.WriteString(p.text(name, i == 0))
		if i > 0 {
			compute = append(compute, name)
		}
	}
	fmt.Fprintf(&b, "  kubernetes:\n    clusters:\n      - name: one\n        version: 1.%d.0\n        network: 192.168.0.0/16\n        pools: {control: [pool-0], compute: [%s]}\n", minor, strings.Join(compute, ", "))
	return b.String()
}

// capiObject is what the tests read of an object of Cluster API.
type capiObject struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				Bootstrap struct {
					ConfigRef struct{ Kind, Name string } `yaml:"configRef"`
				}
				InfrastructureRef struct{ Kind, Name string } `yaml:"infrastructureRef"`
			}
		}
		MachineTemplate struct {
			Spec struct {
				InfrastructureRef struct{ Kind, Name string } `yaml:"infrastructureRef"`
			}
		} `yaml:"machineTemplate"`
	}
}

// templatesOf returns the templates of an output as texts, by kind and name. It checks that there is one
// for every reference.
func templatesOf(t *testing.T, files tree.Tree) map[string]string {
	t.Helper()
	all, wanted := map[string]string{}, []string{}
	for file, data := range files.All() {
		if !strings.Contains(file, "20-clusters/cluster-") {
			continue
		}
		for text := range strings.SplitSeq(string(data), "---\n") {
			var o capiObject
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(o.Kind, "Template") {
				all[o.Kind+" "+o.Metadata.Name] = text
			}
			machines, config := o.Spec.Template.Spec.InfrastructureRef, o.Spec.Template.Spec.Bootstrap.ConfigRef
			switch o.Kind {
			case "MachineDeployment":
				wanted = append(wanted, machines.Kind+" "+machines.Name, config.Kind+" "+config.Name)
			case "KubeadmControlPlane":
				machines = o.Spec.MachineTemplate.Spec.InfrastructureRef
				wanted = append(wanted, machines.Kind+" "+machines.Name)
			}
		}
	}
	for _, name := range wanted {
		if all[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	return all
}

// TestTemplatesNeverChange edits manifests at random. What Cluster API does not let anybody change, and
// what it would not roll out if it were changed, must have another name when it is another.
func TestTemplatesNeverChange(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 6))
	ever := map[string]string{}
	pools := []capiPool{randomPool(r), randomPool(r), randomPool(r)}
	for range 120 {
		files, problems := renderManifests(capiManifest(pools, 34+r.IntN(3)))
		if problems.Stops() {
			t.Fatalf("%s", golden.Problems(problems))
		}
		for name, text := range templatesOf(t, files) {
			if before, there := ever[name]; there && before != text {
				t.Fatalf("%s was\n%sand is\n%s", name, before, text)
			}
			ever[name] = text
		}
		for i := range pools {
			pools[i] = pools[i].mutate(r)
		}
		if r.IntN(10) == 0 {
			pools = append(pools[:1], pools[2:]...)
		}
		if len(pools) < 2 || r.IntN(10) == 0 && len(pools) < 6 {
			pools = append(pools, randomPool(r))
		}
	}
	if len(ever) < 50 {
		t.Errorf("only %d templates were made", len(ever))
	}
}

// TestCAPIHealth evaluates the conditions of health of a cluster as Flux does.
func TestCAPIHealth(t *testing.T) {
	files, _ := renderManifests(capiManifest([]capiPool{randomPool(rand.New(rand.NewPCG(1, 1)))}, 36))
	flux, _ := files.Lookup("clusters/capi/fleet-edge/flux.yaml")
	health := healthOf(t, string(flux.Data))
	if len(health) != 1 {
		t.Fatalf("there are %d conditions of health", len(health))
	}
	for _, test := range []struct{ name, object, want string }{
		{"new", `{metadata: {generation: 1}}`, "in progress"},
		{"seen", `{metadata: {generation: 1}, status: {observedGeneration: 1}}`, "in progress"},
		{"changed", `{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Available, status: "True"}]}}`, "in progress"},
		{"made", `{metadata: {generation: 1}, status: {observedGeneration: 1, phase: Provisioned, conditions: [{type: Available, status: "True"}, {type: RollingOut, status: "False"}]}}`, "current"},
		{"rolls out", `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Available, status: "True"}, {type: RollingOut, status: "True"}]}}`, "in progress"},
		{"not yet", `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Available, status: "False"}]}}`, "in progress"},
		{"failed", `{metadata: {generation: 1}, status: {observedGeneration: 1, phase: Failed, conditions: [{type: Available, status: "False"}]}}`, "failed"},
		{"goes", `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Available, status: "True"}, {type: Deleting, status: "True"}]}}`, "in progress"},
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
			t.Fatal(err)
		}
		if got := health[0].evaluate(t, object); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
