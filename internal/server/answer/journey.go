package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Journey is the answer of /api/v1/commits/{commit}: where a commit is, and what it waits for.
type Journey struct {
	// At is the time that was asked about, as it was written; "" for now.
	At     string `json:"at,omitempty"`
	Commit Commit `json:"commit"`
	// Branch is the environment on whose own branch the commit is, and which alone it concerns; "" if it is one of the base.
	Branch string `json:"branch,omitempty"`
	// Paths are the files that the commit changes, and MorePaths counts those that are not listed.
	Paths     []string `json:"paths,omitempty"`
	MorePaths int      `json:"morePaths,omitempty"`
	Stops     []Stop   `json:"stops"`
}

// Stop is what a commit is to an environment.
type Stop struct {
	Environment Environment `json:"environment"`
	Mark        string      `json:"mark"`
	// State is that of the commit there: not that of the environment, which may be about another.
	State State `json:"state"`
	// Newer is the newer commit that contains it, and that the environment has or gets.
	Newer *Commit `json:"newer,omitempty"`
	// Since is when the environment got it.
	Since time.Time `json:"since,omitzero"`
	// Until is when it got the commit after it; zero while it has it, or if that is not known.
	Until time.Time `json:"until,omitzero"`
	// Back is how the environment went back from it.
	Back *Back `json:"back,omitempty"`
	// Reason is why the environment does not have it; "" if it does.
	Reason string `json:"reason,omitempty"`
	// Gates are those of the next promotion that do not pass, where it brings the commit.
	Gates []gate.Verdict `json:"gates,omitempty"`
	// Need is what stays as it is there until a person acts, and keeps the commit; nil for nothing.
	Need *Need `json:"need,omitempty"`
}

// Back is how an environment went back from a commit.
type Back struct {
	To     Commit    `json:"to"`
	When   time.Time `json:"when,omitzero"`
	Who    string    `json:"who"`
	Reason string    `json:"reason,omitempty"` // what the person wrote
}

// Journey returns where a commit is, and whether it is known.
func (s Source) Journey(id string) (Journey, bool) {
	i := s.Snapshot.Chain.IndexCommit(id)
	if i < 0 {
		stage, edit := s.Snapshot.Chain.FindEdit(id)
		of, known := s.Environment(stage.Environment)
		if edit < 0 || !known {
			return Journey{}, false
		}
		c := stage.Edits[edit]
		return Journey{At: s.At, Commit: describeEdit(s, of.Report.Name, c), Branch: of.Report.Name, Paths: list.Convert(c.Paths, CleanText), MorePaths: c.MorePaths, Stops: []Stop{newEditStop(s, of, stage, edit)}}, true
	}
	c := s.Snapshot.Chain.Commits[i]
	answer := Journey{At: s.At, Commit: *s.describeCommit(id), Paths: list.Convert(c.Paths, CleanText), MorePaths: c.MorePaths, Stops: []Stop{}}
	if answer.Commit.Unrendered {
		return answer, true
	}
	left := map[string]string{} // the environments that went back from it, and for others the one before that did
	for n, e := range s.listPromoted() {
		stop := s.newStop(e, s.Snapshot.Chain.Stages[n], i)
		if stop.Mark == MarkBack {
			left[e.Name] = e.Name
		}
		first := slices.IndexFunc(e.After, func(name string) bool { return left[name] != "" })
		if stop.Mark == MarkNot && first >= 0 {
			left[e.Name] = left[e.After[first]]
			stop.Reason = left[e.Name] + " was rolled back from it"
		}
		stop.Need = findNeed(s, stop)
		answer.Stops = append(answer.Stops, stop)
	}
	return answer, true
}

// findRunningEdit returns the index of the newest edit in the output of an environment; -1 if it is unknown.
func findRunningEdit(s Source, stage status.Stage) int {
	report, _ := s.Snapshot.FindEnvironment(stage.Environment)
	if report.State == status.InSync {
		return 0 // what changes nothing that is rendered has no record
	}
	return slices.IndexFunc(stage.Edits, func(c status.Commit) bool { return c.ID == stage.RunningEdit })
}

func editMark(s Source, stage status.Stage, i int) string {
	newest := findRunningEdit(s, stage)
	switch {
	case i == newest:
		return MarkHas
	case newest >= 0 && i > newest:
		return MarkIn
	}
	return MarkNext
}

