// Package status holds the latest reports of environments, repositories, cycles and promotions in
// memory, for display.
//
// Reports are replaced as a whole. A [Snapshot] is immutable. The start of a state survives checks.
// Lists are sorted. Nothing is decided by these values, so a restart only loses resolved problems.
// Times come from reports.
package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/impact"
)

// State is the state of an environment.
type State string

// The states of an environment.
const (
	InSync   State = "in-sync"
	Proposed State = "proposed"
	Declined State = "declined"
	Edited   State = "edited"   // another author's commit on our branch stops updates
	Foreign  State = "foreign"  // the branch for our proposal is not ours
	Problems State = "problems" // problems of the control plane stop it
	Failed   State = "failed"
	DryRun   State = "dry-run" // there is a change, and writing is off
	Waiting  State = "waiting" // not checked yet
)

// AllStates returns all states in the order of declaration.
func AllStates() []State {
	return []State{InSync, Proposed, Declined, Edited, Foreign, Problems, Failed, DryRun, Waiting}
}

const maxProblems = 100

// Environment is the latest report of one environment.
type Environment struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Reason is the reason for the state, in one sentence that ends with Notes.
	Reason string `json:"reason"`
	// Notes are facts that do not depend on the pull request.
	Notes []string `json:"-"`
	// MergeReason is what the pull request waits for, or why it is LeftToPeople; "" if it only
	// waits for a person.
	MergeReason  string `json:"-"`
	LeftToPeople bool   `json:"-"`
	// Teardowns describes stacks that are torn down and cluster manifests that wait for reports; ""
	// for none. It is also in Notes.
	Teardowns string `json:"teardowns,omitempty"`
	// Problems has all problems; JSON has ShownProblems, and their full number as problemCount.
	Problems problem.List `json:"problems"`
	Inputs   []Input      `json:"inputs"`
	Output   Output       `json:"output"`
	// Pull is the open or closed pull request, if any.
	Pull *Pull `json:"pull,omitempty"`
	// StalePull is the open pull request of an environment stopped by problems: it proposes an
	// older state.
	StalePull *Pull `json:"stalePull,omitempty"`
	// PlanPulls are the open pull requests of the control plane that ask for a plan after drift, by stack and component.
	PlanPulls map[string]*Pull `json:"-"`
	// Withheld has the reasons why only a person may merge.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Removals are previous locations whose output must be removed. Store.SetRemovals sets them.
	Removals []Removal `json:"removals,omitempty"`
	// Change is the impact in one line; "" if nothing changes.
	Change string `json:"change,omitempty"`
	// Impact is the change of the pull request, as several lines of text.
	Impact string `json:"-"`
	// Proposed is the change of the branch; nil for none. It is immutable.
	Proposed     *impact.Report `json:"-"`
	Assignments  int            `json:"assignments"`
	ClusterTypes int            `json:"clusterTypes"`
	// HasStacks is true if the output has stacks, even ones being destroyed.
	HasStacks bool `json:"hasStacks,omitempty"`
	// HasClusters is true if the output has provisioned clusters, even ones being destroyed.
	HasClusters bool `json:"hasClusters,omitempty"`
	// Since is the time when State or Reason last changed. Store.SetEnvironment sets it.
	Since time.Time `json:"since,omitzero"`
	// Checked is the time of the report.
	Checked time.Time `json:"checked,omitzero"`
	// Took is the duration of the check; JSON has it as tookSeconds.
	Took time.Duration `json:"-"`
	// Error is the failure, without secrets; "" for none.
	Error string `json:"error,omitempty"`
	// Unreachable are the remotes that Error is about.
	Unreachable []string `json:"-"`
}

// EmptyReason returns where to look if nothing is assigned and nothing else needs attention, or "".
func (e Environment) EmptyReason() string {
	if e.State != InSync || e.Assignments > 0 || e.HasStacks || e.HasClusters || e.Reason != "" {
		return ""
	}
	return fmt.Sprintf("0 assignments: see fairlead check -e %s, and https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/add-a-workload.md", e.Name)
}

// ShownPull returns the pull request for lists, unless merged; nil for none.
func (e Environment) ShownPull() *Pull {
	if e.State == InSync {
		return nil
	}
	return cmp.Or(e.Pull, e.StalePull)
}

// StateWord returns the state, or "empty" if it is in sync without assignments.
func (e Environment) StateWord() string {
	if e.EmptyReason() != "" {
		return "empty"
	}
	return string(e.State)
}

// IsForPerson reports whether only a person will merge the open pull request.
func (e Environment) IsForPerson() bool {
	if e.State != Proposed && (e.State != DryRun || e.Pull == nil) {
		return false
	}
	return len(e.Withheld) > 0 || e.Pull != nil && (e.MergeReason == "" || e.LeftToPeople)
}

// Input is a commit that the output was rendered from.
type Input struct {
	// Layer is "base", the environment's name, or that of a workload registration.
	Layer string `json:"layer"`
	// Repo is the URL or folder of the repository, without secrets.
	Repo   string `json:"repo"`
	Commit string `json:"commit"`
	// Folder is the part of the repository that is read; "" for all of it.
	Folder string `json:"folder,omitempty"`
	// About describes Commit; zero if unknown.
	About Commit `json:"-"`
	// Promotes is set if Commit only records a promotion.
	Promotes bool `json:"-"`
}

