package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// protectingTeam writes a Team.
func protectingTeam(name string, protects bool) string {
	return fmt.Sprintf("apiVersion: stable.cloudknit.io/v1\nkind: Team\nmetadata: {name: %s}\nspec: {teamName: %[1]s, teardownProtection: %[2]t, configRepo: {source: \"https://example.com/%[1]s\", path: .}}\n", name, protects)
}

// TestDeletedProtected: a stack whose file is deleted is not destroyed while its Team is protected, since
// before, since the same change, or since a later one.
func TestDeletedProtected(t *testing.T) {
	chart := "    - {name: web, type: helm, dependsOn: [eks], source: {repo: \"https://example.com/charts\", chart: web}, variables: [{name: a, value: b}]}\n"
	text := stackText("checkout", "", "") + chart
	with := func(protects bool) map[string]string {
		return map[string]string{"team.yaml": protectingTeam("checkout", protects)}
	}
	first, _, problems := keepTexts(t, map[string]string{"a.yaml": text, "team.yaml": protectingTeam("checkout", false)}, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	const kept = "the file of the stack checkout/dev was deleted, and teardownProtection of its Team keeps it"
	same, deleted, problems := keepTexts(t, with(true), first, "checkout/dev")
	if !tree.Equal(same, first) || deleted != nil || !strings.Contains(fmt.Sprint(problems), kept) || problems.StopsEnvironment() || !problems.StopsStack("checkout/dev") {
		t.Errorf("protected in the same change: %v %v\n%s", deleted, problems, changesOf(first, same))
	}
	approval := with(true)
	approval["p.yaml"] = approvalText("checkout/dev", "eks", "plan-a", "b")
	if approved, _, problems := keepTexts(t, approval, first); !tree.Equal(approved, first) || problems.StopsEnvironment() || !strings.Contains(fmt.Sprint(problems), "it has no effect") {
		t.Errorf("with an approval: %v\n%s", problems, changesOf(first, approved))
	}

	// The folder is removed with all that is in it.
	guarded, _, _ := keepTexts(t, map[string]string{"a.yaml": text, "team.yaml": protectingTeam("checkout", true)}, tree.Tree{})
	gone, deleted, problems := keepTexts(t, nil, guarded, "checkout/dev")
	if !tree.Equal(gone, guarded) || deleted != nil || !strings.Contains(fmt.Sprint(problems), "was deleted, and with it the Team checkout, whose teardownProtection keeps it") || !problems.StopsStack("checkout/dev") {
		t.Errorf("removed with its Team: %v %v\n%s", deleted, problems, changesOf(guarded, gone))
	}

	torn, _, _ := keepTexts(t, with(false), first)
	later, deleted, problems := keepTexts(t, with(true), torn, "checkout/dev")
	if deleted != nil || problems.Stops() || !strings.Contains(fmt.Sprint(problems), "suspends its destruction: what is not destroyed yet stays") {
		t.Errorf("protected later: %v %v", deleted, problems)
	}
	suspended := 0
	for file, e := range later.Walk() {
		if strings.HasSuffix(file, "objects/terraform.yaml") || strings.HasSuffix(file, "web/flux-kustomization.yaml") {
			suspended++
			if !strings.Contains(string(e.Data), "suspend: true") {
				t.Errorf("%s is not suspended:\n%s", file, e.Data)
			}
		}
	}
	if suspended != 3 {
		t.Errorf("%d objects are destroyed", suspended)
	}
	checkFiles(t, later)
	if again, _, _ := keepTexts(t, with(true), later, "checkout/dev"); !tree.Equal(again, later) {
		t.Errorf("rendered again, it differs:\n%s", changesOf(later, again))
	}
	if resumed, _, problems := keepTexts(t, with(false), later, "checkout/dev"); !tree.Equal(resumed, torn) {
		t.Errorf("without the protection, it is not torn down: %v\n%s", problems, changesOf(torn, resumed))
	}
	if other, _, _ := keepTexts(t, map[string]string{"team.yaml": protectingTeam("till", true)}, first); !tree.Equal(other, torn) {
		t.Errorf("another Team protects it:\n%s", changesOf(torn, other))
	}
}