// newEditStop returns what the i-th edit of an environment is to it: in the output, proposed, or neither.
func newEditStop(s Source, of OneEnvironment, stage status.Stage, i int) Stop {
	stop := Stop{Environment: of.Situation, Mark: editMark(s, stage, i)}
	switch stop.Mark {
	case MarkIn:
		newer := describeEdit(s, of.Report.Name, stage.Edits[findRunningEdit(s, stage)])
		stop.Newer = &newer
	case MarkNext:
		stop.Reason = of.Report.Reason
		if of.Report.State == status.Proposed && of.Report.Pull != nil {
			stop.Reason = fmt.Sprintf("waits for pull request %d", of.Report.Pull.Number)
		}
	}
	stop.State, stop.Need = markState(stop.Mark, of.Situation.CommitState), findNeed(s, stop)
	if stop.Mark == MarkNext && stop.Need != nil {
		stop.Reason = stop.Need.Reason
	}
	return stop
}

// findNeed returns what keeps a commit from an environment, or from being verified there, until a person acts; nil for
// nothing.
func findNeed(s Source, stop Stop) *Need {
	isHere := slices.Contains([]string{MarkHas, MarkProposed, MarkLane}, stop.Mark)
	for _, n := range s.Needs() {
		isOwn := n.Environment == stop.Environment.Name && n.Stack == "" && n.Reason == stop.Environment.Reason
		if s.At == "" && isOwn && (isHere || stop.Reason == n.Reason || n.Pull != nil && stop.Mark == MarkNext) {
			return &n
		}
	}
	return nil
}

// Farthest returns the last environment, in the order of promotion, that has or had a commit, and the state of the
// commit there; of the named environment if there is one. If none has it, it is the last one that was rolled back from
// it, and else the last that left it out. The environment is "" if none has got so far.
func (j Journey) Farthest(named string) (environment string, state State) {
	state = State{Unknown, "not promoted"}
	if j.Commit.Unrendered {
		return "", State{Unknown, "changes nothing"}
	}
	best := 0
	for _, s := range j.Stops {
		if s.Environment.Name == named {
			return named, s.State
		}
		rank := farthestRanks[s.Mark]
		if named == "" && rank > 0 && rank >= best {
			best, environment, state = rank, s.Environment.Name, s.State
		}
	}
	return environment, state
}

// farthestRanks are the marks that say how far a commit has got; those of a higher rank say more.
var farthestRanks = map[string]int{MarkWithin: 1, MarkLeftOut: 1, MarkBack: 2, MarkHas: 3, MarkProposed: 3, MarkRuns: 3, MarkIn: 3, MarkLane: 3}

func (s Source) findMark(i int, stage status.Stage) string {
	chain := s.Snapshot.Chain
	has, next := chain.IndexCommit(stage.Commit), chain.IndexCommit(stage.Next.Candidate)
	runs := chain.IndexCommit(s.findRunning(stage))
	id := chain.Commits[i].ID
	_, after := stage.FindTurn(id)
	contains := func(newer int) bool { return newer >= 0 && chain.Contains(newer, i) }
	isOlder := func(other string) bool { had := chain.IndexCommit(other); return had >= 0 && chain.Contains(i, had) }
	_, lacks := status.FindMissingLane(chain, stage, i)
	switch {
	case chain.Commits[i].Unrendered:
		return MarkNever
	case s.At != "" && stage.State == status.StageStopped:
		return MarkUnknown
	case lacks && (id == stage.Commit || contains(has)): // a lane was rolled back
		return MarkNot
	case !lacks && len(chain.Commits[i].Lanes) > 0 && id != stage.Commit && !contains(has):
		return MarkLane
	case id == stage.Commit && stage.Merged:
		return MarkHas
	case id == stage.Commit:
		return MarkProposed
	case i == runs:
		return MarkRuns
	case s.isBack(after, i):
		return MarkBack
	case contains(has) && !contains(runs): // nothing of it was merged
		return MarkWith
	case contains(has) && stage.LeftOut(id, isOlder):
		return MarkWithin
	case contains(has):
		return MarkIn
	case next == i:
		return MarkNext
	case slices.Contains(stage.Next.Skipped, id):
		return MarkLeftOut
	case contains(next):
		return MarkWith
	}
	return MarkNot
}

func (s Source) findRunning(stage status.Stage) string {
	if stage.Merged || stage.Running != "" {
		return cmp.Or(stage.Running, stage.Commit)
	}
	for _, o := range s.Clusters {
		if o.Environment == stage.Environment && o.Base != "" {
			return o.Base
		}
	}
	return ""
}

// isBack reports whether a turn took an environment back from the i-th commit, to an older one.
func (s Source) isBack(turn *status.Turn, i int) bool {
	if turn == nil || !turn.RolledBack {
		return false
	}
	to := s.Snapshot.Chain.IndexCommit(turn.Commit)
	return to < 0 || s.Snapshot.Chain.Contains(i, to)
}

