package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

func TestMerged(t *testing.T) {
	notYet := func(f *Facts) { f.MergedAt = time.Time{} }
	withheld := func(f *Facts) { f.Withheld = "it removes web" }
	noPull := func(f *Facts) { f.Pull = nil }
	former := func(f *Facts) { f.HasFormer = true }
	closed := func(f *Facts) { f.Declined = 7 }
	checkCases(t, []verdictCase{
		{"merged", "merged", facts(), "pass: the output is merged, as 2222222"},
		{"open", "merged", facts(notYet), "wait: pull request 7 is not merged"},
		{"withheld", "merged", facts(notYet, withheld), "wait: pull request 7 waits for a person: it removes web"},
		{"withheld without a pull request", "merged", facts(notYet, withheld, noPull), "wait: the output waits for a person: it removes web"},
		{"a change of it is withheld", "merged", facts(notYet, withheld, former), "wait: the output is merged, but not what has changed in it since: pull request 7 waits for a person: it removes web"},
		{"a change of it is withheld without a pull request", "merged", facts(notYet, withheld, former, noPull), "wait: the output is merged, but not what has changed in it since: the output waits for a person: it removes web"},
		{"closed", "merged", facts(notYet, withheld, noPull, closed), "wait: pull request 7 was closed"},
		{"a change of it is closed", "merged", facts(notYet, withheld, noPull, former, closed), "wait: the output is merged, but not what has changed in it since: pull request 7 was closed"},
		{"lacks", "merged", facts(notYet, func(f *Facts) { f.Pull.Missing = []string{"1 approval", "ci/test"} }), "wait: pull request 7 is not merged; it lacks 1 approval and ci/test"},
		{"nothing", "merged", facts(notYet, func(f *Facts) { f.Pull = nil }), "wait: the output is not on its branch yet"},
		{"which output", "merged", facts(func(f *Facts) { f.OutputCommit = "" }), "wait: pull request 7 is not merged"},
	})
}

func TestSoak(t *testing.T) {
	checkCases(t, []verdictCase{
		{"not over", "soak: 30m", facts(), "wait: it soaks for 30m, until Mon 2026-11-23 12:10 UTC [11-23 12:10]"},
		{"over", "soak: 20m", facts(), "pass: it has soaked for 20m"},
		{"not deployed", "soak: 1h30m", facts(func(f *Facts) { f.DeployedAt = time.Time{} }), "wait: it soaks for 1h30m once the clusters run it"},
		{"a clock that is behind", "soak: 30m", facts(func(f *Facts) { f.DeployedAt = before(-time.Hour) }), "wait: it soaks for 30m, until Mon 2026-11-23 13:30 UTC [11-23 13:30]"},
	})
}

