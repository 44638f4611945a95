package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// maxDecisions is how many clusters Open Cluster Management writes into one PlacementDecision.
const maxDecisions = 100

// PlacementDecision is the object by which Open Cluster Management says which clusters a Placement has selected.
type PlacementDecision struct {
	APIVersion string            `json:"apiVersion" yaml:"apiVersion"`
	Kind       string            `json:"kind" yaml:"kind"`
	Metadata   placementMetadata `json:"metadata" yaml:"metadata"`
	Status     placementStatus   `json:"status" yaml:"status"`
}

type placementMetadata struct {
	Name      string            `json:"name" yaml:"name"`
	Namespace string            `json:"namespace" yaml:"namespace"`
	Labels    map[string]string `json:"labels" yaml:"labels"`
}

type placementStatus struct {
	Decisions []placedCluster `json:"decisions" yaml:"decisions"`
}

type placedCluster struct {
	ClusterName string `json:"clusterName" yaml:"clusterName"`
	Reason      string `json:"reason" yaml:"reason"`
}

// PlacementDecisions returns the places of the units as PlacementDecisions of a namespace: each unit is a Placement with
// its name behind that of its policy. clusters has the clusters of each cluster type; a type without any stands for a
// cluster of its name.
func (p *Plan) PlacementDecisions(namespace string, clusters map[string][]string) []PlacementDecision {
	var all []PlacementDecision
	for _, u := range p.Units() {
		placement := u.Policy.Name
		if u.Policy.Choice.Unit != model.UnitPolicy {
			placement += "-" + u.Name
		}
		page := 1
		for i, group := range u.groups(p.model) {
			decisions := []placedCluster{}
			for _, clusterType := range group.ClusterTypes {
				names := clusters[clusterType]
				if len(names) == 0 {
					names = []string{clusterType}
				}
				for _, name := range names {
					decisions = append(decisions, placedCluster{ClusterName: name})
				}
			}
			slices.SortFunc(decisions, func(a, b placedCluster) int { return cmp.Compare(a.ClusterName, b.ClusterName) })
			for first := true; first || len(decisions) > 0; first = false {
				n := min(len(decisions), maxDecisions)
				d := newPlacementDecision(placement, namespace, page, decisions[:n])
				d.Metadata.Labels[model.GroupIndexLabel] = strconv.Itoa(i)
				if group.Name != "" {
					d.Metadata.Labels[model.GroupNameLabel] = group.Name
				}
				all = append(all, d)
				decisions, page = decisions[n:], page+1
			}
		}
	}
	return all
}

// groups returns the places of a unit in the groups of its policy; all in one without any.
func (u *Unit) groups(m *model.Model) []model.DecidedGroup {
	types := list.Convert(u.Places, func(p Place) *model.ClusterType { return m.ClusterTypes[p.ClusterType] })
	if groups := u.Policy.Choice.Groups.Divide(types); len(groups) > 0 {
		return groups
	}
	return []model.DecidedGroup{{ClusterTypes: list.Convert(types, func(t *model.ClusterType) string { return t.Name })}}
}

func newPlacementDecision(placement, namespace string, page int, decisions []placedCluster) PlacementDecision {
	return PlacementDecision{
		APIVersion: model.PlacementGroup + "/v1beta1", Kind: model.PlacementDecisionKind, Status: placementStatus{decisions},
		Metadata: placementMetadata{Name: fmt.Sprintf("%s-decision-%d", placement, page), Namespace: namespace, Labels: map[string]string{
			model.PlacementLabel: placement,
		}},
	}
}