// newStop returns what the i-th commit is to an environment, and what it waits for there.
func (s Source) newStop(e Environment, stage status.Stage, i int) Stop {
	stop := Stop{Environment: e, Mark: s.findMark(i, stage)}
	stop.State = markState(stop.Mark, e.CommitState)
	has := s.Snapshot.Chain.IndexCommit(stage.Commit)
	hasNewer := has >= 0 && s.Snapshot.Chain.Contains(has, i)
	got, after := stage.FindTurn(s.Snapshot.Chain.Commits[i].ID)
	if got != nil {
		stop.Since = got.When
	}
	if after != nil && (stop.Mark == MarkIn || stop.Mark == MarkBack) {
		stop.Until = after.When
	}
	lane, lacks := status.FindMissingLane(s.Snapshot.Chain, stage, i)
	lacks = lacks && cmp.Or(lane.Reason, lane.Hold) != ""
	switch stop.Mark {
	case MarkHas, MarkProposed, MarkLane:
		stop.Since = stage.Since
		if stop.Mark != MarkHas && !stage.Merged {
			stop.Reason = e.proposedReason()
		}
	case MarkRuns:
		stop.Newer, stop.Reason = e.Commit, e.proposedReason()
	case MarkIn, MarkWithin:
		stop.Newer = e.Commit
	case MarkBack:
		stop.Back = &Back{*s.describeCommit(after.Commit), after.When, after.Who, after.Reason}
		if hasNewer {
			stop.Newer = e.Commit
		} else {
			stop.Reason = e.Reason
		}
	case MarkNext, MarkWith, MarkLeftOut:
		stop.Reason, stop.Newer = e.Reason, e.Next
		if hasNewer {
			stop.Newer, stop.Reason = e.Commit, e.proposedReason()
		} else if stage.Next.State != promote.Promotes {
			stop.Gates = findWaiting(stage.Next.Verdict)
			if waitsForOthers(stage.Next) { // the reason may be about the commit that the environment has
				stop.Reason = stage.CandidateReason()
			}
		}
	case MarkNot:
		stop.Reason = e.Reason
		if stage.Next.Candidate != "" && stage.Next.Candidate != stage.Commit {
			stop.Reason = fmt.Sprintf("the older %s comes first", text.ShortCommit(stage.Next.Candidate))
			if stage.Next.State != promote.Promotes {
				stop.Reason += ": " + e.Reason
			}
		}
		if len(stage.After) > 0 && stage.Next.Candidate == "" && stage.Hold == "" && s.At == "" {
			stop.Reason = "waits until it is verified in " + strings.Join(stage.After, ", ")
			if e.Blocker != nil {
				stop.Reason += fmt.Sprintf("; %s: %s", e.Blocker.Environment, e.Blocker.Reason)
				stop.Environment.Pull = cmp.Or(e.Pull, e.Blocker.Pull)
			}
		}
	}
	if lacks && slices.Contains([]string{MarkNext, MarkWith, MarkLeftOut, MarkNot}, stop.Mark) { // it may get there before the rest
		stop.Reason, stop.Gates = fmt.Sprintf("lane %s waits: %s", lane.Name, cmp.Or(lane.Reason, "held: "+lane.Hold)), nil
	}
	return stop
}

func (e Environment) proposedReason() string {
	switch {
	case e.CommitState.Word == string(status.StageProblems):
		return e.Reason
	case e.Pull == nil:
		return "its output is not merged yet"
	case e.CommitState.Word == string(status.StageDeclined):
		return e.Reason
	}
	return fmt.Sprintf("waits for pull request %d", e.Pull.Number)
}

// markState returns the state of a commit in an environment by what it is to it: where the environment was
// promoted to it, the state that the environment's commit has.
func markState(mark string, of State) State {
	switch mark {
	case MarkHas, MarkProposed, MarkLane:
		return of
	case MarkRuns:
		return State{Good, "runs"}
	case MarkIn:
		return State{Good, "had it"}
	case MarkBack:
		return State{Stopped, "gone back"}
	case MarkLeftOut, MarkWithin:
		return State{Unknown, "left out"}
	case MarkUnknown:
		return State{Unknown, "unknown"}
	}
	return arrivalStates[promote.ArrivalWaits]
}

// ListGates returns the parts of a verdict: each gate once, and not the set that they are in besides, nor the freezes,
// which the reason of their gate names.
func ListGates(v gate.Verdict) (all []gate.Verdict) {
	for _, p := range v.Parts {
		if p.Gate == "gates" && len(p.Parts) > 0 {
			all = append(all, p.Parts...)
		} else {
			all = append(all, p)
		}
	}
	for i := range all {
		if all[i].Gate == gate.FreezeGate {
			all[i].Parts = nil
		}
	}
	return all
}

func findWaiting(v gate.Verdict) (waiting []gate.Verdict) {
	for _, p := range ListGates(v) {
		if p.Status != gate.Pass {
			p.Parts = findWaiting(p)
			waiting = append(waiting, p)
		}
	}
	return waiting
}
