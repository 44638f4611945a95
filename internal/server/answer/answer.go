// Package answer is what the page and the API say of the daemon's state.
//
// What the package keeps true: an answer is a value that JSON can carry, and the page is made from it
// alone; an environment has one state, whichever answer it is in; what clusters run is what they have
// reported, and nothing where there is no ledger.
package answer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Source is what answers are made from.
type Source struct {
	Snapshot status.Snapshot
	Version  string
	// Now is when it was read.
	Now time.Time
	// Reasons are why the daemon is not ready.
	Reasons []string
	// Overdue are the environments that have not finished a cycle for too long.
	Overdue []status.Unfinished
	// Viewers is how many pages follow the state.
	Viewers int
	// Ledger reports whether clusters can report, and LedgerFails whether they cannot be asked about now.
	Ledger, LedgerFails bool
	// Clusters are those of each environment, and Refused is how many of their reports were refused in the
	// last 24 hours.
	Clusters []fleetview.Overview
	Refused  int
	// Assigned is how clusters stand to what is assigned, by environment; nil where that was not asked.
	Assigned map[string]*fleetview.AssignedRuns
	// Reported are clusters by name, Objects what those of one have reported, and ReportedNames the names of all
	// clusters, sorted; nil where that was not asked.
	Reported      []fleetview.Cluster
	Objects       []fleetview.ClusterObject
	ReportedNames []string
	// At is the time that is asked about, as it was written; "" for now. Then the chain and the environments are as Git
	// has them of that time.
	At string
	// Then is what clusters had reported at the time that is asked about, as far as it was kept; nil of the present.
	Then []fleetview.PastCluster
	// Releases are those of the deployment targets of one workload, and MoreReleases reports that there may be
	// others; nil where that was not asked.
	Releases     []fleetview.Release
	MoreReleases bool
	// Actions are what people and Fairlead did, the newest first, and HeadForecast is when the newest commit gets to
	// each environment; zero where that was not asked.
	Actions      []history.Entry
	HeadForecast HeadForecast
	// Groups are how the groups of the environment stand that was asked about; nil where that was not asked.
	Groups []fleetview.Group
	// StackReports are what clusters say of the objects of stacks; nil if there is no ledger.
	StackReports map[StackObject][]stackview.Report
	// StackSpans are what clusters have reported of the objects that the components of one stack are made of; nil where that was not asked.
	StackSpans map[StackObject][]StackSpan
}

// Status is the answer of /api/v1/status.
type Status struct {
	Version string `json:"version"`
	// State is that of Fairlead itself, as the head of each page has it.
	State   State    `json:"state"`
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why it is not ready
	// Overdue are the environments that have not finished a cycle for too long.
	Overdue []status.Unfinished `json:"overdue"`
	// Credentials are those of the settings that the API of a forge was opened with, sorted by URL.
	Credentials []Credential `json:"credentials"`
	// Examination is what was found when the set-up was checked last.
	Examination status.Examination `json:"examination"`
	// Viewers is how many pages follow the state.
	Viewers int `json:"viewers"`
	status.Snapshot
}

// Status returns the whole state.
func (s Source) Status() Status {
	state, _ := s.Health()
	return Status{s.Version, state, len(s.Reasons) == 0, append([]string{}, s.Reasons...), append([]status.Unfinished{}, s.Overdue...), s.Credentials(), s.examination(), s.Viewers, s.Snapshot}
}

// Tone is how much a state asks of people.
type Tone = status.Tone

// The tones, by rising urgency.
const (
	Good    = status.ToneGood
	Busy    = status.ToneBusy
	Waiting = status.ToneWaiting
	Unknown = status.ToneUnknown
	Stopped = status.ToneStopped
	Bad     = status.ToneBad
)

// AllTones returns all tones, by rising urgency.
func AllTones() []Tone { return status.AllTones() }

// CompareUrgency orders tones by rising urgency.
func CompareUrgency(a, b Tone) int { return status.CompareUrgency(a, b) }

// State is the one state of an environment.
type State struct {
	Tone Tone   `json:"tone"`
	Word string `json:"word"` // as fairlead status shows it
}

func (s State) matches(asked string) bool {
	return asked == "" || IsSameState(asked, string(cmp.Or(s.Tone, Unknown))) || IsSameState(asked, s.Word)
}

// IsSameState reports whether two words are the same state: the page writes "rolling out" for "rolling-out".
func IsSameState(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", " "), strings.ReplaceAll(b, "-", " "))
}

// EnvironmentWords returns the words of the states that environments may have.
func EnvironmentWords() []string {
	words := list.Convert(status.AllStageStates(), func(s status.StageState) string { return string(s) })
	return append(words, string(status.InSync))
}

// Environment is what all pages say of an environment.
type Environment struct {
	Name  string   `json:"name"`
	After []string `json:"after,omitempty"`
	// Promoted reports whether it is in the order of promotion.
	Promoted bool  `json:"promoted"`
	State    State `json:"state"`
	// StateSince is when State began; zero if that was before the daemon started.
	StateSince time.Time `json:"stateSince,omitzero"`
	// Deletes is how many things on clusters the open pull request deletes.
	Deletes int `json:"deletes,omitempty"`
	// Reason is what a person has to do, or what it waits for, in one sentence.
	Reason string `json:"reason,omitempty"`
	// Commit is the commit of the base that it has, and Next the one that it gets or waits for.
	Commit *Commit `json:"commit,omitempty"`
	// CommitState is the state of Commit there, and Merged whether its output is merged: before, clusters run
	// another one.
	CommitState State `json:"commitState,omitzero"`
	Merged      bool  `json:"merged,omitempty"`
	// Runs is the commit whose output is merged, while that of Commit is not; nil if it is not known.
	Runs   *Commit      `json:"runs,omitempty"`
	Since  time.Time    `json:"since,omitzero"`
	Behind int          `json:"behind"`
	Next   *Commit      `json:"next,omitempty"`
	Hold   string       `json:"hold,omitempty"`
	Pull   *status.Pull `json:"pull,omitempty"`
	// Clusters is how those stand that should have its output; nil if nothing is known of any.
	Clusters *fleetview.Standing `json:"clusters,omitempty"`
	// Ran is what clusters had reported at a time in the past, the most frequent first, as far as it was kept.
	Ran []fleetview.PastRun `json:"ran,omitempty"`
	// Blocker is what keeps all commits from it; nil if it has a candidate or the newest commit.
	Blocker *Blocker `json:"blocker,omitempty"`
}

