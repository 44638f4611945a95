package lever

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

// TestReleaseEffects: a release says which commit comes then, that it is the one gone back from, and not that
// the hold is in its way.
func TestReleaseEffects(t *testing.T) {
	bad, good := strings.Repeat("b", 40), strings.Repeat("a", 40)
	stage := status.Stage{Environment: "dev", Commit: good, Merged: true, Next: promote.Decision{State: promote.Held, Candidate: bad, Verdict: gate.Verdict{Gate: "all", Status: gate.Wait, Parts: []gate.Verdict{
		{Gate: "hold", Status: gate.Wait, Reason: "dev is held"}, {Gate: "soak", Status: gate.Wait, Reason: "1 h left"},
	}}}}
	held := actions.Plan{Held: []string{"it does not start"}, Files: []actions.FileEdit{{Path: "hold.yaml"}}}
	wentBack := held
	wentBack.Had = []string{good, bad}
	const rest = "The gate soak does not pass yet: 1 h left.\nIt was held because: it does not start"
	open := status.Stage{Environment: "dev", Commit: good, Pull: &status.Pull{Number: 7}, Withheld: []status.Withheld{{Cause: "hold", Reason: "held"}}, Next: promote.Decision{State: promote.Held}}
	removing := open
	removing.Withheld = append(removing.Withheld[:1:1], status.Withheld{Cause: "removals", Reason: "it removes web"})
	for _, c := range []struct {
		name  string
		stage status.Stage
		plan  actions.Plan
		want  string
	}{
		{"a pull request waits", open, held, "Pull request 7, which brings aaaaaaa, is then merged at once, unless merging is left to people there.\nIt was held because: it does not start"},
		{"and removes something", removing, held, "Pull request 7, which brings aaaaaaa, still waits for a person then: it removes web.\nIt was held because: it does not start"},
		{"a new commit", stage, held, "Comes then: bbbbbbb.\n" + rest},
		{"the commit gone back from", stage, wentBack, "Comes then: bbbbbbb, which dev was promoted to before and went back from. Revert it in the base first if it must not come again.\n" + rest},
	} {
		got := strings.Join(findEffects(Request{Lever: Release, Environment: "dev"}, c.plan, c.stage, status.Chain{}), "\n")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
}

// TestIdleReason: an action that has nothing to do says why. An environment can be rolled back to what it had before its
// only promotion.
func TestIdleReason(t *testing.T) {
	for name, c := range map[string]struct {
		lever string
		stage status.Stage
		want  string
	}{
		"its first commit":           {Rollback, status.Stage{Commit: "a", FirstCommit: true}, "prod had no other commit before"},
		"promoted from that of init": {Rollback, status.Stage{Commit: "b", Turns: []status.Turn{{Commit: "b", From: "a"}}}, ""},
		"no commit yet":              {Rollback, status.Stage{}, "prod had no other commit before"},
		"what it got cannot be read": {Rollback, status.Stage{Commit: "a"}, ""},
		"nobody is asked":            {Approve, status.Stage{Commit: "a", Behind: 1, AsksNobody: true}, "no gate of prod asks for approvals"},
		"somebody is asked":          {Approve, status.Stage{Commit: "a", Behind: 1}, ""},
	} {
		store := &status.Store{}
		c.stage.Environment = "prod"
		store.SetPromotions(status.Chain{Stages: []status.Stage{c.stage}})
		if got := (&Operator{options: Options{Store: store}}).IdleReason(c.lever, "prod"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestApprovedEffects: who approves is told what the commit waits for afterwards, and when it goes at once.
func TestApprovedEffects(t *testing.T) {
	approval := func(missing int) gate.Verdict {
		return gate.Verdict{Gate: "approval", Status: gate.Wait, Reason: "some are missing", Approvers: &gate.Approvers{Missing: missing}}
	}
	passed := gate.Verdict{Gate: "after", Status: gate.Pass, Reason: "it was verified"}
	window := gate.Verdict{Gate: "window", Status: gate.Wait, Reason: "it opens on Monday"}
	for want, parts := range map[string][]gate.Verdict{
		"Then it is promoted to prod at once.":                                                                                {passed, approval(1)},
		"Then 2 approvals are still missing for the gate approval.":                                                           {passed, approval(3)},
		"Then the gate window does not pass yet: it opens on Monday.":                                                         {approval(1), window},
		"Then 1 approval is still missing for the gate approval. Then the gate window does not pass yet: it opens on Monday.": {approval(2), window},
	} {
		stage := status.Stage{Environment: "prod", Next: promote.Decision{State: promote.Waiting, Verdict: gate.Verdict{Gate: "prod", Status: gate.Wait, Parts: parts}}}
		if got := strings.Join(describeApproved(stage), " "); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestSeenIsOnesOwn: what a person has seen is no proof that another person has.
func TestSeenIsOnesOwn(t *testing.T) {
	alice, bob := &session.Person{Issuer: "i", Subject: "1", Name: "A", Email: "a@example.com"}, &session.Person{Issuer: "i", Subject: "2", Name: "A", Email: "a@example.com"}
	of := func(who *session.Person) string { return digestLever(who, Request{Lever: Hold}, answer.Lever{}) }
	first, again := of(alice), of(alice)
	if first != again || first == of(bob) {
		t.Errorf("%s, %s and %s", first, again, of(bob))
	}
}
