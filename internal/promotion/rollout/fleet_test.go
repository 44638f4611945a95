package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

var (
	fleetNoon   = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	fleetMerged = fleetNoon.Add(-10 * time.Minute)
)

// standings reads "40 ready large, e2 failed large timeout, 1 unheard small": clusters, or so many,
// their class, their type, and a message. The group of a cluster is its
// type, and the label ring its last letter.
func standings(t *testing.T, list string) []Standing {
	t.Helper()
	var all []Standing
	for item := range strings.SplitSeq(list, ", ") {
		words := strings.Fields(item)
		if len(words) == 0 {
			continue
		}
		n, err := strconv.Atoi(words[0])
		if err != nil {
			n = 1
		}
		for i := range n {
			s := Standing{Cluster: words[0], ClusterType: words[2], Group: words[2], Labels: map[string]string{"ring": words[2][len(words[2])-1:]}, Message: strings.Join(words[3:], " ")}
			if err == nil {
				s.Cluster = fmt.Sprintf("%s-%s-%d", words[2], words[1], i+1)
			}
			found := false
			for class := ledger.ClassContested; class <= ledger.ClassReady; class++ {
				if class.String() == words[1] {
					s.Class, found = class, true
				}
			}
			if !found {
				t.Fatalf("there is no class %s", words[1])
			}
			if s.Class == ledger.ClassUnheard {
				if err == nil {
					s.Cluster = ""
				}
			} else {
				s.LastSeen = fleetNoon.Add(-time.Duration(i+1) * time.Second)
				s.SilentAt = s.LastSeen.Add(3 * time.Minute)
			}
			all = append(all, s)
		}
	}
	return all
}

