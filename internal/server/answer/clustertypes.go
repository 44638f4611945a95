package answer

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// ClusterTypes is the answer of /api/v1/cluster-types.
type ClusterTypes struct {
	Ledger      bool `json:"ledger"`
	LedgerFails bool `json:"ledgerFails,omitempty"`
	// Environments and Unknown are described at Fleet.
	Environments int      `json:"environments"`
	Unknown      []string `json:"unknown,omitempty"`
	// Total counts the cluster types that were asked for, of which Items has one page.
	Total int               `json:"total"`
	Page  int               `json:"page"`
	Items []ClusterTypePart `json:"items"`
}

// ClusterTypePart is what a list says of a cluster type.
type ClusterTypePart struct {
	Name string `json:"name"`
	// Labels are those of the first environment that has it, and Environments all of them, in the order of
	// promotion.
	Labels       []Label  `json:"labels"`
	Environments []string `json:"environments"`
	Assignments  int      `json:"assignments"`
	// Clusters counts those that have reported or are expected, or had reported at a time in the past; 0 if that is not
	// known.
	Clusters int `json:"clusters,omitempty"`
	// State is that of the worst assignment, and Worst how many are in it; nil if there is no ledger, or no
	// assignment.
	State *State `json:"state,omitempty"`
	Worst int    `json:"worst,omitempty"`
}

// ClusterTypeFilter selects cluster types by a text in the name or in a label, as key=value, and by a whole label; ""
// is any.
type ClusterTypeFilter struct {
	Text, Label string
	Page        int
}

func (s Source) visitTypes(visit func(environment string, c *model.ClusterType)) {
	for _, environment := range s.Names() {
		if plan := s.Snapshot.Plans[environment]; plan != nil {
			for _, c := range plan.Model().ClusterTypes {
				visit(environment, c)
			}
		}
	}
}

// ClusterTypes returns the cluster types of all environments, by name.
func (s Source) ClusterTypes(f ClusterTypeFilter) ClusterTypes {
	answer := ClusterTypes{Ledger: s.Ledger, LedgerFails: s.LedgerFails, Environments: len(s.Names()), Unknown: s.listUnplanned(""), Items: []ClusterTypePart{}}
	all, cells := map[string]*ClusterTypePart{}, map[string]*FleetCell{}
	s.visitTypes(func(environment string, c *model.ClusterType) {
		if !f.selects(c) {
			return
		}
		if all[c.Name] == nil {
			all[c.Name], cells[c.Name] = &ClusterTypePart{Name: c.Name, Labels: listLabels(c.Labels)}, &FleetCell{}
		}
		all[c.Name].Environments = append(all[c.Name].Environments, environment)
		if runs := s.Assigned[environment]; runs != nil {
			all[c.Name].Clusters += sumCounts(runs, c.Name)
		}
		for _, run := range fleetview.CountPastRuns(s.Then, environment, c.Name) {
			all[c.Name].Clusters += run.Clusters
		}
	})
	s.visitAssignments(AssignmentFilter{}, func(a *assignment) {
		if cell := cells[a.clusterType.Name]; cell != nil {
			cell.add(a)
		}
	})
	names, page := pageOf(slices.Sorted(maps.Keys(all)), f.Page, FleetRows)
	answer.Total, answer.Page = len(all), page
	for _, name := range names {
		one, cell := all[name], cells[name]
		one.Assignments, one.State, one.Worst = cell.Assignments, cell.State, cell.Worst
		answer.Items = append(answer.Items, *one)
	}
	return answer
}

func (f ClusterTypeFilter) selects(c *model.ClusterType) bool {
	asked, wanted, _ := strings.Cut(f.Label, "=")
	if value, has := c.Labels[asked]; f.Label != "" && (!has || value != wanted || isOwnLabel(asked)) {
		return false
	}
	text := strings.ToLower(f.Text)
	if strings.Contains(strings.ToLower(c.Name), text) {
		return true
	}
	for key, value := range c.Labels {
		if !isOwnLabel(key) && strings.Contains(strings.ToLower(key+"="+value), text) {
			return true
		}
	}
	return false
}

