package loop_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// shortScenarios are the scenarios that -short takes: one or two of each feature, of which the tables of the pure
// packages have all cases.
var shortScenarios = regexp.MustCompile(`^Test(ApprovalIsPerson|BrokenCommit|Clusters|CostGate|DriftProposal|EnvironmentsAsFolders|Ephemeral|EphemeralStack` +
	`|External|FailedRollout|FanOut|FirstContact|Flow|ForcePush|Gates|GitHubPromotion|HeldPromotions|Kalypso|Kept|Moved|PanicOfOneEnvironment|PreviewAtLines` +
	`|Promotion|Questions|ReadOnly|RecordByPull|RevertedOutput|Rollback|SharedProblemUnknown|SimulationWritesNothing|StoppedStack|TornDownStack|VerifiedCommits|Verify|Wake|WakeWorks)$`)

// sampleScenario skips scenarios with -short: those that are not in the list, and of one with cases all but the first.
func sampleScenario(t *testing.T) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	if testing.Short() && !shortScenarios.MatchString(test) {
		t.Skip("-short takes one or two scenarios of each feature: see shortScenarios")
	}
	gittest.SampleCases(t)
}
