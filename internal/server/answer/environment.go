package answer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// maxEdits bounds the commits of its own branch that the page of an environment lists.
const maxEdits = 5

// OneEnvironment is the answer of /api/v1/environments/{name}: the report of an environment, and what belongs
// to it of the other answers.
type OneEnvironment struct {
	Report status.Environment
	EnvironmentParts
}

// EnvironmentParts is what OneEnvironment has besides the report. JSON has both in one object.
type EnvironmentParts struct {
	// ProblemCount counts all problems, of which the report has those that are shown.
	ProblemCount int         `json:"problemCount"`
	Situation    Environment `json:"situation"`
	// Need is what stays as it is until a person acts; nil for nothing.
	Need *Need `json:"need,omitempty"`
	// Stage is how far it has got; nil if it is not promoted to.
	Stage *status.Stage `json:"stage,omitempty"`
	// Coming are the commits that come with the next one, newest first.
	Coming []Commit `json:"coming,omitempty"`
	// LeftOut are those that it does not get because the next one contains them.
	LeftOut []Commit    `json:"leftOut,omitempty"`
	Lanes   []LanePlace `json:"lanes,omitempty"`
	// Releases are the versions of applications that lanes promote.
	Releases []LanePlace `json:"releases,omitempty"`
	// Edits are the newest commits of its own branch, newest first.
	Edits []Commit `json:"edits,omitempty"`
	// Problems are those of the report, with their places at the forge.
	Problems []Problem `json:"problemPlaces,omitempty"`
	// Laggards are clusters that are not ready, and MoreLaggards counts those that are not named.
	Laggards     []fleetview.Laggard `json:"laggards,omitempty"`
	MoreLaggards int                 `json:"moreLaggards,omitempty"`
	// Groups are how the clusters of each group stand that its list of clusters names.
	Groups []fleetview.Group `json:"groups,omitempty"`
	StackTotals
	Ledger      bool `json:"ledger"`
	LedgerFails bool `json:"ledgerFails,omitempty"`
}

// MarshalJSON returns one object of both.
func (e OneEnvironment) MarshalJSON() ([]byte, error) {
	report, err := json.Marshal(e.Report)
	if err != nil {
		return nil, err
	}
	parts, err := json.Marshal(e.EnvironmentParts)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	for _, data := range [][]byte{report, parts} {
		err = json.Unmarshal(data, &all)
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (e *OneEnvironment) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, &e.Report)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &e.EnvironmentParts)
}

// Environment returns what is known of one environment, and whether there is one of that name.
func (s Source) Environment(name string) (OneEnvironment, bool) {
	report, reported := s.Snapshot.FindEnvironment(name)
	stage, promoted := s.Snapshot.Chain.FindStage(name)
	if !reported && !promoted {
		return OneEnvironment{}, false
	}
	report.Name = name
	parts := EnvironmentParts{ProblemCount: len(report.Problems), Groups: s.Groups, StackTotals: sumStacks(s, name), Ledger: s.Ledger, LedgerFails: s.LedgerFails}
	if promoted {
		parts.Stage = &stage
		parts.Coming, parts.Lanes, parts.Releases = s.listComing(stage), listPlaces(s, stage), listReleasePlaces(stage)
		for _, id := range stage.Next.Skipped {
			parts.LeftOut = append(parts.LeftOut, *s.describeCommit(id))
		}
		for _, c := range stage.Edits[:min(len(stage.Edits), maxEdits)] {
			parts.Edits = append(parts.Edits, describeEdit(s, name, c))
		}
	}
	for _, p := range report.ShownProblems() {
		parts.Problems = append(parts.Problems, s.describeProblem(p, []string{name}, s.listInputs()))
	}
	parts.Situation = s.describeEnvironment(report, parts.Stage)
	parts.Need = findNeed(s, Stop{Environment: parts.Situation, Mark: MarkHas})
	if !reported { // the next cycle looks at it
		report.State = status.Waiting
	}
	i := slices.IndexFunc(s.Clusters, func(o fleetview.Overview) bool { return o.Environment == name })
	if i >= 0 {
		one := s.Clusters[i]
		parts.Laggards, parts.MoreLaggards = one.Laggards.Items, one.Expected-one.Ready
		for _, l := range parts.Laggards {
			parts.MoreLaggards -= l.Clusters
		}
	}
	return OneEnvironment{report, parts}, true
}

// Names returns the names of all environments, those that are promoted to first.
func (s Source) Names() []string {
	var names []string
	for _, stage := range s.Snapshot.Chain.Stages {
		names = append(names, stage.Environment)
	}
	for _, e := range s.Snapshot.Environments {
		if _, promoted := s.Snapshot.Chain.FindStage(e.Name); !promoted {
			names = append(names, e.Name)
		}
	}
	return names
}

// listComing returns the commits that come with the next one of an environment, newest first.
func (s Source) listComing(stage status.Stage) []Commit {
	chain := s.Snapshot.Chain
	from, to := chain.IndexCommit(stage.Next.Candidate), chain.IndexCommit(stage.Commit)
	if from < 0 || to < from {
		return nil
	}
	var coming []Commit
	for _, c := range chain.Commits[from:to] {
		coming = append(coming, *s.describeCommit(c.ID))
	}
	return coming
}

// Environments is the answer of /api/v1/environments: their reports, and what all pages say of them.
type Environments struct {
	Reports    []status.Environment `json:"environments"`
	Situations []Environment        `json:"situations"`
}

// EnvironmentFilter selects environments, by a part of the name and by the tone or the word of the state; "" is any.
type EnvironmentFilter struct {
	Text, State string
}

// Environments returns what is known of the environments that are asked for.
func (s Source) Environments(f EnvironmentFilter) Environments {
	shown := Environments{[]status.Environment{}, []Environment{}}
	for _, e := range s.listEnvironments() {
		if e.State.matches(f.State) && strings.Contains(strings.ToLower(e.Name), strings.ToLower(f.Text)) {
			shown.Situations = append(shown.Situations, e)
		}
	}
	for _, e := range s.Snapshot.Environments {
		if slices.ContainsFunc(shown.Situations, func(one Environment) bool { return one.Name == e.Name }) {
			shown.Reports = append(shown.Reports, e)
		}
	}
	return shown
}
