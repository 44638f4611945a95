package stackfiles_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestStaleApproval is golden case 13: an approval that is left when a component is destroyed, or changed, approves
// nothing else, and stops nothing: the output is the one without it.
func TestStaleApproval(t *testing.T) {
	a, text := &approvals{T: t}, stackText("checkout", "", "")
	first, _, _ := followTexts(t, map[string]string{"a.yaml": text}, nil)
	plan := "plan-fairlead-modules-dev-" + a.pin(first, "eks")[:10]
	approval := approvalText("checkout/dev", "eks", plan, a.terraform(first, "eks").Metadata.Annotations[stackfiles.InputsAnnotation])
	approved, _, problems := followTexts(t, map[string]string{"a.yaml": text, "p.yaml": approval}, []tree.Tree{first})
	if a.terraform(approved, "eks").Spec.ApprovePlan != plan {
		t.Fatalf("it is not approved: %v", problems)
	}
	for name, changed := range map[string]string{
		"teardown": stackText("checkout", "  teardown: true\n", ""), "destroy": stackText("checkout", "", ", destroy: true"), "deleted": "",
		"auto": stackText("checkout", "", ", autoApprove: true"), "module": strings.ReplaceAll(text, "ref=v1.0", "ref=v2.0"),
	} {
		files := map[string]string{"p.yaml": approval}
		if changed != "" {
			files["a.yaml"] = changed
		}
		stale, _, problems := followTexts(t, files, []tree.Tree{first, approved})
		if problems.Stops() != (name == "auto") || len(problems) == 0 {
			t.Errorf("%s: with the approval that is left: %v", name, problems)
		}
		delete(files, "p.yaml")
		cleared, _, problems := followTexts(t, files, []tree.Tree{first, approved})
		now := a.terraform(cleared, "eks").Spec
		if problems.Stops() || now.ApprovePlan == plan || now.Destroy != (name == "teardown" || name == "destroy" || name == "deleted") {
			t.Errorf("%s: without the approval, approvePlan is %q and destroy %v: %v", name, now.ApprovePlan, now.Destroy, problems)
		}
		if name != "auto" && !tree.Equal(stale, cleared) {
			t.Errorf("%s: with the approval that is left, it differs:\n%s", name, changesOf(cleared, stale))
		}
	}
}
