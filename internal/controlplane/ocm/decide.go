// Package ocm decides for Placements of Open Cluster Management (OCM) as its own scheduler does, from objects in Git.
//
// The rules are those of OCM v1.3.0 (open-cluster-management.io/ocm, pkg/placement). What they leave to chance or to a
// clock is otherwise here, so that what is decided depends on the objects alone: Placements are decided one after the
// other, by name, until nothing changes; scores count as long as they are there, whatever their validUntil; and a
// toleration with seconds is refused.
package ocm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Decisions are the names of the clusters that Placements have selected, in order, by the key of the Placement.
type Decisions map[string][]string

// MisconfiguredError is why a Placement cannot be decided here.
type MisconfiguredError struct{ Reason, Hint string }

// Error returns the reason.
func (e *MisconfiguredError) Error() string { return e.Reason }

// maxRounds is how often all Placements are decided before it is said that they do not settle.
const maxRounds = 10

// Scheduler decides for the Placements of a hub. What does not depend on decisions is found once.
type Scheduler struct {
	placements []*scheduler // those that can be decided, by key
	failed     map[string]error
}

// NewScheduler returns the scheduler of the objects, which must not change any more.
func (o *Objects) NewScheduler() *Scheduler {
	s := &Scheduler{failed: map[string]error{}}
	for _, p := range slices.SortedFunc(slices.Values(o.Placements), func(a, b *Placement) int { return cmp.Compare(a.Key(), b.Key()) }) {
		one, err := o.newScheduler(p)
		if err != nil {
			s.failed[p.Key()] = err
			continue
		}
		s.placements = append(s.placements, one)
	}
	return s
}

// Decide decides for all Placements, starting from what was decided before. Deciding again, with the result, changes
// nothing. A Placement that cannot be decided has an error, and keeps what it had.
func (s *Scheduler) Decide(before Decisions) (Decisions, map[string]error) {
	decided := Decisions{}
	maps.Copy(decided, before)
	for range maxRounds {
		settled := true
		for _, p := range s.placements {
			now := p.schedule(decided)
			settled = settled && slices.Equal(now, decided[p.key])
			decided[p.key] = now
		}
		if settled {
			return decided, s.failed
		}
	}
	failed := maps.Clone(s.failed)
	for _, p := range s.placements {
		failed[p.key] = &MisconfiguredError{"the Placements do not settle: one moves what another has moved", "give Steady more weight"}
	}
	return maps.Clone(before), failed
}

type scheduler struct {
	key      string
	spec     *placementSpec
	clusters []*Cluster // that are selected, by name
	weights  []weighted
	scores   []*scores
}

type weighted struct {
	prioritizer coordinate
	weight      int64
}

func (o *Objects) newScheduler(p *Placement) (*scheduler, error) {
	s := &scheduler{key: p.Key(), spec: &p.Spec, scores: o.scores}
	for _, t := range p.Spec.Tolerations {
		switch {
		case t.TolerationSeconds != nil:
			return nil, &MisconfiguredError{"tolerationSeconds needs a clock", "write evaluate: decisions, and commit its PlacementDecisions"}
		case t.Key == "" && t.Operator != "Exists":
			return nil, &MisconfiguredError{"a toleration without a key needs the operator Exists", ""}
		case t.Operator == "Exists" && t.Value != "":
			return nil, &MisconfiguredError{"a toleration with the operator Exists has no value", ""}
		}
	}
	clusters, err := o.availableClusters(p)
	if err != nil {
		return nil, err
	}
	s.clusters, err = o.filterClusters(p.Spec.Predicates, clusters)
	if err != nil {
		return nil, err
	}
	s.weights, err = p.Spec.PrioritizerPolicy.weights()
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (o *Objects) availableClusters(p *Placement) ([]*Cluster, error) {
	found := map[string]*Cluster{}
	for _, set := range o.sets {
		if !o.isSetOf(p, set) {
			continue
		}
		selector := labels.SelectorFromSet(labels.Set{setLabel: set.Metadata.Name})
		switch by := set.Spec.ClusterSelector; by.SelectorType {
		case "", "ExclusiveClusterSetLabel":
		case "LabelSelector":
			chosen, err := metav1.LabelSelectorAsSelector(by.LabelSelector)
			if err != nil {
				return nil, &MisconfiguredError{fmt.Sprintf("the selector of the ManagedClusterSet %s cannot be read: %v", set.Metadata.Name, err), ""}
			}
			selector = chosen
		default:
			return nil, &MisconfiguredError{fmt.Sprintf("the selectorType %q of the ManagedClusterSet %s is not known", by.SelectorType, set.Metadata.Name), ""}
		}
		for _, c := range o.Clusters {
			if c.Metadata.DeletionTimestamp == nil && selector.Matches(labels.Set(c.Metadata.Labels)) {
				found[c.Metadata.Name] = c
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *Cluster) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) }), nil
}

