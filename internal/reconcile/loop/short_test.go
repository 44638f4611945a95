package loop_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"
)

// shortScenarios are the scenarios that -short takes: one or two of each feature, of which the tables of the pure
// packages have all cases.
var shortScenarios = regexp.MustCompile(`^Test(ApprovalIsPerson|BrokenCommit|Clusters|CostGate|DriftProposal|EnvironmentsAsFolders|Ephemeral|EphemeralStack` +
	`|External|FailedRollout|FanOut|FirstContact|Flow|ForcePush|Gates|GitHubPromotion|HeldPromotions|Kalypso|Kept|Moved|PanicOfOneEnvironment|PreviewAtLines` +
	`|Promotion|Questions|ReadOnly|RecordByPull|RevertedOutput|Rollback|SharedProblemUnknown|SimulationWritesNothing|StoppedStack|TornDownStack|VerifiedCommits|Verify|Wake|WakeWorks)$`)

// sampled are the tests of which a case was taken.
var sampled sync.Map

// sampleScenario skips scenarios with -short: those that are not in the list, and of one with cases all but the first.
func sampleScenario(t *testing.T) {
	t.Helper()
	if !testing.Short() {
		return
	}
	test, _, isCase := strings.Cut(t.Name(), "/")
	if !shortScenarios.MatchString(test) {
		t.Skip("-short takes one or two scenarios of each feature: see shortScenarios")
	}
	if first, taken := sampled.LoadOrStore(test, t.Name()); taken && isCase && first != t.Name() {
		t.Skip("-short takes one case of each scenario: it took ", first)
	}
}
