package answer

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestBlocker: an environment without a candidate says what all before it wait for: the nearest that waits for
// something else than another environment, and the commits that come then.
func TestBlocker(t *testing.T) {
	chain := func(dev, stage status.Stage) Source {
		c := status.Chain{Commits: lineOf("c3", "c2", "c1"), Stages: []status.Stage{dev, stage, stageAt("prod", []string{"stage"}, got("c1"))}}
		for i := range c.Stages {
			c.Stages[i].Behind = c.IndexCommit(c.Stages[i].Commit)
		}
		return Source{Snapshot: status.Snapshot{Chain: c, Environments: []status.Environment{
			{Name: "dev", State: status.Proposed, Pull: &status.Pull{Number: 10}, Withheld: []status.Withheld{{Reason: "it removes web", Acknowledge: "abc"}}},
		}}}
	}
	open := stageAt("dev", nil, got("c3"))
	open.Merged, open.Action, open.ActionOnPage = false, "merge pull request 10, or run fairlead approve dev abc --removals: it removes web", "merge pull request 10: it removes web"
	held := stageAt("stage", []string{"dev"}, got("c1"))
	held.Hold, held.Next = "a sale", promote.Decision{State: promote.Held, Candidate: "c2", Verdict: gate.Verdict{Reason: "it is held: a sale"}}
	unverified, delayed := stageAt("stage", []string{"dev"}, got("c1")), stageAt("stage", []string{"dev"}, got("c1"))
	after := gate.Verdict{Gate: "after dev", Kind: gate.KindAfter, Status: gate.Wait, Reason: "c3 is not merged in dev", NamesCommit: true}
	unverified.Next = promote.Decision{State: promote.Waiting, Candidate: "c3", Verdict: gate.CombineVerdicts("stage", []gate.Verdict{after})}
	delayed.Next = unverified.Next
	delayed.Next.Verdict.Parts = []gate.Verdict{after, {Gate: "window", Status: gate.Wait, Reason: "closed"}}
	for name, c := range map[string]struct {
		source Source
		want   string
	}{
		"the first waits for a person":            {chain(open, stageAt("stage", []string{"dev"}, got("c1"))), "dev: merge pull request 10: it removes web, pull 10, c3 c2"},
		"the nearest is held":                     {chain(open, held), "stage: held: a sale, c2"},
		"the nearest waits for the first alone":   {chain(open, unverified), "dev: merge pull request 10: it removes web, pull 10, c3 c2"},
		"the nearest waits for its own gates too": {chain(open, delayed), "stage: waits: c3 is not merged in dev, c3 c2"},
		"nothing waits":                           {chain(stageAt("dev", nil, got("c3")), stageAt("stage", []string{"dev"}, got("c1"))), ""},
	} {
		e, _ := c.source.Environment("prod")
		text := ""
		if b := e.Situation.Blocker; b != nil {
			text = b.Environment + ": " + b.Reason
			if b.Pull != nil {
				text += ", pull 10"
			}
			text += ","
			for _, one := range b.Commits {
				text += " " + one.ID
			}
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
	if first, _ := chain(open, held).Environment("dev"); first.Situation.Blocker != nil || first.Situation.Reason != "merge pull request 10: it removes web" {
		t.Errorf("the first has %+v", first.Situation)
	}
}
