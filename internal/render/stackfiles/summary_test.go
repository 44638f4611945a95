package stackfiles_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestFlatName: two components have two names, whatever hyphens are in their parts, and those without
// hyphens have the plain one.
func TestFlatName(t *testing.T) {
	if got := stackfiles.FlatName("checkout/Dev/eks"); got != "checkout-dev-eks" {
		t.Errorf("it is %s", got)
	}
	parts := []string{"a", "b", "a-b", "b-a", "a-b-a"}
	names := map[string]string{}
	for _, team := range parts {
		for _, env := range parts {
			all := []string{team + "/" + env}
			for _, component := range parts {
				all = append(all, team+"/"+env+"/"+component)
			}
			for _, name := range all {
				flat := stackfiles.FlatName(name)
				if names[flat] != "" {
					t.Errorf("%s and %s are both %s", names[flat], name, flat)
				}
				names[flat] = name
			}
		}
	}
}

// TestStays: what stays of a component that is removed from its stack, as Flux has it: it uninstalls a
// chart whose HelmRelease is removed, unless that is protected or suspended.
func TestStays(t *testing.T) {
	t.Parallel()
	release := func(more string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: a\n" + more
	}
	app := func(policy string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a--x}\nspec: {deletionPolicy: " + policy + "}\n"
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"Terraform", map[string]string{
			"terraform.yaml":     "kind: Terraform\nmetadata: {name: a}\nspec: {destroy: false}\n",
			"gitrepository.yaml": "kind: GitRepository\nspec: {ref: {branch: b, commit: 0123456789012345678901234567890123456789}}\n",
		}, true},
		{"a chart", map[string]string{"helmrelease.yaml": release("")}, false},
		{"a protected chart", map[string]string{"helmrelease.yaml": release("  annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}\n")}, true},
		{"a suspended chart", map[string]string{"helmrelease.yaml": release("spec: {suspend: true}\n")}, true},
		{"a chart that is uninstalled", map[string]string{"uninstall.yaml": "apiVersion: batch/v1\nkind: Job\n"}, false},
		{"an Application without a finalizer", map[string]string{"a--x/app-kustomization.yaml": app("Orphan")}, true},
		{"an Application with a finalizer", map[string]string{"a--x/app-kustomization.yaml": app("Delete")}, false},
		{"two Applications", map[string]string{"a--x/app-kustomization.yaml": app("Orphan"), "a--y/app-kustomization.yaml": app("Delete")}, false},
	} {
		files := map[string][]byte{
			"environments/team/env/namespace.yaml":            []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ns\n  labels: {fairlead.io/team: team, fairlead.io/stack: env}\n"),
			"environments/team/env/a/flux-kustomization.yaml": []byte("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {wait: true}\n"),
		}
		for file, text := range c.files {
			files["environments/team/env/a/objects/"+file] = []byte(text)
		}
		output, err := tree.FromFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		s, found, err := stackfiles.SummarizeStack(output, "team", "env")
		if err != nil || !found || len(s.Components) != 1 {
			t.Fatalf("%s: %v %v %v", c.name, s, found, err)
		}
		if got := s.Components[0].Stays; got != c.want {
			t.Errorf("%s: stays = %v", c.name, got)
		}
	}
}
