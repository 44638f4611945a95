// Package status holds the latest reports of environments, repositories, cycles and promotions, in
// memory, for people to see.
//
// What the package keeps true: a report is replaced as a whole, and a [Snapshot] shares nothing
// with the [Store] that is ever changed, so that a reader never sees half a report; an environment keeps the time since
// when it is in its state, however often it is checked; lists are sorted; and nothing is decided by
// what is kept here, so that a restart loses nothing but what was resolved before. The package has no
// clock: times are those of reports.
package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/impact"
)

// State is one word for the state of an environment.
type State string

// The states of an environment.
const (
	InSync   State = "in-sync"  // its output is what it should be
	Proposed State = "proposed" // a pull request is open
	Declined State = "declined" // a person closed the pull request
	Edited   State = "edited"   // a commit of another author on our branch stops updates
	Foreign  State = "foreign"  // the branch that we would write is not ours
	Problems State = "problems" // the control plane has problems that stop it
	Failed   State = "failed"   // an operation failed
	DryRun   State = "dry-run"  // there is a change, and writing is off
	Waiting  State = "waiting"  // it has not been looked at yet, or waits for its turn
)

// AllStates returns all states, in the order in which they are declared.
func AllStates() []State {
	return []State{InSync, Proposed, Declined, Edited, Foreign, Problems, Failed, DryRun, Waiting}
}

// maxProblems is how many problems of an environment are shown.
const maxProblems = 100

// Environment is the latest report of one environment.
type Environment struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Reason is one sentence: why the state is what it is. It ends with Notes.
	Reason string `json:"reason"`
	// Notes say what else is to be known of the environment, whatever its pull request waits for.
	Notes []string `json:"-"`
	// MergeReason is what the open pull request waits for, or why it is LeftToPeople; "" if it waits for a person alone.
	MergeReason  string `json:"-"`
	LeftToPeople bool   `json:"-"`
	// Teardowns is which stacks the output tears down, and which manifests of clusters wait for reports, with what they
	// wait for; "" if there are none. It is one of Notes, or two.
	Teardowns string `json:"teardowns,omitempty"`
	// Problems has all problems; JSON has those of ShownProblems, and their number as problemCount.
	Problems problem.List `json:"problems"`
	Inputs   []Input      `json:"inputs"`
	Output   Output       `json:"output"`
	// Pull is the open pull request, or the one that was closed; nil without one.
	Pull *Pull `json:"pull,omitempty"`
	// StalePull is the open pull request of an environment that problems stop: it proposes what the files said before.
	StalePull *Pull `json:"stalePull,omitempty"`
	// Withheld is why only a person may merge what is proposed; nil if nothing requires it.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Removals are the locations that it has left, and whose output is still to be removed.
	// Store.SetRemovals keeps them.
	Removals []Removal `json:"removals,omitempty"`
	// Change is the impact in one line; "" if nothing changes.
	Change string `json:"change,omitempty"`
	// Impact is what the pull request changes, as text of several lines. It has an answer of its own in the
	// API.
	Impact string `json:"-"`
	// Proposed is the change from what the branch holds to what it should hold; nil if nothing changes. Nothing
	// may change it.
	Proposed     *impact.Report `json:"-"`
	Assignments  int            `json:"assignments"`
	ClusterTypes int            `json:"clusterTypes"`
	// HasStacks is true if the output has stacks, also such as are being destroyed.
	HasStacks bool `json:"hasStacks,omitempty"`
	// HasClusters is true if the output has clusters that the environment provisions, also such as are being destroyed.
	HasClusters bool `json:"hasClusters,omitempty"`
	// Since is when State or Reason last changed. Store.SetEnvironment keeps it.
	Since time.Time `json:"since,omitzero"`
	// Checked is when the report was made.
	Checked time.Time `json:"checked,omitzero"`
	// Took is how long that was; JSON has it as tookSeconds.
	Took time.Duration `json:"-"`
	// Error is what failed, without secrets; "" if nothing did.
	Error string `json:"error,omitempty"`
	// Unreachable are the URLs of the remotes whose failure Error is about.
	Unreachable []string `json:"-"`
}

// EmptyReason returns where to look if nothing is assigned in the environment, and nothing else is
// to be said about it; "" otherwise.
func (e Environment) EmptyReason() string {
	if e.State != InSync || e.Assignments > 0 || e.HasStacks || e.HasClusters || e.Reason != "" {
		return ""
	}
	return fmt.Sprintf("0 assignments: see fairlead check -e %s, and https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/add-a-workload.md", e.Name)
}

// ShownPull returns the pull request that people are shown in lists; nil for none. A merged one is no news.
func (e Environment) ShownPull() *Pull {
	if e.State == InSync {
		return nil
	}
	return cmp.Or(e.Pull, e.StalePull)
}

