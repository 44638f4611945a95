package answer

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// TestOpinion: whose approval a gate has already, or does not count, is found; who is only asked for is not.
func TestOpinion(t *testing.T) {
	of := func(reason string) gate.Verdict {
		return gate.Verdict{Gate: "gates", Status: gate.Wait, Parts: []gate.Verdict{{Gate: "freeze", Status: gate.Pass, Reason: "no freeze applies"}, {Gate: "approval", Status: gate.Wait, Reason: reason}}}
	}
	alice := []string{"alice@example.com", "alice"}
	for reason, want := range map[string]string{
		"1 approval missing":                                                                          "",
		"1 approval missing, of alice@example.com or bob":                                             "",
		"1 approval missing; approved by bob and alice@example.com":                                   "approved by bob and alice@example.com",
		"1 approval missing; Alice is an author of what is approved":                                  "Alice is an author of what is approved",
		"1 approval missing; the approval of alice@example.com is in a commit without a signature":    "",
		"1 approval missing; approved by malice@example.com":                                          "",
		"2 approvals missing, of alice; approved by bob; the approval of carol is of an older commit": "",
		"ci/test is not reported; alice":                                                              "",
	} {
		if got := findOpinion(of(reason), alice); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
	if got := findOpinion(of("1 approval missing; approved by "), []string{"", ""}); got != "" {
		t.Errorf("of nobody is said %q", got)
	}
}
