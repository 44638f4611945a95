// Package chainworld makes the state of chains of environments that commits have travelled along, for tests of what is
// shown of them.
//
// What it keeps true: equal arguments make equal chains.
package chainworld

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// PromotionInterval is how far apart the commits of a chain are, and PromotionDelay how long each environment has one
// before the next gets it.
const PromotionInterval, PromotionDelay = 40 * time.Minute, 55 * time.Minute

// New returns a chain of environments, one after the other, that commits have travelled along until now, and what was
// done to it. The third environment was rolled back once, the fourth is held, and the last one fails.
func New(names []string, commits int, now time.Time) (status.Chain, []history.Entry) {
	chain := status.Chain{Checked: now}
	subjects := []string{"Raise limits", "Less noise", "New probe for checkout", "Pin images", "Typo", "Two more replicas", "Drop the old ingress"}
	people := []string{"alice", "bob", "dana", "erin"}
	made := func(i int) time.Time { return now.Add(-time.Duration(i)*PromotionInterval - 10*time.Minute) }
	for i := range commits {
		chain.Commits = append(chain.Commits, status.Commit{ID: newID(fmt.Sprintf("commit %d", i)), Subject: subjects[i%len(subjects)], Author: people[i%len(people)], When: made(i)})
	}
	chain.Head = chain.Commits[0].ID
	var done []history.Entry
	for n, name := range names {
		stage := status.Stage{Environment: name, Merged: true, Proof: gate.Verdict{Gate: "proof", Status: gate.Pass, Reason: "all clusters are ready"}, Next: promote.Decision{State: promote.Current}}
		if n > 0 {
			stage.After = names[n-1 : n]
		}
		for i, c := range chain.Commits {
			at := made(i).Add(time.Duration(n) * PromotionDelay)
			if at.After(now) || n == 3 && i < 6 { // held since
				continue
			}
			if n == 2 && i == 5 {
				back := status.Turn{Commit: chain.Commits[i+1].ID, RolledBack: true, When: at.Add(PromotionInterval / 2), Who: "carol", Reason: "checkout answers 503"}
				stage.Turns = append(stage.Turns, back)
				done = append(done, history.Entry{Time: back.When, Who: "carol", Environment: name, Action: history.RollbackAction, To: back.Commit, Reason: back.Reason, Commit: newID(name + "back")})
			}
			stage.Turns = append(stage.Turns, status.Turn{Commit: c.ID, When: at, Who: "Fairlead"})
			done = append(done, history.Entry{Time: at.Add(5 * time.Minute), Who: people[(i+n)%len(people)], Environment: name, Action: forge.MergeAction, To: c.ID, Pull: commits - i, Commit: newID(fmt.Sprint(name, i))})
		}
		if len(stage.Turns) > 0 {
			stage.Commit, stage.Since = stage.Turns[0].Commit, stage.Turns[0].When
			stage.Behind = chain.IndexCommit(stage.Commit)
		}
		switch {
		case n == 3:
			stage.Hold = "the sale (by dana, until fairlead release " + name + ")"
			stage.Next = promote.Decision{State: promote.Held, Candidate: chain.Commits[4].ID, Verdict: gate.Verdict{Reason: "it is held: " + stage.Hold}}
			done = append(done, history.Entry{Time: stage.Since.Add(PromotionInterval), Who: "dana", Environment: name, Action: "hold", Reason: "the sale", Commit: newID(name + "hold")})
		case n > 0 && n == len(names)-1:
			stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Fail, Reason: "3 of 40 clusters fail: ImagePullBackOff"}
		}
		chain.Stages = append(chain.Stages, stage)
	}
	history.Sort(done)
	return chain, done
}

func newID(of string) string {
	sum := sha1.Sum([]byte(of))
	return hex.EncodeToString(sum[:])
}
