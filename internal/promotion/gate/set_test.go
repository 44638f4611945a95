package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

func setOf(t *testing.T, gates string) Set {
	t.Helper()
	compiled := stage(t, gates)
	compiled.After = []string{"dev"}
	s, _, problems := CompileStage(compiled)
	if problems.Stops() {
		t.Fatal(problems)
	}
	return s
}

func keys(needs []Need) []string {
	var all []string
	for _, n := range needs {
		all = append(all, n.Key)
	}
	return all
}

// TestSetNeeds: nothing is asked for twice, and a workflow is started when it is its
// turn.
func TestSetNeeds(t *testing.T) {
	s := setOf(t, `- rollout
- {name: tests, rollout: {contexts: [e2e]}}
- soak: 30m
- {name: smoke, dispatch: {workflow: smoke.yaml}}
- approval: {by: ["team:org/sre"]}
`)
	early := []string{"clusters stage", "output stage", "approvals stage", "members org/sre"}
	turn := []string{"clusters stage", "output stage", "dispatch stage smoke", "approvals stage", "members org/sre"}
	for _, test := range []struct {
		name   string
		change func(*Facts)
		want   []string
	}{
		{"no rollout", func(*Facts) {}, early},
		{"before the soak is over", func(f *Facts) { f.OutputStatuses = success() }, early},
		{"its turn", func(f *Facts) { f.OutputStatuses, f.DeployedAt = success(), before(time.Hour) }, turn},
		{"begun", func(f *Facts) { f.Answers = map[string]Answer{"dispatch stage smoke": {Outcome: "pending"}} }, turn},
	} {
		if diff := cmp.Diff(test.want, keys(s.Needs(facts(test.change)))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.name, diff)
		}
	}
}

func success() []CommitStatus {
	return []CommitStatus{{Context: "kustomization/apps/0c9c", Outcome: "success"}, {Context: "e2e", Outcome: "success"}}
}

