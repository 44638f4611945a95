package actions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
)

// TestWriteHold: a hold takes the place of one in the same file only if it stops as much, and names it.
func TestWriteHold(t *testing.T) {
	const output, promotion, waves = model.ScopeOutput, model.ScopePromotion, model.ScopeWaves
	for name, test := range map[string]struct {
		there    model.Hold
		wanted   holdSpec
		replaces string // a note; or "refused", or ""
	}{
		"the same":                    {model.Hold{Reason: "a", Scope: output}, holdSpec{Reason: "a"}, ""},
		"another reason":              {model.Hold{Reason: "a", Scope: output}, holdSpec{Reason: "b"}, "a"},
		"waves of an output":          {model.Hold{Reason: "a", Scope: output}, holdSpec{Reason: "b", Scope: waves}, "refused"},
		"waves of a rollback":         {model.Hold{Reason: "a", Scope: output, Commit: "1"}, holdSpec{Reason: "b", Scope: waves}, "refused"},
		"promotions of a rollback":    {model.Hold{Reason: "a", Scope: output, Commit: "1"}, holdSpec{Reason: "b", Scope: promotion}, "refused"},
		"waves of promotions":         {model.Hold{Reason: "a", Scope: promotion}, holdSpec{Reason: "b", Scope: waves}, "refused"},
		"promotions of waves":         {model.Hold{Reason: "a", Scope: waves}, holdSpec{Reason: "b", Scope: promotion}, "refused"},
		"more than promotions":        {model.Hold{Reason: "a", Scope: promotion}, holdSpec{Reason: "b", Scope: output}, "a"},
		"more than waves":             {model.Hold{Scope: waves}, holdSpec{Reason: "b"}, "no reason is given"},
		"a rollback of what is held":  {model.Hold{Reason: "a", Scope: output}, holdSpec{Reason: "a", Commit: "1"}, "a"},
		"of a lane":                   {model.Hold{Reason: "a", Lane: "shop", Scope: output}, holdSpec{Reason: "b", Lane: "shop"}, "a"},
		"the whole, of a lane":        {model.Hold{Reason: "a", Lane: "shop", Scope: output}, holdSpec{Reason: "b"}, "a"},
		"waves, of a lane":            {model.Hold{Reason: "a", Lane: "shop", Scope: output}, holdSpec{Reason: "b", Scope: waves}, "refused"},
		"a lane, of the whole output": {model.Hold{Reason: "a", Scope: output}, holdSpec{Reason: "b", Lane: "shop"}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			file := promoter.HoldFile("")
			test.there.Pos.File = file
			var v snapshot
			v.branch.Progress = &model.Progress{Holds: []*model.Hold{&test.there}}
			c := change{environment: "prod"}
			got := ""
			if err := c.writeHold(v, file, test.wanted); err != nil {
				got = "refused"
				if !strings.Contains(err.Error(), "prod is held already") || !strings.HasSuffix(err.Error(), ": a") {
					t.Error(err)
				}
			} else if c.notes != nil {
				got = strings.TrimPrefix(c.notes[0], "this replaces the hold that was there: ")
			}
			if got != test.replaces || (got == "refused") != (c.files == nil) {
				t.Errorf("%q with %d files, want %q", got, len(c.files), test.replaces)
			}
			test.there.Pos.File = "mine.yaml"
			if err := c.writeHold(v, file, test.wanted); err != nil {
				t.Errorf("beside a hold in another file: %v", err)
			}
		})
	}
}

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
