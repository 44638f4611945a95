package loop_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// laneAction performs an action on a lane: "hold prod shop", "rollback prod shop", "rollback prod shop 2", with a commit by its name.
func (w *world) laneAction(d *daemon, names map[string]string, text string) (actions.Result, error) {
	w.Helper()
	words := strings.Fields(text)
	commit := ""
	if len(words) > 3 {
		for id, name := range names {
			if name == words[3] {
				commit = id
			}
		}
	}
	ctx, o, report := w.Context(), w.openActions(), d.store.Snapshot().Chain
	environment, lane, reason := words[1], words[2], "because"
	switch words[0] {
	case "hold":
		return actions.HoldLane(ctx, o, environment, lane, reason)
	case "release":
		return actions.ReleaseLane(ctx, o, environment, lane, reason)
	case "rollback":
		return o.Rollback(ctx, actions.Rollback{Environment: environment, Lane: lane, To: commit, Reason: reason})
	case "approve":
		return o.Approve(ctx, actions.Approval{Environment: environment, Lane: lane, Commit: commit, Reason: reason, Report: &report})
	case "force":
		return o.Promote(ctx, actions.Promotion{Environment: environment, Lane: lane, Commit: commit, Reason: reason, Report: &report, Force: true})
	}
	return o.Promote(ctx, actions.Promotion{Environment: environment, Lane: lane, Commit: commit, Reason: reason, Report: &report})
}

// TestLaneActions: what people do to one lane, on real repositories. A step is a change of a lane, "shop next", an action, or
// "?" and what an action is refused with; = is what the environments have when all has come to rest.
func TestLaneActions(t *testing.T) {
	for name, steps := range map[string][]string{
		"a held lane stays, and others move": {
			"!hold stage shop", "shop next", "hello next", "= dev=3 stage=1,hello=3 prod=1,hello=3", "!release stage shop", "= dev=3 stage=3 prod=3",
		},
		"a joint commit waits for the held lane": {"!hold stage shop", "both next", "= dev=2 stage=1 prod=1", "!release stage shop", "= dev=2 stage=2 prod=2"},
		"a held platform lets lanes move":        {"!hold stage platform", "platform", "shop next", "= dev=3 stage=1 prod=1", "!release stage platform", "= dev=3 stage=3 prod=3"},
		"a lane is rolled back, and stays there": {
			"shop next", "= dev=2 stage=2 prod=2", "!rollback prod shop", "= dev=2 stage=2 prod=2,shop=1", "hello next", "= dev=3 stage=3 prod=3,shop=1",
			"?rollback prod shop", "had no older commit of lane shop before", "!release prod shop", "= dev=3 stage=3 prod=3",
		},
		"what a lane was rolled back behind goes nowhere from there": {
			"!hold prod shop", "shop bad-idea", "= dev=2 stage=2 prod=1", "!rollback stage shop", "!release prod shop", "= dev=2 stage=2,shop=1 prod=1",
			"hello next", "= dev=3 stage=3,shop=1 prod=1,hello=3", "shop fixed", "!release stage shop", "= dev=4 stage=4 prod=4",
		},
		"it goes back to the one that is named": {
			"shop a", "= dev=2 stage=2 prod=2", "shop b", "= dev=3 stage=3 prod=3", "!rollback prod shop 1", "= dev=3 stage=3 prod=3,shop=1",
		},
		"a commit that changes another lane too": {"both next", "= dev=2 stage=2 prod=2", "!rollback prod shop", "= dev=2 stage=2 prod=2,shop=1", "!release prod shop", "= dev=2 stage=2 prod=2"},
		"promoted by hand": {
			"!hold prod shop", "shop next", "hello next", "= dev=3 stage=3 prod=1,hello=3", "?promote prod shop", "lane shop is held in prod: because",
			"unreadable prod", "?promote prod shop", "cannot be understood", "readable prod",
			"!force prod shop 2", "= dev=3 stage=3 prod=3", "?promote prod shop 1", "is older than",
		},
		"refused": {
			"?hold stage shoop", "there is no lane shoop", "?release stage shoop", "there is no lane shoop", "?hold dev shop", "dev comes after no other environment", "?rollback stage platform", "rolled back with all lanes",
			"?promote stage shop", "it is not known which commit is next for lane shop", "?rollback stage shop 1", "stage has", "!release stage shop",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, d, names := lanesWorld(t, "{each: workloads/*}")
			for i := 0; i < len(steps); i++ {
				kind, text := steps[i][:1], steps[i][1:]
				switch lane, branch, _ := strings.Cut(steps[i], " "); {
				case kind == "=":
					d.advance(names)
					w.wantBases(names, strings.TrimSpace(text))
				case kind == "!":
					if r, err := w.laneAction(d, names, text); err != nil || r.Changed != (name != "refused") {
						t.Fatalf("%s: %+v, %v", text, r, err)
					}
				case kind == "?":
					i++
					var refused *problem.Refusal
					if _, err := w.laneAction(d, names, text); !errors.As(err, &refused) || !strings.Contains(refused.Reason, steps[i]) {
						t.Fatalf("%s: %v, want %s", text, err, steps[i])
					}
				case lane == "unreadable", lane == "readable":
					w.commitNow(branch, lane, map[string]string{".fairlead/approval.yaml": map[string]string{"unreadable": "apiVersion: fairlead.io/v1alpha1\nkind: Approval\nspec: 1\n"}[lane]})
				case lane == "both":
					names[w.commitNow("main", "both", map[string]string{laneFile("hello"): laneWorkload("hello", branch), laneFile("shop"): laneWorkload("shop", branch)})] = "2"
				case lane == "platform":
					names[w.changeNow(1)] = "2"
				default:
					w.changeLane(names, lane, branch)
				}
			}
		})
	}
}