func TestRollout(t *testing.T) {
	status := func(context string, outcome Outcome, text string) func(*Facts) {
		return func(f *Facts) {
			f.OutputStatuses = append(f.OutputStatuses, CommitStatus{Context: context, Outcome: outcome, Description: text, Time: before(10 * time.Minute)})
		}
	}
	report := func(source string, phase rollout.Phase, current bool) func(*Facts) {
		return func(f *Facts) {
			f.Reports = append(f.Reports, rollout.Report{Source: source, Object: "Kustomization/flux-system/apps", Phase: phase, Current: current, Time: before(5 * time.Minute)})
		}
	}
	const apps = "Kustomization/flux-system/apps"
	event := func(cluster, object string, phase rollout.Phase, text string) func(*Facts) {
		return func(f *Facts) {
			f.Reports = append(f.Reports, rollout.Report{Source: cluster, Object: object, Phase: phase, Current: true, Message: text, Time: before(5 * time.Minute)})
		}
	}
	formerly := func(context string) func(*Facts) {
		return func(f *Facts) {
			f.PreviousStatuses = append(f.PreviousStatuses, CommitStatus{Context: context, Outcome: "success", Time: before(time.Hour)})
		}
	}
	lost := func(f *Facts) { f.ReportsLost = LostReports{"3 lines were damaged", before(-time.Hour)} }
	uncounted := func(names ...string) func(*Facts) { return func(f *Facts) { f.Uncounted = names } }
	shared := func(f *Facts) { f.OtherEnvironments = []string{"prod", "stage-eu"} }
	notMerged := func(f *Facts) { f.MergedAt, f.OutputCommit = time.Time{}, "" }
	checkCases(t, []verdictCase{
		{"a change of it is not merged", "rollout", facts(notMerged, func(f *Facts) { f.HasFormer = true }), "wait: clusters get what has changed once that is merged"},
		{"not merged", "rollout", facts(notMerged, report("oslo", rollout.Ready, true)), "wait: clusters get the commit once its output is merged"},
		{"nobody", "rollout", facts(), "wait: no cluster has reported"},
		{"nobody in time", "rollout: {timeout: 30m}", facts(), "fail: not rolled out within 30m: no cluster has reported"},
		{"cannot be asked", "rollout", facts(func(f *Facts) {
			f.Answers = map[string]Answer{"output stage": {Reason: "403 Forbidden"}}
		}, report("oslo", rollout.Progressing, true)), "wait: 0 of 1 cluster ready, 1 in progress (request failed: 403 Forbidden)"},
		{"some", "rollout: {clusters: 3, timeout: 2h}", facts(report("oslo", rollout.Ready, true), report("riga", rollout.Ready, false)),
			"wait: 1 of 3 clusters ready, 1 on another commit (riga), 1 no report yet [11-23 13:00]"},
		{"reports were lost, and the others are ready", "rollout", facts(lost, report("oslo", rollout.Ready, true)),
			"wait: reports of clusters were lost: 3 lines were damaged; without them it does not decide before Mon 2026-11-23 13:00 UTC. Of the others: 1 of 1 cluster ready [11-23 13:00]"},
		{"reports were lost, and the others failed", "rollout", facts(lost, report("oslo", rollout.Failed, true)),
			"wait: reports of clusters were lost: 3 lines were damaged; without them it does not decide before Mon 2026-11-23 13:00 UTC. Of the others: Kustomization/flux-system/apps failed on oslo [11-23 13:00]"},
		{"all", "rollout: {clusters: 2}", facts(report("oslo", rollout.Ready, true), report("riga", rollout.Ready, true)), "pass: 2 of 2 clusters ready"},
		{"others of the environment", "rollout", facts(uncounted("east-9"), report("oslo", rollout.Ready, true)), "pass: 1 of 1 cluster ready; not counted: east-9, at no output of stage"},
		{"others without a cluster type", "rollout", facts(func(f *Facts) { f.Untyped = []string{"east-9"} }), "wait: no cluster has reported; not counted: east-9, which could be in any wave: add clusterType to the eventMetadata of their Alerts"},
		{"many others", "rollout: {clusters: 2}", facts(uncounted("a", "b", "c", "d", "e"), report("oslo", rollout.Ready, true)),
			"wait: 1 of 2 clusters ready, 1 no report yet; not counted: a, b, c and 2 more, at no output of stage"},
		{"grows stale", "rollout: {stale: 1h}", facts(report("oslo", rollout.Ready, true)), "pass: 1 of 1 cluster ready [11-23 12:55]"},
		{"Flux statuses", "rollout: {clusters: 2}", facts(status("kustomization/apps/0c9c", "success", ""), status("kustomization/infra/0c9c", "success", ""), status("helmrelease/gull/77aa", "success", "")),
			"pass: 2 of 2 clusters ready"},
		{"a Flux failure", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check\nfailed")),
			"fail: kustomization/apps failed: health check failed"},
		{"a Flux failure with a context of one's own", "rollout", facts(status("kustomization/apps/oslo/0c9c1d2e", "failure", "health check failed")),
			"fail: kustomization/apps/oslo failed: health check failed"},
		{"a Flux failure, and the event of it", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), event("oslo", apps, rollout.Failed, "timeout waiting for Deployment/gull")),
			"fail: Kustomization/flux-system/apps failed on oslo: timeout waiting for Deployment/gull"},
		{"a Flux failure, and an event of another object", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), event("oslo", "Kustomization/flux-system/infra", rollout.Progressing, "")),
			"fail: kustomization/apps failed: health check failed"},
		{"a Flux failure, and a failure of another object", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), event("oslo", "HelmRelease/web/gull", rollout.Failed, "upgrade failed")),
			"fail: HelmRelease/web/gull failed on oslo: upgrade failed"},
		{"a Flux failure after the event that it began", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), event("oslo", apps, rollout.Progressing, "reconciling")),
			"fail: Kustomization/flux-system/apps failed on oslo: health check failed"},
		{"a Flux failure, and an event of another commit", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), report("oslo", rollout.Progressing, false)),
			"fail: kustomization/apps failed: health check failed"},
		{"a Flux failure of a cluster that sends no events", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), event("oslo", apps, rollout.Ready, "")),
			"fail: kustomization/apps failed: health check failed"},
		{"a Flux failure of one of two clusters", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), event("oslo", apps, rollout.Progressing, ""), event("riga", apps, rollout.Progressing, "")),
			"fail: kustomization/apps failed: health check failed"},
		{"a Flux failure beside the status of another cluster", "rollout", facts(status("kustomization/apps/0c9c", "failure", "health check failed"), status("kustomization/apps/77aa", "pending", ""), event("oslo", apps, rollout.Progressing, "")),
			"fail: kustomization/apps failed: health check failed"},
		{"behind by its status", "rollout", facts(status("kustomization/apps/0c9c", "success", ""), formerly("kustomization/apps/77aa")), "wait: 1 of 2 clusters ready, 1 on another commit (a cluster)"},
		{"not behind any more", "rollout", facts(status("kustomization/apps/0c9c", "success", ""), formerly("kustomization/apps/0c9c")), "pass: 1 of 1 cluster ready"},
		{"of another environment", "rollout", facts(shared, status("kustomization/apps-stage/0c9c", "success", ""), status("kustomization/apps-prod/0c9c", "failure", "")), "pass: 1 of 1 cluster ready"},
		{"of an environment with a longer name", "rollout", facts(shared, status("kustomization/apps-stage-eu/0c9c", "failure", ""), status("kustomization/apps-stage/77aa", "success", "")), "pass: 1 of 1 cluster ready"},
		{"of nobody knows which", "rollout", facts(shared, status("kustomization/apps/0c9c", "success", "")),
			"wait: no cluster has reported"},
		{"that was chosen", "rollout: {contexts: ['kustomization/apps/*']}", facts(shared, status("kustomization/apps/0c9c", "success", "")), "pass: 1 of 1 cluster ready"},
		{"other contexts", "rollout", facts(status("ci/test", "success", "")),
			"wait: no cluster has reported"},
		{"a plain context", "rollout: {contexts: [e2e]}", facts(status("e2e", "success", ""), status("e2e/more", "failure", "")), "pass: 1 of 1 cluster ready"},
		{"a plain failure", "rollout: {contexts: ['e2e*']}", facts(status("e2e", "success", ""), status("e2e/more", "failure", "3 of 9")), "fail: e2e/more failed: 3 of 9"},
		{"an error of the forge", "rollout", facts(status("kustomization/apps/0c9c", "odd", "")), "wait: 0 of 1 cluster ready, 1 in progress"},
	})
}

