package source_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestOtherEnvironments reads an environment beside one that is wrong: what stops the
// other one is a warning here.
func TestOtherEnvironments(t *testing.T) {
	for name, file := range map[string]string{
		"name that is no branch":   environment("x.lock", "stage-eu"),
		"name of branches of ours": environment("change", "stage-eu"),
		"another one":              environment("copy", "stage-eu"),
		"name that is a path":      environment("../../x", "stage-eu"),
		"branch that cannot be":    environment("stage", "a..b"),
		"path out of it":           object("Environment", "stage", "{controlPlane: {repo: "+cpURL+", branch: stage-eu, path: ../x}}"),
		"two of one name":          environment("stage", "stage-eu") + "---\n" + environment("stage", "dev"),
		"a field that is unknown":  object("Environment", "stage", "{colour: red, controlPlane: {repo: "+cpURL+", branch: stage-eu, path: .}}"),
		"a file that is no YAML":   "{{{{",
		"what is no object":        "controlPlane: {}\n",
		"an object of no name":     "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nspec: {controlPlane: {repo: " + cpURL + ", branch: stage-eu, path: .}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			cp, apps, _ := controlPlane(t)
			writeAll(t, cp, map[string]string{".environments/edge.yaml": file})
			run(t, cp, "commit", "-qam", "edge")
			s, err := source.Open(context.Background(), source.Options{ControlPlane: cp, Map: map[string]string{appsURL: apps}, CacheDir: t.TempDir(), Parser: model.NewParser()})
			if err != nil {
				t.Fatal(err)
			}
			found, all, err := s.Environments(context.Background())
			if err != nil || !all.Stops() {
				t.Fatalf("%v %v", all, err)
			}
			for _, e := range found {
				_, problems, err := s.ReadAt(context.Background(), e.Name, source.Revisions{})
				if err != nil {
					t.Fatal(err)
				}
				if stops := ofEnvironments(problems).Stops(); stops != (e.Name != "dev") {
					t.Errorf("environment %s is stopped: %t: %v", e.Name, stops, problems)
				}
				if len(ofEnvironments(problems)) == 0 {
					t.Errorf("environment %s says nothing of it", e.Name)
				}
			}
		})
	}
}

// ofEnvironments keeps the problems of the files with the environments.
func ofEnvironments(problems problem.List) problem.List {
	var kept problem.List
	for _, p := range problems {
		if strings.HasPrefix(p.Pos.File, ".environments") {
			kept = append(kept, p)
		}
	}
	return kept
}
