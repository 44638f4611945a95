package answer

import (
	"cmp"
	"slices"
	"strings"

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
	State                                                             Tone
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
	state        State // the zero State if there is no ledger
}

// assignedStates are the states of assignments, by the class of their worst cluster.
var assignedStates = [...]State{
	fleetview.AssignedReady: {Good, "ready"}, fleetview.AssignedProgressing: {Busy, "progressing"}, fleetview.AssignedBehind: {Waiting, "behind"},
	fleetview.AssignedUnknown: {Unknown, "no report"}, fleetview.AssignedFailed: {Bad, "failed"},
}

// noCluster is the state of an assignment to a type that has no cluster.
var noCluster = State{Unknown, "no cluster"}

// AssignedStates returns the states that assignments may have, by rising urgency.
func AssignedStates() []State { return slices.Clone(assignedStates[:]) }

// visitAssignments calls visit with each assignment that a filter selects, environment by environment. All
// that counts or lists assignments does it by this function, so that sums and lists agree.
func (s Source) visitAssignments(f AssignmentFilter, visit func(a *assignment)) {
	for _, environment := range s.Names() {
		plan := s.Snapshot.Plans[environment]
		if plan == nil || f.Environment != "" && f.Environment != environment {
			continue
		}
		m, runs := plan.Model(), s.Assigned[environment]
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
				if !selected[j] || !named[j] && !typeNamed {
					continue
				}
				a := assignment{environment: environment, clusterType: c, target: m.Targets[j], wanted: wanted[j]}
				if s.Ledger && !s.LedgerFails {
					a.judge(runs)
				}
				if f.selectsState(&a) {
					visit(&a)
				}
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
	return (f.State == "" || f.State == cmp.Or(a.state.Tone, Unknown)) && (f.Version == "" || f.Version == a.version())
}

// version returns the version that an assignment runs, or else the wanted one.
func (a *assignment) version() string { return cmp.Or(a.runs, a.wanted) }

// judge sets the state of an assignment by what its clusters have reported; nil if none has.
func (a *assignment) judge(runs *fleetview.AssignedRuns) {
	a.state = noCluster
	if runs == nil {
		return
	}
	counts, versions := runs.Find(a.clusterType.Name, a.target.Name)
	a.counts = counts
	for class, n := range counts {
		if n > 0 {
			a.state = assignedStates[class] // they are by rising urgency
		}
	}
	switch {
	case len(versions) > 0:
		a.runs = versions[0].Name
	case a.state.Tone == Good: // they have applied what is wanted
		a.runs = a.wanted
	}
}

// versionKeys are the keys of manifests that name a version, the most exact first.
var versionKeys = []string{"digest", "commit", "tag", "version", "chartVersion", "semver", "revision", "branch"}

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
