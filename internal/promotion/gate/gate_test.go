package gate

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// stage reads the gates of a stage, as they lie in a file.
func stage(t testing.TB, gates string) model.Stage {
	t.Helper()
	text := "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata:\n  name: fleet\nspec:\n  environments:\n  - name: stage\n    gates:\n"
	for line := range strings.Lines(gates) {
		text += "    " + line
	}
	layer := model.Layer{Kind: model.Base, Name: "main", Files: tree.FromEntries([]tree.Entry{tree.File("promotion.yaml", []byte(text+"\n"))})}
	p := model.NewParser().Progress("stage", layer)
	if len(p.Problems) > 0 || len(p.Promotions) != 1 {
		t.Fatalf("%s\n%v", text, p.Problems)
	}
	return p.Promotions[0].Stages[0]
}

// made gives the gate of a line.
func made(t testing.TB, line string) Gate {
	t.Helper()
	g, problems := New(stage(t, "- "+line).Gates[0])
	if problems.Stops() {
		t.Fatalf("%s: %v", line, problems)
	}
	return g
}

// noon is when the tests play: a Monday, in winter time.
var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }

// facts are those of a commit that was merged and deployed, and then changed.
func facts(changes ...func(*Facts)) Facts {
	f := Facts{
		Now: noon, Environment: "stage", Commit: "1111111aaaa", OutputCommit: "2222222bbbb", Authors: authors("wren", "wren@example.com"),
		PromotedAt: before(2 * time.Hour), MergedAt: before(time.Hour), DeployedAt: before(20 * time.Minute), Pull: &Pull{Number: 7},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// authors returns an author with a name for each name.
func authors(names ...string) (all []Person) {
	for _, name := range names {
		all = append(all, Person{Names: []string{name}})
	}
	return all
}

// tell writes a verdict as the tables have it.
func tell(v Verdict) string {
	text := string(v.Status) + ": " + v.Reason
	if !v.ValidUntil.IsZero() {
		text += " [" + v.ValidUntil.UTC().Format("01-02 15:04") + "]"
	}
	return text
}

type verdictCase struct {
	name, gate string
	facts      Facts
	want       string
}

func checkCases(t *testing.T, cases []verdictCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, tell(made(t, c.gate).Evaluate(c.facts))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.gate, diff)
			}
		})
	}
}

// samples are gates of every kind, for what has to hold for all.
var samples = []string{
	"merged", "rollout", "rollout: {clusters: 3, percent: 50, stale: 1h, timeout: 2h, contexts: [e2e, 'kustomization/*']}",
	"soak: 30m", "soak: 1h", "cost: {increase: 100, currency: EUR, per: month}",
	"window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}], deny: [{cron: 0 0 24 12 *, duration: 72h}]}",
	"window: {deny: [{cron: '0 2 * * *', duration: 2h, timeZone: America/New_York}]}",
	"approval", `approval: {count: 2, by: [alice, bob@example.com, "team:org/sre"], distinct: true}`,
	"status: {contexts: [ci/test]}", "status: {contexts: [a, b], of: output}",
	"{name: probe, http: {url: 'https://tests.example.com/{environment}/{commit}?o={output}', expect: 'status == 200 && body.ok', fail: 'text == \"no\"'}}",
	"{name: smoke, dispatch: {workflow: smoke.yaml, ref: main, inputs: {size: small}}}", "dispatch: {workflow: a.yaml, defaults: false}",
}

func TestSamples(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range samples {
		seen[stage(t, "- "+line).Gates[0].Kind] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(gateKinds)), slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("kinds without a sample: -kinds +samples:\n%s", diff)
	}
}

// gatesOf gives all samples, and the freezes that are everywhere.
func gatesOf(t testing.TB) []Gate {
	all := []Gate{freezes{}}
	for _, line := range samples {
		all = append(all, made(t, line))
	}
	return all
}

// freezes lets the suite look at Freezes as at any gate.
type freezes struct{}