// Empty is why a Placement selects nothing.
type Empty string

// The reasons, in the order in which they are looked for.
const (
	NoBinding  Empty = "no binding"  // of an existing ManagedClusterSet to its namespace
	NoSet      Empty = "no set"      // none of its clusterSets is bound
	NoClusters Empty = "no clusters" // in its sets
	NoMatch    Empty = "no match"    // of its predicates
	NoRoom     Empty = "no room"     // taints, or numberOfClusters, leave none
)

// FindEmpty returns why a Placement without an error that has selected nothing does so.
func (o *Objects) FindEmpty(p *Placement) Empty {
	anySet := *p
	anySet.Spec.ClusterSets = nil
	isBound := func(p *Placement) bool {
		return slices.ContainsFunc(o.sets, func(set *clusterSet) bool { return o.isSetOf(p, set) })
	}
	clusters, err := o.availableClusters(p)
	switch {
	case !isBound(&anySet):
		return NoBinding
	case !isBound(p):
		return NoSet
	case err != nil || len(clusters) == 0:
		return NoClusters
	}
	selected, err := o.filterClusters(p.Spec.Predicates, clusters)
	if err != nil || len(selected) == 0 {
		return NoMatch
	}
	return NoRoom
}

// isSetOf reports whether a Placement may select clusters of a set: it is bound to its namespace, and among its clusterSets.
func (o *Objects) isSetOf(p *Placement, set *clusterSet) bool {
	isBound := slices.ContainsFunc(o.bindings, func(b metadata) bool { return b.Namespace == p.Metadata.Namespace && b.Name == set.Metadata.Name })
	return isBound && (len(p.Spec.ClusterSets) == 0 || slices.Contains(p.Spec.ClusterSets, set.Metadata.Name))
}

// schedule returns what the Placement selects: of the clusters whose taints it tolerates those with the most points.
func (s *scheduler) schedule(decided Decisions) []string {
	mine := decided[s.key]
	var fit []*Cluster
	for _, c := range s.clusters {
		if s.spec.tolerates(c, slices.Contains(mine, c.Metadata.Name)) {
			fit = append(fit, c)
		}
	}
	points := make(map[string]int64, len(fit))
	for _, w := range s.weights {
		for name, score := range w.prioritizer.score(s, fit, decided) {
			points[name] += w.weight * score
		}
	}
	slices.SortFunc(fit, func(a, b *Cluster) int {
		return cmp.Or(cmp.Compare(points[b.Metadata.Name], points[a.Metadata.Name]), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	if n := s.spec.NumberOfClusters; n != nil {
		fit = fit[:min(max(*n, 0), len(fit))]
	}
	names := make([]string, len(fit))
	for i, c := range fit {
		names[i] = c.Metadata.Name
	}
	return names
}

func (p *placementSpec) tolerates(c *Cluster, has bool) bool {
	for _, taint := range c.Spec.Taints {
		if taint.Effect == "PreferNoSelect" || taint.Effect == "NoSelectIfNew" && has {
			continue
		}
		if !slices.ContainsFunc(p.Tolerations, func(t toleration) bool {
			return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
				(t.Operator == "Exists" || (t.Operator == "" || t.Operator == "Equal") && t.Value == taint.Value)
		}) {
			return false
		}
	}
	return true
}
