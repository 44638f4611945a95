package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestCheckMoved: what counts as moved is by cluster, and only what the other environment has and does not
// write any more.
func TestCheckMoved(t *testing.T) {
	parse := func(environment string, texts ...string) *model.Model {
		var all strings.Builder
		for _, text := range texts {
			all.WriteString("---\napiVersion: claudie.io/v1beta1\nkind: InputManifest\n" + text + "\n")
		}
		m, problems := model.Parse(environment, model.Layer{Kind: model.Env, Name: environment, Files: tree.FromEntries([]tree.Entry{tree.File("edge.yaml", []byte(all.String()))})})
		if problems.Stops() && !strings.Contains(golden.Problems(problems), "GitOpsRepo") {
			t.Fatal(golden.Problems(problems))
		}
		return m
	}
	manifest := func(annotations string, clusters ...string) string {
		text := "metadata: {name: edge, namespace: fleet, annotations: {" + annotations + "}}\nspec: {kubernetes: {clusters: ["
		for _, name := range clusters {
			text += "{name: " + name + "}, "
		}
		return text + "]}}"
	}
	environment := func(name string, written, output []string) provision.EnvironmentClusters {
		return provision.EnvironmentClusters{Environment: name, Written: parse(name, written...).Clusters.Manifests, Output: provision.NewStates(parse(name, output...))}
	}
	none, one, both := []string{}, []string{manifest("", "one")}, []string{manifest("", "one", "two")}
	split := `fairlead.io/split: "true"`
	for _, c := range []struct {
		name          string
		e, o          [2][]string // written, and in the output
		adds, wantOne bool
	}{
		{"it moves", [2][]string{one, none}, [2][]string{none, one}, true, true},
		{"of two, one moves", [2][]string{one, none}, [2][]string{{manifest("", "two")}, both}, true, true},
		{"both have it", [2][]string{one, none}, [2][]string{one, one}, true, false},
		{"it is there", [2][]string{one, one}, [2][]string{none, one}, false, false},
		{"it was gone before", [2][]string{one, none}, [2][]string{none, none}, true, false},
		{"another manifest", [2][]string{one, none}, [2][]string{none, {strings.Replace(one[0], "fleet", "other", 1)}}, true, false},
		{"accepted", [2][]string{{manifest("fairlead.io/accept: move/one", "one")}, none}, [2][]string{none, one}, true, false},
		{"another is accepted", [2][]string{{manifest("fairlead.io/accept: move/two", "one")}, none}, [2][]string{none, one}, true, true},
		{"split", [2][]string{{manifest(split, "one")}, none}, [2][]string{none, {manifest(split, "one")}}, true, true},
	} {
		e, o := environment("stage", c.e[0], c.e[1]), environment("dev", c.o[0], c.o[1])
		if e.Adds() != c.adds {
			t.Errorf("%s: it adds clusters: %t", c.name, e.Adds())
		}
		text := golden.Problems(e.CheckMoved([]provision.EnvironmentClusters{o}))
		if strings.Contains(text, "cluster one was moved here from environment dev") != c.wantOne || strings.Contains(text, "cluster two") {
			t.Errorf("%s: the problems are %s", c.name, text)
		}
	}
}

// TestTaken: a machine or a DNS name does not move from one manifest to another in one change, in one
// environment or from another one.
func TestTaken(t *testing.T) {
	const machine, name = "nodePools: {static: [{name: own, nodes: [{endpoint: 192.0.2.1}]}]}", "loadBalancers: {clusters: [{name: lb, dns: {dnsZone: Z.example, hostname: www}}]}"
	read := func(environment string, specs ...string) *model.Model {
		var all strings.Builder
		for i, spec := range specs {
			fmt.Fprintf(&all, "---\napiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: m%d, namespace: fleet}\nspec: {%s}\n", i, spec)
		}
		m, _ := model.Parse(environment, model.Layer{Kind: model.Env, Name: environment, Files: tree.FromEntries([]tree.Entry{tree.File("m.yaml", []byte(all.String()))})})
		if len(m.Clusters.Manifests) != len(specs) {
			t.Fatalf("there are %d manifests", len(m.Clusters.Manifests))
		}
		return m
	}
	for _, c := range []struct {
		name          string
		before, after []string // of the manifests m0, m1
		want          string
	}{
		{"the machine moves", []string{machine, ""}, []string{"", machine}, "pool own: the machine 192.0.2.1 moves here from "},
		{"as another text", []string{machine, ""}, []string{"", strings.Replace(machine, "192.0.2.1", `"::ffff:192.0.2.1"`, 1)}, "pool own: the machine 192.0.2.1 moves here from "},
		{"the name moves", []string{name, ""}, []string{"", strings.Replace(name, "Z.e", "z.e", 1)}, "load balancer lb: the DNS name www.z.example moves here from "},
		{"it stays", []string{machine, name}, []string{machine, name}, ""},
		{"it is gone before", []string{"", ""}, []string{"", machine}, ""},
		{"both are to have it, which is reported elsewhere", []string{machine, ""}, []string{machine, machine}, ""},
	} {
		wants := func(how, holder string, problems problem.List) {
			t.Helper()
			if text := golden.Problems(problems); strings.Contains(text, " moves here ") != (c.want != "") || c.want != "" && !strings.Contains(text, c.want+holder) {
				t.Errorf("%s, %s: the problems are %s", c.name, how, text)
			}
		}
		wants("in one environment", "manifest fleet/m0, which may still use it", provision.CheckModel(provision.NewStates(read("dev", c.before...)), read("dev", c.after...)))
		e := provision.EnvironmentClusters{Environment: "stage", Written: read("stage", "", c.after[1]).Clusters.Manifests, Output: provision.NewStates(read("stage", "", c.before[1]))}
		o := provision.EnvironmentClusters{Environment: "dev", Written: read("dev", c.after[0]).Clusters.Manifests, Output: provision.NewStates(read("dev", c.before[0]))}
		wants("in two", "manifest fleet/m0 of environment dev", e.CheckMoved([]provision.EnvironmentClusters{o}))
		if adds := c.before[1] != c.after[1]; e.Adds() != adds {
			t.Errorf("%s: it adds something: %t", c.name, e.Adds())
		}
	}
}