func (freezes) Name() string                       { return "freeze" }
func (freezes) Evaluate(f Facts) Verdict           { return EvaluateFreezes(f) }
func (freezes) Forecast(Facts, time.Time) Forecast { return Forecast{WaitsFor: "nobody asks"} }

// TestNothingKnown: no gate passes because nobody has said anything.
func TestNothingKnown(t *testing.T) {
	for _, g := range gatesOf(t)[1:] {
		if _, ok := g.(windowGate); ok {
			continue // it needs to know the time only
		}
		if v := g.Evaluate(Facts{}); v.Status != Wait {
			t.Errorf("%s: %s", g.Name(), tell(v))
		}
	}
}

// check says what is wrong with what a gate says of facts.
func check(t testing.TB, g Gate, f Facts) {
	t.Helper()
	v := g.Evaluate(f)
	again, forecast := g.Evaluate(f), g.Forecast(f, f.Now)
	switch {
	case !cmp.Equal(v, again):
		t.Errorf("%s says two things of %+v: %s", g.Name(), f, cmp.Diff(v, again))
	case strings.TrimSpace(v.Reason) == "" || strings.Contains(v.Reason, "\n") || v.Gate == "":
		t.Errorf("%s gives no reason, or none that is one line: %+v", g.Name(), v)
	case v.Status == Wait && !v.ValidUntil.IsZero() && !v.ValidUntil.After(f.Now):
		t.Errorf("%s waits until %s, and it is %s", g.Name(), v.ValidUntil, f.Now)
	case !slices.Contains([]Status{Pass, Wait, Fail}, v.Status):
		t.Errorf("%s says %q", g.Name(), v.Status)
	case forecast.Time.IsZero() && forecast.WaitsFor == "" && !f.Now.IsZero():
		t.Errorf("%s forecasts nothing", g.Name())
	}
	if asker, ok := g.(Asker); ok {
		for _, n := range asker.Needs(f) {
			if n.Key == "" || n.Kind == "" {
				t.Errorf("%s needs what has no key or kind: %+v", g.Name(), n)
			}
		}
	}
}

// FuzzGates: whatever the facts, a gate gives a verdict that means something.
func FuzzGates(f *testing.F) {
	gates := gatesOf(f)
	for i := range 60 {
		f.Add(uint64(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		facts := randomFacts(rand.New(rand.NewPCG(seed, 5)))
		for _, g := range gates {
			check(t, g, facts)
		}
	})
}

var oddTimes = []time.Time{
	{}, noon, before(time.Minute), before(time.Hour), before(-time.Hour), before(90 * 24 * time.Hour), time.Unix(0, 0),
	time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-400, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0),
}

var oddWords = []string{"", "stage", "alice", "ALICE", "bob@example.com", "wren", "mallory", "ci/test", "kustomization/apps/0c9c", "e2e", "a", "success", "failure", "pending", "\x00\n", "1111111aaaa", "1111111"}

func randomFacts(r *rand.Rand) Facts {
	at := func() time.Time { return oddTimes[r.IntN(len(oddTimes))] }
	word := func() string { return oddWords[r.IntN(len(oddWords))] }
	f := Facts{Now: at(), Environment: word(), Commit: word(), PromotedAt: at(), MergedAt: at(), OutputCommit: word(), DeployedAt: at(), Teams: map[string][]string{}}
	for range r.IntN(4) {
		s := CommitStatus{word(), Outcome(word()), word(), word(), at(), word()}
		f.BaseStatuses, f.OutputStatuses = append(f.BaseStatuses, s), append(f.OutputStatuses, s)
		f.Authors = append(f.Authors, Person{Login: word(), Names: []string{word()}})
		f.Approvals = append(f.Approvals, Approval{Approver: word(), Time: at(), Location: word(), Login: word(), Refused: word()})
		f.Freezes = append(f.Freezes, &model.Freeze{Object: model.Object{Name: word()}, From: at(), To: at(), Except: map[string]string{word(): word()}})
		f.Reports = append(f.Reports, rollout.Report{Source: word(), Object: word(), Phase: rollout.Phase(word()), Current: r.IntN(2) == 0, Time: at()})
		f.Teams["org/sre"] = append(f.Teams["org/sre"], word())
	}
	if r.IntN(2) == 0 {
		f.Pull = &Pull{Missing: []string{word()}, Approvals: f.Approvals}
	}
	f.Answers = map[string]Answer{}
	for _, key := range []string{"http stage probe", "dispatch stage smoke", "dispatch stage dispatch", "output stage", "base stage", "members org/sre"} {
		if r.IntN(3) > 0 {
			f.Answers[key] = Answer{Time: at(), Outcome: Outcome(word()), URL: word(), Reason: word(), Code: r.IntN(600), Body: []byte(word())}
		}
	}
	return f
}

