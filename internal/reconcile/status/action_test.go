package status

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// waitsFor is the verdict of a stage that has no candidate and waits for others.
func waitsFor(name, what string) gate.Verdict {
	return gate.Verdict{Gate: name, Status: gate.Pass, Reason: "waiting for " + what, WaitsFor: what}
}

// TestDescribeAction: every view says what a person has to do, or what is waited for.
func TestDescribeAction(t *testing.T) {
	is := func(status gate.Status, name, reason string, parts ...gate.Verdict) gate.Verdict {
		return gate.Verdict{Gate: name, Kind: gate.Kind(strings.Fields(name)[0]), Status: status, Reason: reason, Parts: parts}
	}
	follows := func(v gate.Verdict) gate.Verdict { v.Follows = true; return v }
	named := func(v gate.Verdict) gate.Verdict { v.NamesCommit = true; return v }
	newest := promote.Decision{State: promote.Current, Verdict: is(gate.Pass, "dev", "up to date")}
	waits := func(parts ...gate.Verdict) promote.Decision {
		return promote.Decision{State: promote.Waiting, Candidate: "2222222000", Verdict: gate.CombineVerdicts("dev", parts)}
	}
	held := promote.Decision{State: promote.Held, Verdict: is(gate.Wait, "dev", "it is held: incident 7 (by ada@example.com, until fairlead release dev)")}
	heldBehind := held
	heldBehind.Verdict.Parts = []gate.Verdict{is(gate.Wait, "after test", "2222222 failed in test: no such image", is(gate.Fail, "rollout", "no such image"))}
	proven, unproven := is(gate.Pass, "proof", "1111111 is proven"), gate.CombineVerdicts("proof", []gate.Verdict{is(gate.Wait, "rollout", "1 of 2 clusters ready")})
	broken := gate.CombineVerdicts("proof", []gate.Verdict{is(gate.Fail, "problems", "base/a.yaml:3: it is wrong")})
	pull := &Pull{Number: 2, URL: "https://forge/2"}
	removals := Withheld{Cause: "removals", Reason: "it removes hello-web from cloud", Acknowledge: "4be1c2d"}
	stage := func(merged bool, proof gate.Verdict, next promote.Decision) Stage {
		s := Stage{Environment: "dev", Commit: "1111111000", Merged: merged, Proof: proof, Next: next}
		if next.State == promote.Held {
			s.Hold = "incident 7 (by ada@example.com, until fairlead release dev)"
		}
		return s
	}
	behind := func(s Stage) Stage { s.Behind = 1; return s }
	twice := gate.EvaluateFreezes(gate.Facts{Environment: "dev", Freezes: []*model.Freeze{{Object: model.Object{Name: "promo"}, Reason: "moving"}, {Object: model.Object{Name: "both"}, Reason: "sale"}}})
	frozen, kept := stage(true, proven, newest), stage(true, proven, waits(gate.CombineVerdicts("gates", []gate.Verdict{is(gate.Wait, "freeze", "freeze q4: sale")})))
	frozen.Frozen, kept.Frozen = "freeze q4: sale, until a person ends it", "freeze q4: sale"
	for _, test := range []struct {
		name   string
		stage  Stage
		output Environment
		want   string
	}{
		{"nothing to do", stage(true, proven, newest), Environment{State: InSync}, "up to date"},
		{"a pull request that a person merges", stage(false, unproven, newest), Environment{State: Proposed, Pull: pull}, "merge pull request 2"},
		{"one that merging would follow", stage(false, unproven, waits(is(gate.Wait, "settled", "1111111 is not merged"))), Environment{State: Proposed, Pull: pull}, "merge pull request 2"},
		{"one of a program that only reads", stage(false, unproven, newest), Environment{State: DryRun, Pull: pull}, "merge pull request 2"},
		{"one that the daemon still opens", stage(false, unproven, newest), Environment{State: DryRun}, "waits for its pull request, which a daemon with write: true opens"},
		{"one that the forge merges", stage(false, unproven, newest), Environment{State: Proposed, Pull: pull, MergeReason: "the forge merges it once nothing is missing"},
			"waits for pull request 2: the forge merges it once nothing is missing"},
		{"one that the forge does not let us merge", stage(false, unproven, newest), Environment{State: Proposed, Pull: pull, MergeReason: "merge is direct, and it may not", LeftToPeople: true},
			"merge pull request 2: merge is direct, and it may not"},
		{"one that the forge cannot merge yet, and says so oddly", stage(false, unproven, newest), Environment{State: Proposed, Pull: pull, MergeReason: "merge is blocked"},
			"waits for pull request 2: merge is blocked"},
		{"one of a workload's change", stage(true, proven, newest), Environment{State: Proposed, Pull: pull}, "merge pull request 2"},
		{"one that removes too much", stage(false, unproven, newest), Environment{State: Proposed, Pull: pull, Reason: "it removes", Withheld: []Withheld{removals}},
			"merge pull request 2, or run fairlead approve dev 4be1c2d --removals: it removes hello-web from cloud"},
		{"a freeze that keeps nothing out yet", frozen, Environment{State: InSync}, "up to date; freeze q4: sale, until a person ends it"},
		{"a freeze that keeps a commit out", kept, Environment{State: InSync}, "2222222 waits for gate freeze: freeze q4: sale"},
		{"two freezes", stage(true, proven, waits(gate.CombineVerdicts("gates", []gate.Verdict{twice, is(gate.Wait, "approval", "1 approval missing")}))), Environment{State: InSync},
			"2222222 waits for gate freeze: freeze both: sale, until a person ends it; freeze promo: moving, until a person ends it; and for gate approval: 1 approval missing"},
		{"one that waits for the hold", stage(false, unproven, held), Environment{State: Proposed, Pull: pull, Withheld: []Withheld{{Cause: "hold", Reason: "held: incident 7 (by ada@example.com, until fairlead release dev)"}}},
			"held: incident 7 (by ada@example.com, until fairlead release dev); then merge pull request 2"},
		{"one that waits for a freeze", frozen, Environment{State: Proposed, Pull: pull, Withheld: []Withheld{{Cause: "freeze", Reason: "freeze q4: sale (until a person ends it)"}}},
			"freeze q4: sale (until a person ends it); then merge pull request 2"},
		{"one that waits for a freeze and for a person", frozen, Environment{State: Proposed, Pull: pull, Withheld: []Withheld{removals, {Cause: "freeze", Reason: "freeze q4: sale (until a person ends it)"}}},
			"freeze q4: sale (until a person ends it); then merge pull request 2, or run fairlead approve dev 4be1c2d --removals: it removes hello-web from cloud"},
		{"one beside a hold of promotions", stage(false, unproven, held), Environment{State: Proposed, Pull: pull},
			"held: incident 7 (by ada@example.com, until fairlead release dev); merge pull request 2"},
		{"one beside a freeze of promotions", frozen, Environment{State: Proposed, Pull: pull}, "freeze q4: sale, until a person ends it; merge pull request 2"},
		{"a hold, and what failed before", stage(true, proven, heldBehind), Environment{State: InSync},
			"held: incident 7 (by ada@example.com, until fairlead release dev); 2222222 failed in test: no such image"},
		{"one that was closed", stage(false, unproven, newest), Environment{State: Declined, Pull: pull}, "declined: open pull request 2 again or change something"},
		{"one that was closed with a reason", stage(false, unproven, newest), Environment{State: Declined, Pull: &Pull{Number: 2, Closed: "not today (by alice)"}},
			"declined: not today (by alice): open pull request 2 again or change something"},
		{"somebody else's commit", stage(false, unproven, newest), Environment{State: Edited, Reason: "commit 1 on fairlead/dev is not ours; merge the pull request"},
			"fix: commit 1 on fairlead/dev is not ours; merge the pull request"},
		{"problems of its commit", stage(false, broken, newest), Environment{}, "fix: base/a.yaml:3: it is wrong"},
		{"problems of its branch", stage(true, proven, newest), Environment{State: Problems, Problems: problem.List{{Summary: "it is odd", Warning: true}, {Summary: "it is broken"}}}, "fix: it is broken"},
		{"a failed operation", stage(true, proven, newest), Environment{State: Failed, Reason: "the server is down"}, "is tried again: the server is down"},
		{"failed clusters", stage(true, is(gate.Fail, "proof", "edge failed: no such image"), newest), Environment{State: InSync}, "fix: edge failed: no such image"},
		{"clusters", stage(true, unproven, newest), Environment{State: InSync}, "waits for gate rollout: 1 of 2 clusters ready"},
		{"a gate", stage(true, proven, waits(is(gate.Pass, "after", "2222222 was proven"), gate.CombineVerdicts("gates", []gate.Verdict{is(gate.Wait, "approval", "1 of 2 approvals")}))),
			Environment{State: InSync}, "2222222 waits for gate approval: 1 of 2 approvals"},
		{"people, and a window", stage(true, proven, waits(gate.CombineVerdicts("gates", []gate.Verdict{is(gate.Wait, "window", "the window is closed; it opens Mon"), is(gate.Wait, "approval", "2 approvals missing"), follows(is(gate.Wait, "smoke", "smoke.yaml starts after window: the window is closed; it opens Mon"))}))),
			Environment{State: InSync}, "2222222 waits for gate window: the window is closed; it opens Mon; and for gate approval: 2 approvals missing"},
		{"the environment before it", stage(true, proven, waits(named(is(gate.Wait, "after dev", "2222222 is not merged in dev")))), Environment{State: InSync}, "waits: 2222222 is not merged in dev"},
		{"its turn", Stage{Next: promote.Decision{State: promote.Current, Verdict: waitsFor("stage", "dev to get its first commit")}}, Environment{}, "waits for dev to get its first commit"},
		{"the one before it has the same commit", stage(true, proven, promote.Decision{State: promote.Current, Verdict: waitsFor("prod", "stage to move first")}), Environment{State: InSync}, "up to date"},
		{"a newer one is on its way", behind(stage(true, proven, promote.Decision{State: promote.Current, Verdict: waitsFor("prod", "stage to move first")})), Environment{State: InSync},
			"waits for stage to move first"},
		{"two before it", behind(stage(true, proven, promote.Decision{State: promote.Current, Verdict: waitsFor("prod", "eu to move first, and for us to move first")})), Environment{State: InSync},
			"waits for eu to move first, and for us to move first"},
		{"it moves", stage(false, broken, promote.Decision{State: promote.Promotes, Candidate: "2222222000"}), Environment{State: Problems}, "gets 2222222 now"},
		{"a hold", stage(true, proven, held), Environment{State: InSync}, "held: incident 7 (by ada@example.com, until fairlead release dev)"},
		{"a hold and a pull request", stage(false, unproven, held), Environment{State: Declined, Pull: pull},
			"declined: open pull request 2 again or change something; held: incident 7 (by ada@example.com, until fairlead release dev)"},
		{"a record that cannot be read", stage(true, proven, promote.Decision{State: promote.Stopped, Verdict: is(gate.Fail, "dev", "no such commit; fairlead rollback dev mends it")}),
			Environment{State: Proposed, Pull: pull}, "fix: no such commit; fairlead rollback dev mends it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := describeAction(test.stage, test.output); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
			test.output.Name = "dev"
			var s Store
			s.SetEnvironment(test.output)
			test.stage.Environment = "dev"
			s.SetPromotions(Chain{Stages: []Stage{test.stage}})
			if got := s.Snapshot().Chain.Stages[0].NextAction(); got != test.want {
				t.Errorf("the store says %q, want %q", got, test.want)
			}
		})
	}
}

// TestNextActionOfOlderDaemon: what does not report the action is asked for what it has.
func TestNextActionOfOlderDaemon(t *testing.T) {
	s := Stage{Environment: "dev", Commit: "1111111000", Withheld: []Withheld{{Reason: "it removes too much"}}}
	if got, want := s.NextAction(), "merge its pull request: it removes too much"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
