package actions

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
)

// TestFindRollbackTarget: without a commit that was asked for it is the newest older one whose output
// was merged, by name or because it is the same.
func TestFindRollbackTarget(t *testing.T) {
	h := promote.NewLine([]string{"e5", "d4", "c3", "b2", "a1"})
	for _, test := range []struct {
		name, present string
		had           string // newest first
		merged        string // commits that an output commit names
		outputs       string // COMMIT=OUTPUT; one that is missing cannot be rendered
		want          string // the commit, and the notes
	}{
		{"nothing was ever merged", "c3", "c3 b2 a1", "", "", "b2"},
		{"it went back and forth", "c3", "c3 d4 c3 a1", "", "", "a1"},
		{"it was forced to another branch in between", "c3", "c3 x9 b2", "", "", "b2"},
		{"what it has is not on the base", "x9", "x9 c3", "", "", "c3"},
		{"it had nothing else", "a1", "a1", "", "", ""},
		{"it has nothing", "", "", "", "", ""},
		{"the last one is named", "c3", "c3 b2 a1", "b2 a1", "", "b2"},
		{"the last one changed nothing", "d4", "d4 c3 b2 a1", "a1", "a1=1 b2=1 c3=1", "c3"},
		{"one was never merged", "d4", "d4 c3 b2 a1", "a1 b2", "b2=1 c3=2", "b2; passed over 1 commit whose output was never merged: c3"},
		{"what follows an unmerged one has its output", "e5", "e5 d4 c3 b2 a1", "a1", "a1=1 b2=1 c3=2 d4=2", "b2; passed over 2 commits whose output was never merged: d4, c3"},
		{"an unmerged one was taken back", "e5", "e5 d4 c3 b2", "b2", "b2=1 c3=2 d4=1", "d4"},
		{"it cannot be rendered, and never could", "d4", "d4 c3 b2", "b2", "b2=1", "b2; passed over 1 commit whose output was never merged: c3"},
		{"what was merged cannot be rendered now", "d4", "d4 c3 b2", "b2", "c3=1",
			"b2; passed over 1 commit whose output cannot be rendered now, so that it is not known whether it was merged: c3"},
		{"its record did not name the merged one", "d4", "d4 c3 b2", "a1", "a1=1 b2=1 c3=1", "c3"},
		{"after a rollback, what it had before counts, and not the line of the base", "e5", "e5 d4 a1 c3 a1", "a1 c3", "a1=1 c3=2 d4=1", "d4"},
		{"none but newer ones were merged", "c3", "c3 d4 b2 a1", "d4 c3", "a1=1", "b2; no older commit that stage had is known to be merged; this is the last one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			merged, outputs := map[string]bool{}, map[string]string{}
			for _, commit := range strings.Fields(test.merged) {
				merged[commit] = true
			}
			for _, one := range strings.Fields(test.outputs) {
				commit, output, _ := strings.Cut(one, "=")
				outputs[commit] = output
			}
			found := rollbackSearch{history: h, merged: merged, compare: func(before, commit string) sameness {
				switch {
				case outputs[before] == "":
					return notComparable
				case outputs[before] == outputs[commit]:
					return same
				}
				return different
			}, prove: func(string) promoter.Evidence { return promoter.Verified }}.find(test.present, strings.Fields(test.had))
			got := strings.Join(append([]string{found.commit}, found.notes("stage")...), "; ")
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestFindVerifiedTarget: a commit that failed there is never the target that nobody asked for, and one that was
// verified goes before one that was not.
func TestFindVerifiedTarget(t *testing.T) {
	h := promote.NewLine([]string{"e5", "d4", "c3", "b2", "a1"})
	for _, test := range []struct {
		name, had string
		proven    map[string]promoter.Evidence
		want      rollbackTarget
	}{
		{"two in a row failed", "e5 d4 c3 b2 a1", map[string]promoter.Evidence{"e5": promoter.Failed, "d4": promoter.Failed, "c3": promoter.Verified}, rollbackTarget{commit: "c3", failed: []string{"d4"}}},
		{"one was not looked at to the end", "e5 d4 c3", map[string]promoter.Evidence{"c3": promoter.Verified}, rollbackTarget{commit: "c3", unverified: []string{"d4"}}},
		{"none is known to be verified", "e5 d4 c3 b2", map[string]promoter.Evidence{"d4": promoter.Failed, "b2": promoter.Failed}, rollbackTarget{commit: "c3", failed: []string{"d4"}, isUnverified: true}},
		{"all failed", "e5 d4 c3", map[string]promoter.Evidence{"d4": promoter.Failed, "c3": promoter.Failed}, rollbackTarget{failed: []string{"d4", "c3"}}},
	} {
		merged := map[string]bool{"a1": true, "b2": true, "c3": true, "d4": true, "e5": true}
		got := rollbackSearch{history: h, merged: merged, prove: func(commit string) promoter.Evidence { return test.proven[commit] }}.find("e5", strings.Fields(test.had))
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestCheckTarget: a commit that was asked for must be an older one that the environment had, merged or
// not; the hints work as they are typed.
func TestCheckTarget(t *testing.T) {
	h := promote.NewLine([]string{"d4", "c3", "b2", "a1"})
	for _, test := range []struct{ name, present, asked, had, want, hint string }{
		{"one that it had", "d4", "a1", "d4 c3 a1", "", ""},
		{"what it never had", "d4", "b2", "d4 c3 a1", "stage never had b2", "go back to one that it had: git log of stage's branch has them"},
		{"the base has none that it had", "x9", "b2", "x9 x8", "", ""},
		{"what it has", "d4", "d4", "d4 c3", "stage has d4", "fairlead hold stage --reason TEXT keeps it there"},
		{"newer", "b2", "c3", "b2 c3", "c3 is newer than b2, which stage has", "fairlead promote goes forward"},
		{"not on the base", "b2", "x9", "b2 x9", "commit x9 is not on the base's branch", ""},
	} {
		reason, hint := "", ""
		if refused := checkTarget(h, "stage", test.present, test.asked, strings.Fields(test.had)); refused != nil {
			reason, hint = refused.Reason, refused.Advice
		}
		if reason != test.want || hint != test.hint {
			t.Errorf("%s: %q (%q), want %q (%q)", test.name, reason, hint, test.want, test.hint)
		}
	}
}
