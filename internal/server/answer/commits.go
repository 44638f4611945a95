package answer

import (
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// What a commit is to an environment.
const (
	MarkHas     = "has"     // it is the one that the environment has
	MarkIn      = "in"      // the environment has a newer one, which contains it
	MarkNext    = "next"    // the environment gets it, or waits for it
	MarkWith    = "with"    // it comes with the one that the environment gets
	MarkLeftOut = "skipped" // the environment gets a newer one instead, which contains it
	MarkNot     = "not"     // the environment does not have it, and gets another first
)

// Commits is the answer of /api/v1/commits: the newest commits of the base, and where they are.
type Commits struct {
	Environments []Environment `json:"environments"`
	// Total is how many commits are known.
	Total int `json:"total"`
	// Found is how many of them were asked for, of which Items has one page.
	Found int            `json:"found"`
	Page  int            `json:"page"`
	Items []CommitPlaces `json:"items"`
}

// CommitPlaces is a commit, and what it is to each environment.
type CommitPlaces struct {
	Commit Commit   `json:"commit"`
	Marks  []string `json:"marks"` // by environment
}

// Journey is the answer of /api/v1/commits/{commit}: where a commit is, and what it waits for.
type Journey struct {
	Commit Commit `json:"commit"`
	Stops  []Stop `json:"stops"`
}

// Stop is what a commit is to an environment.
type Stop struct {
	Environment Environment `json:"environment"`
	Mark        string      `json:"mark"`
	// Since is when the environment got it, or the newer commit that contains it.
	Since time.Time `json:"since,omitzero"`
	// Reason is why the environment does not have it; "" if it does.
	Reason string `json:"reason,omitempty"`
	// Gates are those of the next promotion that do not pass, where it brings the commit.
	Gates []gate.Verdict `json:"gates,omitempty"`
}

// ListRows is how many items a page of commits or problems has.
const ListRows = 50

// CommitFilter selects commits; "" is any. Pages are counted from 1.
type CommitFilter struct {
	Text, Author string
	Page         int
}

// Commits returns the newest commits of the base, and where they are.
func (s Source) Commits(f CommitFilter) Commits {
	answer := Commits{Environments: s.listPromoted(), Total: len(s.Snapshot.Chain.Commits), Items: []CommitPlaces{}}
	var found []int
	for i, c := range s.Snapshot.Chain.Commits {
		if f.selects(c) {
			found = append(found, i)
		}
	}
	answer.Found = len(found)
	found, answer.Page = pageOf(found, f.Page, ListRows)
	for _, i := range found {
		c := s.Snapshot.Chain.Commits[i]
		row := CommitPlaces{Commit: *s.describeCommit(c.ID), Marks: []string{}}
		for _, stage := range s.Snapshot.Chain.Stages {
			row.Marks = append(row.Marks, s.findMark(i, stage))
		}
		answer.Items = append(answer.Items, row)
	}
	return answer
}

func (f CommitFilter) selects(c status.Commit) bool {
	text := strings.ToLower(f.Text)
	found := strings.Contains(strings.ToLower(c.Subject), text) || strings.HasPrefix(c.ID, text) || strings.Contains(strings.ToLower(c.Author), text)
	return found && strings.Contains(strings.ToLower(c.Author), strings.ToLower(f.Author))
}

func (s Source) listPromoted() []Environment {
	return slices.DeleteFunc(s.listEnvironments(), func(e Environment) bool { return !e.Promoted })
}

// findMark returns what the i-th commit is to an environment.
func (s Source) findMark(i int, stage status.Stage) string {
	chain := s.Snapshot.Chain
	has, next := chain.IndexCommit(stage.Commit), chain.IndexCommit(stage.Next.Candidate)
	switch id := chain.Commits[i].ID; {
	case id == stage.Commit:
		return MarkHas
	case has >= 0 && i > has:
		return MarkIn
	case next == i:
		return MarkNext
	case slices.Contains(stage.Next.Skipped, id):
		return MarkLeftOut
	case next >= 0 && i > next:
		return MarkWith
	}
	return MarkNot
}

// FindCommits returns the ids of the known commits that begin with a text of at least four letters.
func (s Source) FindCommits(prefix string) (ids []string) {
	for _, c := range s.Snapshot.Chain.Commits {
		if len(prefix) >= 4 && strings.HasPrefix(c.ID, strings.ToLower(prefix)) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Journey returns where a commit is, and whether it is known.
func (s Source) Journey(id string) (Journey, bool) {
	i := s.Snapshot.Chain.IndexCommit(id)
	if i < 0 {
		return Journey{}, false
	}
	answer := Journey{Commit: *s.describeCommit(id), Stops: []Stop{}}
	for n, e := range s.listPromoted() {
		answer.Stops = append(answer.Stops, newStop(e, s.Snapshot.Chain.Stages[n], s.findMark(i, s.Snapshot.Chain.Stages[n])))
	}
	return answer, true
}

func newStop(e Environment, stage status.Stage, mark string) Stop {
	stop := Stop{Environment: e, Mark: mark}
	switch mark {
	case MarkHas, MarkIn:
		stop.Since = stage.Since
	case MarkNext, MarkWith, MarkLeftOut:
		stop.Reason = e.Reason
		if stage.Next.State != promote.Promotes {
			stop.Gates = findWaiting(stage.Next.Verdict)
		}
	case MarkNot:
		stop.Reason = e.Reason
		if len(stage.After) > 0 && stage.Next.Candidate == "" && stage.Hold == "" {
			stop.Reason = "waits until it is verified in " + strings.Join(stage.After, ", ")
		}
	}
	return stop
}

// findWaiting returns the parts of a verdict that do not pass.
func findWaiting(v gate.Verdict) (waiting []gate.Verdict) {
	for _, p := range v.Parts {
		if p.Status != gate.Pass {
			p.Parts = findWaiting(p)
			waiting = append(waiting, p)
		}
	}
	return waiting
}