// Commit is a commit of the base, with its page at the forge.
type Commit struct {
	status.Commit
	URL string `json:"url,omitempty"`
}

// describeCommit returns what people know a commit by; nil for none.
func (s Source) describeCommit(id string) *Commit {
	if id == "" {
		return nil
	}
	return &Commit{s.Snapshot.Chain.FindCommit(id), giturl.CommitPage(s.findRepo("base"), id)}
}

func describeEdit(s Source, environment string, c status.Commit) Commit {
	return Commit{c, giturl.CommitPage(s.findRepo(environment), c.ID)}
}

// Commit returns what people know a commit of the base by.
func (s Source) Commit(id string) *Commit { return s.describeCommit(id) }

// findRepo returns the repository of a layer, and the commit of it that was read last; "" if it is not known.
func (s Source) findRepo(layer string) string {
	for _, e := range s.Snapshot.Environments {
		for _, in := range e.Inputs {
			if in.Layer == layer {
				return in.Repo
			}
		}
	}
	return ""
}

func (s Source) listEnvironments() []Environment {
	all := []Environment{}
	for _, name := range s.Names() {
		report, _ := s.Snapshot.FindEnvironment(name)
		report.Name = name
		var shown *status.Stage
		if stage, promoted := s.Snapshot.Chain.FindStage(name); promoted {
			shown = &stage
		}
		all = append(all, s.describeEnvironment(report, shown))
	}
	return all
}

// describeEnvironment returns what pages say of an environment; stage is nil if it is not promoted to.
func (s Source) describeEnvironment(e status.Environment, stage *status.Stage) Environment {
	if s.At != "" {
		return s.describePast(e.Name, stage)
	}
	shown := Environment{Name: e.Name, State: findState(e, stage), Reason: e.Reason, Since: e.Since}
	shown.StateSince = s.Snapshot.ShownSince[e.Name]
	if e.State != status.InSync { // a merged one is no news
		shown.Pull = e.Pull
	}
	if shown.Pull != nil && e.Proposed != nil {
		shown.Deletes = countDeletions(*e.Proposed)
	}
	if i := slices.IndexFunc(s.Clusters, func(o fleetview.Overview) bool { return o.Environment == e.Name && o.Expected > 0 }); i >= 0 {
		shown.Clusters = &s.Clusters[i].Standing
	}
	if stage == nil {
		return shown
	}
	shown.Promoted, shown.After, shown.Commit, shown.Since, shown.Behind = true, stage.After, s.describeCommit(stage.Commit), stage.Since, stage.Behind
	shown.Hold, shown.Reason = stage.Hold, cmp.Or(stage.ActionOnPage, stage.NextAction())
	shown.CommitState, shown.Merged = findCommitState(e, *stage), stage.Merged
	if runs := s.findRunning(*stage); stage.Commit != "" && runs != stage.Commit {
		shown.Runs = s.describeCommit(runs)
	}
	if stage.Next.Candidate != stage.Commit {
		shown.Next = s.describeCommit(stage.Next.Candidate)
	}
	if e.EmptyReason() != "" && stage.Commit != "" {
		shown.Reason = e.EmptyReason()
	}
	if shown.Clusters != nil && shown.Clusters.Drifted > 0 && shown.State.Tone == Good { // it was verified before
		shown.Reason = strings.TrimPrefix(shown.Reason+"; "+text.Count(shown.Clusters.Drifted, "cluster")+" drifted since", "; ")
	}
	shown.Blocker = s.findBlocker(*stage)
	return shown
}

func countDeletions(r impact.Report) (n int) {
	for _, g := range r.Groups {
		if g.Risk == impact.Deletes {
			n += g.Count
		}
	}
	return n
}

// findState returns the one state of an environment; stage is nil if it is not promoted to.
func findState(e status.Environment, stage *status.Stage) State {
	word, tone := e.FindShown()
	if stage != nil {
		word, tone = stage.FindShown(e)
	}
	return State{tone, string(word)}
}

func findCommitState(e status.Environment, stage status.Stage) State {
	known := stage.KnownState()
	if known == status.StageProposed && (len(stage.Withheld) > 0 || e.IsForPerson()) {
		return State{Waiting, string(known)}
	}
	return State{known.Tone(), string(known)}
}

// isHeld reports whether a hold is what is most urgent of an environment, and isFrozen whether a freeze is.
func (e Environment) isHeld() bool { return e.State.Word == string(status.StageHeld) }

func (e Environment) isFrozen() bool { return e.State.Word == string(status.StageFrozen) }

// Overruled reports whether the verification of the commit has not passed though all clusters are ready: it is of
// the last cycle, or knows more than clusters report by themselves.
func (e Environment) Overruled() bool {
	word := status.StageState(e.CommitState.Word)
	return e.Clusters != nil && e.Clusters.Ready == e.Clusters.Expected && (word == status.StageFailed || word == status.StageRollingOut)
}
