package rollout

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	now    = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	merged = now.Add(-time.Hour)
)

// on makes a report of a number of minutes ago.
func on(source string, phase Phase, ago int) Report {
	return Report{Source: source, Object: "Kustomization/flux-system/apps", Phase: phase, Current: true, Time: now.Add(-time.Duration(ago) * time.Minute)}
}

func (r Report) of(object string) Report { r.Object = object; return r }
func (r Report) says(text string) Report { r.Message = text; return r }
func (r Report) waits() Report           { r.Waits = true; return r }
func (r Report) aboutAnother() Report    { r.Current = false; return r }
func at(minutes int) time.Time           { return now.Add(time.Duration(minutes) * time.Minute) }
func tell(s Summary) string              { return string(s.Phase) + ": " + s.Reason }
func many(n int, phase Phase) []Report {
	var all []Report
	for i := range n {
		all = append(all, on(string(rune('a'+i)), phase, 5))
	}
	return all
}

func TestSummarize(t *testing.T) {
	tests := []struct {
		name    string
		reports []Report
		rule    Rule
		want    string
		until   time.Time
	}{
		{"nobody", nil, Rule{}, "progressing: no cluster has reported", time.Time{}},
		{"one", []Report{on("oslo", Ready, 5)}, Rule{}, "ready: 1 of 1 cluster ready", time.Time{}},
		{"one of another commit", []Report{on("oslo", Ready, 5).aboutAnother()}, Rule{}, "progressing: 0 of 1 cluster ready, 1 on another commit (oslo)", time.Time{}},
		{"failed on another commit", []Report{on("oslo", Failed, 5).aboutAnother()}, Rule{}, "progressing: 0 of 1 cluster ready, 1 on another commit (oslo)", time.Time{}},
		{"at it", []Report{on("oslo", Progressing, 5)}, Rule{}, "progressing: 0 of 1 cluster ready, 1 in progress", time.Time{}},
		{"a plan waits, and what comes after it is at the commit of before", []Report{on("oslo", Progressing, 5).waits(), on("oslo", Ready, 9).of("b").aboutAnother()}, Rule{},
			"progressing: 0 of 1 cluster ready, 1 waits for approval", time.Time{}},
		{"a plan waits, and something fails", []Report{on("oslo", Progressing, 5).waits(), on("oslo", Failed, 5).of("b")}, Rule{}, "failed: b failed on oslo", time.Time{}},
		{"a phase that is not known", []Report{on("oslo", "", 5)}, Rule{}, "progressing: 0 of 1 cluster ready, 1 in progress", time.Time{}},
		{"failed", []Report{on("oslo", Failed, 5).says("health check\n failed"), on("riga", Ready, 5)}, Rule{},
			"failed: Kustomization/flux-system/apps failed on oslo: health check failed", time.Time{}},
		{"a health check failed, and Flux says why", []Report{on("oslo", Failed, 5).says("health check failed after 2.029s: failed early due to stalled resources: [GitRepository/web/shop status: 'Failed': couldn't find remote ref \"refs/heads/mastre\", Job/web/seed status: 'Failed']")}, Rule{},
			`failed: shop and 1 more failed on oslo: branch "mastre" does not exist`, time.Time{}},
		{"a health check ran out of time", []Report{on("oslo", Failed, 5).says("health check failed after 5m0s: timeout waiting for: [Deployment/web/shop status: 'InProgress']")}, Rule{},
			"failed: shop failed on oslo: timeout, its status is InProgress", time.Time{}},
		{"an artifact's tag is missing", []Report{on("oslo", Failed, 5).says("health check failed after 1s: failed early due to stalled resources: [GitRepository/web/shop status: 'Failed': couldn't find remote ref \"refs/tags/v2\"]")}, Rule{},
			`failed: shop failed on oslo: tag "v2" does not exist`, time.Time{}},
		{"a health check ran out of time, and its message is cut", []Report{on("oslo", Failed, 5).says("health check failed after 5m0s: timeout waiting for: [Deployment/web/shop status: 'InProgr…")}, Rule{},
			"failed: Kustomization/flux-system/apps failed on oslo: timeout waiting for Deployment/web/shop status: 'InProgr…", time.Time{}},
		{"failed and nothing said", []Report{on("e2e", Failed, 5).of("e2e")}, Rule{}, "failed: e2e failed", time.Time{}},

		{"more are wanted", []Report{on("oslo", Ready, 5)}, Rule{MinClusters: 3}, "progressing: 1 of 3 clusters ready, 2 no report yet", time.Time{}},
		{"more report than are wanted", append(many(3, Ready), on("oslo", Progressing, 5)), Rule{MinClusters: 2}, "progressing: 3 of 4 clusters ready, 1 in progress", time.Time{}},
		{"one fails before the others report", []Report{on("oslo", Failed, 5)}, Rule{MinClusters: 12}, "failed: Kustomization/flux-system/apps failed on oslo", time.Time{}},

		// 50 % of 3 is 2, and of 1 it is 1.
		{"a share, rounded up", append(many(1, Ready), on("oslo", Failed, 5), on("riga", Progressing, 5)), Rule{ReadyPercent: 50},
			"progressing: 1 of 3 clusters ready, 1 in progress, 1 failed", time.Time{}},
		{"a share is reached", append(many(2, Ready), on("oslo", Failed, 5)), Rule{ReadyPercent: 50}, "ready: 2 of 3 clusters ready", time.Time{}},
		{"a share cannot be reached", append(many(1, Ready), on("oslo", Failed, 5), on("riga", Failed, 5)), Rule{ReadyPercent: 50},
			"failed: Kustomization/flux-system/apps failed on oslo", time.Time{}},
		{"a share of one", []Report{on("oslo", Progressing, 5)}, Rule{ReadyPercent: 1}, "progressing: 0 of 1 cluster ready, 1 in progress", time.Time{}},
		{"99 percent of 100", append(many(99, Ready), on("zzz", Failed, 5)), Rule{ReadyPercent: 99}, "ready: 99 of 100 clusters ready", time.Time{}},
		{"a share that is none", append(many(1, Ready), on("zzz", Progressing, 5)), Rule{ReadyPercent: -3}, "progressing: 1 of 2 clusters ready, 1 in progress", time.Time{}},

		{"the latest counts", []Report{on("oslo", Failed, 9), on("oslo", Ready, 5), on("oslo", Progressing, 7)}, Rule{}, "ready: 1 of 1 cluster ready", time.Time{}},
		{"has moved on", []Report{on("oslo", Ready, 9), on("oslo", Ready, 5).aboutAnother()}, Rule{}, "progressing: 0 of 1 cluster ready, 1 on another commit (oslo)", time.Time{}},
		{"two revisions in one second", []Report{on("oslo", Ready, 5), on("oslo", Ready, 5).aboutAnother()}, Rule{}, "ready: 1 of 1 cluster ready", time.Time{}},
		{"two words in one second", []Report{on("oslo", Failed, 5), on("oslo", Ready, 5)}, Rule{}, "failed: Kustomization/flux-system/apps failed on oslo", time.Time{}},

		{"two objects, one behind", []Report{on("oslo", Ready, 5), on("oslo", Ready, 5).of("infra").aboutAnother()}, Rule{}, "progressing: 0 of 1 cluster ready, 1 on another commit (oslo)", time.Time{}},
		{"two objects, one at it", []Report{on("oslo", Ready, 5), on("oslo", Progressing, 5).of("infra")}, Rule{}, "progressing: 0 of 1 cluster ready, 1 in progress", time.Time{}},
		{"a failure beside one that is behind", []Report{on("oslo", Ready, 5).of("infra").aboutAnother(), on("oslo", Failed, 5)}, Rule{},
			"failed: Kustomization/flux-system/apps failed on oslo", time.Time{}},
		{"a failure beside one that is stale", []Report{on("oslo", Ready, 50).of("infra"), on("oslo", Failed, 5)}, Rule{StaleAfter: 30 * time.Minute},
			"failed: Kustomization/flux-system/apps failed on oslo", at(25)},

		{"stale", []Report{on("oslo", Ready, 30), on("riga", Ready, 5)}, Rule{StaleAfter: 30 * time.Minute}, "progressing: 1 of 2 clusters ready, 1 no recent report", time.Time{}},
		{"a stale failure", []Report{on("oslo", Failed, 30)}, Rule{StaleAfter: 30 * time.Minute}, "progressing: 0 of 1 cluster ready, 1 no recent report", time.Time{}},
		{"one of two objects is stale", []Report{on("oslo", Ready, 30), on("oslo", Ready, 5).of("infra")}, Rule{StaleAfter: 30 * time.Minute},
			"progressing: 0 of 1 cluster ready, 1 no recent report", time.Time{}},
		{"will be stale", []Report{on("oslo", Ready, 10), on("riga", Ready, 5)}, Rule{StaleAfter: 30 * time.Minute}, "ready: 2 of 2 clusters ready", at(20)},
		{"one may be stale", []Report{on("oslo", Ready, 10), on("riga", Ready, 5)}, Rule{StaleAfter: 30 * time.Minute, ReadyPercent: 50}, "ready: 2 of 2 clusters ready", at(25)},
		{"an object will be stale", []Report{on("oslo", Ready, 5), on("oslo", Ready, 20).of("infra")}, Rule{StaleAfter: 30 * time.Minute}, "ready: 1 of 1 cluster ready", at(10)},
		{"a failure will be stale", []Report{on("oslo", Failed, 5), on("oslo", Failed, 20).of("infra")}, Rule{StaleAfter: 30 * time.Minute},
			"failed: Kustomization/flux-system/apps failed on oslo", at(25)},
		{"without a time", []Report{{Source: "oslo", Phase: Ready, Current: true}}, Rule{StaleAfter: time.Hour}, "progressing: 0 of 1 cluster ready, 1 no recent report", time.Time{}},

		{"in time", []Report{on("oslo", Progressing, 5)}, Rule{Timeout: 90 * time.Minute}, "progressing: 0 of 1 cluster ready, 1 in progress", at(30)},
		{"too late", []Report{on("oslo", Progressing, 5), on("riga", Ready, 5)}, Rule{Timeout: time.Hour}, "failed: not rolled out within 1h: 1 of 2 clusters ready, 1 in progress", time.Time{}},
		{"ready after all", []Report{on("oslo", Ready, 5)}, Rule{Timeout: time.Minute}, "ready: 1 of 1 cluster ready", time.Time{}},
		{"nobody in time", nil, Rule{Timeout: time.Hour}, "failed: not rolled out within 1h: no cluster has reported", time.Time{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := Summarize(test.reports, test.rule, merged, now)
			if got := tell(s); got != test.want || !s.ValidUntil.Equal(test.until) {
				t.Errorf("got  %s until %s\nwant %s until %s", got, s.ValidUntil, test.want, test.until)
			}
		})
	}
}