func TestFreezes(t *testing.T) {
	friday := model.Freeze{Object: model.Object{Name: "black-friday"}, Reason: "sales", From: before(time.Hour), To: before(-48 * time.Hour)}
	for _, test := range []struct {
		name   string
		freeze []model.Freeze
		change func(*model.Freeze)
		want   string
	}{
		{"none", nil, nil, "pass: no freeze applies"},
		{"all", []model.Freeze{friday}, nil, "wait: freeze black-friday: sales, until Wed 2026-11-25 12:00 UTC [11-25 12:00]"},
		{"for ever", []model.Freeze{friday}, func(z *model.Freeze) { z.To, z.From = time.Time{}, time.Time{} }, "wait: freeze black-friday: sales, until a person ends it"},
		{"this environment", []model.Freeze{friday}, func(z *model.Freeze) { z.Environments = []string{"prod", "stage"} }, "wait: freeze black-friday: sales, until Wed 2026-11-25 12:00 UTC [11-25 12:00]"},
		{"another environment", []model.Freeze{friday}, func(z *model.Freeze) { z.Environments = []string{"prod"} }, "pass: no freeze applies"},
		{"to come", []model.Freeze{friday}, func(z *model.Freeze) { z.From = before(-time.Hour) }, "pass: no freeze applies [11-23 13:00]"},
		{"begins now", []model.Freeze{friday}, func(z *model.Freeze) { z.From = noon }, "wait: freeze black-friday: sales, until Wed 2026-11-25 12:00 UTC [11-25 12:00]"},
		{"ends now", []model.Freeze{friday}, func(z *model.Freeze) { z.To = noon }, "pass: no freeze applies"},
		{"excepted", []model.Freeze{friday}, func(z *model.Freeze) { z.Except = map[string]string{"1111111aaaa": "hotfix for CVE"} },
			"pass: freeze black-friday does not apply to 1111111: hotfix for CVE"},
		{"excepted by the beginning", []model.Freeze{friday}, func(z *model.Freeze) { z.Except = map[string]string{"1111111": "hotfix for CVE"} },
			"pass: freeze black-friday does not apply to 1111111: hotfix for CVE"},
		{"too short a beginning", []model.Freeze{friday}, func(z *model.Freeze) { z.Except = map[string]string{"1111": "", "": ""} },
			"wait: freeze black-friday: sales, until Wed 2026-11-25 12:00 UTC [11-25 12:00]"},
		{"two", []model.Freeze{{Object: model.Object{Name: "b"}, Reason: "moving"}, friday}, func(z *model.Freeze) { z.Except = map[string]string{"1111111aaaa": "hotfix"} }, "wait: freeze b: moving, until a person ends it"},
		{"two that both stop it", []model.Freeze{{Object: model.Object{Name: "promo"}, Reason: "moving"}, friday}, nil, "wait: freeze black-friday: sales, until Wed 2026-11-25 12:00 UTC; freeze promo: moving, until a person ends it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := facts(func(*Facts) {})
			for _, freeze := range test.freeze {
				f.Freezes = append(f.Freezes, &freeze)
			}
			if n := len(f.Freezes); test.change != nil {
				test.change(f.Freezes[n-1])
			}
			if diff := cmp.Diff(test.want, tell(EvaluateFreezes(f))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRefuseApprover: whose approval a gate has, or would not count, is told why; who is only asked for is not, nor
// one in whose name others may have written.
func TestRefuseApprover(t *testing.T) {
	const listed = `approval: {count: 2, by: [alice@example.com, bob@example.com, "team:org/sre"], distinct: true}`
	by := func(names ...string) func(*Facts) {
		return func(f *Facts) {
			f.Teams, f.Authors = map[string][]string{"org/sre": {"dave"}}, authors("bob@example.com")
			for _, name := range names {
				f.Approvals = append(f.Approvals, Approval{Approver: name})
			}
		}
	}
	for _, test := range []struct {
		spec  string
		facts Facts
		who   []string
		want  string
	}{
		{listed, facts(by()), []string{"alice@example.com", "alice"}, ""},
		{listed, facts(by()), []string{"", "DAVE"}, ""},
		{listed, facts(by("alice@example.com")), []string{"Alice@example.com"}, "you have approved it"},
		{listed, facts(by()), []string{"bob@example.com"}, "you are an author of what is approved"},
		{listed, facts(by()), []string{"malice@example.com"}, "you are not among those whose approval counts"},
		{listed, facts(by(), func(f *Facts) { f.Teams = nil }), []string{"malice@example.com"}, ""},
		{"approval: {count: 2}", facts(by("bob@example.com")), []string{"bob@example.com"}, "you have approved it"},
		{"approval: {count: 2}", facts(by()), []string{"bob@example.com", ""}, ""},
		{"approval: {trusted: true}", facts(func(f *Facts) { f.Approvals = []Approval{{Approver: "bob@example.com", Distrusted: "is not signed"}} }), []string{"bob@example.com"}, ""},
		{"approval: {distinct: true}", facts(by()), []string{"bob@example.com"}, "you are an author of what is approved"},
		{"approval: {count: 2}", facts(by("bob@example.com")), []string{"", ""}, ""},
	} {
		v := Verdict{Parts: []Verdict{{Gate: "freeze", Status: Pass}, made(t, test.spec).Evaluate(test.facts)}}
		if got := v.RefuseApprover(Person{Names: test.who}); got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.spec, test.who, got, test.want)
		}
	}
	left := made(t, "approval: {count: 2, by: [alice@example.com, bob@example.com], distinct: true}").Evaluate(facts(by("alice@example.com"))).Reason
	if want := "1 approval missing, and nobody who may approve is left; approved by alice@example.com"; left != want {
		t.Errorf("%q, want %q", left, want)
	}
}

func TestApproval(t *testing.T) {
	by := func(names ...string) func(*Facts) {
		return func(f *Facts) {
			for _, name := range names {
				f.Pull.Approvals = append(f.Pull.Approvals, Approval{Approver: name})
			}
		}
	}
	refused := func(name, why string) func(*Facts) {
		return func(f *Facts) { f.Pull.Approvals = append(f.Pull.Approvals, Approval{Approver: name, Refused: why}) }
	}
	known := func(address, login string) func(*Facts) {
		return func(f *Facts) {
			f.Approvals = append(f.Approvals, Approval{Approver: address, Login: login, Location: "approvals/stage.yaml"})
		}
	}
	inGit := func(name string) func(*Facts) {
		return func(f *Facts) {
			f.Approvals = append(f.Approvals, Approval{Approver: name, Location: "approvals/stage.yaml"})
		}
	}
	distrusted := func(name string) func(*Facts) {
		return func(f *Facts) {
			f.Approvals = append(f.Approvals, Approval{Approver: name, Distrusted: "is in a commit without a signature"})
		}
	}
	team := func(f *Facts) { f.Teams = map[string][]string{"org/sre": {"Dave", "erin"}} }
	const two = `approval: {count: 2, by: [alice, bob@example.com, "team:org/sre"], distinct: true}`
	checkCases(t, []verdictCase{
		{"nobody", "approval", facts(), "wait: 1 approval missing"},
		{"cannot be asked", "approval", facts(func(f *Facts) { f.Answers = map[string]Answer{"approvals stage": {Reason: "403 Forbidden"}} }),
			"wait: 1 approval missing; there may be others (request failed: 403 Forbidden)"},
		{"a login like the number of one", "approval: {count: 2}", facts(by("foo-bar"), inGit("foo-bar@users.noreply.gitlab.com")), "wait: 1 approval missing; approved by foo-bar"},
		{"anybody", "approval", facts(by("mallory")), "pass: approved by mallory"},
		{"the author, who may", "approval", facts(by("wren")), "pass: approved by wren"},
		{"without a pull request", "approval", facts(func(f *Facts) { f.Pull = nil }, inGit("alice@example.com")), "pass: approved by alice@example.com"},
		{"one person twice", "approval: {count: 2}", facts(by("alice", "Alice"), inGit("1234+alice@users.noreply.github.com"), inGit("9-ALICE@users.noreply.gitlab.com")),
			"wait: 1 approval missing; approved by 1234+alice@users.noreply.github.com"},
		{"one of two", two, facts(by("Alice"), team), "wait: 1 approval missing, of bob@example.com or team org/sre; approved by Alice"},
		{"both", two, facts(by("alice"), known("Bob@example.com", "bob"), team), "pass: approved by alice and Bob@example.com"},
		{"a review and an address of the same person", "approval: {count: 2}", facts(by("dave"), known("dave@example.com", "Dave")), "wait: 1 approval missing; approved by dave"},
		{"a review and an address of nobody knows whom", "approval: {count: 2}", facts(by("dave"), inGit("dave@example.com")),
			"wait: 1 approval missing; approved by dave; dave@example.com may be one of the others: nothing says that their logins, addresses and sign-ins are different people's"},
		{"a review and two such addresses", "approval: {count: 2}", facts(by("dave"), inGit("dave@example.com"), inGit("eve@example.com")),
			"pass: approved by dave@example.com and eve@example.com; dave may be one of the others: nothing says that their logins, addresses and sign-ins are different people's"},
		{"two addresses of one person", "approval: {count: 2}", facts(known("dave@example.com", "dave"), known("dave@home.example", "dave")), "wait: 1 approval missing; approved by dave@example.com"},
		{"the author by another address", "approval: {distinct: true}", facts(known("w@home.example", "wren")), "wait: 1 approval missing; w@home.example is an author of what is approved"},
		{"not counted by the forge", "approval: {count: 2}", facts(by("alice"), refused("bob", "is of an older commit"), refused("eve", "was dismissed"), refused("zoe", "does not count: no write access")),
			"wait: 1 approval missing; approved by alice; the approval of bob is of an older commit; the approval of eve was dismissed; the approval of zoe does not count: no write access"},
		{"of a team", two, facts(by("dave", "erin"), team), "pass: approved by dave and erin"},
		{"not allowed", two, facts(by("mallory", "alice"), team),
			"wait: 1 approval missing, of bob@example.com or team org/sre; approved by alice; mallory may not approve"},
		{"an address is no login", two, facts(by("alice"), inGit("alice@users.noreply.github.com"), inGit("dave@example.com"), team),
			"wait: 1 approval missing, of bob@example.com or team org/sre; approved by alice; dave@example.com may not approve"},
		{"a team that nobody asked", two, facts(by("alice"), known("bob@example.com", "bob")), "pass: approved by alice and bob@example.com"},
		{"a team that cannot be asked", two, facts(by("dave"), func(f *Facts) { f.Answers = map[string]Answer{"members org/sre": {Reason: "403 Forbidden"}} }),
			"wait: 2 approvals missing, of alice, bob@example.com or team org/sre; dave may not approve; the members of org/sre are not known (request failed: 403 Forbidden)"},
		{"an author", two, facts(by("alice", "dave"), team, func(f *Facts) { f.Authors = authors("7+Alice@users.noreply.github.com") }),
			"wait: 1 approval missing, of bob@example.com or team org/sre; approved by dave; alice is an author of what is approved"},
		{"authors that are not known", two, facts(by("alice"), team, func(f *Facts) { f.Authors = nil }),
			"wait: 2 approvals missing, of alice, bob@example.com or team org/sre; alice may be an author: it is not known who wrote the commits"},
		{"not signed", "approval", facts(distrusted("alice@example.com")), "pass: approved by alice@example.com"},
		{"not signed, where it has to be", "approval: {trusted: true}", facts(distrusted("alice@example.com")),
			"wait: 1 approval missing; the approval of alice@example.com is in a commit without a signature"},
		{"a review and a signature", "approval: {count: 2, trusted: true}", facts(by("dave"), known("erin@example.com", "erin"), distrusted("alice@example.com")),
			"pass: approved by dave and erin@example.com; the approval of alice@example.com is in a commit without a signature"},
		{"forged beside a review", "approval: {by: [dave], trusted: true}", facts(distrusted("dave"), by("dave")), "pass: approved by dave; the approval of dave is in a commit without a signature"},
		{"refused under one name, counted under another", "approval: {by: [wally]}", facts(inGit("9+wally@users.noreply.github.com"), by("WALLY")),
			"pass: approved by WALLY; 9+wally@users.noreply.github.com may not approve"},
	})
}

func TestStatus(t *testing.T) {
	said := func(context string, outcome Outcome, ago time.Duration) func(*Facts) {
		return func(f *Facts) {
			f.BaseStatuses = append(f.BaseStatuses, CommitStatus{Context: context, Outcome: outcome, Description: "14 tests", URL: "https://ci.example.com/3", Time: before(ago)})
		}
	}
	const gate = "status: {contexts: [ci/test, ci/lint]}"
	checkCases(t, []verdictCase{
		{"nothing", gate, facts(), "wait: ci/lint is not reported and ci/test is not reported"},
		{"cannot be asked", gate, facts(func(f *Facts) { f.Answers = map[string]Answer{"base stage": {Reason: "timeout"}} }),
			"wait: ci/lint is not reported and ci/test is not reported (request failed: timeout)"},
		{"one", gate, facts(said("ci/test", "success", 0)), "wait: ci/lint is not reported"},
		{"both", gate, facts(said("ci/test", "success", 0), said("ci/lint", "success", 0)), "pass: ci/lint and ci/test succeeded"},
		{"pending", gate, facts(said("ci/test", "pending", 0), said("ci/lint", "success", 0)), "wait: ci/test is pending (14 tests, https://ci.example.com/3)"},
		{"failed", gate, facts(said("ci/test", "failure", 0)), "fail: ci/test failed (14 tests, https://ci.example.com/3)"},
		{"again", "status: {contexts: [ci/test]}", facts(said("ci/test", "success", 0), said("ci/test", "failure", time.Minute)), "pass: ci/test succeeded"},
		{"at one time", "status: {contexts: [ci/test]}", facts(said("ci/test", "failure", 0), said("ci/test", "success", 0)), "fail: ci/test failed (14 tests, https://ci.example.com/3)"},
		{"of the output", "status: {contexts: [ci/test], of: output}", facts(said("ci/test", "success", 0)), "wait: ci/test is not reported"},
		{"of no output", "status: {contexts: [ci/test], of: output}", facts(func(f *Facts) { f.OutputCommit = "" }), "wait: there is no output to report ci/test on yet"},
	})
}

func TestHTTP(t *testing.T) {
	const gate = `{name: probe, http: {url: 'https://tests.example.com/{environment}/{commit}?o={output}', expect: 'status == 200 && body.failed == 0 && commit == body.commit', ` +
		`fail: 'text.contains("broken")', secret: probe}}`
	answer := func(a Answer) Facts {
		return facts(func(f *Facts) { f.Answers = map[string]Answer{"http stage probe": a} })
	}
	at := func(code int, body string) Facts {
		return answer(Answer{Time: before(20 * time.Second), Code: code, Body: []byte(body)})
	}
	checkCases(t, []verdictCase{
		{"not asked", gate, facts(), "wait: tests.example.com has not been requested yet"},
		{"asked of another commit", gate, answer(Answer{Time: before(20 * time.Second), Code: 200, Body: []byte(`{"failed":0,"commit":"1111111aaaa"}`),
			URL: "https://tests.example.com/stage/0000000?o=2222222bbbb"}), "wait: tests.example.com has not been requested yet"},
		{"asked of this commit", gate, answer(Answer{Time: before(20 * time.Second), Code: 200, Body: []byte(`{"failed":0,"commit":"1111111aaaa"}`),
			URL: "https://tests.example.com/stage/1111111aaaa?o=2222222bbbb"}), "pass: tests.example.com answered as expected [11-23 12:00]"},
		{"cannot be asked", gate, answer(Answer{Time: before(20 * time.Second), Reason: "connection refused"}), "wait: the request to tests.example.com failed: connection refused [11-23 12:00]"},
		{"yes", gate, at(200, `{"failed":0,"commit":"1111111aaaa"}`), "pass: tests.example.com answered as expected [11-23 12:00]"},
		{"not yet", gate, at(200, `{"failed":2,"commit":"1111111aaaa"}`), "wait: tests.example.com answered 200, and expect is not true yet [11-23 12:00]"},
		{"another code", gate, at(503, "<html>"), "wait: tests.example.com answered 503, and expect is not true yet [11-23 12:00]"},
		{"no JSON", gate, at(200, "<html>"), "wait: tests.example.com answered 200; expect cannot be evaluated: no such key: failed [11-23 12:00]"},
		{"no such field", gate, at(200, "{}"), "wait: tests.example.com answered 200; expect cannot be evaluated: no such key: failed [11-23 12:00]"},
		{"broken", gate, at(500, "all is broken"), "fail: tests.example.com answered 500, and fail is true [11-23 12:00]"},
		{"old", gate, answer(Answer{Time: before(2 * time.Minute), Code: 200, Body: []byte(`{"failed":0,"commit":"1111111aaaa"}`)}), "wait: tests.example.com was last requested at Mon 2026-11-23 11:58 UTC"},
		{"not true or false", "{name: probe, http: {url: https://tests.example.com, expect: body.n}}", at(200, `{"n":3}`),
			"wait: tests.example.com answered 200; expect evaluated to double, not to true or false [11-23 12:00]"},
		{"too much work", "{name: probe, http: {url: https://tests.example.com, expect: 'body.all(a, body.all(b, body.all(c, a+b+c >= 0)))'}}",
			at(200, "["+strings.Repeat("1,", 300)+"1]"), "wait: tests.example.com answered 200; expect cannot be evaluated: operation cancelled: actual cost limit exceeded [11-23 12:00]"},
	})
	f := facts(func(f *Facts) { f.Environment = "a b/../c&d" })
	want := []Need{{Key: "http a b/../c&d probe", Kind: HTTP, URL: "https://tests.example.com/a%20b%2F..%2Fc%26d/1111111aaaa?o=2222222bbbb",
		MaxAge: time.Minute, Timeout: 10 * time.Second, Secret: "probe"}}
	if diff := cmp.Diff(want, made(t, gate).(Asker).Needs(f)); diff != "" {
		t.Errorf("needs: -want +got:\n%s", diff)
	}
}

func TestDispatch(t *testing.T) {
	answer := func(a Answer) Facts {
		return facts(func(f *Facts) { f.Answers = map[string]Answer{"dispatch stage smoke": a} })
	}
	const gate = "{name: smoke, dispatch: {workflow: smoke.yaml, ref: main, inputs: {size: small, environment: staging}}}"
	started := before(15 * time.Minute)
	checkCases(t, []verdictCase{
		{"not started", gate, facts(), "wait: smoke.yaml has not been started yet"},
		{"cannot be started", gate, answer(Answer{Time: started, Reason: "no such workflow"}), "wait: smoke.yaml could not be started: no such workflow"},
		{"running", gate, answer(Answer{Time: started, Outcome: "pending", URL: "https://ci.example.com/9"}), "wait: smoke.yaml is running (https://ci.example.com/9) [11-23 12:45]"},
		{"success", gate, answer(Answer{Time: started, Outcome: "success"}), "pass: smoke.yaml succeeded"},
		{"failure", gate, answer(Answer{Time: started, Outcome: "failure", URL: "https://ci.example.com/9", Reason: "job e2e failed"}),
			"fail: smoke.yaml failed: job e2e failed (https://ci.example.com/9)"},
		{"too long", gate, answer(Answer{Time: before(time.Hour), Outcome: "pending", URL: "https://ci.example.com/9"}), "fail: smoke.yaml did not end within 1h (https://ci.example.com/9)"},
	})
	for _, test := range []struct {
		gate string
		want map[string]string
	}{
		{"dispatch: {workflow: smoke.yaml}", map[string]string{"environment": "stage", "promoted_commit_id": "1111111aaaa", "commit_id": "2222222bbbb"}},
		{gate, map[string]string{"environment": "staging", "promoted_commit_id": "1111111aaaa", "commit_id": "2222222bbbb", "size": "small"}},
		{"dispatch: {workflow: smoke.yaml, defaults: false, inputs: {size: small}}", map[string]string{"size": "small"}},
	} {
		if diff := cmp.Diff(test.want, made(t, test.gate).(Asker).Needs(facts())[0].Inputs); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.gate, diff)
		}
	}
}
