package tfobject_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/kube/healthcheck"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// recorded is what the test reads of a recorded object.
type recorded struct {
	Spec struct {
		ApprovePlan string
		Destroy     bool
		SourceRef   struct{ Name string }
		Ref         struct{ Commit string }
	}
	Status struct {
		LastAppliedRevision string
		Plan                struct {
			Pending, LastApplied string
			IsDestroyPlan        bool
		}
	}
}

func decode[T any](t *testing.T, raw json.RawMessage) (into T) {
	t.Helper()
	if err := json.Unmarshal(raw, &into); err != nil {
		t.Fatal(err)
	}
	return into
}

func evaluate(t *testing.T, e kubeobject.HealthExpr, object json.RawMessage) healthcheck.Status {
	t.Helper()
	check, err := healthcheck.Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	status, err := check.Evaluate(decode[map[string]any](t, object))
	if err != nil {
		t.Fatalf("%s: %s", err, object)
	}
	return status
}

// TestHealth evaluates the expressions at every state that real objects had, each at the commit that its source
// was pinned to, and compares the sequence of verdicts with what happened.
func TestHealth(t *testing.T) {
	want := map[string]string{ // -: in progress, F: failed or waiting, C: ready
		"01-first-plan":                       "database: - F - C",
		"02-change-manual":                    "database: - F - C - F - C",
		"02b-change-manual-no-outputs-secret": "database: - F - C - F - C",
		"03-change-auto":                      "database: - C - C - C",
		"04-outputs-only":                     "database: - F - C - F - C - C - C",
		"05-no-changes":                       "database: - F - C - C - C - C - C",
		"06-plan-fails":                       "database: - F - F - F - F - F - C - F",
		"07-apply-fails-auto":                 "database: - F - F - F - F - F - F - C",
		"07-apply-fails-manual":               "database: - F - F - F - F - F - F - F - C",
		"08-drift":                            "database: - F - C - F - F - F - C",
		"08b-drift-auto":                      "database: - C - F - C",
		"09-drift-while-plan-waits":           "database: - F - C - F - C - C",
		"10a-destroy-manual":                  "database: - F - C - F - C - C -",
		"10b-destroy-onDeletion":              "database: - F - C -",
		"10c-destroy-onDeletion-unapproved":   "database: - F - C - C - F -",
		"11a-destroy-auto-order-no-seal":      "database: - F - C - F - F - F; networking: - C - C - C - C",
		"11b-destroy-auto-order-seal":         "database: - F - C - F - F - F - F; networking: - C - C - C - C",
		"12-wrong-plan-id":                    "database: - F - F - F - F - F - C - C",
		"13-vars-same-commit":                 "database: - F - C - C - C - F",
		"13b-destroy-same-commit":             "database: - F - C - C",
		"14-suspend-force":                    "database: - F - C - C - F - C - C - C - C",
		"15a-kustomization-default-no-seal":   "database: - F - C - F",
		"15b-kustomization-default-seal":      "database: - F - C - F - C",
		"15c-kustomization-gate-seal":         "database: - F - C - F - C - F - F - F - C -",
	}
	for _, name := range recordings.Names(t) {
		got := map[string][]string{}
		for i, s := range recordings.Load(t, name).Steps {
			raw := s.Find(s.Object)
			if !strings.HasPrefix(s.Object, "Terraform/") || raw == nil {
				continue
			}
			o := decode[recorded](t, raw)
			namespace, object, _ := strings.Cut(strings.TrimPrefix(s.Object, "Terraform/"), "/")
			source := s.Find("GitRepository/" + namespace + "/" + o.Spec.SourceRef.Name)
			if source == nil {
				continue
			}
			commit := decode[recorded](t, source).Spec.Ref.Commit
			status := evaluate(t, tfobject.Health(commit), raw)
			if waits := o.Status.Plan.Pending != "" && o.Spec.ApprovePlan != "auto"; waits && status == healthcheck.Current {
				t.Errorf("%s: step %d: %s is ready while a plan is not applied: %s", name, i, s.Object, raw)
			}
			if o.Spec.Destroy && status == healthcheck.Current && !strings.Contains(string(raw), "No objects need to be destroyed") && !strings.Contains(string(raw), "Destroy applied successfully") {
				t.Errorf("%s: step %d: %s is ready before it is destroyed: %s", name, i, s.Object, raw)
			}
			short := strings.TrimPrefix(object, "shop-dev-")
			letter := map[healthcheck.Status]string{healthcheck.InProgress: "-", healthcheck.Failed: "F", healthcheck.Current: "C"}[status]
			if all := got[short]; len(all) == 0 || all[len(all)-1] != letter {
				got[short] = append(all, letter)
			}
		}
		var lines []string
		for _, object := range slices.Sorted(maps.Keys(got)) {
			lines = append(lines, object+": "+strings.Join(got[object], " "))
		}
		if diff := cmp.Diff(want[name], strings.Join(lines, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
