package daemon_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// goldenCases names, for each case of the specification of the ledger, the tests that assert it: a folder and a
// test in it, or a case of the ledger. Each of these is run in memory, and by reconcile/recorder with SQLite and
// with PostgreSQL: written at the end, after each report, and by a process that ends after each report.
var goldenCases = [...]struct {
	name    string
	shownBy []string
}{
	{"first word", []string{"ledger 01-first-word"}},
	{"nothing changes", []string{"ledger 02-nothing-changes", "agent TestNothingChanges"}},
	{"a roll-out", []string{"ledger 03-roll-out", "agent TestRollOut", "promotion/rollout TestSummarizeFleet"}},
	{"mended", []string{"ledger 04-mended"}},
	{"only the other type changed", []string{"ledger 05-only-the-other-type-changed"}},
	{"a rollback in Git", []string{"ledger 06-rollback-in-git"}},
	{"out of order", []string{"ledger 07-out-of-order", "ledger 07-out-of-order-after-another"}},
	{"one second", []string{"ledger 08-one-second-1", "ledger 08-one-second-2", "ledger 08-one-second-3", "ledger 08-one-second-4", "ledger 08-one-second-5", "ledger 08-one-second-6"}},
	{"duplicate and replay", []string{"ledger 09-duplicate-and-replay", "agent TestReplay"}},
	{"silent", []string{"ledger 10-silent", "server/daemon TestRolloutSilent"}},
	{"one name, two clusters", []string{"ledger 11-one-name-two-clusters", "agent TestOneNameTwoClusters"}},
	{"renamed", []string{"ledger 12-renamed", "agent TestRenamed"}},
	{"unknown, then known", []string{"ledger 13-unknown-then-known", "agent TestUnknownThenKnown"}},
	{"the hub was away", []string{"ledger 14-hub-away", "ledger 14-hub-away-and-events", "agent TestLedgerAway", "promotion/rollout TestFleetUnknown"}},
	{"expected", []string{"ledger 15-expected", "ledger 15-listed", "server/daemon TestRolloutGroups"}},
	{"a chart, and no commit", []string{"ledger 16-helm", "agent TestHelm", "cli TestVersionCell"}},
	{"an error without a revision", []string{"ledger 17-error-without-revision", "reconcile/loop TestErrorWithoutRevision"}},
	{"a branch is rewritten", []string{"ledger 18-branch-rewritten", "reconcile/ledgerdb TestAbandoned", "reconcile/ledgerdb TestAbandonedView", "reconcile/recorder TestRewrittenOutputs"}},
	{"the store is lost", []string{"ledger 19-lost-store", "agent TestLostStore", "reconcile/fleetview TestLostHistory", "reconcile/recorder TestOutputs"}},
	{"suspended", []string{"ledger 20-suspended", "server/daemon TestRolloutObjects"}},
}

// TestGoldenCases: the tests that are said to assert the cases are there.
func TestGoldenCases(t *testing.T) {
	if len(goldenCases) != 20 {
		t.Errorf("there are %d cases", len(goldenCases))
	}
	for i, c := range goldenCases {
		for _, one := range c.shownBy {
			folder, name, _ := strings.Cut(one, " ")
			if !isShown(t, filepath.Join("..", "..", filepath.FromSlash(folder)), name) {
				t.Errorf("%d, %s: there is no %s", i+1, c.name, one)
			}
		}
	}
}
