package clusters_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// resolve reads layers, and returns the manifests with all problems.
func resolve(env string, layers ...model.Layer) ([]*clusters.Manifest, problem.List) {
	m, problems := model.Parse(env, layers...)
	all, more := clusters.Resolve(m)
	return all, append(problems, more...).Sorted()
}

// TestRules breaks a sound control plane in one way at a time. Each file below edit/ has lines with "-"
// that are replaced by the lines with "+" after them; want/ has the problems.
func TestRules(t *testing.T) {
	golden.Run(t, "testdata/rules/*.txtar", func(t *testing.T, c *golden.Case) {
		sound := c.Text("sound.yaml")
		if _, problems := resolveText(sound); len(problems) > 0 {
			t.Fatalf("the sound control plane has problems:\n%s", golden.Problems(problems))
		}
		for _, e := range c.Tree(t, "edit").Entries() {
			t.Run(e.Name, func(t *testing.T) {
				_, problems := resolveText(applyEdit(t, sound, string(e.Data)))
				if len(problems) == 0 {
					t.Errorf("no problem")
				}
				c.Want(t, "want/"+e.Name, golden.Problems(problems))
			})
		}
	})
}

// resolveText resolves an environment of one file.
func resolveText(text string) ([]*clusters.Manifest, problem.List) {
	files := tree.FromEntries([]tree.Entry{tree.File("clusters.yaml", []byte(text)), tree.File("secrets.yaml", []byte(sealed(text)))})
	return resolve("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
}

// sealed returns the Secrets that the comments "# sealed: namespace/name keys" of a text ask for, as
// SOPS writes them.
func sealed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		words, ok := strings.CutPrefix(line, "# sealed: ")
		if !ok {
			continue
		}
		fields := strings.Fields(words)
		namespace, name, _ := strings.Cut(fields[0], "/")
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nstringData:\n", name, namespace)
		for _, key := range fields[1:] {
			fmt.Fprintf(&b, "  %s: ENC[AES256_GCM,data:b3U=,iv:aXY=,tag:dGFn,type:str]\n", key)
		}
		b.WriteString("sops: {version: 3.9.0}\n---\n")
	}
	return b.String()
}

// applyEdit replaces each block of lines with "-" by the lines with "+" that come after it.
func applyEdit(t *testing.T, text, edit string) string {
	t.Helper()
	var before, after strings.Builder
	replaceBlock := func() {
		if n := strings.Count(text, before.String()); n != 1 {
			t.Fatalf("the text is there %d times:\n%s", n, before.String())
		}
		text = strings.Replace(text, before.String(), after.String(), 1)
		before.Reset()
		after.Reset()
	}
	for line := range strings.Lines(edit) {
		switch {
		case strings.HasPrefix(line, "+"):
			after.WriteString(line[1:])
			continue
		case after.Len() > 0:
			replaceBlock()
		}
		before.WriteString(line[1:])
	}
	replaceBlock()
	return text
}

// TestManifests resolves whole control planes: those of Claudie's documentation, its test sets, and
// compositions.
func TestManifests(t *testing.T) {
	golden.Run(t, "testdata/manifests/*.txtar", func(t *testing.T, c *golden.Case) {
		layers := c.Layers(t)
		var secrets strings.Builder
		for _, l := range layers {
			for _, data := range l.Files.All() {
				secrets.WriteString(sealed(string(data)))
			}
		}
		if secrets.Len() > 0 {
			files, err := tree.Union(layers[1].Files, tree.FromEntries([]tree.Entry{tree.File("sealed.yaml", []byte(secrets.String()))}))
			if err != nil {
				t.Fatal(err)
			}
			layers[1].Files = files
		}
		all, problems := resolve(c.Environment(), layers...)
		c.Want(t, "problems", golden.Problems(problems))
		c.Want(t, "manifests", summarize(all))
	})
}

// summarize returns what matters of manifests.
func summarize(all []*clusters.Manifest) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s, project %s, executor %s, decommissioned %t\n", m.Path(), m.Project(), m.Executor, m.Decommissioned)
		for _, p := range m.Spec.Providers {
			fmt.Fprintf(&b, "  provider %s: %s, secret %s/%s, templates %s/%s\n", p.Name, p.Type, p.SecretRef.Namespace, p.SecretRef.Name, p.TemplatesName().Namespace, p.TemplatesName().Name)
		}
		for _, p := range m.Spec.NodePools.Dynamic {
			fewest, most := p.CountNodes()
			fmt.Fprintf(&b, "  dynamic pool %s: %d to %d of %s %s in %s, disk %d, labels %v\n", p.Name, fewest, most, p.ServerType, p.Image, p.ProviderSpec.Region, p.DiskSize(), p.Labels)
		}
		for _, p := range m.Spec.NodePools.Static {
			fmt.Fprintf(&b, "  static pool %s: %d nodes\n", p.Name, len(p.Nodes))
		}
		for _, r := range m.Spec.LoadBalancers.Roles {
			fmt.Fprintf(&b, "  role %s: %s %d to %d of %v, %+v\n", r.Name, r.Protocol, r.Port, r.TargetPort, r.TargetPools, r.EffectiveSettings())
		}
		for _, u := range m.Units {
			fmt.Fprintf(&b, "  cluster %s: %s in %s, control %v, compute %v\n", u.Name, u.Version, u.Network, u.Pools.Control, u.Pools.Compute)
			if u.Binding != nil {
				fmt.Fprintf(&b, "    of type %s with %v\n", u.Binding.ClusterType, u.Binding.Values)
			}
			for _, lb := range u.LoadBalancers {
				fmt.Fprintf(&b, "    load balancer %s: roles %v, %s.%s by %s\n", lb.Name, lb.Roles, lb.DNS.Hostname, lb.DNS.Zone, lb.DNS.Provider)
			}
		}
	}
	return b.String()
}

