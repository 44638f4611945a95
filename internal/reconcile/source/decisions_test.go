package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestDecisionsAreRead: the decisions of an environment are read where Flux is told to ignore them, or builds a
// kustomization; one that cannot be read stops that environment, and no other that has its folder on the same branch.
func TestDecisionsAreRead(t *testing.T) {
	const decision = "apiVersion: fairlead.io/v1alpha1\nkind: Decision\nmetadata: {name: checkout}\nspec:\n  units:\n    cart: [large]\n"
	for name, test := range map[string]struct {
		file string
		more map[string]string
		want int
		stop bool
	}{
		"alone":                 {decision, nil, 1, false},
		"ignored by Flux":       {decision, map[string]string{".sourceignore": ".fairlead/\n"}, 1, false},
		"beside kustomizations": {decision, map[string]string{"dev/kustomization.yaml": "resources: [gitops.yaml]\n"}, 1, false},
		"broken":                {decision + "<<<<<<< HEAD\n", nil, 0, true},
		"of another kind":       {object("Environment", "dev", "{}"), nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			cp := t.TempDir()
			branch(t, cp, "main", map[string]string{
				".environments/dev.yaml":  object("Environment", "dev", "{controlPlane: {repo: "+cpURL+", branch: dev, path: ./dev}}"),
				".environments/test.yaml": object("Environment", "test", "{controlPlane: {repo: "+cpURL+", branch: dev, path: ./test}}"),
			})
			files := map[string]string{"dev/.fairlead/decisions/checkout.yaml": test.file}
			for _, env := range []string{"dev", "test"} {
				files[env+"/gitops.yaml"] = object("GitOpsRepo", env, "{repo: https://git.example.com/gitops, branch: dev, path: .}")
			}
			for file, text := range test.more {
				files[file] = text
			}
			branch(t, cp, "dev", files)
			run(t, cp, "checkout", "-q", "main")
			s, err := source.Open(t.Context(), source.Options{ControlPlane: cp, Parser: model.NewParser()})
			if err != nil {
				t.Fatal(err)
			}
			for _, env := range []string{"dev", "test"} {
				r, err := s.Render(t.Context(), env, source.Revisions{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				want, stop := test.want, test.stop
				if env == "test" {
					want, stop = 0, false
				}
				if len(r.Model.Decisions) != want || r.Problems.StopsEnvironment() != stop {
					t.Errorf("%s has %d decisions, and the problems %v", env, len(r.Model.Decisions), r.Problems)
				}
				if stop && !strings.HasPrefix(r.Problems[0].Pos.File, "dev/.fairlead/decisions/checkout.yaml") {
					t.Errorf("the first problem is %v", r.Problems[0])
				}
			}
			b, err := s.Branch(t.Context(), "dev")
			if err != nil || b.Progress.Problems.Stops() {
				t.Errorf("promotions to the environment stop: %v %v", b.Progress.Problems, err)
			}
		})
	}
}

// TestDecisionEncoding: what is written is read again, with names that YAML takes for something else.
func TestDecisionEncoding(t *testing.T) {
	units := map[string][]string{"yes": {"1e3", "null"}, "cart": {"b", "a"}}
	text, err := (&model.Decision{Object: model.Object{Name: "checkout"}, Units: units}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{model.DecisionFolder + "/checkout.yaml": string(text), "gitops.yaml": object("GitOpsRepo", "dev", "{repo: https://git.example.com/gitops, branch: dev, path: .}")})
	s, err := source.Open(t.Context(), source.Options{BaseDir: t.TempDir(), EnvironmentDir: dir, Parser: model.NewParser()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Render(t.Context(), "dev", source.Revisions{}, nil)
	if err != nil || r.Problems.StopsEnvironment() || len(r.Model.Decisions) != 1 {
		t.Fatalf("%v %v", r.Problems, err)
	}
	if diff := cmp.Diff(map[string][]string{"yes": {"1e3", "null"}, "cart": {"a", "b"}}, r.Model.Decisions[0].Units); diff != "" {
		t.Error(diff)
	}
}