// TestNotMerged: no time is over for a commit that is not there.
func TestNotMerged(t *testing.T) {
	want := Summary{Phase: Progressing, Reason: "no cluster has reported"}
	if diff := cmp.Diff(want, Summarize(nil, Rule{Timeout: time.Hour}, time.Time{}, now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func randomReports(r *rand.Rand) ([]Report, Rule) {
	var all []Report
	for range r.IntN(12) {
		one := on([]string{"oslo", "riga", "bonn"}[r.IntN(3)], []Phase{Ready, Failed, Progressing, "odd"}[r.IntN(4)], r.IntN(40)).of([]string{"apps", "infra"}[r.IntN(2)])
		one.Current, one.Message = r.IntN(3) > 0, []string{"", "x"}[r.IntN(2)]
		if r.IntN(2) == 0 {
			one.Time = at(-5)
		}
		all = append(all, one)
	}
	return all, Rule{r.IntN(4), r.IntN(101), time.Duration(r.IntN(40)) * time.Minute, time.Duration(r.IntN(90)) * time.Minute}
}

// TestProperties: what holds whatever is reported, of 5,000 cases from one seed.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 11))
	for i := range 5000 {
		reports, rule := randomReports(r)
		s := Summarize(reports, rule, merged, now)
		given := slices.Clone(reports)
		r.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
		if diff := cmp.Diff(s, Summarize(reports, rule, merged, now)); diff != "" {
			t.Fatalf("case %d depends on the order of %v: %s", i, given, diff)
		}
		silent := slices.DeleteFunc(slices.Clone(given), func(r Report) bool { return r.Current })
		if quiet := Summarize(silent, rule, merged, now); quiet.Ready+quiet.Failed > 0 || quiet.Phase == Ready {
			t.Fatalf("case %d: reports of other commits say %s", i, tell(quiet))
		}
		if s.Ready+s.Failed+s.Stale+s.Behind > s.Sources || s.Reason == "" || !s.ValidUntil.IsZero() && !s.ValidUntil.After(now) {
			t.Fatalf("case %d: %+v", i, s)
		}
		if s.ValidUntil.IsZero() {
			continue
		}
		if early := Summarize(given, rule, merged, s.ValidUntil.Add(-1)); early.Phase != s.Phase {
			t.Fatalf("case %d: %s until %s, and before that %s; %v, %+v", i, tell(s), s.ValidUntil, tell(early), given, rule)
		}
	}
}

// TestDoubles: a cluster that writes commit statuses and reports by its name counts once.
func TestDoubles(t *testing.T) {
	status := func(uid string, phase Phase) Report {
		r := on(uid, phase, 5).of("kustomization/apps")
		r.Anonymous = true
		return r
	}
	for _, c := range []struct {
		name    string
		reports []Report
		rule    Rule
		want    string
	}{
		{"one", []Report{on("oslo", Ready, 5), status("0c9c", Ready)}, Rule{}, "ready: 1 of 1 cluster ready"},
		{"one where two are wanted", []Report{on("oslo", Ready, 5), status("0c9c", Ready)}, Rule{MinClusters: 2}, "progressing: 1 of 2 clusters ready, 1 no report yet"},
		{"it waits by its name", []Report{on("oslo", Progressing, 5).waits(), status("0c9c", Ready)}, Rule{}, "progressing: 0 of 1 cluster ready, 1 waits for approval"},
		{"another one writes statuses alone", []Report{on("oslo", Ready, 5), status("0c9c", Ready), status("77aa", Ready)}, Rule{MinClusters: 2}, "ready: 2 of 2 clusters ready"},
		{"another object", []Report{on("oslo", Ready, 5).of("Kustomization/flux-system/infra"), status("0c9c", Ready)}, Rule{}, "ready: 2 of 2 clusters ready"},
		{"of another commit", []Report{on("oslo", Ready, 5).aboutAnother(), status("0c9c", Ready)}, Rule{}, "progressing: 1 of 2 clusters ready, 1 on another commit (oslo)"},
		{"a status of progress stays", []Report{on("oslo", Ready, 5), status("0c9c", Progressing)}, Rule{}, "progressing: 1 of 2 clusters ready, 1 in progress"},
		{"a failure stays", []Report{on("oslo", Ready, 5), status("0c9c", Failed)}, Rule{}, "failed: kustomization/apps failed"},
	} {
		if got := tell(Summarize(c.reports, c.rule, merged, now)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