// Output is the location of an environment's output.
type Output struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Folder string `json:"folder,omitempty"`
	// Head is the commit of the branch; "" if there is no branch.
	Head string `json:"head,omitempty"`
	// Wanted is the tree id that the folder should have.
	Wanted string `json:"wanted,omitempty"`
	// Commit is the proposed commit; "" for none.
	Commit string `json:"commit,omitempty"`
}

// Pull is a pull request.
type Pull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	// URL is its page; "" if the forge has no pages.
	URL string `json:"url,omitempty"`
	// Head is the proposed commit.
	Head string `json:"head"`
	// Closed is the reason for closing it; "" if unknown or open.
	Closed string `json:"closed,omitempty"`
}

// Withheld is a reason why only a person may merge an environment's output.
type Withheld struct {
	// Cause is "hold", "freeze", "removals", "changes" or "place".
	Cause  string `json:"cause"`
	Reason string `json:"reason"`
	// Acknowledge names the change for fairlead approve --removals; "" if that does not end it.
	Acknowledge string `json:"acknowledge,omitempty"`
}

// Remote is the state of a remote repository.
type Remote struct {
	// URL has no secrets: the caller removes them.
	URL string `json:"url"`
	// Error is the failure of the last attempt; "" for none.
	Error string `json:"error,omitempty"`
	// Failures counts failed attempts in a row, and Since is the time of the first.
	Failures int       `json:"failures"`
	Since    time.Time `json:"since,omitzero"`
	// NextTry is the earliest time of the next attempt.
	NextTry time.Time `json:"nextTry,omitzero"`
	Checked time.Time `json:"checked,omitzero"`
}

// The outcomes of a cycle.
const (
	OutcomeOK     = "ok"
	OutcomeFailed = "failed"
)

// Cycle is a finished cycle.
type Cycle struct {
	// Number counts from 1 since the start of the process.
	Number  int64     `json:"number"`
	Started time.Time `json:"started,omitzero"`
	// Took is the duration; JSON has it as tookSeconds.
	Took time.Duration `json:"-"`
	// Next is the planned time of the next cycle.
	Next time.Time `json:"next,omitzero"`
	// Outcome is OutcomeOK or OutcomeFailed.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
}

// ShownProblems returns at most 100 problems: first those that stop the environment, then warnings.
func (e Environment) ShownProblems() problem.List {
	shown := make(problem.List, 0, min(len(e.Problems), maxProblems))
	for _, warning := range []bool{false, true} {
		for _, p := range e.Problems {
			if p.Warning == warning && len(shown) < maxProblems {
				shown = append(shown, p)
			}
		}
	}
	return shown
}

// MarshalJSON encodes the shown problems, their full number, and the duration in seconds.
func (e Environment) MarshalJSON() ([]byte, error) {
	type fields Environment // without MarshalJSON, which would recurse
	shown := fields(e)
	shown.Problems = e.ShownProblems()
	if shown.Inputs == nil {
		shown.Inputs = []Input{}
	}
	return json.Marshal(struct {
		fields
		ProblemCount int     `json:"problemCount"`
		TookSeconds  float64 `json:"tookSeconds"`
	}{shown, len(e.Problems), e.Took.Seconds()})
}

// UnmarshalJSON reads the output of MarshalJSON, so Problems has only the shown ones.
func (e *Environment) UnmarshalJSON(data []byte) error {
	type fields Environment
	var read struct {
		fields
		TookSeconds float64 `json:"tookSeconds"`
	}
	err := json.Unmarshal(data, &read)
	*e = Environment(read.fields)
	e.Took = time.Duration(read.TookSeconds * float64(time.Second)).Round(time.Microsecond)
	return err
}

// UnmarshalJSON reads the output of MarshalJSON.
func (c *Cycle) UnmarshalJSON(data []byte) error {
	type fields Cycle
	var read struct {
		fields
		TookSeconds float64 `json:"tookSeconds"`
	}
	err := json.Unmarshal(data, &read)
	*c = Cycle(read.fields)
	c.Took = time.Duration(read.TookSeconds * float64(time.Second)).Round(time.Microsecond)
	return err
}

// MarshalJSON encodes the duration in seconds.
func (c Cycle) MarshalJSON() ([]byte, error) {
	type fields Cycle
	return json.Marshal(struct {
		fields
		TookSeconds float64 `json:"tookSeconds"`
	}{fields(c), c.Took.Seconds()})
}

func (e Environment) clone() Environment {
	e.Problems = slices.Clone(e.Problems)
	e.Notes = slices.Clone(e.Notes)
	e.Inputs = slices.Clone(e.Inputs)
	e.Withheld = slices.Clone(e.Withheld)
	e.Removals = cloneRemovals(e.Removals)
	e.Pull, e.StalePull, e.PlanPulls = e.Pull.clone(), e.StalePull.clone(), maps.Clone(e.PlanPulls)
	return e
}

func (p *Pull) clone() *Pull {
	if p == nil {
		return nil
	}
	return new(*p)
}