func TestSetForecast(t *testing.T) {
	const gates = `- soak: 30m
- window: {allow: [{cron: 0 9 * * 1-4, duration: 2h}]}
- {name: night, window: {deny: [{cron: 0 13 * * *, duration: 3h}]}}
`
	fresh := func(f *Facts) { f.DeployedAt = time.Time{} }
	freeze := func(name string, from, to time.Duration) *model.Freeze {
		z := &model.Freeze{Object: model.Object{Name: name}, Reason: "sales", From: noon.Add(from)}
		if to > 0 {
			z.To = noon.Add(to)
		}
		return z
	}
	frozen := func(all ...*model.Freeze) func(*Facts) { return func(f *Facts) { f.Freezes = all } }
	for _, test := range []struct {
		name, gates string
		from        time.Time
		change      func(*Facts)
		want        Forecast
	}{
		{"nothing", "", noon, func(*Facts) {}, Forecast{Time: noon}},
		{"the latest", gates, noon, func(*Facts) {}, Forecast{Time: before(-21 * time.Hour), Delays: []string{"gate soak until Mon 2026-11-23 12:10 UTC", "gate window until Tue 2026-11-24 09:00 UTC"}}},
		{"soaks already", "- soak: 30m", noon, func(*Facts) {}, Forecast{Time: before(-10 * time.Minute), Delays: []string{"gate soak until Mon 2026-11-23 12:10 UTC"}}},
		{"has soaked", "- soak: 10m", noon, func(*Facts) {}, Forecast{Time: noon}},
		{"soaks from then", "- soak: 30m", before(-time.Hour), fresh, Forecast{Time: before(-90 * time.Minute), Delays: []string{"gate soak until Mon 2026-11-23 13:30 UTC"}}},
		{"people", "- approval\n- {name: b, approval: {count: 2, by: [alice, bob]}}\n- soak: 30m", noon, func(f *Facts) { f.Approvals = []Approval{{Approver: "zoe"}} },
			Forecast{Time: before(-10 * time.Minute), WaitsFor: "2 approvals, of alice or bob", Delays: []string{"gate soak until Mon 2026-11-23 12:10 UTC"}}},
		{"people who have approved are not waited for", "- approval: {count: 2, by: [alice, bob, dana], distinct: true}", noon, func(f *Facts) { f.Authors, f.Approvals = authors("dana"), []Approval{{Approver: "alice"}} },
			Forecast{Time: noon, WaitsFor: "1 approval, of bob"}},
		{"failed", "- status: {contexts: [ci/test]}", noon, func(f *Facts) { f.BaseStatuses = []CommitStatus{{Context: "ci/test", Outcome: "failure"}} },
			Forecast{Time: noon, WaitsFor: "another commit, or a fix: ci/test failed"}},
		{"withheld", "- merged", noon, func(f *Facts) { f.MergedAt, f.Withheld = time.Time{}, "it removes web" },
			Forecast{Time: noon, WaitsFor: "a person to merge or acknowledge it: it removes web"}},
		{"others", "- merged\n- rollout\n- http: {url: https://example.com/x, expect: 'true'}\n- dispatch: {workflow: smoke.yaml}", noon, func(f *Facts) { f.MergedAt = time.Time{} },
			Forecast{Time: noon, WaitsFor: "pull request 7 to be merged, the clusters to report it as ready, the answer of example.com, workflow smoke.yaml"}},
		{"a freeze, over when it is reached", "", before(-time.Hour), frozen(freeze("both", 0, time.Hour)), Forecast{Time: before(-time.Hour)}},
		{"a freeze that begins before the first ends", "", noon, frozen(freeze("both", 0, 3*time.Hour), freeze("early", 2*time.Hour, 6*time.Hour), freeze("later", 7*time.Hour, 8*time.Hour)),
			Forecast{Time: before(-6 * time.Hour), Delays: []string{"freeze both: sales, until Mon 2026-11-23 15:00 UTC", "freeze early: sales, until Mon 2026-11-23 18:00 UTC"}}},
		{"a freeze that a gate ends in", gates, noon, frozen(freeze("early", 20*time.Hour, 22*time.Hour)), Forecast{Time: before(-22 * time.Hour), Delays: []string{"freeze early: sales, until Tue 2026-11-24 10:00 UTC"}}},
		{"freezes of which one has no end", "- approval", noon, frozen(freeze("promo", 0, 0), freeze("both", 0, 3*time.Hour)),
			Forecast{Time: before(-3 * time.Hour), WaitsFor: "freeze promo: sales, until a person ends it, 1 approval", Delays: []string{"freeze both: sales, until Mon 2026-11-23 15:00 UTC"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, setOf(t, test.gates).ForecastWithFreezes(facts(test.change), test.from)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSetCheck(t *testing.T) {
	v := setOf(t, "- merged\n- soak: 30m\n- approval").Evaluate(facts())
	want := Verdict{Gate: "gates", Status: Wait, Reason: "1 approval missing", Parts: []Verdict{
		{Gate: "merged", Kind: "merged", Status: Pass, Reason: "the output is merged, as 2222222"},
		{Gate: "soak", Kind: "soak", Status: Wait, Reason: "it soaks for 30m, until Mon 2026-11-23 12:10 UTC", NamesTime: true, ValidUntil: before(-10 * time.Minute)},
		{Gate: "approval", Kind: "approval", Status: Wait, Reason: "1 approval missing", Approvers: &Approvers{Missing: 1}},
	}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSetCheckBehind: a workflow behind a gate that is not passed says which one, also if
// it was started before that; its own state is said when it is known.
func TestSetCheckBehind(t *testing.T) {
	s := setOf(t, "- window: {allow: [{cron: 0 9 * * *, duration: 2h}]}\n- {name: smoke, dispatch: {workflow: smoke.yaml}}")
	closed := "the window is closed; it opens Tue 2026-11-24 09:00 UTC"
	v := s.Evaluate(facts())
	if got := v.Parts[1]; got.Status != Wait || got.Reason != "smoke.yaml starts after window: "+closed || !got.ValidUntil.Equal(v.Parts[0].ValidUntil) {
		t.Errorf("behind a window: %+v", got)
	}
	if !strings.Contains(v.Reason, closed) {
		t.Errorf("the reason is %q", v.Reason)
	}
	v = s.Evaluate(facts(func(f *Facts) { f.Answers = map[string]Answer{"dispatch stage smoke": {Outcome: "success"}} }))
	if v.Parts[1].Status != Pass {
		t.Errorf("what is known: %+v", v.Parts[1])
	}
}

// TestForStage: answers are kept by the names of gates, so two that are asked for
// under one name would take each other's.
func TestForStage(t *testing.T) {
	for _, test := range []struct {
		gates, proof string
		want         string
	}{
		{"- dispatch: {workflow: a.yaml}", "- soak: 1m\n- soak: 2m\n- {name: b, dispatch: {workflow: a.yaml}}", ""},
		{"- soak: 1m", "- soak: 1m", "no environment comes before stage, in which a commit could soak"},
		{"- cost: {increase: 1, currency: EUR}", "- cost: {increase: 1, currency: EUR}", "no environment comes before stage, whose plans could tell the cost"},
		{"- dispatch: {workflow: a.yaml}\n- dispatch: {workflow: b.yaml}", "", "there are two gates dispatch with the name dispatch"},
		{"- {name: x, http: {url: https://a.example.com, expect: 'true'}}", "- {name: x, http: {url: https://b.example.com, expect: 'true'}}", "there are two gates http with the name x"},
		{"- soek: 1m", "", `there is no gate "soek"`},
		{"", "- soek: 1m", `there is no gate "soek"`},
	} {
		s := stage(t, test.gates)
		s.Proof = stage(t, test.proof).Gates
		_, _, problems := CompileStage(s)
		got := ""
		for _, p := range problems {
			got += p.Summary
		}
		if got != test.want {
			t.Errorf("%s\n%s\ngot %q, want %q", test.gates, test.proof, got, test.want)
		}
	}
}

// TestGatesOfWaves: a wave may have the gates that say something about it, with its name.
func TestGatesOfWaves(t *testing.T) {
	for _, c := range []struct {
		gates                      string
		inGates, inProof, inStages int // problems
	}{
		{"- approval: {by: [alice]}\n- dispatch: {workflow: w.yaml}\n- status: {contexts: [ci]}\n- window: {deny: [{cron: 0 9 * * *, duration: 1h}]}\n", 0, 0, 0},
		{"- http: {url: 'https://slo.example.com/{environment}/{wave}', expect: 'true'}\n", 0, 0, 1},
		{"- rollout\n", 1, 0, 0},
		{"- soak: 1h\n", 1, 0, 0},
		{"- merged\n", 1, 1, 0},
		{"- approval: {distinct: true}\n", 1, 1, 0},
		{"- rollout: {contexts: [e2e]}\n", 1, 1, 0},
		{"- rollout: {contexts: ['kustomization/*/{clusterType}.{cluster}']}\n", 1, 0, 0},
		{"- rollout: {contexts: ['kustomization/*/{clusterType}.{cluster}', e2e]}\n", 1, 1, 0},
	} {
		specs := stage(t, c.gates).Gates
		w := model.Wave{Name: "canary", Gates: specs, Proof: specs}
		_, inGates := CompileWaveGates(w)
		_, inProof := CompileWave(w)
		_, _, inStages := CompileStage(model.Stage{Name: "stage", After: []string{"dev"}, Gates: specs})
		if len(inGates) != c.inGates || len(inProof) != c.inProof || len(inStages) != c.inStages {
			t.Errorf("%s the problems are %v, %v and %v", c.gates, inGates, inProof, inStages)
		}
	}
	set := setOf(t, "- {name: smoke, dispatch: {workflow: smoke.yaml}}\n")
	first := facts(func(f *Facts) { f.Wave, f.Advance = "canary", "3f2a9c1d04be" })
	second := facts(func(f *Facts) { f.Wave, f.Advance = "rest", "3f2a9c1d04be" })
	if need := set.Needs(first)[0]; need.Key == set.Needs(second)[0].Key || need.Inputs["wave"] != "canary" || need.Inputs["advance"] != first.Advance {
		t.Errorf("the workflow of a wave is %+v", need)
	}
	again := first
	again.Retries = 1
	if set.Needs(first)[0].Key == set.Needs(again)[0].Key {
		t.Error("a workflow that is to run again has the same answer")
	}
	if _, has := set.Needs(facts(func(*Facts) {}))[0].Inputs["wave"]; has {
		t.Error("the workflow of an environment has the input wave")
	}
	typed := setOf(t, "- rollout: {contexts: ['kustomization/*/{clusterType}.{cluster}']}\n")
	for _, c := range []struct {
		contexts []string
		want     Status
	}{
		{[]string{"kustomization/fleet/large.west-1", "kustomization/fleet/west-1"}, Wait},
		{[]string{"kustomization/fleet/small.east-1"}, Pass},
		{[]string{"kustomization/fleet/small.east-2"}, Wait}, // for east-1, which has reported before
		{[]string{"kustomization/fleet/small.east-1", "kustomization/fleet/large.west-1 failed"}, Pass},
		{[]string{"kustomization/fleet/small.east-1", "kustomization/fleet/small.east-2 failed"}, Fail},
	} {
		f := facts(func(f *Facts) {
			f.Wave, f.WaveTypes = "canary", []string{"small"}
			f.PreviousStatuses = []CommitStatus{{Context: "kustomization/fleet/small.east-1", Outcome: Success}, {Context: "kustomization/fleet/large.west-1", Outcome: Success}}
			for _, context := range c.contexts {
				name, failed := strings.CutSuffix(context, " failed")
				st := success()[0]
				st.Context = name
				if failed {
					st.Outcome = Failure
				}
				f.WaveStatuses = append(f.WaveStatuses, st)
			}
		})
		v := typed.Evaluate(f)
		if failed := typed.CountFailed(f) == 1; v.Status != c.want || failed != (c.want == Fail) {
			t.Errorf("%v give %v, and that one cluster failed: %t: %s", c.contexts, v.Status, failed, v.Reason)
		}
	}
	rollout := setOf(t, "- rollout\n")
	statuses := func(f *Facts) { f.OutputStatuses = success() }
	if rollout.Evaluate(facts(statuses)).Status != Pass || rollout.Evaluate(facts(statuses, func(f *Facts) { f.Wave = "canary" })).Status != Wait {
		t.Error("a status, which names no cluster type, counts in a wave, or not outside of one")
	}
}

// TestDistinctProof: authors are known before their commits are promoted, so that they are asked for in gates only.
func TestDistinctProof(t *testing.T) {
	specs := stage(t, "- approval: {distinct: true}\n").Gates
	for name, test := range map[string]struct {
		stage    model.Stage
		problems int
	}{"gates": {model.Stage{Name: "dev", Gates: specs}, 0}, "proof": {model.Stage{Name: "dev", Proof: specs}, 1}} {
		if _, _, problems := CompileStage(test.stage); len(problems) != test.problems {
			t.Errorf("in %s the problems are %v", name, problems)
		}
	}
}