// TestSets resolves each step of Claudie's test sets: those of the planner, and those here, the later steps
// of which are edits of the one before. Nothing is wrong with any that can be seen without a cloud.
func TestSets(t *testing.T) {
	settings, _, _ := strings.Cut(limitsText[strings.Index(limitsText, "apiVersion"):], "apiVersion: claudie.io")
	for pattern, fewest := range map[string]int{"testdata/sets/*.txtar": 8, "../provision/testdata/plan/[ast]*[1345].txtar": 6} {
		sets := 0
		golden.Run(t, pattern, func(t *testing.T, c *golden.Case) {
			sets++
			text := ""
			for step := 1; ; step++ {
				name := fmt.Sprintf("%d.yaml", step)
				switch edit := c.Text(fmt.Sprintf("%d.edit", step)); {
				case c.Text(name) != "":
					text = c.Text(name)
				case edit != "":
					text = applyEdit(t, text, edit)
				default:
					return
				}
				all, problems := resolveText(settings + text)
				if len(all) == 0 {
					t.Errorf("step %d: there is no manifest", step)
				}
				for _, p := range problems {
					if !p.Warning && !strings.Contains(p.Summary, "nothing in the control plane provides the Secret") {
						t.Errorf("step %d: %s", step, p)
					}
				}
			}
		})
		if sets < fewest {
			t.Errorf("%s: there are %d sets", pattern, sets)
		}
	}
}

// TestCheckEnvironments: a machine and a DNS name are in one environment. What two manifests of one
// environment both have was reported before.
func TestCheckEnvironments(t *testing.T) {
	manifest := func(name, annotations, address, hostname string) string {
		return fmt.Sprintf(`apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: %s, annotations: {%s}}
spec:
  nodePools: {static: [{name: machines, nodes: [{endpoint: %s}]}]}
  loadBalancers: {clusters: [{name: lb, dns: {dnsZone: example.com, hostname: %s}}]}
---
`, name, annotations, address, hostname)
	}
	const own = "fairlead.io/accept: own-management-cluster"
	var models []*model.Model
	for _, e := range []struct{ name, text string }{
		{"dev", manifest("edge", "", "192.0.2.1", "dev")},
		{"stage", manifest("edge", own, "192.0.2.1", "stage") + manifest("other", "", "192.0.2.3", "stage")},
		{"prod", manifest("edge", "", "192.0.2.9", "DEV")},
	} {
		files := tree.FromEntries([]tree.Entry{tree.File("edge.yaml", []byte(e.text))})
		m, _ := model.Parse(e.name, model.Layer{Kind: model.Env, Name: e.name, Files: files})
		models = append(models, m)
	}
	owned := clusters.CheckEnvironments(models, func(environment, name string) bool {
		return environment == "prod" && name == "dev.example.com" || environment == "stage" && name != "192.0.2.1"
	})
	if text := golden.Problems(owned["dev"]) + golden.Problems(owned["prod"]); !strings.HasPrefix(text, "dev/edge.yaml:6: InputManifest/edge: load balancer lb: the DNS name dev.example.com is of InputManifest/edge of environment prod too, at prod/edge.yaml:6\n") || strings.Contains(text, "environment dev too, at") {
		t.Errorf("where prod owns the DNS name, the problems are\n%s", text)
	}
	found := clusters.CheckEnvironments(models, nil)
	for name, want := range map[string]string{
		"dev":   "",
		"stage": "stage/edge.yaml:5: InputManifest/edge: pool machines: the machine 192.0.2.1 is in InputManifest/edge of environment dev too, at dev/edge.yaml:5\n  hint: a machine is in one cluster: remove one of them\n",
		"prod":  "prod/edge.yaml:6: InputManifest/edge: load balancer lb: the DNS name dev.example.com is of InputManifest/edge of environment dev too, at dev/edge.yaml:6\n  hint: a DNS name leads to one load balancer: choose another one\nwarning: prod/edge.yaml:1: InputManifest/edge: environment dev has a manifest default/edge too: on one management cluster they are one object, and the clusters of one of them are destroyed\n  hint: give it another namespace or name in each environment; or, if each has a management cluster of its own, annotate the manifest with fairlead.io/accept: own-management-cluster\n",
	} {
		if got := golden.Problems(found[name]); got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
	}
}

