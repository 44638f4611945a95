package ocm

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/internal/base/expression"
)

type selector struct {
	labels, claims labels.Selector
	expressions    []*expression.Expression
}

func (o *Objects) filterClusters(predicates []predicate, clusters []*Cluster) ([]*Cluster, error) {
	if len(predicates) == 0 {
		return clusters, nil
	}
	selectors := make([]selector, len(predicates))
	for i := range predicates {
		s, err := o.newSelector(&predicates[i])
		if err != nil {
			return nil, err
		}
		selectors[i] = s
	}
	var selected []*Cluster
	for _, c := range clusters {
		for _, s := range selectors {
			if s.matches(c) {
				selected = append(selected, c)
				break
			}
		}
	}
	return selected, nil
}

func (o *Objects) newSelector(p *predicate) (s selector, err error) {
	by := &p.RequiredClusterSelector
	s, err = by.parse()
	if err != nil {
		return s, err
	}
	for _, text := range by.CelSelector.CelExpressions {
		e, err := expression.Compile(text, map[string]*cel.Type{"managedCluster": cel.DynType}, types.BoolKind, "true or false", o.scoresFunction())
		if err != nil {
			return s, &MisconfiguredError{fmt.Sprintf("the expression %q cannot be evaluated here: %v", text, err), "write evaluate: decisions, and commit its PlacementDecisions"}
		}
		s.expressions = append(s.expressions, e)
	}
	return s, nil
}

func (l *labelsAndClaims) parse() (s selector, err error) {
	s.labels, err = metav1.LabelSelectorAsSelector(&l.LabelSelector)
	if err == nil {
		s.claims, err = metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: l.ClaimSelector.MatchExpressions})
	}
	if err != nil {
		return s, &MisconfiguredError{fmt.Sprintf("a selector cannot be read: %v", err), ""}
	}
	return s, nil
}

// scoresFunction lets an expression ask for the scores of a cluster: managedCluster.scores("name").
func (o *Objects) scoresFunction() cel.EnvOption {
	ask := func(cluster, name ref.Val) ref.Val {
		object, _ := cluster.Value().(map[string]any)
		meta, _ := object["metadata"].(map[string]any)
		all := []map[string]any{}
		for _, s := range o.scores {
			if s.Metadata.Namespace != meta["name"] || s.Metadata.Name != name.Value() {
				continue
			}
			for _, score := range s.Status.Scores {
				all = append(all, map[string]any{"name": score.Name, "value": score.Value})
			}
		}
		return types.DefaultTypeAdapter.NativeToValue(all)
	}
	return cel.Function("scores", cel.MemberOverload("managed_cluster_scores", []*cel.Type{cel.DynType, cel.StringType}, cel.ListType(cel.DynType), cel.BinaryBinding(ask)))
}

func (s selector) matches(c *Cluster) bool {
	claims := labels.Set{}
	for _, claim := range c.Status.ClusterClaims {
		claims[claim.Name] = claim.Value
	}
	if !s.labels.Matches(labels.Set(c.Metadata.Labels)) || !s.claims.Matches(claims) {
		return false
	}
	for _, e := range s.expressions {
		value, err := e.Evaluate(map[string]any{"managedCluster": c.object})
		if err != nil || value != types.True {
			return false
		}
	}
	return true
}
