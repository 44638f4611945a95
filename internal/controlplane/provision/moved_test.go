package provision_test

import (
	"strings"
	"testing"

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
		if e.AddsClusters() != c.adds {
			t.Errorf("%s: it adds clusters: %t", c.name, e.AddsClusters())
		}
		text := golden.Problems(e.CheckMoved([]provision.EnvironmentClusters{o}))
		if strings.Contains(text, "cluster one was moved here from environment dev") != c.wantOne || strings.Contains(text, "cluster two") {
			t.Errorf("%s: the problems are %s", c.name, text)
		}
	}
}