// TestSummarizeFleet has the cases of the specification, and what lies around them.
func TestSummarizeFleet(t *testing.T) {
	percent := func(n int) FleetRule { return FleetRule{Rule: Rule{ReadyPercent: n}, FailurePercent: -1} }
	failures := func(ready, failed int) FleetRule {
		return FleetRule{Rule: Rule{ReadyPercent: ready}, FailurePercent: failed}
	}
	byType := func(percents map[string]int) FleetRule {
		return FleetRule{Rule: Rule{ReadyPercent: 100}, By: ByClusterType, Percents: percents, FailurePercent: -1}
	}
	for _, c := range []struct {
		name, standings string
		rule            FleetRule
		want            string
	}{
		{"case 3, a failure that is too much", "2 ready large, e2 failed large timeout waiting for Deployment/x", percent(95),
			"failed: 2 of 3 clusters ready (66.6%, wants 95%): 1 failed (e2: timeout waiting for Deployment/x)"},
		{"case 3, and one that is not", "2 ready large, e2 failed large timeout", percent(60), "ready: 2 of 3 clusters ready (66.6%, wants 60%): 1 failed (e2: timeout) until 12:02:58"},
		{"case 5, only the other type changed", "e1 ready large, e2 behind large, w1 ready small", percent(100), "progressing: 2 of 3 clusters ready (66.6%, wants 100%): 1 behind (e2)"},
		{"case 10, silent", "e1 silent large", percent(100), "progressing: 0 of 1 cluster ready (0%, wants 100%): 1 silent (e1)"},
		{"case 15, unheard", "2 ready large, 1 unheard large, w1 ready small", percent(100), "progressing: 3 of 4 clusters ready (75%, wants 100%): 1 unheard (of large)"},
		{"case 15, by type", "2 ready large, 1 unheard large, w1 ready small", byType(map[string]int{"default": 60}), "ready: 3 of 4 clusters ready, and enough in each of 2 groups until 12:02:58"},
		{"one group is not enough", "8 ready large, 1 behind large, 1 ready small, s2 failed small no route", byType(map[string]int{"small": 100, "default": 50}),
			"failed: small: 1 of 2 clusters ready (50%, wants 100%): 1 failed (s2: no route)"},
		{"a group that waits", "1 ready large, 1 progressing small", byType(nil), "progressing: small: 0 of 1 cluster ready (0%, wants 100%): 1 in progress (small-progressing-1)"},
		{"by a label", "1 ready ring-a, 1 behind ring-b", FleetRule{Rule: Rule{ReadyPercent: 100}, By: "label:ring", FailurePercent: -1}, "progressing: b: 0 of 1 cluster ready (0%, wants 100%): 1 behind (ring-b-behind-1)"},
		{"by a label that is missing", "1 behind large", FleetRule{Rule: Rule{ReadyPercent: 100}, By: "label:group", FailurePercent: -1},
			"progressing: without a name: 0 of 1 cluster ready (0%, wants 100%): 1 behind (large-behind-1)"},
		{"listed by name, and never heard", "2 ready large, e7 unheard large", percent(100), "progressing: 2 of 3 clusters ready (66.6%, wants 100%): 1 unheard (e7)"},
		{"by group", "4 ready canary, 1 behind second, 1 ready none", FleetRule{Rule: Rule{ReadyPercent: 50}, By: ByGroup, Percents: map[string]int{"canary": 100}, FailurePercent: -1},
			"progressing: second: 0 of 1 cluster ready (0%, wants 50%): 1 behind (second-behind-1)"},
		{"by the earlier name of groups", "4 ready canary, 1 behind second, 1 ready none", FleetRule{Rule: Rule{ReadyPercent: 50}, By: ByWave, Percents: map[string]int{"canary": 100}, FailurePercent: -1},
			"progressing: second: 0 of 1 cluster ready (0%, wants 50%): 1 behind (second-behind-1)"},
		{"all groups", "4 ready canary, 1 ready second, 1 behind second", FleetRule{Rule: Rule{ReadyPercent: 50}, By: ByGroup, Percents: map[string]int{"canary": 100}, FailurePercent: -1},
			"ready: 5 of 6 clusters ready, and enough in each of 2 groups until 12:02:56"},
		{"a large fleet", "9412 ready large, 310 behind large, 201 silent large, 77 failed large x", percent(95),
			"progressing: 9,412 of 10,000 clusters ready (94.1%, wants 95%): 310 behind (large-behind-1, large-behind-2, large-behind-3 and 307 more), 201 silent (large-silent-1, large-silent-2, large-silent-3 and 198 more), 77 failed (large-failed-1: x, large-failed-2, large-failed-3 and 74 more)"},
		{"two of 40 failed", "38 ready large, 2 failed large x", failures(90, 2), "failed: 2 of 40 clusters failed, and 2% may: large-failed-1: x, large-failed-2"},
		{"two of 40 may", "38 ready large, 2 failed large x", failures(90, 5), "ready: 38 of 40 clusters ready (95%, wants 90%): 2 failed (large-failed-1: x, large-failed-2) until 12:02:24"},
		{"none may", "99 progressing large, e1 failed large x", failures(50, 0), "failed: 1 of 100 clusters failed, and 0% may: e1: x"},
		{"nobody", "", percent(100), "progressing: 0 of 1 cluster ready (0%, wants 100%): 1 not known"},
		{"fewer than there must be", "2 ready large", FleetRule{Rule: Rule{ReadyPercent: 100, MinClusters: 3}, FailurePercent: -1}, "progressing: 2 of 3 clusters ready (66.6%, wants 100%): 1 not known"},
		{"all", "3 ready large", percent(100), "ready: 3 of 3 clusters ready until 12:02:57"},
		{"all but one of a thousand", "999 ready large, e1 contested large", percent(100), "progressing: 999 of 1,000 clusters ready (99.9%, wants 100%): 1 contested (e1)"},
		{"neither proven nor known", "1 unproven large, 1 unknown large", percent(1),
			"progressing: 0 of 2 clusters ready (0%, wants 1%): 1 unproven (large-unproven-1), 1 on an unknown revision (large-unknown-1)"},
		{"stale", "3 ready large", FleetRule{Rule: Rule{ReadyPercent: 100, StaleAfter: 2 * time.Second}, FailurePercent: -1},
			"progressing: 1 of 3 clusters ready (33.3%, wants 100%): 2 silent (large-ready-2, large-ready-3)"},
		{"in time", "1 behind large", FleetRule{Rule: Rule{Timeout: 10*time.Minute + time.Second}, FailurePercent: -1}, "progressing: 0 of 1 cluster ready (0%, wants 100%): 1 behind (large-behind-1) until 12:00:01"},
		{"too late", "1 behind large", FleetRule{Rule: Rule{Timeout: 10 * time.Minute}, FailurePercent: -1}, "failed: not rolled out within 10m: 0 of 1 cluster ready (0%, wants 100%): 1 behind (large-behind-1)"},
	} {
		f := Fleet{Since: fleetMerged, Standings: standings(t, c.standings)}
		if got := describeSummary(SummarizeFleet(f, c.rule, fleetMerged, fleetNoon)); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

func describeSummary(s Summary) string {
	text := string(s.Phase) + ": " + s.Reason
	if !s.ValidUntil.IsZero() {
		text += " until " + s.ValidUntil.Format(time.TimeOnly)
	}
	return text
}

// TestFleetUnknown: as long as it is not known how clusters stand, nothing is decided; nor has anything
// taken too long that the ledger did not listen to (case 14).
func TestFleetUnknown(t *testing.T) {
	rule := FleetRule{Rule: Rule{ReadyPercent: 1, Timeout: time.Minute}, FailurePercent: 0}
	unknown := Fleet{Unknown: "the ledger is being read", Standings: standings(t, "1 ready large, 1 failed large x")}
	if got := describeSummary(SummarizeFleet(unknown, rule, fleetMerged, fleetNoon)); got != "progressing: the ledger is being read" {
		t.Error(got)
	}
	for _, c := range []struct {
		since time.Duration
		stale time.Duration
		want  Phase
	}{{4 * time.Minute, 0, Progressing}, {5 * time.Minute, 0, Failed}, {5 * time.Minute, 6 * time.Minute, Progressing}, {6 * time.Minute, 6 * time.Minute, Failed}} {
		rule.StaleAfter = c.stale
		f := Fleet{Since: fleetNoon.Add(-c.since), Standings: standings(t, "1 silent large")}
		if got := SummarizeFleet(f, rule, fleetMerged, fleetNoon); got.Phase != c.want {
			t.Errorf("listening for %s: %s, want %s", c.since, describeSummary(got), c.want)
		}
	}
}

// TestFleetNew: a ledger that began lately may not know all clusters yet, unless something else says how
// many there are. What has failed has.
func TestFleetNew(t *testing.T) {
	for _, c := range []struct {
		standings string
		began     time.Duration
		want      string
	}{
		{"3 ready large", 14 * time.Minute, "progressing: 3 of 3 clusters ready; the ledger is new, and other clusters are waited for until 12:01 UTC until 12:01:00"},
		{"3 ready large", 15 * time.Minute, "ready: 3 of 3 clusters ready until 12:02:57"},
		{"1 failed large x", time.Minute, "failed: 0 of 1 cluster ready (0%, wants 100%): 1 failed (large-failed-1: x)"},
	} {
		f := Fleet{Since: fleetMerged, Began: fleetNoon.Add(-c.began), Standings: standings(t, c.standings)}
		rule := FleetRule{Rule: Rule{Timeout: time.Minute}, FailurePercent: -1}
		if got := describeSummary(SummarizeFleet(f, rule, fleetMerged, fleetNoon)); got != c.want {
			t.Errorf("after %s: %s, want %s", c.began, got, c.want)
		}
	}
}

// TestFleetOrder: the summary is the same each time, in whatever order groups are found.
func TestFleetOrder(t *testing.T) {
	all := standings(t, "5 ready large, 2 behind small, 1 failed large x")
	rule := FleetRule{Rule: Rule{ReadyPercent: 50}, By: ByClusterType, FailurePercent: -1}
	want := describeSummary(SummarizeFleet(Fleet{Standings: all}, rule, fleetMerged, fleetNoon))
	for range 20 {
		if got := describeSummary(SummarizeFleet(Fleet{Standings: all}, rule, fleetMerged, fleetNoon)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}
