package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// placementPage returns the text of a PlacementDecision of the Placement shop/checkout.
func placementPage(number int, clusters ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata:
  name: checkout-decision-%d
  namespace: shop
  labels: {cluster.open-cluster-management.io/placement: checkout, cluster.open-cluster-management.io/decision-group-index: "0"}
  ownerReferences: [{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, name: checkout, uid: x}]
status:
  decisions:
`, number)
	for _, name := range clusters {
		fmt.Fprintf(&b, "  - {clusterName: %s, reason: \"\"}\n", name)
	}
	return b.String()
}

func managedCluster(name, clusterType string) string {
	return fmt.Sprintf("---\napiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: %s, labels: {fairlead.io/cluster-type: %s, vendor: Kind}}\nspec: {hubAcceptsClient: true}\n", name, clusterType)
}

// hub returns the text of the Placement shop/checkout, with what it is decided from: two clusters of each of two types.
func hub(spec string) string {
	const kind = "---\napiVersion: cluster.open-cluster-management.io/%s\nkind: %s\nmetadata: {name: %s, namespace: shop}\nspec: {%s}\n"
	text := fmt.Sprintf(kind, "v1beta1", "Placement", "checkout", spec) + fmt.Sprintf(kind, "v1beta2", "ManagedClusterSetBinding", "all", "clusterSet: all") +
		fmt.Sprintf(kind, "v1beta2", "ManagedClusterSet", "all", "clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {vendor: Kind}}}")
	for i, name := range []string{"a", "b", "c", "d"} {
		text += managedCluster(name, []string{"t1", "t2"}[i/2])
	}
	return text
}

// parsePlaced returns the model of a policy that follows the Placement shop/checkout, with more in its choice, and the objects
// of the folder of decisions.
func parsePlaced(extra, decisions string) (*model.Model, problem.List) {
	objects := ""
	for name, purpose := range map[string]string{"t1": "shop", "t2": "shop", "other": "games"} {
		objects += "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: " + name + ", labels: {purpose: " + purpose + "}}\nspec: {reconciler: a, namespaceService: a, configType: a}\n"
	}
	objects += "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata:\n  name: checkout\n  annotations: {fairlead.io/choose: \"{by: ocm, placement: shop/checkout" + extra + "}\"}\n" +
		"spec: {deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {matchLabels: {purpose: shop}}}}\n"
	layer := func(kind model.LayerKind, prefix, text string) model.Layer {
		all, decision, _ := strings.Cut(text, "-- checkout.yaml --\n")
		return model.Layer{Kind: kind, Name: "dev", Prefix: prefix, Files: tree.FromEntries([]tree.Entry{tree.File("all.yaml", []byte(all)), tree.File("checkout.yaml", []byte(decision))})}
	}
	return model.Parse("dev", layer(model.Env, "", objects), layer(model.Decisions, model.DecisionFolder, decisions))
}

// TestPlacement: a policy that follows a Placement picks the cluster types all of whose clusters it has decided on.
func TestPlacement(t *testing.T) {
	var managed strings.Builder
	var east, all []string
	for i := range 250 {
		name := fmt.Sprintf("c%03d", i)
		managed.WriteString(managedCluster(name, []string{"t1", "t2"}[i%2]))
		all = append(all, name)
		if i < 10 && i%2 == 0 {
			east = append(east, name)
		}
	}
	five := ""
	for _, name := range east {
		five += managedCluster(name, "t1")
	}
	for name, test := range map[string]struct {
		extra, objects string
		want           []string
		problem        string // of the policy
	}{
		"250 clusters in 3 pages": {"", managed.String() + placementPage(1, all[:100]...) + placementPage(3, all[200:]...) + placementPage(2, all[100:200]...), []string{"t1", "t2"}, ""},
		"page is missing":         {"", managed.String() + placementPage(1, all[:100]...) + placementPage(3, all[200:]...), nil, "page 2"},
		"page is there twice":     {"", placementPage(1, "t1") + placementPage(1, "t2"), nil, "page 1"},
		"4 of 5":                  {"", five + placementPage(1, east[:4]...), nil, "not on c008"},
		"4 of 5, any":             {", partial: any", five + placementPage(1, append(slices.Clone(east[:4]), "t2")...), []string{"t1", "t2"}, ""},
		"4 of 5, none":            {", partial: none", five + placementPage(1, append(slices.Clone(east[:4]), "t2")...), []string{"t2"}, ""},
		"named as types":          {"", placementPage(1, "t2"), []string{"t2"}, ""},
		"nothing decided":         {"", placementPage(1), nil, ""},
		"no type":                 {"", placementPage(1, "t9", "t1"), []string{"t1"}, "not a cluster type"},
		"not selected":            {"", placementPage(1, "other", "t1"), []string{"t1"}, "does not select"},
		"no decisions":            {"", managed.String(), nil, "no PlacementDecision"},
		"pick too":                {", pick: 2", placementPage(1, "t1"), nil, "how many"},
		"decided here":            {", evaluate: here", hub("numberOfClusters: 2"), []string{"t1"}, ""},
		"decided here, and stays": {", evaluate: here", hub("numberOfClusters: 2") + "-- checkout.yaml --\napiVersion: fairlead.io/v1alpha1\nkind: Decision\nmetadata: {name: checkout}\nspec: {by: ocm, units: {web: [t2]}}\n", []string{"t2"}, ""},
		"decided here, 1 of 2":    {", evaluate: here", hub("numberOfClusters: 3"), []string{"t1"}, "not on d"},
		"decided here, any":       {", evaluate: here, partial: any", hub("numberOfClusters: 3"), []string{"t1", "t2"}, ""},
		"decided here, none":      {", evaluate: here", hub("predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {vendor: other}}}}]"), nil, "matches its predicates"},
		"another Placement":       {", evaluate: here", strings.ReplaceAll(hub("numberOfClusters: 2"), "namespace: shop", "namespace: games"), nil, "is not in"},
		"not to be decided":       {", evaluate: here", hub("tolerations: [{operator: Exists, tolerationSeconds: 5}]"), nil, "a clock"},
		"spread":                  {", evaluate: here", hub("numberOfClusters: 2, spreadPolicy: {spreadConstraints: []}"), []string{"t1"}, "spreadPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := parsePlaced(test.extra, test.objects)
			found := ""
			for _, p := range problems {
				if p.Subject == "SchedulingPolicy/checkout" || strings.Contains(p.Subject, "Decision/") {
					found += p.Summary + "\n"
				}
				if strings.HasPrefix(p.Pos.File, model.DecisionFolder) && test.problem == "" {
					t.Error(p)
				}
			}
			if (test.problem == "") != (found == "") || !strings.Contains(found, test.problem) {
				t.Errorf("the problems are %q, want one of %q", found, test.problem)
			}
			choice := m.Policies[0].Choice
			if choice == nil {
				if test.want != nil {
					t.Error("there is no choice")
				}
				return
			}
			if !slices.Equal(choice.Names, test.want) || choice.Pick != max(1, len(test.want)) {
				t.Errorf("it picks %d of %q, want %q", choice.Pick, choice.Names, test.want)
			}
		})
	}
}

// TestPlacementGroups: the decision groups of a Placement are those of the policy that follows it, unless its choice has its own.
func TestPlacementGroups(t *testing.T) {
	strategy := func(groups string) string {
		return hub("numberOfClusters: 4, decisionStrategy: {groupStrategy: {" + groups + "}}")
	}
	grouped := func(page string, index int, name string) string {
		return strings.Replace(page, `decision-group-index: "0"`, fmt.Sprintf("decision-group-index: %q, cluster.open-cluster-management.io/decision-group-name: %q", fmt.Sprint(index), name), 1)
	}
	const canary = "decisionGroups: [{groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {fairlead.io/cluster-type: t2}}}}]"
	for name, test := range map[string]struct {
		extra, objects string
		want           []model.DecidedGroup
		problem        string
	}{
		"none":          {", evaluate: here", hub("numberOfClusters: 4"), nil, ""},
		"named":         {", evaluate: here", strategy(canary), []model.DecidedGroup{{Name: "canary", ClusterTypes: []string{"t2"}}, {ClusterTypes: []string{"t1"}}}, ""},
		"half of all":   {", evaluate: here", strategy("clustersPerDecisionGroup: 50%"), []model.DecidedGroup{{ClusterTypes: []string{"t1"}}, {ClusterTypes: []string{"t2"}}}, ""},
		"its own":       {", evaluate: here, groups: {size: 5}", strategy(canary), []model.DecidedGroup{{ClusterTypes: []string{"t1", "t2"}}}, ""},
		"no percentage": {", evaluate: here", strategy("clustersPerDecisionGroup: half"), nil, "no percentage"},
		"decided elsewhere": {"", grouped(placementPage(1, "t2"), 0, "canary") + grouped(placementPage(2, "t1"), 1, ""),
			[]model.DecidedGroup{{Name: "canary", ClusterTypes: []string{"t2"}}, {ClusterTypes: []string{"t1"}}}, ""},
		"two pages of one": {"", placementPage(1, "t2") + placementPage(2, "t1"), nil, ""},
		"split type": {"", managedCluster("a", "t1") + managedCluster("b", "t1") + grouped(placementPage(1, "a"), 0, "canary") + grouped(placementPage(2, "b", "t2"), 1, ""),
			[]model.DecidedGroup{{Name: "canary", ClusterTypes: []string{"t1"}}, {ClusterTypes: []string{"t2"}}}, "is in one"},
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := parsePlaced(test.extra, test.objects)
			found := ""
			for _, p := range problems {
				if p.Subject == "SchedulingPolicy/checkout" {
					found += p.Summary
				}
			}
			if (test.problem == "") != (found == "") || !strings.Contains(found, test.problem) {
				t.Errorf("the problems are %q, want one of %q", found, test.problem)
			}
			var types []*model.ClusterType
			for _, name := range m.Policies[0].Choice.Names {
				types = append(types, m.ClusterType(name))
			}
			if diff := cmp.Diff(test.want, m.Policies[0].Choice.Groups.Divide(types)); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}