// StateWord returns the state for people: "empty" for an environment that is in sync because nothing
// is assigned in it.
func (e Environment) StateWord() string {
	if e.EmptyReason() != "" {
		return "empty"
	}
	return string(e.State)
}

// IsForPerson reports whether nothing but a person merges the open pull request of the environment: it is withheld, or
// merging is left to people there, or failed.
func (e Environment) IsForPerson() bool {
	if e.State != Proposed && (e.State != DryRun || e.Pull == nil) {
		return false
	}
	return len(e.Withheld) > 0 || e.Pull != nil && (e.MergeReason == "" || e.LeftToPeople)
}

// Input is a commit that the output was made of.
type Input struct {
	// Layer is "base", the environment's name, or that of a workload registration.
	Layer string `json:"layer"`
	// Repo is the URL or folder of the repository, without secrets.
	Repo   string `json:"repo"`
	Commit string `json:"commit"`
	// Folder is the part of the repository that is read; "" is all of it.
	Folder string `json:"folder,omitempty"`
	// About is what people know Commit by; zero if that is not known.
	About Commit `json:"-"`
	// Promotes reports whether Commit records that the environment was promoted to a commit of the base.
	Promotes bool `json:"-"`
}

// Output is the location that an environment is written to.
type Output struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Folder string `json:"folder,omitempty"`
	// Head is the commit of the branch; "" if there is no branch.
	Head string `json:"head,omitempty"`
	// Wanted is the id of the tree that the folder should hold.
	Wanted string `json:"wanted,omitempty"`
	// Commit is the commit that is proposed; "" if none is.
	Commit string `json:"commit,omitempty"`
}

// Pull is a pull request.
type Pull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	// URL is where people see it; "" if the forge has no pages.
	URL string `json:"url,omitempty"`
	// Head is the commit that it proposes.
	Head string `json:"head"`
	// Closed is why it was closed; "" if nobody said so, or it is open.
	Closed string `json:"closed,omitempty"`
}

// Withheld is a reason why only a person may merge an environment's output.
type Withheld struct {
	// Cause is one word: "hold", "freeze", "removals", "changes" or "place".
	Cause  string `json:"cause"`
	Reason string `json:"reason"`
	// Acknowledge names the change for fairlead approve --removals; "" if that does not
	// end it.
	Acknowledge string `json:"acknowledge,omitempty"`
}

// Remote is the state of one remote repository.
type Remote struct {
	// URL has no secrets: the caller removes them.
	URL string `json:"url"`
	// Error is what the last attempt failed with; "" if it did not.
	Error string `json:"error,omitempty"`
	// Failures is how many attempts in a row have failed, and Since when the first
	// of them did.
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

// Cycle is a cycle that has ended.
type Cycle struct {
	// Number counts from 1 since the start of the process.
	Number  int64     `json:"number"`
	Started time.Time `json:"started,omitzero"`
	// Took is how long it was; JSON has it as tookSeconds.
	Took time.Duration `json:"-"`
	// Next is when the next cycle is planned.
	Next time.Time `json:"next,omitzero"`
	// Outcome is OutcomeOK or OutcomeFailed.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
}

// ShownProblems returns the problems that people are shown, at most 100: those that stop the
// environment, then warnings, each in the order of the list.
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

// MarshalJSON returns the report with the problems that are shown, their full number, and the
// duration in seconds.
func (e Environment) MarshalJSON() ([]byte, error) {
	type fields Environment // has no MarshalJSON, which would call itself
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

// UnmarshalJSON reads what MarshalJSON has written. The problems are those that it shows.
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

// UnmarshalJSON reads what MarshalJSON has written.
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

// MarshalJSON returns the cycle with its duration in seconds.
func (c Cycle) MarshalJSON() ([]byte, error) {
	type fields Cycle
	return json.Marshal(struct {
		fields
		TookSeconds float64 `json:"tookSeconds"`
	}{fields(c), c.Took.Seconds()})
}

// clone returns a copy that shares nothing that can be written.
func (e Environment) clone() Environment {
	e.Problems = slices.Clone(e.Problems)
	e.Notes = slices.Clone(e.Notes)
	e.Inputs = slices.Clone(e.Inputs)
	e.Withheld = slices.Clone(e.Withheld)
	e.Removals = cloneRemovals(e.Removals)
	e.Pull, e.StalePull = e.Pull.clone(), e.StalePull.clone()
	return e
}

// clone returns a copy; nil for nil.
func (p *Pull) clone() *Pull {
	if p == nil {
		return nil
	}
	return new(*p)
}
