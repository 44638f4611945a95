package tfplan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// TestReadReport: a question says which object its plan is of, and what was made from; also where the plan waits.
func TestReadReport(t *testing.T) {
	payload := readTestdata(t, "payload")
	waits := edit(t, edit(t, payload, `"approvePlan":"plan-fairlead-modules-dev-67a2b4fa38"`, `"approvePlan":""`), `"status":{`, `"status":{"plan":{"pending":"plan-x"},"observedGeneration":4,`)
	stale := edit(t, waits, `"observedGeneration":4`, `"observedGeneration":3`)
	for name, text := range map[string][]byte{"a question": payload, "waits": waits, "stale": stale} {
		r, err := tfplan.ReadReport(text, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := readPlan(t, readTestdata(t, "update"))
		if r.Namespace != "zmart-checkout-dev" || r.Name != "checkout-dev-server" || r.Annotations["fairlead.io/inputs"] != "feaec16826997273" || r.Plan.Digest != want.Digest || (r.PlanID == "plan-x") != (name != "a question") || r.Stale != (name != "waits") {
			t.Errorf("%s: %+v", name, r)
		}
		r.Plan.PutDeletionsFirst()
		first, _, _ := strings.Cut(r.Plan.Text(), "\n")
		if first != "  # module.server.terraform_data.old[0] will be destroyed" || r.Plan.Count().Short() != want.Count().Short() {
			t.Errorf("%s: it begins with %q", name, first)
		}
	}
	for status, want := range map[string]string{
		`"lastPlannedRevision":"m@sha1:0123456789abcdef",`:                              "plan-m-0123456789",
		`"plan":{"pending":"plan-x"},"lastPlannedRevision":"m@sha1:0123456789abcdef",`:  "plan-x",
		`"plan":{"lastApplied":"plan-y"},"lastPlannedRevision":"m@sha1:0123456789abc",`: "plan-m-0123456789",
		`"lastPlannedRevision":"m@sha1:012345678",`:                                     "",
		`"lastPlannedRevision":"sha256:0123456789abcdef",`:                              "",
	} {
		if r, err := tfplan.ReadReport(edit(t, payload, `"status":{`, `"status":{`+status), nil); err != nil || r.PlanID != want {
			t.Errorf("the plan of %s is %q (%v), and should be %q", status, r.PlanID, err, want)
		}
	}
	for _, text := range []string{"", "{}", string(edit(t, payload, `"kind":"Terraform"`, `"kind":"Secret"`)), string(edit(t, payload, `"format_version":"1.2"`, `"format_version":"9"`))} {
		if r, err := tfplan.ReadReport([]byte(text), nil); err == nil {
			t.Errorf("%.40s: %+v", text, r)
		}
	}
}

// TestReportCost: a plan comes with its cost, and with none if that cannot be read.
func TestReportCost(t *testing.T) {
	const object = `{"apiVersion":"infra.contrib.fluxcd.io/v1alpha2","kind":"Terraform","status":{"tfplan":{"format_version":"1.2"}},"cost":%s}`
	r, err := tfplan.ReadReport(fmt.Appendf(nil, object, `{"currency":"EUR","totalMonthlyCost":"5"}`), nil)
	if err != nil || len(r.Costs) != 1 || r.Costs[0].After != "5.00" {
		t.Errorf("the costs %v (%v)", r.Costs, err)
	}
	if _, err := tfplan.ReadReport(fmt.Appendf(nil, object, `{"currency":"EUR","totalMonthlyCost":"five"}`), nil); err == nil {
		t.Error("a cost that is no amount is read")
	}
}
