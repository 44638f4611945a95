package answer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// Workloads is the answer of /api/v1/workloads.
type Workloads struct {
	Ledger      bool `json:"ledger"`
	LedgerFails bool `json:"ledgerFails,omitempty"`
	// Environments and Unknown are described at Fleet.
	Environments int      `json:"environments"`
	Unknown      []string `json:"unknown,omitempty"`
	// Total counts the workloads that were asked for, of which Items has one page.
	Total int            `json:"total"`
	Page  int            `json:"page"`
	Teams []string       `json:"teams"` // of all workloads
	Items []WorkloadPart `json:"items"`
}

// WorkloadPart is what a list says of a workload.
type WorkloadPart struct {
	Name string `json:"name"`
	Team string `json:"team,omitempty"`
	// Targets counts its deployment targets, and Assignments those of all of them.
	Targets     int `json:"targets"`
	Assignments int `json:"assignments"`
	// Environments are those that it is assigned in, in the order of promotion.
	Environments []string `json:"environments"`
	// State is that of the worst assignment; nil if there is no ledger, or no assignment.
	State *State `json:"state,omitempty"`
	Worst int    `json:"worst,omitempty"`
}

// WorkloadFilter selects workloads; "" is any.
type WorkloadFilter struct {
	Text, Team string
	Page       int
}

// Workloads returns the workloads of all environments, by name.
func (s Source) Workloads(f WorkloadFilter) Workloads {
	answer := Workloads{Ledger: s.Ledger, LedgerFails: s.LedgerFails, Environments: len(s.Names()), Unknown: s.listUnplanned(""), Teams: s.ListTeams(), Items: []WorkloadPart{}}
	all, cells := map[string]*WorkloadPart{}, map[string]*FleetCell{}
	targets := map[string]map[string]bool{}
	s.visitTargets(func(_ string, t *model.Target) {
		if f.Team != "" && f.Team != t.Workspace || !strings.Contains(strings.ToLower(t.Workload), strings.ToLower(f.Text)) {
			return
		}
		if all[t.Workload] == nil {
			all[t.Workload], cells[t.Workload], targets[t.Workload] = &WorkloadPart{Name: t.Workload, Team: t.Workspace, Environments: []string{}}, &FleetCell{}, map[string]bool{}
		}
		targets[t.Workload][t.Name] = true
	})
	s.visitAssignments(AssignmentFilter{Team: f.Team}, func(a *assignment) {
		one := all[a.target.Workload]
		if one == nil {
			return
		}
		if len(one.Environments) == 0 || one.Environments[len(one.Environments)-1] != a.environment {
			one.Environments = append(one.Environments, a.environment)
		}
		cells[one.Name].add(a)
	})
	names, page := pageOf(slices.Sorted(maps.Keys(all)), f.Page, FleetRows)
	answer.Total, answer.Page = len(all), page
	for _, name := range names {
		one, cell := all[name], cells[name]
		one.Targets, one.Assignments, one.State, one.Worst = len(targets[name]), cell.Assignments, cell.State, cell.Worst
		answer.Items = append(answer.Items, *one)
	}
	return answer
}

func (s Source) visitTargets(visit func(environment string, t *model.Target)) {
	for _, environment := range s.Names() {
		if plan := s.Snapshot.Plans[environment]; plan != nil {
			for _, t := range plan.Model().Targets {
				visit(environment, t)
			}
		}
	}
}

// Workload is the answer of /api/v1/workloads/{workload}: where it is, what it is made from, and what is not as
// wanted.
type Workload struct {
	Name string `json:"name"`
	Team string `json:"team,omitempty"`
	// Where has a row for each deployment target, and a column for each environment.
	Where Fleet `json:"where"`
	// Targets are its deployment targets in each environment.
	Targets []WorkloadTarget `json:"targets"`
	// Late are assignments that are not ready, the worst first, and MoreLate counts those that are not listed.
	Late     []AssignmentPart `json:"late,omitempty"`
	MoreLate int              `json:"moreLate,omitempty"`
	// Releases are the versions that environments had, as clusters reported them, the newest first, and
	// MoreReleases reports that there may be others.
	Releases     []fleetview.Release `json:"releases,omitempty"`
	MoreReleases bool                `json:"moreReleases,omitempty"`
}

// WorkloadTarget is a deployment target in an environment.
type WorkloadTarget struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
	// Place is "layer/file:line", where it is written, and URL its page at the forge.
	Place string `json:"place"`
	URL   string `json:"url,omitempty"`
	// Repo and Commit are those that it was read from; "" if they are not known.
	Repo      string `json:"repo,omitempty"`
	Commit    string `json:"commit,omitempty"`
	CommitURL string `json:"commitURL,omitempty"`
	// Follows is the branch or range that it follows, so that what is pushed there is deployed without being promoted; ""
	// for none.
	Follows   string  `json:"follows,omitempty"`
	Manifests []Label `json:"manifests"`
	Labels    []Label `json:"labels"`
}