func sumCounts(runs *fleetview.AssignedRuns, clusterType string) (n int) {
	counts, _ := runs.Find(clusterType, "")
	for _, of := range counts {
		n += of
	}
	return n
}

// ClusterType is the answer of /api/v1/cluster-types/{clusterType}: where it is written, what is assigned to it,
// and its clusters.
type ClusterType struct {
	Name        string `json:"name"`
	Ledger      bool   `json:"ledger"`
	LedgerFails bool   `json:"ledgerFails,omitempty"`
	// Written is the type in each environment that has it.
	Written []WrittenType `json:"written"`
	// Where has a row for each deployment target that is assigned, and a column for each environment.
	Where Fleet `json:"where"`
	// Late are assignments that are not ready, the worst first, and MoreLate counts those that are not listed.
	Late     []AssignmentPart `json:"late,omitempty"`
	MoreLate int              `json:"moreLate,omitempty"`
	// Clusters are those that have reported, the most urgent first, and MoreClusters counts those that are not
	// listed.
	Clusters     []ClusterStanding `json:"clusters,omitempty"`
	MoreClusters int               `json:"moreClusters,omitempty"`
	// Provisioned are clusters that environments make.
	Provisioned []ProvisionedCluster `json:"provisioned,omitempty"`
}

// WrittenType is a cluster type in an environment.
type WrittenType struct {
	Environment string `json:"environment"`
	WrittenObject
	// Reconciler, Namespace and Config are the templates that it names; "" for none.
	Reconciler string `json:"reconciler,omitempty"`
	Namespace  string `json:"namespaceService,omitempty"`
	Config     string `json:"configType,omitempty"`
	// Policies are those of the environment that select it, of PolicyCount that there are.
	Policies    []WrittenObject `json:"policies"`
	PolicyCount int             `json:"policyCount"`
	// Expected is how many clusters are said to be of the type; -1 if nothing says it.
	Expected int `json:"expected"`
}

// ClusterType returns what is known of a cluster type, and whether there is one of that name.
func (s Source) ClusterType(name string) (ClusterType, bool) {
	answer := ClusterType{Name: name, Ledger: s.Ledger, LedgerFails: s.LedgerFails, Written: []WrittenType{}}
	s.visitTypes(func(environment string, c *model.ClusterType) {
		if c.Name == name {
			answer.Written = append(answer.Written, s.describeType(environment, c))
		}
	})
	if len(answer.Written) == 0 {
		return answer, false
	}
	f := AssignmentFilter{ClusterType: name}
	answer.Where = s.Fleet(FleetFilter{AssignmentFilter: f, Rows: ByTarget, Columns: ByEnvironment})
	answer.Late, answer.MoreLate = s.listLate(f)
	answer.Clusters = s.listStandings(func(c fleetview.Cluster) bool { return c.Type == name })
	answer.MoreClusters = max(0, len(answer.Clusters)-maxListed)
	answer.Clusters = answer.Clusters[:len(answer.Clusters)-answer.MoreClusters]
	answer.Provisioned = s.listProvisioned(func(c ProvisionedCluster) bool { return c.ClusterType == name })
	return answer, true
}

func (s Source) describeType(environment string, c *model.ClusterType) WrittenType {
	m := s.Snapshot.Plans[environment].Model()
	one := WrittenType{
		Environment: environment, WrittenObject: s.describeObject(environment, &c.Object), Reconciler: c.Reconciler, Namespace: c.NamespaceService, Config: c.ConfigType,
		Policies: []WrittenObject{}, PolicyCount: len(m.Policies), Expected: c.Clusters,
	}
	for _, p := range m.Policies {
		if p.ClusterTypes.Matches(c.Labels) {
			one.Policies = append(one.Policies, s.describeObject(environment, &p.Object))
		}
	}
	return one
}

// ClusterTypeNames returns the names of all cluster types, each once.
func (s Source) ClusterTypeNames() []string {
	names := map[string]bool{}
	s.visitTypes(func(_ string, c *model.ClusterType) { names[c.Name] = true })
	return slices.Sorted(maps.Keys(names))
}