func TestProblems(t *testing.T) {
	tests := []struct{ gate, want, hint string }{
		{"soek: 30m", `there is no gate "soek"`, `did you mean "soak"?`},
		{"freeze", `there is no gate "freeze"`, "write an object of kind Freeze: it counts for all environments that it names, without a gate"},
		{"banana: 1", `there is no gate "banana"`, "the gates are approval, cost, dispatch, http, merged, rollout, soak, status, window"},
		{"merged: {by: alice}", `merged has no field "by"`, ""},
		{"cost: {increase: 1000000000, currency: EUR}", "increase is 1000000000, and should be from 0 to 999999999", "write how much more it may cost, as in increase: 100"},
		{"cost: {increase: 1, currency: euro}", `the currency cannot be "euro"`, "write the currency in which the costs are sent, as in currency: EUR"},
		{"cost: {increase: 1, currency: EUR, per: year}", `per cannot be "year"`, "write per: month, or leave it out"},
		{"soak", "soak needs a duration", "write it as soak: 30m"},
		{"soak: 30", `soak should be a duration, but is "30"`, "write a duration such as 30m, 4h or 3d"},
		{"soak: {for: 30m}", `soak should be a duration, but is a mapping`, "write a duration such as 30m, 4h or 3d"},
		{"rollout: {percent: 0}", "percent is 0, and should be from 1 to 100", "remove it to require all of them"},
		{"rollout: {of: all}", `of cannot be "all"`, "write known or expected"},
		{"rollout: {of: expected, objects: some}", `objects cannot be "some"`, "write platform or all"},
		{"rollout: {objects: all}", "objects is for expected clusters", "add of: expected"},
		{"rollout: {groups: {by: clusterType}}", "groups is for expected clusters", "add of: expected"},
		{"rollout: {failures: {percent: 2}, of: known}", "failures is for expected clusters", "add of: expected"},
		{"rollout: {of: expected, failures: {percent: 101}}", "failures.percent is 101", "write a number from 0 to 100"},
		{"rollout: {of: expected, contexts: [e2e]}", "commit statuses do not prove which cluster they are of, so expected clusters have no contexts", "remove contexts, or of: expected"},
		{"rollout: {of: expected, groups: {percent: {a: 1}}}", "groups do not say what clusters are grouped by", "add by: group, by: clusterType, or by: label:KEY"},
		{"rollout: {of: expected, groups: {by: ring}}", `groups.by cannot be "ring"`, "write group, clusterType, or label:KEY with a label of clusters or their types"},
		{"rollout: {of: expected, groups: {by: 'label:'}}", `groups.by cannot be "label:"`, "write group, clusterType, or label:KEY with a label of clusters or their types"},
		{"rollout: {of: expected, groups: {by: clusterType, percent: {a: 0}}}", "groups.percent.a is 0, and should be from 1 to 100", "remove it to require all of them"},
		{"rollout: {of: expected, clusters: 3, groups: {by: clusterType}}", "clusters is for one group", "remove it, and say with the annotation fairlead.io/clusters of each cluster type how many there are"},
		{"rollout: {clusters: 0}", "clusters is 0", "remove it to require one; remove the gate if no cluster reports"},
		{"rollout: {contexts: ['']}", `"" is not a pattern of contexts`, "write it as kustomization/* or e2e; * matches any text"},
		{"approval: 2", `approval should be a mapping, but is a number`, ""},
		{"approval: {count: 0}", "count is 0", "remove the gate if no approval is needed"},
		{"approval: {by: []}", "by is an empty list, so no approval counts", "list users or teams, or remove by to accept anyone's approval"},
		{"approval: {by: ['team:']}", `"team:" names neither a user nor a team`, `write it as by: [alice, "team:org/sre"]`},
		{"approval: {count: 3, by: [alice, bob, Alice]}", "3 approvals are required, but only alice and bob may approve", "name more people, or ask for fewer"},
		{"status: {contexts: []}", "status names no contexts", "write it as contexts: [ci/test]"},
		{"status", "status.contexts is required", ""},
		{"status: {contexts: [a], of: bass}", `of cannot be "bass"`, "write base for the promoted commit, or output for the commit of its rendered output"},
		{"window", "the window has neither allow nor deny", "write it as window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}]}"},
		{"window: {allow: [{cron: 0 9 * *, duration: 8h}]}", `cron cannot be "0 9 * *": expected exactly 5 fields, found 4: [0 9 * *]`,
			"write five fields: minute, hour, day of the month, month and day of the week, as in 0 9 * * 1-4"},
		{"window: {allow: [{cron: 'TZ=UTC 0 9 * * *', duration: 8h}]}", `cron cannot be "TZ=UTC 0 9 * * *": the zone is written as timeZone`,
			"write five fields: minute, hour, day of the month, month and day of the week, as in 0 9 * * 1-4"},
		{"window: {allow: [{cron: 0 9 * * *, duration: 8h, timeZone: Europe/Berlyn}]}", `there is no time zone "Europe/Berlyn"`, `did you mean "Europe/Berlin"?`},
		{"window: {allow: [{cron: 0 9 * * *, duration: 8h, timeZone: Middle-earth/Shire}]}", `there is no time zone "Middle-earth/Shire"`,
			"write a name of the IANA database, such as Europe/Berlin, or nothing for UTC"},
		{"window: {allow: [{cron: 0 9 * * *, duration: 8h, timeZone: Local}]}", `there is no time zone "Local"`,
			"write a name of the IANA database, such as Europe/Berlin, or nothing for UTC"},
		{"window: {allow: [{cron: 0 9 * * *, duration: 0s}]}", "duration cannot be 0s", "write 1m to 8784h, which is a year"},
		{"window: {allow: [{cron: 0 9 30 2 *, duration: 8h}]}", "the window never opens", "check whether deny covers all of allow, or a day that no month has"},
		{"window: {deny: [{cron: '* * * * *', duration: 24h}]}", "the window never opens", "check whether deny covers all of allow, or a day that no month has"},
		{"window: {deny: [{cron: '* * * * *', duration: 1m}]}", "finding out when the window opens takes too long", "let its parts open less often and for longer"},
		{"http: {url: https://example.com}", "http.expect is required", ""},
		{"http: {url: 'https://{environment}.example.com', expect: 'true'}", `the host of the URL "https://{environment}.example.com" has a placeholder`,
			"write the host out: a commit must not choose the server"},
		{"http: {url: 'https://example.com/{branch}', expect: 'true'}", "unknown placeholder {branch} in the URL", "there are {commit}, {environment} and {output}, and in waves {wave}"},
		{"http: {url: 'file:///etc/passwd', expect: 'true'}", `the URL "file:///etc/passwd" is not one of http or https with a host`, "write it as https://tests.example.com/{commit}"},
		{"http: {url: 'https://a:b@example.com/', expect: 'true'}", "the URL contains a user or a password", "put it into the settings, and refer to it with secret"},
		{"http: {url: https://example.com, expect: statuss == 200}", "expect: undeclared reference to 'statuss' (in container '') (character 1)",
			"write CEL over status, body, text, environment, commit and output, such as status == 200 && body.healthy"},
		{"http: {url: https://example.com, expect: status}", "expect: it evaluates to int, not to true or false",
			"write CEL over status, body, text, environment, commit and output, such as status == 200 && body.healthy"},
		{"http: {url: https://example.com, expect: 'true', fail: 'status =='}", "fail: Syntax error: mismatched input '<EOF>'",
			"write CEL over status, body, text, environment, commit and output, such as status == 200 && body.healthy"},
		{"http: {url: https://example.com, expect: 'true', every: 1s}", "every cannot be 1s", "write 5s or more"},
		{"http: {url: https://example.com, expect: 'true', timeout: 1h}", "timeout cannot be 1h0m0s", "write at most 1m: other environments wait for the answer too"},
		{"http: {url: http://example.com, expect: 'true', secret: probe}", "the secret probe is sent unencrypted", "use https"},
		{"dispatch", "dispatch.workflow is required", ""},
		{"dispatch: {workflow: ''}", "dispatch names no workflow", "write it as workflow: smoke.yaml"},
		{"dispatch: {workflow: a.yaml, inputs: {size: 3}}", "dispatch.inputs.size should be text, but 3 is a number", `put it in quotes: "3"`},
		{"dispatch: {workflow: a.yaml, timeout: 0s}", "timeout is 0", "remove it for the default, 1h"},
	}
	for _, test := range tests {
		t.Run(test.gate, func(t *testing.T) {
			g, problems := New(stage(t, "- "+test.gate).Gates[0])
			if len(problems) != 1 || (g == nil) != problems.Stops() {
				t.Fatalf("%v, %v", g, problems)
			}
			got := problems[0]
			if !strings.HasPrefix(got.Summary, test.want) || test.hint != "" && got.Hint != test.hint || got.Hint == "" {
				t.Errorf("got  %s\nhint %s\nwant %s\nhint %s", got.Summary, got.Hint, test.want, test.hint)
			}
			if got.Pos != (problem.Pos{Layer: "base", File: "promotion.yaml", Line: 9}) || got.Subject != "Promotion/fleet" {
				t.Errorf("it is at %s, of %s", got.Pos, got.Subject)
			}
		})
	}
}

