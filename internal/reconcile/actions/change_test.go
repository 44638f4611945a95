package actions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestPullRequestShowsPlan: a plan is shown as it is, in a block that it cannot end, and not longer than
// forges take.
func TestPullRequestShowsPlan(t *testing.T) {
	plan := "  ~ note: \"```\" -> \"# not a heading\"\n"
	body := change{title: "Approve the plan", shown: plan}.pullRequestBody()
	if !strings.Contains(body, "\n````\n"+plan+"````\n") {
		t.Errorf("the text is\n%s", body)
	}
	long := change{title: "Approve the plan", shown: strings.Repeat("+ resource\n", 10_000)}.pullRequestBody()
	if !strings.HasSuffix(long, "\n```\n") || len(long) > 60_000 {
		t.Errorf("the text has %d bytes, and ends with %q", len(long), long[len(long)-20:])
	}
}
