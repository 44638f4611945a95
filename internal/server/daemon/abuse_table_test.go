package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shownBy names, for each way in which clusters, people or machines may fail or cheat, the tests that show
// what happens: a folder and a test in it, or a case of the ledger.
var shownBy = map[string][]string{
	"forged: no key, or a wrong one":                             {"server/webhook TestAbuse", "server/reports TestForged", "server/daemon TestRolloutForged"},
	"the key of one cluster is used for another one":             {"server/webhook TestAbuse", "server/reports TestForged", "server/daemon TestRolloutForged"},
	"a key is stolen, and renewed":                               {"server/webhook TestRenewedKey"},
	"a tenant makes objects that claim to be the platform's":     {"ledger TestPlaceClusters", "server/reports TestFindPlatform"},
	"a cluster claims another environment":                       {"ledger TestPlaceClusters", "server/reports TestFindPlatform", "ledger 26-moved", "reconcile/fleetview TestMoved"},
	"an event is replayed":                                       {"server/webhook TestAbuse", "ledger 09-duplicate-and-replay"},
	"a digest is replayed":                                       {"agent TestReplay", "ledger 09-replay-after-a-restart"},
	"a cluster is restored from a backup":                        {"ledger 22-restored-from-backup"},
	"two clusters have one name":                                 {"agent TestOneNameTwoClusters", "ledger 11-one-name-two-clusters", "server/daemon TestRolloutForged"},
	"a cluster is rebuilt under its name":                        {"server/daemon TestRolloutRebuilt", "server/reports TestRebuilt", "ledger 24-rebuilt", "ledger 24-rebuilt-early", "ledger 24-rebuilt-key"},
	"two clusters have one name, and report by events":           {"server/daemon TestRolloutEventsOfTwo", "ledger 25-events-of-two-clusters", "ledger 25-object-made-anew"},
	"a cluster is renamed":                                       {"agent TestRenamed", "ledger 12-renamed"},
	"a commit is not known yet":                                  {"agent TestUnknownThenKnown", "ledger 13-unknown-then-known", "reconcile/fleetview TestExplainUnknown"},
	"a branch is rewritten":                                      {"ledger 18-branch-rewritten", "reconcile/ledgerdb TestAbandoned", "reconcile/recorder TestRewrittenOutputs"},
	"reports are out of order":                                   {"ledger 07-out-of-order", "ledger TestFold", "ledger TestToldInAnyOrder", "ledger 14-hub-away-and-events", "reconcile/recorder TestToldInAnyOrder"},
	"a workload has failed, and the platform object is ready":    {"server/daemon TestRolloutObjects"},
	"19 of 20 objects are ready":                                 {"ledger 23-nineteen-of-twenty", "server/daemon TestRolloutObjects"},
	"the platform object is ready, and a workload is missing":    {"reconcile/fleetview TestAnswers"},
	"an error names no revision":                                 {"ledger 17-error-without-revision", "reconcile/loop TestErrorWithoutRevision"},
	"the hub was down":                                           {"agent TestAfterOutage", "ledger TestOutage", "promotion/rollout TestFleetUnknown"},
	"the disk is full":                                           {"reconcile/ledgerdb TestFullDisk", "reconcile/recorder TestRoomIsMade"},
	"the store cannot be written, and agents are sent away":      {"reconcile/recorder TestStoreAway", "server/reports TestUnavailable"},
	"the store cannot keep up":                                   {"reconcile/recorder TestPace", "server/reports TestPace", "agent TestAskedForLess"},
	"the store cannot be read at the start":                      {"reconcile/recorder TestStoreUnread", "server/daemon TestLedgerAway"},
	"the store is lost, damaged, exchanged, or from a backup":    {"reconcile/recorder TestStoreLost", "reconcile/recorder TestSharedStoreLost", "reconcile/recorder TestDamagedStore", "server/daemon TestRolloutStoreLost"},
	"the store is new, and not all clusters are known":           {"promotion/rollout TestFleetNew", "server/daemon TestRolloutNew"},
	"PostgreSQL is away":                                         {"reconcile/recorder TestStoreAway", "reconcile/recorder TestStoreUnread"},
	"the clock of a cluster jumps":                               {"server/reports TestClocks", "server/reports TestRestartedWithABetterClock"},
	"a message has secrets or escape codes":                      {"base/text TestCleanLine", "ledger/kubestatus TestMessages", "reconcile/ledgerdb TestHostileText"},
	"a cluster sends more objects than it may have":              {"ledger/agentapi TestTooManyObjects"},
	"a cluster sends too often":                                  {"server/reports TestTooOften", "server/webhook TestTooManyEvents"},
	"a cluster is gone for good":                                 {"ledger TestRetired", "server/daemon TestRolloutSilent"},
	"an event comes at the moment of a poll":                     {"reconcile/loop TestEventWithPoll"},
	"a cluster reports without a key under the name of one with": {"reconcile/recorder TestProvenNames", "ledger 21-unproven"},
}

// TestShown: the tests that are said to show what happens are there.
func TestShown(t *testing.T) {
	for what, all := range shownBy {
		for _, one := range all {
			folder, name, _ := strings.Cut(one, " ")
			if !isShown(t, filepath.Join("..", "..", filepath.FromSlash(folder)), name) {
				t.Errorf("%s: there is no %s", what, one)
			}
		}
	}
}

// isShown reports whether a folder has a test, or a case.
func isShown(t *testing.T, folder, name string) bool {
	t.Helper()
	if !strings.HasPrefix(name, "Test") {
		_, err := os.Stat(filepath.Join(folder, "testdata", name+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
