package actions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

func TestApprovalName(t *testing.T) {
	for address, want := range map[string]string{
		"alice@example.com":                         "0123456789ab-alice-example-com-ff8d9819",
		"Ali.Ce+x@Example.com":                      "0123456789ab-ali-ce-x-example-com-5acb2d03",
		"../../etc/passwd":                          "0123456789ab-etc-passwd-3754d6cb",
		"123+bob@users.noreply.github.com":          "0123456789ab-123-bob-users-noreply-github-com-52f40d0e",
		strings.Repeat("a", 99) + "-" + "@host.com": "0123456789ab-" + strings.Repeat("a", 99) + "-b77b5b0e",
		"a.b@x": "0123456789ab-a-b-x-03f2cbdf",
		"a-b@x": "0123456789ab-a-b-x-d73052b4",
		"root":  "0123456789ab-root",
	} {
		if got := approvalName("0123456789abcdef", address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestWithException(t *testing.T) {
	const freeze = "# Ask Ann.\napiVersion: fairlead.io/v1alpha1\nkind: Freeze\nmetadata: {name: q4}\nspec:\n  reason: the books # of 2026\n"
	first, err := withException([]byte(freeze), exceptionSpec{"abc", "a fix"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(freeze+"  except:\n    - commit: abc\n      reason: a fix\n", string(first)); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
	second, err := withException(first, exceptionSpec{"def", "another"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first)+"    - commit: def\n      reason: another\n", string(second)); diff != "" {
		t.Errorf("the second (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		freeze + "---\n" + freeze:           "the file has several objects",
		"kind: Freeze\nspec: x\n":           "spec is not a mapping",
		"kind: Freeze\nspec: {except: x}\n": "spec.except is not a list",
	} {
		if _, err := withException([]byte(text), exceptionSpec{}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestTarget(t *testing.T) {
	h := promote.NewHistory([]string{"d4", "c3", "b2", "a1"})
	for _, test := range []struct {
		name, present, asked string
		had                  []string
		want                 string // a commit, or a reason
		merged               string // commits whose output was
	}{
		{"the last", "c3", "", []string{"c3", "b2", "a1"}, "b2", ""},
		{"it went back and forth", "c3", "", []string{"c3", "d4", "c3", "a1"}, "a1", ""},
		{"it was forced to another branch in between", "c3", "", []string{"c3", "x9", "b2"}, "b2", ""},
		{"what it has is not on the base", "x9", "", []string{"x9", "c3"}, "c3", ""},
		{"it had nothing else", "a1", "", []string{"a1"}, "stage had no older commit before", ""},
		{"it has nothing", "", "", nil, "stage had no older commit before", ""},
		{"asked for", "d4", "a1", []string{"d4", "c3", "a1"}, "a1", ""},
		{"what it never had", "d4", "b2", []string{"d4", "c3", "a1"}, "stage never had b2", ""},
		{"what it has", "d4", "d4", []string{"d4", "c3"}, "stage has d4", ""},
		{"newer", "b2", "c3", []string{"b2", "c3"}, "c3 is newer than b2, which stage has", ""},
		{"not on the base", "b2", "x9", []string{"b2", "x9"}, "commit x9 is not on the base's branch", ""},
		{"one was never merged", "d4", "", []string{"d4", "c3", "b2", "a1"}, "b2", "a1 b2"},
		{"none but newer ones were merged", "c3", "", []string{"c3", "d4", "b2", "a1"}, "b2", "d4 c3"},
		{"asked for what was not merged", "d4", "c3", []string{"d4", "c3", "a1"}, "c3", "a1"},
	} {
		merged := map[string]bool{}
		for _, commit := range strings.Fields(test.merged) {
			merged[commit] = true
		}
		got, refusal := rollbackTarget(h, "stage", test.present, test.asked, test.had, merged)
		if refusal != nil {
			got = refusal.Reason
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