// Label is a key and a value.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// AssignmentPart is what a list says of an assignment.
type AssignmentPart struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	Wanted      string `json:"wanted,omitempty"`
	Runs        string `json:"runs,omitempty"`
	State       *State `json:"state,omitempty"`
	// Reason is why it is in the state, on the first cluster that is; "" if nothing says it.
	Reason string `json:"reason,omitempty"`
	// Removal is set if it is there until a change is merged which removes it.
	Removal *ProposedRemoval `json:"removal,omitempty"`
	// Clusters counts the clusters of the type.
	Clusters int `json:"clusters,omitempty"`
}

// maxLate is how many assignments are listed that are not ready.
const maxLate = 50

// Workload returns what is known of a workload, and whether there is one of that name.
func (s Source) Workload(name string) (Workload, bool) {
	answer := Workload{Name: name, Targets: []WorkloadTarget{}}
	s.visitTargets(func(environment string, t *model.Target) {
		if t.Workload != name {
			return
		}
		answer.Team = cmp.Or(answer.Team, t.Workspace)
		answer.Targets = append(answer.Targets, s.describeTarget(environment, t))
	})
	if len(answer.Targets) == 0 {
		return answer, false
	}
	f := AssignmentFilter{Workload: name}
	answer.Where = s.Fleet(FleetFilter{AssignmentFilter: f, Rows: ByTarget, Columns: ByEnvironment})
	answer.Late, answer.MoreLate = s.listLate(f)
	answer.Releases, answer.MoreReleases = s.Releases, s.MoreReleases
	return answer, true
}

func (s Source) describeTarget(environment string, t *model.Target) WorkloadTarget {
	one := WorkloadTarget{Name: t.Name, Environment: environment, Place: t.Pos.String(), URL: s.findPlacePage(environment, t.Pos), Manifests: listLabels(t.Manifests), Labels: listLabels(t.Labels)}
	if key, value := t.Follows(); key != "" {
		one.Follows = CleanText(model.Followed{Key: key, Value: value}.What())
	}
	e, _ := s.Snapshot.FindEnvironment(environment)
	for _, in := range e.Inputs {
		if in.Layer == t.Pos.Layer {
			one.Repo, one.Commit, one.CommitURL = in.Repo, in.Commit, giturl.CommitPage(in.Repo, in.Commit)
		}
	}
	return one
}

func listLabels(all map[string]string) []Label {
	labels := []Label{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != "" && !isOwnLabel(key) {
			labels = append(labels, Label{CleanText(key), CleanText(giturl.Redact(all[key]))})
		}
	}
	return labels
}

// listLate returns the assignments that are not ready, the worst first, and how many more there are.
func (s Source) listLate(f AssignmentFilter) (late []AssignmentPart, more int) {
	s.visitAssignments(f, func(a *assignment) {
		if tone := a.state().Tone; tone != "" && tone != Good {
			late = append(late, a.describe())
		}
	})
	slices.SortStableFunc(late, func(a, b AssignmentPart) int {
		return CompareUrgency(b.State.Tone, a.State.Tone)
	})
	more = max(0, len(late)-maxLate)
	return late[:len(late)-more], more
}

// ListAssigned returns all assignments that a filter selects.
func (s Source) ListAssigned(f AssignmentFilter) (all []AssignmentPart) {
	s.visitAssignments(f, func(a *assignment) { all = append(all, a.describe()) })
	return all
}

func (a *assignment) describe() AssignmentPart {
	part := AssignmentPart{Environment: a.environment, ClusterType: a.clusterType.Name, Target: a.target.Name, Wanted: a.wanted, Runs: a.runs, Removal: a.removal}
	if a.rank != noRank {
		state := a.state()
		part.State, part.Reason = &state, a.reason()
	}
	for _, n := range a.counts {
		part.Clusters += n
	}
	return part
}

// TargetNames returns the names of the deployment targets of a workload, each once, sorted.
func (s Source) TargetNames(workload string) []string {
	names := map[string]bool{}
	s.visitTargets(func(_ string, t *model.Target) {
		if t.Workload == workload {
			names[t.Name] = true
		}
	})
	return slices.Sorted(maps.Keys(names))
}

// ListTeams returns the teams of all deployment targets, each once.
func (s Source) ListTeams() []string {
	teams := map[string]bool{}
	s.visitTargets(func(_ string, t *model.Target) { teams[t.Workspace] = true })
	delete(teams, "")
	return append([]string{}, slices.Sorted(maps.Keys(teams))...)
}

// WorkloadNames returns the names of all workloads, each once.
func (s Source) WorkloadNames() []string {
	names := map[string]bool{}
	s.visitTargets(func(_ string, t *model.Target) { names[t.Workload] = true })
	return slices.Sorted(maps.Keys(names))
}
