package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// regionLabel is the label of cluster types that says where their clusters are.
const regionLabel = "region"

// AssignmentFilter selects assignments; "" is any.
type AssignmentFilter struct {
	Environment, Workload, Target, Team, ClusterType, Region, Version string
	State                                                             string // its tone or its word
	Text                                                              string // in the name of the workload, the target or the cluster type
}

// assignment is one deployment target on one cluster type of an environment.
type assignment struct {
	environment string
	clusterType *model.ClusterType
	target      *model.Target
	// wanted is the version that its manifests name, and runs the one that most clusters run; "" if nothing
	// says it.
	wanted, runs string
	counts       fleetview.Counts
	// rank is that of the state, an index of assignedStates; noRank if there is no ledger.
	rank int
	why  fleetview.AssignedReason // of the state
	// removal is set if it is still there, and a change that is proposed removes it.
	removal *ProposedRemoval
}

// assignedStates are the states of assignments, by rising urgency. An assignment has that of its worst cluster.
var assignedStates = [...]State{
	{Good, "ready"}, {Busy, "progressing"}, {Waiting, "behind"}, {Waiting, "not verified"}, {Unknown, "no cluster"}, {Unknown, "no report"}, {Bad, "failed"},
}

// assignedRanks are the ranks of the states of clusters, and noClusterRank that of a type that has none.
var assignedRanks = [...]int{
	fleetview.AssignedReady: 0, fleetview.AssignedProgressing: 1, fleetview.AssignedBehind: 2, fleetview.AssignedUnverified: 3, fleetview.AssignedUnknown: 5, fleetview.AssignedFailed: 6,
}

const noRank, noClusterRank = -1, 4

// AssignedStates returns the states that assignments may have, by rising urgency.
func AssignedStates() []State { return slices.Clone(assignedStates[:]) }

// AssignmentWords returns the words of the states that assignments may have.
func AssignmentWords() []string {
	return list.Convert(AssignedStates(), func(s State) string { return s.Word })
}

// state returns the state of an assignment; the zero State if there is no ledger.
func (a *assignment) state() State {
	if a.rank == noRank {
		return State{}
	}
	return assignedStates[a.rank]
}

// visitAssignments calls visit with each assignment that a filter selects, environment by environment: those
// that are wanted, and those that are there until a change is merged which removes them. All that counts or
// lists assignments does it by this function, so that sums and lists agree.
func (s Source) visitAssignments(f AssignmentFilter, visit func(a *assignment)) {
	for _, environment := range s.Names() {
		plan := s.Snapshot.Plans[environment]
		if plan == nil || f.Environment != "" && f.Environment != environment {
			continue
		}
		m := plan.Model()
		judged := func(a assignment) {
			if s.Ledger && !s.LedgerFails {
				a.judge(s.Assigned[environment])
			}
			if f.selectsState(&a) {
				visit(&a)
			}
		}
		selected, named, wanted := make([]bool, len(m.Targets)), make([]bool, len(m.Targets)), make([]string, len(m.Targets))
		for j, t := range m.Targets {
			selected[j], named[j], wanted[j] = f.selectsTarget(t), f.isNamed(t.Name) || f.isNamed(t.Workload), WantedVersion(t)
		}
		for i, c := range m.ClusterTypes {
			if !f.selectsType(c) {
				continue
			}
			typeNamed := f.isNamed(c.Name)
			for j := range plan.Targets(i).All() {
				if selected[j] && (named[j] || typeNamed) {
					judged(assignment{environment: environment, clusterType: c, target: m.Targets[j], wanted: wanted[j], rank: noRank})
				}
			}
		}
		for _, a := range s.listRemovals(environment) {
			if f.selectsType(a.clusterType) && f.selectsTarget(a.target) && (f.isNamed(a.target.Name) || f.isNamed(a.target.Workload) || f.isNamed(a.clusterType.Name)) {
				judged(a)
			}
		}
	}
}

func (f AssignmentFilter) selectsTarget(t *model.Target) bool {
	return (f.Workload == "" || f.Workload == t.Workload) && (f.Target == "" || f.Target == t.Name) && (f.Team == "" || f.Team == t.Workspace)
}

func (f AssignmentFilter) selectsType(c *model.ClusterType) bool {
	return (f.ClusterType == "" || f.ClusterType == c.Name) && (f.Region == "" || f.Region == c.Labels[regionLabel])
}

func (f AssignmentFilter) isNamed(name string) bool {
	return f.Text == "" || strings.Contains(strings.ToLower(name), strings.ToLower(f.Text))
}

func (f AssignmentFilter) selectsState(a *assignment) bool {
	return a.state().matches(f.State) && (f.Version == "" || f.Version == a.version())
}

func (a *assignment) version() string { return cmp.Or(a.runs, a.wanted) }

// judge sets the state of an assignment by what its clusters have reported; nil if none has.
func (a *assignment) judge(runs *fleetview.AssignedRuns) {
	a.rank = noClusterRank
	if runs == nil {
		return
	}
	counts, versions := runs.Find(a.clusterType.Name, a.target.Name)
	a.counts = counts
	for class, n := range counts { // they are by rising urgency
		if n > 0 {
			a.rank = assignedRanks[class]
			a.why = runs.FindReason(a.clusterType.Name, a.target.Name, class)
		}
	}
	switch {
	case len(versions) > 0:
		a.runs = versions[0].Name
	case a.rank == assignedRanks[fleetview.AssignedReady]: // they have applied what is wanted
		a.runs = a.wanted
	}
}

// reason returns why an assignment is not ready, on the first of its clusters; "" if nothing says it.
func (a *assignment) reason() string {
	if a.why.Cluster == "" || a.rank == assignedRanks[fleetview.AssignedReady] {
		return ""
	}
	return a.why.Cluster + ": " + CleanText(a.why.Message)
}

// versionKeys are the keys of manifests that name a version, the most exact first.
var versionKeys = []string{"digest", "commit", "version", "chartVersion", "semver", "tag", "revision", "branch"}

// WantedVersion returns the version that the manifests of a deployment target name; "" if they name none.
func WantedVersion(t *model.Target) string {
	for _, key := range versionKeys {
		if value := t.Manifests[key]; value != "" {
			return CleanText(value)
		}
	}
	return ""
}

// findPlacePage returns the page of a place in what an environment was rendered from; "" if none is known.
func (s Source) findPlacePage(environment string, at problem.Pos) string {
	e, _ := s.Snapshot.FindEnvironment(environment)
	for _, in := range e.Inputs {
		if in.Layer == at.Layer {
			return giturl.FilePage(in.Repo, in.Commit, at.File, at.Line)
		}
	}
	return ""
}
