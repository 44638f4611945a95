package ocm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Group is the API group of the objects.
const Group = "cluster.open-cluster-management.io"

// setLabel on a ManagedCluster names the set that it is in.
const setLabel = Group + "/clusterset"

// Objects are the objects of a hub that decisions depend on.
type Objects struct {
	Placements []*Placement
	Clusters   []*Cluster
	sets       []*clusterSet
	bindings   []metadata
	scores     []*scores
}

type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	Labels            map[string]string `json:"labels"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
}

// Placement selects clusters.
type Placement struct {
	Metadata metadata      `json:"metadata"`
	Spec     placementSpec `json:"-"`
}

// Key returns the namespace and the name, as choices name a Placement.
func (p *Placement) Key() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

type placementSpec struct {
	ClusterSets       []string          `json:"clusterSets"`
	NumberOfClusters  *int              `json:"numberOfClusters"`
	Predicates        []predicate       `json:"predicates"`
	PrioritizerPolicy prioritizerPolicy `json:"prioritizerPolicy"`
	SpreadPolicy      json.RawMessage   `json:"spreadPolicy"`
	Tolerations       []toleration      `json:"tolerations"`
	DecisionStrategy  decisionStrategy  `json:"decisionStrategy"`
}

type decisionStrategy struct {
	GroupStrategy struct {
		DecisionGroups []struct {
			GroupName       string          `json:"groupName"`
			ClusterSelector labelsAndClaims `json:"groupClusterSelector"`
		} `json:"decisionGroups"`
		ClustersPerDecisionGroup *intstr.IntOrString `json:"clustersPerDecisionGroup"`
	} `json:"groupStrategy"`
}

type labelsAndClaims struct {
	LabelSelector metav1.LabelSelector `json:"labelSelector"`
	ClaimSelector struct {
		MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions"`
	} `json:"claimSelector"`
}

type predicate struct {
	RequiredClusterSelector struct {
		labelsAndClaims
		CelSelector struct {
			CelExpressions []string `json:"celExpressions"`
		} `json:"celSelector"`
	} `json:"requiredClusterSelector"`
}

type prioritizerPolicy struct {
	Mode           string `json:"mode"`
	Configurations []struct {
		ScoreCoordinate *coordinate `json:"scoreCoordinate"`
		Weight          int64       `json:"weight"`
	} `json:"configurations"`
}

// coordinate names a prioritizer.
type coordinate struct {
	Type    string           `json:"type"`
	BuiltIn string           `json:"builtIn"`
	AddOn   *addOnCoordinate `json:"addOn"`
}

type addOnCoordinate struct {
	ResourceName string `json:"resourceName"`
	ScoreName    string `json:"scoreName"`
}

type toleration struct {
	Key               string `json:"key"`
	Operator          string `json:"operator"`
	Value             string `json:"value"`
	Effect            string `json:"effect"`
	TolerationSeconds *int64 `json:"tolerationSeconds"`
}

// Cluster is a ManagedCluster.
type Cluster struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Taints []struct{ Key, Value, Effect string } `json:"taints"`
	} `json:"spec"`
	Status struct {
		Allocatable   map[string]resource.Quantity   `json:"allocatable"`
		Capacity      map[string]resource.Quantity   `json:"capacity"`
		ClusterClaims []struct{ Name, Value string } `json:"clusterClaims"`
	} `json:"status"`
	object map[string]any // for expressions
}

type clusterSet struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		ClusterSelector struct {
			SelectorType  string                `json:"selectorType"`
			LabelSelector *metav1.LabelSelector `json:"labelSelector"`
		} `json:"clusterSelector"`
	} `json:"spec"`
}

// scores is an AddOnPlacementScore: what an add-on says of the cluster whose namespace it is in.
type scores struct {
	Metadata metadata `json:"metadata"`
	Status   struct {
		Scores []struct {
			Name  string `json:"name"`
			Value int64  `json:"value"`
		} `json:"scores"`
	} `json:"status"`
}

// Knows reports whether objects of a kind of [Group] are read.
func Knows(kind string) bool {
	return slices.Contains([]string{"Placement", "ManagedCluster", "ManagedClusterSet", "ManagedClusterSetBinding", "AddOnPlacementScore"}, kind)
}

// Add reads an object of a kind that is known, as JSON. Fields of a Placement's spec that are not known are an error: what
// they would change is not.
func (o *Objects) Add(kind string, text []byte) error {
	switch kind {
	case "Placement":
		var p struct {
			Placement
			Spec json.RawMessage `json:"spec"`
		}
		if err := json.Unmarshal(text, &p); err != nil {
			return err
		}
		if len(p.Spec) > 0 {
			strict := json.NewDecoder(bytes.NewReader(p.Spec))
			strict.DisallowUnknownFields()
			if err := strict.Decode(&p.Placement.Spec); err != nil {
				return err
			}
		}
		o.Placements = append(o.Placements, &p.Placement)
	case "ManagedCluster":
		c := &Cluster{}
		if err := json.Unmarshal(text, c); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &c.object); err != nil {
			return err
		}
		o.Clusters = append(o.Clusters, c)
	case "ManagedClusterSet":
		s := &clusterSet{}
		o.sets = append(o.sets, s)
		return json.Unmarshal(text, s)
	case "ManagedClusterSetBinding":
		var b struct{ Metadata metadata }
		err := json.Unmarshal(text, &b)
		o.bindings = append(o.bindings, b.Metadata)
		return err
	case "AddOnPlacementScore":
		s := &scores{}
		o.scores = append(o.scores, s)
		if err := json.Unmarshal(text, s); err != nil {
			return err
		}
		for _, score := range s.Status.Scores {
			if score.Value < -maxScore || score.Value > maxScore { // as its schema has it
				return fmt.Errorf("the score %s is %d, and not from -%d to %d", score.Name, score.Value, maxScore, maxScore)
			}
		}
	}
	return nil
}

// Append adds other objects.
func (o *Objects) Append(other *Objects) {
	o.Placements, o.Clusters = append(o.Placements, other.Placements...), append(o.Clusters, other.Clusters...)
	o.sets, o.bindings, o.scores = append(o.sets, other.sets...), append(o.bindings, other.bindings...), append(o.scores, other.scores...)
}