// TestLaneHeld: why a lane stays is said, and so it is in the history of the branch.
func TestLaneHeld(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	if _, err := w.laneAction(d, names, "hold stage shop"); err != nil {
		t.Fatal(err)
	}
	commit := w.changeLane(names, "shop", "next")
	d.advance(names)
	d.wantArrivals(commit, "dev has; stage waits; prod waits")
	s := d.stage("stage")
	const why = "because (by a@example.com, until fairlead release stage --lane shop)"
	if l := s.FindLane("shop"); l.Next != commit || l.Reason != "held: "+why {
		t.Errorf("lane shop is %+v", l)
	}
	if s.Hold != "" || s.Next.Verdict.Reason != "lane shop is held: "+why {
		t.Errorf("stage is %+v", s)
	}
	message := gittest.Git(t, w.server.Dir(w.cp()), "log", "-1", "--format=%B", "stage")
	if want := "Hold lane shop in stage\n\nbecause\n\nFairlead-Lane: shop\nFairlead-Action: hold"; strings.TrimSpace(message) != want {
		t.Errorf("the message is %q", message)
	}
}

// TestLaneApproved: an approval for a lane lets that lane in, and neither another one nor the whole commit.
func TestLaneApproved(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	text := gittest.Show(t, w.server.Dir("cp"), "main", promotionFile)
	w.commitNow("main", "approvals", map[string]string{promotionFile: strings.Replace(text, "name: prod,", "name: prod, gates: [{approval: {count: 1}}],", 1)})
	names[w.commitNow("main", "both", map[string]string{laneFile("hello"): laneWorkload("hello", "bad"), laneFile("till"): laneWorkload("till", "next")})] = "2"
	w.changeLane(names, "shop", "next")
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1")
	if _, err := w.laneAction(d, names, "approve prod hello 3"); err != nil {
		t.Fatal(err)
	}
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1")
	for _, changed := range []bool{true, false} {
		if r, err := w.laneAction(d, names, "approve prod shop"); err != nil || r.Changed != changed {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1,shop=3")
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=1,shop=3")
}