// TestAll: what is shown of several gates is decided by the worst of them.
func TestAll(t *testing.T) {
	part := func(s Status, until time.Time) Verdict {
		return Verdict{Gate: "g", Status: s, Reason: "it is " + string(s), ValidUntil: until}
	}
	tests := []struct {
		name  string
		parts []Verdict
		want  string
		wake  time.Time
	}{
		{"none", nil, "pass: all gates passed", time.Time{}},
		{"failure", []Verdict{part(Wait, noon), part(Fail, time.Time{})}, "fail: it is fail", noon},
		{"the farthest", []Verdict{part(Wait, noon), part(Wait, before(-time.Hour)), part(Pass, time.Time{})}, "wait: it is wait [11-23 13:00]", noon},
		{"not known", []Verdict{part(Wait, noon), part(Wait, time.Time{}), part(Wait, before(-time.Hour))}, "wait: it is wait", noon},
	}
	for _, test := range tests {
		v := CombineVerdicts("all", test.parts)
		if got := tell(v); got != test.want || !v.NextChange().Equal(test.wake) {
			t.Errorf("%s: %q, wakes %s; want %q, %s", test.name, got, v.NextChange(), test.want, test.wake)
		}
	}
}

// TestJSON: a verdict is shown without what it does not know.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(CombineVerdicts("gates", []Verdict{made(t, "soak: 30m").Evaluate(facts())})); err != nil {
		t.Fatal(err)
	}
	want := `{"gate":"gates","status":"wait","reason":"it soaks for 30m, until Mon 2026-11-23 12:10 UTC","namesTime":true,"until":"2026-11-23T12:10:00Z",` +
		`"parts":[{"gate":"soak","kind":"soak","status":"wait","reason":"it soaks for 30m, until Mon 2026-11-23 12:10 UTC","namesTime":true,"until":"2026-11-23T12:10:00Z"}]}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
