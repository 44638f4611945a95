package answer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// Clusters is the answer of /api/v1/clusters: the clusters that have reported, the most urgent first.
type Clusters struct {
	Ledger      bool `json:"ledger"`
	LedgerFails bool `json:"ledgerFails,omitempty"`
	// Total counts the clusters that were asked for, of which Items has one page.
	Total int           `json:"total"`
	Page  int           `json:"page"`
	Items []ClusterPart `json:"items"`
	// Environments are how many clusters of each are in which state, in the order of promotion, of those that were
	// asked for.
	Environments []EnvironmentClusters `json:"environments"`
}

// ClusterPart is what a list says of a cluster.
type ClusterPart struct {
	Name        string  `json:"name"`
	Environment string  `json:"environment"`
	ClusterType string  `json:"clusterType"`
	HasType     bool    `json:"hasType,omitempty"` // whether the type has a page
	State       State   `json:"state"`
	Why         string  `json:"why,omitempty"`
	Labels      []Label `json:"labels,omitempty"` // of the type
	// Commit is the commit of the base whose output it runs; nil if that is unknown: then Revision is what it reported.
	Commit   *Commit   `json:"commit,omitempty"`
	Revision string    `json:"revision,omitempty"`
	Since    time.Time `json:"since,omitzero"` // of the state
	LastSeen time.Time `json:"lastSeen,omitzero"`
}

// EnvironmentClusters is how many clusters of an environment are in which state, the most urgent first.
type EnvironmentClusters struct {
	Environment string         `json:"environment"`
	States      []ClusterCount `json:"states"`
}

// ClusterCount is how many clusters are in a state.
type ClusterCount struct {
	State    State `json:"state"`
	Clusters int   `json:"clusters"`
}

// ClusterFilter selects clusters by a text in the name, by the environment, the type, the tone or word of the state, and by
// a label of the type, as key=value; "" is any.
type ClusterFilter struct {
	Text, Environment, ClusterType, State, Label string
	Page                                         int
}

// ClusterWords returns the words of the states that clusters may have.
func ClusterWords() []string {
	return append(ledger.ClassNames(), fleetview.Retired, fleetview.Moved, fleetview.Excluded, stackview.Waits, stackview.Drifted)
}

// ListClusters returns the clusters that a filter selects.
func (s Source) ListClusters(f ClusterFilter) Clusters {
	answer := Clusters{Ledger: s.Ledger, LedgerFails: s.LedgerFails, Items: []ClusterPart{}, Environments: []EnvironmentClusters{}}
	type typeKey struct{ environment, name string }
	types := map[typeKey]*model.ClusterType{}
	s.visitTypes(func(environment string, c *model.ClusterType) { types[typeKey{environment, c.Name}] = c })
	typeOf := func(c fleetview.Cluster) *model.ClusterType { return types[typeKey{c.Environment, c.Type}] }
	all := slices.DeleteFunc(s.listStandings(func(c fleetview.Cluster) bool { return f.selects(c, typeOf(c)) }), func(c ClusterStanding) bool { return !c.State.matches(f.State) })
	answer.Environments = s.countStates(all)
	answer.Total = len(all)
	all, answer.Page = pageOf(all, f.Page, FleetRows)
	for _, c := range all {
		part := ClusterPart{c.Name, c.Environment, c.Type, c.HasType, c.State, CleanText(c.Why), nil, c.Commit, c.Revision, c.Since, c.LastSeen}
		if of := typeOf(c.Cluster); of != nil {
			part.Labels = listLabels(of.Labels)
		}
		answer.Items = append(answer.Items, part)
	}
	return answer
}

func (f ClusterFilter) selects(c fleetview.Cluster, of *model.ClusterType) bool {
	isOther := f.Environment != "" && c.Environment != f.Environment || f.ClusterType != "" && c.Type != f.ClusterType
	if isOther || !strings.Contains(strings.ToLower(c.Name), strings.ToLower(f.Text)) {
		return false
	}
	return f.Label == "" || of != nil && ClusterTypeFilter{Label: f.Label}.selects(of)
}

func (s Source) countStates(all []ClusterStanding) []EnvironmentClusters {
	counts := map[string]map[State]int{}
	for _, c := range all {
		if counts[c.Environment] == nil {
			counts[c.Environment] = map[State]int{}
		}
		counts[c.Environment][c.State]++
	}
	counted := []EnvironmentClusters{}
	for _, name := range s.Names() {
		if counts[name] == nil {
			continue
		}
		one := EnvironmentClusters{Environment: name}
		for _, state := range slices.SortedFunc(maps.Keys(counts[name]), func(a, b State) int {
			return cmp.Or(CompareUrgency(b.Tone, a.Tone), strings.Compare(a.Word, b.Word))
		}) {
			one.States = append(one.States, ClusterCount{state, counts[name][state]})
		}
		counted = append(counted, one)
	}
	return counted
}

// Table returns the list as a table of texts: see [Tabled].
func (a Clusters) Table() (columns []string, rows [][]any) {
	for _, c := range a.Items {
		runs := c.Revision
		if c.Commit != nil {
			runs = text.ShortCommit(c.Commit.ID)
		}
		rows = append(rows, []any{c.Name, c.Environment, c.ClusterType, c.State.Word, runs, c.LastSeen, c.Why})
	}
	return []string{"cluster", "environment", "clusterType", "state", "runs", "lastSeen", "why"}, rows
}

// Tabled is an answer whose text is one page of a table. A cell is a text or a time.
type Tabled interface {
	Table() (columns []string, rows [][]any)
	Count() (total, page int)
}

// Count returns how many clusters were asked for, and the page that the answer is.
func (a Clusters) Count() (total, page int) { return a.Total, a.Page }
