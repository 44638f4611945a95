package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// Assignment is the answer of /api/v1/assignments/{environment}/{clusterType}/{target}: one deployment target on
// one cluster type, whether it is assigned or not.
type Assignment struct {
	AssignmentPart
	Ledger      bool   `json:"ledger"`
	LedgerFails bool   `json:"ledgerFails,omitempty"`
	Assigned    bool   `json:"assigned"`
	Workload    string `json:"workload,omitempty"`
	Team        string `json:"team,omitempty"`
	// Policies are all policies of the environment: those that select it first, then the nearest.
	Policies []PolicyOpinion `json:"policies"`
	// Standings is how many clusters of the type are in each state, and Versions what they run.
	Standings []StandingCount  `json:"standings,omitempty"`
	Versions  []ClusterVersion `json:"versions,omitempty"`
	// Ran is what clusters had reported of the objects of the target at a time in the past, as far as it was kept.
	// Applied is what they had reported of what applies their output, where they had reported nothing of the target.
	Ran     []fleetview.PastRun `json:"ran,omitempty"`
	Applied []fleetview.PastRun `json:"applied,omitempty"`
	Written WorkloadTarget      `json:"written"`
	Type    WrittenObject       `json:"type"`
	// Elsewhere is the same target on the same type in the other environments that have both.
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"`
}

// SetPastRuns sets what clusters had reported at a time in the past.
func (s Source) SetPastRuns(a *Assignment, ran []fleetview.PastRun) {
	a.Ran = ran
	if a.Assigned && len(ran) == 0 {
		a.Applied = fleetview.CountPastRuns(s.Then, a.Environment, a.ClusterType)
	}
}

// PolicyOpinion is whether a policy selects an assignment. If it does not, ClusterType and Target are why.
type PolicyOpinion struct {
	WrittenObject
	Selected    bool   `json:"selected"`
	ClusterType string `json:"clusterType,omitempty"`
	Target      string `json:"target,omitempty"`
}

// WrittenObject is an object of the control plane, and where it is written.
type WrittenObject struct {
	Name   string  `json:"name"`
	Place  string  `json:"place"`
	URL    string  `json:"url,omitempty"`
	Labels []Label `json:"labels"`
}

// StandingCount is how many clusters are in a state.
type StandingCount struct {
	State    State `json:"state"`
	Clusters int   `json:"clusters"`
}

// ClusterVersion is a version, and how many clusters run it.
type ClusterVersion struct {
	Version  string `json:"version"` // "" if they have none yet
	Clusters int    `json:"clusters"`
}

// Elsewhere is an assignment in another environment.
type Elsewhere struct {
	AssignmentPart
	Assigned bool `json:"assigned"`
}

// Assignment returns what is known of a deployment target on a cluster type, and whether the environment has
// both.
func (s Source) Assignment(environment, clusterType, target string) (Assignment, bool) {
	a, assigned, ok := s.findAssignment(environment, clusterType, target)
	if !ok {
		return Assignment{}, false
	}
	answer := Assignment{
		AssignmentPart: a.describe(), Ledger: s.Ledger, LedgerFails: s.LedgerFails, Assigned: assigned, Workload: a.target.Workload, Team: a.target.Workspace,
		Written: s.describeTarget(environment, a.target), Type: s.describeObject(environment, &a.clusterType.Object), Policies: []PolicyOpinion{},
	}
	for _, v := range s.Snapshot.Plans[environment].EvaluatePolicies(schedule.Assignment{ClusterType: a.clusterType, Target: a.target}) {
		answer.Policies = append(answer.Policies, PolicyOpinion{s.describeObject(environment, &v.Policy.Object), v.Selected, v.ClusterType, v.Target})
	}
	slices.SortStableFunc(answer.Policies, func(a, b PolicyOpinion) int { return cmp.Compare(a.lacks(), b.lacks()) })
	if assigned && s.Assigned[environment] != nil {
		answer.Standings, answer.Versions = listStandings(s.Assigned[environment].Find(clusterType, target))
	}
	for _, other := range s.Names() {
		if b, has, ok := s.findAssignment(other, clusterType, target); ok && other != environment {
			answer.Elsewhere = append(answer.Elsewhere, Elsewhere{b.describe(), has})
		}
	}
	return answer, true
}

func (p PolicyOpinion) lacks() int {
	n := 0
	for _, why := range []string{p.ClusterType, p.Target} {
		if why != "" {
			n++
		}
	}
	return n
}

func (s Source) findAssignment(environment, clusterType, target string) (a assignment, assigned, ok bool) {
	plan := s.Snapshot.Plans[environment]
	if plan == nil {
		return a, false, false
	}
	m := plan.Model()
	i, hasType := model.IndexOf(m.ClusterTypes, clusterType)
	j, hasTarget := model.IndexOf(m.Targets, target)
	if removed, isThere := s.findRemoval(environment, clusterType, target); isThere {
		if s.Ledger && !s.LedgerFails {
			removed.judge(s.Assigned[environment])
		}
		return removed, true, true
	}
	if !hasType || !hasTarget {
		return a, false, false
	}
	a = assignment{environment: environment, clusterType: m.ClusterTypes[i], target: m.Targets[j], wanted: WantedVersion(m.Targets[j]), rank: noRank}
	assigned = plan.Targets(i).Has(j)
	if assigned && s.Ledger && !s.LedgerFails {
		a.judge(s.Assigned[environment])
	}
	return a, assigned, true
}

// ListMissing returns which of a cluster type and a deployment target an environment does not have.
func (s Source) ListMissing(environment, clusterType, target string) (missing []string) {
	m := &model.Model{}
	if plan := s.Snapshot.Plans[environment]; plan != nil {
		m = plan.Model()
	}
	if _, known := model.IndexOf(m.ClusterTypes, clusterType); !known {
		missing = append(missing, fmt.Sprintf("cluster type %q", clusterType))
	}
	if _, known := model.IndexOf(m.Targets, target); !known {
		missing = append(missing, fmt.Sprintf("deployment target %q", target))
	}
	return missing
}

// listStandings returns how many clusters are in each state, the most urgent first, and what they run.
func listStandings(counts fleetview.Counts, versions []fleetview.AssignedVersion) (all []StandingCount, runs []ClusterVersion) {
	for class, n := range slices.Backward(counts[:]) {
		if n > 0 {
			all = append(all, StandingCount{assignedStates[assignedRanks[class]], n})
		}
	}
	for _, v := range versions {
		runs = append(runs, ClusterVersion{v.Name, v.Clusters})
	}
	return all, runs
}

func (s Source) describeObject(environment string, o *model.Object) WrittenObject {
	return WrittenObject{o.Name, o.Pos.String(), s.findPlacePage(environment, o.Pos), listLabels(o.Labels)}
}

func isOwnLabel(key string) bool { return strings.HasPrefix(key, "kustomize.toolkit.fluxcd.io/") }