// TestBoundInTwoEnvironments: clusters report by their names, whichever environment binds them: who has the cluster
// in the output keeps the name, or else who comes first.
func TestBoundInTwoEnvironments(t *testing.T) {
	const text = "apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: MANIFEST}\nspec: {kubernetes: {clusters: [{name: one}, {name: MANIFEST}]}}\n---\n" +
		"apiVersion: fairlead.io/v1alpha1\nkind: ClusterBinding\nmetadata: {name: MANIFEST}\nspec:\n  inputManifest: {name: MANIFEST}\n" +
		"  clusters: [{name: BOUND, clusterType: cloud}, {name: MANIFEST, clusterType: cloud}, {name: elsewhere, clusterType: cloud}]\n"
	for _, test := range []struct{ bound, owner, dev, stage string }{
		{"one", "", "", "stage/c.yaml:11: ClusterBinding/beta: cluster one of environment dev is bound too, at dev/c.yaml:11"},
		{"one", "dev", "", "stage/c.yaml:11: ClusterBinding/beta: cluster one of environment dev is bound too, at dev/c.yaml:11"},
		{"one", "stage", "dev/c.yaml:11: ClusterBinding/alpha: cluster one of environment stage is bound too, at stage/c.yaml:11", ""},
		{"none", "", "", ""},
	} {
		var models []*model.Model
		for name, manifest := range map[string]string{"dev": "alpha", "stage": "beta"} {
			bound := "one"
			if name == "stage" {
				bound = test.bound
			}
			files := tree.FromEntries([]tree.Entry{tree.File("c.yaml", []byte(strings.NewReplacer("MANIFEST", manifest, "BOUND", bound).Replace(text)))})
			m, _ := model.Parse(name, model.Layer{Kind: model.Env, Name: name, Files: files})
			models = append(models, m)
		}
		slices.SortFunc(models, func(a, b *model.Model) int { return strings.Compare(a.Environment, b.Environment) })
		found := clusters.CheckEnvironments(models, func(environment, name string) bool { return environment == test.owner && name == "cluster one" })
		for name, want := range map[string]string{"dev": test.dev, "stage": test.stage} {
			if got := golden.Problems(found[name]); !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Count(got, "is bound too") > 1 {
				t.Errorf("%s, of %q: %s has the problems\n%swant\n%s", test.bound, test.owner, name, got, want)
			}
		}
	}
}

// TestManifestOfTwoEnvironments: on one management cluster a manifest is one object: the environment that has it
// keeps it, and the other one is stopped. Where it is not known to be one cluster that is a warning.
func TestManifestOfTwoEnvironments(t *testing.T) {
	const stops = "stage/edge.yaml:1: InputManifest/edge: environment dev has a manifest fleet/edge on the management cluster hub too: they are one object there, and the clusters of one of them would be destroyed\n"
	const warns = "warning: stage/edge.yaml:1: InputManifest/edge: environment dev has a manifest fleet/edge too: on one management cluster"
	for _, test := range []struct {
		name, dev, stage string // the management clusters
		annotations      string
		owner            string
		wantDev, want    string // what the problems begin with
	}{
		{"one", "hub", "hub", "", "", "", stops},
		{"one, and dev has it", "hub", "hub", "", "dev", "", stops},
		{"one, and stage has it", "hub", "hub", "", "stage", strings.NewReplacer("stage/", "dev/", "environment dev", "environment stage").Replace(stops), ""},
		{"two", "hub", "other", "", "", "", warns},
		{"one is not named", "hub", "", "", "", "", warns},
		{"none is named", "", "", "", "", "", warns},
		{"accepted", "hub", "hub", "fairlead.io/accept: own-management-cluster", "", "", ""},
	} {
		var models []*model.Model
		for _, e := range [][2]string{{"dev", test.dev}, {"stage", test.stage}} {
			text := fmt.Sprintf("apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: edge, namespace: fleet, annotations: {%s}}\nspec: {}\n", test.annotations)
			settings := fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: s}\nspec: {managementCluster: %q}\n", e[1])
			files := tree.FromEntries([]tree.Entry{tree.File("edge.yaml", []byte(text)), tree.File("settings.yaml", []byte(settings))})
			m, _ := model.Parse(e[0], model.Layer{Kind: model.Env, Name: e[0], Files: files})
			models = append(models, m)
		}
		found := clusters.CheckEnvironments(models, func(environment, name string) bool { return environment == test.owner && name == "fleet/edge" })
		for name, want := range map[string]string{"dev": test.wantDev, "stage": test.want} {
			if got := golden.Problems(found[name]); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %s has the problems\n%swant\n%s", test.name, name, got, want)
			}
		}
	}
}
