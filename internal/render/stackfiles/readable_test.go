package stackfiles_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestReadPlans reads ConfigMaps as kubectl prints those of tofu-controller.
func TestReadPlans(t *testing.T) {
	configMap := func(name, chunk, id, text string) string {
		annotations := "savedPlan: " + id
		if chunk != "" {
			annotations += `, infra.contrib.fluxcd.io/plan-chunk: "` + chunk + `"`
		}
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tfplan-default-x, namespace: checkout, labels: {infra.contrib.fluxcd.io/plan-name: " + name +
			", infra.contrib.fluxcd.io/plan-workspace: default}, annotations: {" + annotations + "}}\ndata: {tfplan: " + text + "}\n---\n"
	}
	list := "apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a, namespace: checkout, labels: {infra.contrib.fluxcd.io/plan-name: db}, annotations: {savedPlan: plan-1}}\n    data: {tfplan: text}\n"
	db := stackfiles.ObjectName{Namespace: "checkout", Name: "db"}
	for _, c := range []struct {
		name, text string
		want       stackfiles.ReadablePlans
		problem    string // "" for none
	}{
		{"one", configMap("db", "", "plan-1", "text"), stackfiles.ReadablePlans{db: {ID: "plan-1", Text: "text"}}, ""},
		{"a list", list, stackfiles.ReadablePlans{db: {ID: "plan-1", Text: "text"}}, ""},
		{"parts in any order", configMap("db", "1", "plan-1", "b") + configMap("db", "0", "plan-1", "a"), stackfiles.ReadablePlans{db: {ID: "plan-1", Text: "ab"}}, ""},
		{"other objects", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n", stackfiles.ReadablePlans{}, ""},
		{"nothing", "", stackfiles.ReadablePlans{}, ""},
		{"a part is missing", configMap("db", "0", "plan-1", "a") + configMap("db", "2", "plan-1", "c"), nil, "the plan of checkout/db lacks its part 1"},
		{"parts of two plans", configMap("db", "0", "plan-1", "a") + configMap("db", "1", "plan-2", "b"), nil, "the parts of the plan of checkout/db are of two plans, plan-1 and plan-2"},
		{"a part that is there twice", configMap("db", "", "plan-1", "a") + configMap("db", "0", "plan-2", "b"), nil, "the plan of checkout/db has its part 0 twice"},
		{"a part without a number", configMap("db", "x", "plan-1", "a"), nil, "the annotation infra.contrib.fluxcd.io/plan-chunk is no number"},
		{"a part below zero", configMap("db", "-1", "plan-1", "a"), nil, "the annotation infra.contrib.fluxcd.io/plan-chunk is no number"},
		{"data of another type", strings.Replace(configMap("db", "", "plan-1", "text"), "{tfplan: text}", "[1]", 1), nil, "ConfigMap/tfplan-default-x: yaml: unmarshal errors"},
		{"no YAML", "a: [", nil, "did not find expected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := stackfiles.ReadPlans([]byte(c.text))
			if (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Fatalf("the error is %v, want %q", err, c.problem)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
