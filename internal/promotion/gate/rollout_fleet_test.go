package gate

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// withFleet has clusters of classes, the first of which are of the type canary, under a key.
func withFleet(key string, classes ...ledger.Class) func(*Facts) {
	return func(f *Facts) {
		fleet := rollout.Fleet{Since: before(time.Hour)}
		for i, class := range classes {
			s := rollout.Standing{Cluster: string(rune('a' + i)), ClusterType: "large", Class: class, LastSeen: before(time.Minute), SilentAt: before(-2 * time.Minute)}
			if i == 0 {
				s.ClusterType, s.Labels = "canary", map[string]string{"ring": "first"}
			}
			if class == ledger.ClassFailed {
				s.Message = "timeout"
			}
			fleet.Standings = append(fleet.Standings, s)
		}
		if f.Fleets == nil {
			f.Fleets = map[string]rollout.Fleet{}
		}
		f.Fleets[key] = fleet
	}
}

func TestRolloutOfExpected(t *testing.T) {
	const key = "fleet stage"
	ready, failed, behind := ledger.ClassReady, ledger.ClassFailed, ledger.ClassBehind
	checkCases(t, []verdictCase{
		{"not merged", "rollout: {of: expected}", facts(withFleet(key, ready), func(f *Facts) { f.MergedAt = time.Time{} }), "wait: clusters get the commit once its output is merged"},
		{"without a ledger", "rollout: {of: expected}", facts(func(f *Facts) {
			f.Reports = []rollout.Report{{Source: "a", Object: "x", Phase: rollout.Ready, Current: true, Time: before(time.Minute)}}
			f.OutputStatuses = []CommitStatus{{Context: "kustomization/apps/0c9c", Outcome: "success", Time: before(time.Minute)}}
		}), "wait: it is not known how the clusters stand"},
		{"being read", "rollout: {of: expected}", facts(func(f *Facts) { f.Fleets = map[string]rollout.Fleet{key: {Unknown: "the ledger is being read"}} }), "wait: the ledger is being read"},
		{"all", "rollout: {of: expected}", facts(withFleet(key, ready, ready)), "pass: 2 of 2 clusters ready [11-23 12:02]"},
		{"enough", "rollout: {of: expected, percent: 50}", facts(withFleet(key, ready, behind)), "pass: 1 of 2 clusters ready (50%, wants 50%): 1 behind (b) [11-23 12:02]"},
		{"a failure", "rollout: {of: expected, percent: 80}", facts(withFleet(key, ready, failed)), "fail: 1 of 2 clusters ready (50%, wants 80%): 1 failed (b: timeout)"},
		{"few failures", "rollout: {of: expected, percent: 50, failures: {percent: 10}}", facts(withFleet(key, ready, failed)), "fail: 1 of 2 clusters failed, and 10% may: b: timeout"},
		{"groups", "rollout: {of: expected, groups: {by: 'label:ring', percent: {first: 100, default: 50}}}", facts(withFleet(key, behind, ready, ready)),
			"wait: first: 0 of 1 cluster ready (0%, wants 100%): 1 behind (a)"},
		{"clusters", "rollout: {of: expected, clusters: 3}", facts(withFleet(key, ready, ready)), "wait: 2 of 3 clusters ready (66.6%, wants 100%): 1 not known"},
		{"all objects", "rollout: {of: expected, objects: all}", facts(withFleet(key, ready), withFleet("fleet with all objects stage", failed)), "fail: 0 of 1 cluster ready (0%, wants 100%): 1 failed (a: timeout)"},
		{"too late", "rollout: {of: expected, timeout: 10m}", facts(withFleet(key, behind)), "fail: not rolled out within 10m: 0 of 1 cluster ready (0%, wants 100%): 1 behind (a)"},
		{"others of the environment are among the expected", "rollout: {of: expected}", facts(withFleet(key, ready), func(f *Facts) { f.Uncounted = []string{"east-9"} }), "pass: 1 of 1 cluster ready [11-23 12:02]"},
		{"the store is away", "rollout: {of: expected}", facts(withFleet(key, ready), func(f *Facts) { f.ReportsLost = LostReports{Reason: "the database does not answer"} }),
			"wait: it is not known what clusters reported before: the database does not answer. Of the others: 1 of 1 cluster ready"},
		{"reports were lost", "rollout: {of: expected}", facts(withFleet(key, ready), func(f *Facts) { f.ReportsLost = LostReports{"the ledger was damaged", before(-time.Hour)} }),
			"wait: reports of clusters were lost: the ledger was damaged; without them it does not decide before Mon 2026-11-23 13:00 UTC. Of the others: 1 of 1 cluster ready [11-23 13:00]"},
	})
}

// TestRolloutWithoutLedger: a gate that does not ask for expected clusters gives the same verdicts as
// before, whatever a ledger knows.
func TestRolloutWithoutLedger(t *testing.T) {
	for _, phase := range []rollout.Phase{rollout.Ready, rollout.Progressing, rollout.Failed} {
		report := func(f *Facts) {
			f.Reports = []rollout.Report{{Source: "oslo", Object: "Kustomization/flux-system/apps", Phase: phase, Current: true, Message: "x", Time: before(time.Minute)}}
		}
		want := made(t, "rollout").Evaluate(facts(report))
		for _, class := range []ledger.Class{ledger.ClassReady, ledger.ClassFailed, ledger.ClassSilent} {
			for _, gate := range []string{"rollout", "rollout: {of: known}"} {
				got := made(t, gate).Evaluate(facts(report, withFleet("fleet stage", class, class)))
				if got.Status != want.Status || got.Reason != want.Reason || !got.ValidUntil.Equal(want.ValidUntil) {
					t.Errorf("%s, %s, with a ledger that has %s: %+v, want %+v", gate, phase, class, got, want)
				}
			}
		}
	}
	for gate, want := range map[string]NeedKind{"rollout": Clusters, "rollout: {of: expected}": Fleet} {
		if needs := made(t, gate).(Asker).Needs(facts()); needs[0].Kind != want {
			t.Errorf("%s needs %+v", gate, needs)
		}
	}
}
