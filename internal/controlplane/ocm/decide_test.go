package ocm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// recordedCase is what OCM decides in one of its tests.
type recordedCase struct {
	Case     string
	Spec     map[string]any
	Clusters map[string]struct {
		Labels      map[string]string
		Claims      map[string]string
		Taints      []map[string]string
		Allocatable map[string]string
		Capacity    map[string]string
		Scores      map[string]map[string]int
	}
	Had     []string
	Others  [][]string
	Scores  map[string]map[string]int64
	Wants   []string
	Groups  []DecisionGroup
	Refused bool
}

const placementKey = "ns/p"

func (o *Objects) mustAdd(t testing.TB, kind string, object map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err == nil {
		err = o.Add(kind, text)
	}
	if err != nil {
		t.Fatalf("add a %s: %v", kind, err)
	}
}

func named(namespace, name string) map[string]any {
	return map[string]any{"name": name, "namespace": namespace}
}

// objects returns a hub with the clusters of a case in one set, which is bound.
func (c *recordedCase) objects(t *testing.T) *Objects {
	o := &Objects{}
	o.mustAdd(t, "Placement", map[string]any{"metadata": named("ns", "p"), "spec": c.Spec})
	o.mustAdd(t, "ManagedClusterSet", map[string]any{"metadata": named("", "all")})
	o.mustAdd(t, "ManagedClusterSetBinding", map[string]any{"metadata": named("ns", "all")})
	for name, is := range c.Clusters {
		labels := map[string]string{setLabel: "all"}
		maps.Copy(labels, is.Labels)
		claims := []map[string]string{}
		for key, value := range is.Claims {
			claims = append(claims, map[string]string{"name": key, "value": value})
		}
		for addOn, scores := range is.Scores {
			told := []map[string]any{}
			for name, value := range scores {
				told = append(told, map[string]any{"name": name, "value": value})
			}
			o.mustAdd(t, "AddOnPlacementScore", map[string]any{"metadata": named(name, addOn), "status": map[string]any{"scores": told}})
		}
		o.mustAdd(t, "ManagedCluster", map[string]any{
			"metadata": map[string]any{"name": name, "labels": labels}, "spec": map[string]any{"taints": is.Taints},
			"status": map[string]any{"clusterClaims": claims, "allocatable": is.Allocatable, "capacity": is.Capacity},
		})
	}
	return o
}

// TestRecorded: Placements are decided as OCM's scheduler decides them in its own tests.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []recordedCase
	if err := yaml.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Case, func(t *testing.T) {
			before := Decisions{placementKey: c.Had}
			for i, names := range c.Others {
				before[fmt.Sprintf("ns/other-%d", i)] = names
			}
			o := c.objects(t)
			decided, failed := o.NewScheduler().Decide(before)
			if misconfigured, ok := errors.AsType[*MisconfiguredError](failed[placementKey]); ok != c.Refused {
				t.Fatalf("it is refused: %v", misconfigured)
			}
			if c.Refused {
				return
			}
			if diff := cmp.Diff(c.Wants, decided[placementKey]); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			groups, err := o.Divide(o.Placements[0], decided[placementKey])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Groups, groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			for name, want := range c.Scores {
				s, err := o.newScheduler(o.Placements[0])
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]int64{}
				maps.Copy(got, coordinate{Type: "BuiltIn", BuiltIn: name}.score(s, s.clusters, before))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("scores of %s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// TestSettles: of random fleets whose Placements balance against each other, deciding again changes nothing, and the order
// of the objects does not matter.
func TestSettles(t *testing.T) {
	unsettled := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		build := func(shuffle bool) *Objects {
			r := rand.New(rand.NewPCG(seed, 2))
			o := &Objects{}
			o.mustAdd(t, "ManagedClusterSet", map[string]any{"metadata": named("", "all")})
			o.mustAdd(t, "ManagedClusterSetBinding", map[string]any{"metadata": named("ns", "all")})
			for i := range 3 + r.IntN(20) {
				taints := []map[string]string{}
				if r.IntN(4) == 0 {
					taints = append(taints, map[string]string{"key": "k", "effect": []string{"NoSelect", "NoSelectIfNew", "PreferNoSelect"}[r.IntN(3)]})
				}
				amount := map[string]string{"memory": fmt.Sprint(r.IntN(5), "Gi")}
				o.mustAdd(t, "ManagedCluster", map[string]any{
					"metadata": map[string]any{"name": fmt.Sprintf("c%02d", i), "labels": map[string]string{setLabel: "all", "region": fmt.Sprint(r.IntN(3))}},
					"spec":     map[string]any{"taints": taints}, "status": map[string]any{"allocatable": amount, "capacity": amount},
				})
			}
			for i := range 1 + r.IntN(5) {
				configurations := []map[string]any{}
				for _, name := range []string{cpu, memory} {
					if r.IntN(2) == 0 {
						configurations = append(configurations, map[string]any{"scoreCoordinate": map[string]any{"builtIn": name}, "weight": r.IntN(21) - 10})
					}
				}
				if i == 0 && seed%8 == 0 { // it goes where it is not
					configurations = append(configurations, map[string]any{"scoreCoordinate": map[string]any{"builtIn": steady}, "weight": -10})
				}
				o.mustAdd(t, "Placement", map[string]any{"metadata": named("ns", fmt.Sprint("p", i)), "spec": map[string]any{
					"numberOfClusters": r.IntN(6), "prioritizerPolicy": map[string]any{"configurations": configurations},
				}})
			}
			if shuffle {
				slices.Reverse(o.Clusters)
				slices.Reverse(o.Placements)
			}
			return o
		}
		before := Decisions{"ns/p0": {"c00", "c02"}, "ns/elsewhere": {fmt.Sprintf("c%02d", r.IntN(3))}}
		once, failed := build(false).NewScheduler().Decide(before)
		if len(failed) > 0 {
			unsettled++
			if diff := cmp.Diff(before, once); diff != "" {
				t.Errorf("seed %d: what does not settle has moved:\n%s", seed, diff)
			}
			continue
		}
		if twice, _ := build(false).NewScheduler().Decide(once); !cmp.Equal(once, twice) {
			t.Errorf("seed %d: deciding again moves:\n%s", seed, cmp.Diff(once, twice))
		}
		if other, _ := build(true).NewScheduler().Decide(before); !cmp.Equal(once, other) {
			t.Errorf("seed %d: the order of objects matters:\n%s", seed, cmp.Diff(once, other))
		}
	}
	if unsettled == 0 || unsettled > 25 { // none but those that go where they are not
		t.Errorf("%d of 200 fleets do not settle", unsettled)
	}
}

// TestLeftOut: what is not decided here is refused, and not decided otherwise.
func TestLeftOut(t *testing.T) {
	for name, spec := range map[string]map[string]any{
		"a clock":               {"tolerations": []any{map[string]any{"key": "k", "operator": "Exists", "tolerationSeconds": 60}}},
		"a prioritizer":         {"prioritizerPolicy": map[string]any{"configurations": []any{map[string]any{"scoreCoordinate": map[string]any{"builtIn": "Spread"}, "weight": 1}}}},
		"a mode":                {"prioritizerPolicy": map[string]any{"mode": "Other"}},
		"no coordinate":         {"prioritizerPolicy": map[string]any{"configurations": []any{map[string]any{"weight": 1}}}},
		"no add-on":             {"prioritizerPolicy": map[string]any{"configurations": []any{map[string]any{"scoreCoordinate": map[string]any{"type": "AddOn"}, "weight": 1}}}},
		"a function":            {"predicates": []any{map[string]any{"requiredClusterSelector": map[string]any{"celSelector": map[string]any{"celExpressions": []string{`managedCluster.status.version.kubernetes.versionIsGreaterThan("1.30")`}}}}}},
		"an operator":           {"predicates": []any{map[string]any{"requiredClusterSelector": map[string]any{"labelSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Near"}}}}}}},
		"an expression of text": {"predicates": []any{map[string]any{"requiredClusterSelector": map[string]any{"celSelector": map[string]any{"celExpressions": []string{`"text"`}}}}}},
	} {
		o := &Objects{}
		o.mustAdd(t, "Placement", map[string]any{"metadata": named("ns", "p"), "spec": spec})
		if _, failed := o.NewScheduler().Decide(Decisions{placementKey: {"c"}}); failed[placementKey] == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := (&Objects{}).Add("Placement", []byte(`{"metadata": {"name": "p"}, "spec": {"later": true}}`)); err == nil {
		t.Error("a field that is not known is taken")
	}
	if err := (&Objects{}).Add("AddOnPlacementScore", []byte(`{"status": {"scores": [{"name": "cpu", "value": 101}]}}`)); err == nil {
		t.Error("a score that its schema refuses is taken")
	}
}

// TestSets: a Placement selects among the clusters of sets that are bound to its namespace, and that it names.
func TestSets(t *testing.T) {
	build := func(bound []string, clusterSets ...string) *Objects {
		o := &Objects{}
		o.mustAdd(t, "Placement", map[string]any{"metadata": named("ns", "p"), "spec": map[string]any{"clusterSets": clusterSets}})
		o.mustAdd(t, "ManagedClusterSet", map[string]any{"metadata": named("", "east"), "spec": map[string]any{"clusterSelector": map[string]any{"selectorType": "ExclusiveClusterSetLabel"}}})
		o.mustAdd(t, "ManagedClusterSet", map[string]any{"metadata": named("", "kind"), "spec": map[string]any{"clusterSelector": map[string]any{
			"selectorType": "LabelSelector", "labelSelector": map[string]any{"matchLabels": map[string]string{"vendor": "Kind"}},
		}}})
		for _, name := range bound {
			o.mustAdd(t, "ManagedClusterSetBinding", map[string]any{"metadata": named("ns", name)})
		}
		o.mustAdd(t, "ManagedClusterSetBinding", map[string]any{"metadata": named("elsewhere", "kind")})
		o.mustAdd(t, "ManagedCluster", map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]string{setLabel: "east"}}})
		o.mustAdd(t, "ManagedCluster", map[string]any{"metadata": map[string]any{"name": "b", "labels": map[string]string{"vendor": "Kind"}}})
		o.mustAdd(t, "ManagedCluster", map[string]any{"metadata": map[string]any{"name": "going", "deletionTimestamp": "2026-11-20T10:00:00Z", "labels": map[string]string{setLabel: "east"}}})
		return o
	}
	unmatched, tainted, without := build([]string{"east"}), build([]string{"east"}), build([]string{"east"})
	unmatched.Placements[0].Spec.Predicates = make([]predicate, 1)
	unmatched.Placements[0].Spec.Predicates[0].RequiredClusterSelector.LabelSelector.MatchLabels = map[string]string{"a": "b"}
	tainted.Clusters[0].Spec.Taints = append(tainted.Clusters[0].Spec.Taints, struct{ Key, Value, Effect string }{"k", "", "NoSelect"})
	without.Clusters = nil
	for _, test := range []struct {
		objects *Objects
		want    []string
		empty   Empty
	}{
		{build(nil), []string{}, NoBinding}, {build([]string{"east", "gone"}), []string{"a"}, ""}, {build([]string{"east", "kind"}), []string{"a", "b"}, ""},
		{build([]string{"east", "kind"}, "kind"), []string{"b"}, ""}, {build([]string{"east"}, "kind"), []string{}, NoSet},
		{without, []string{}, NoClusters}, {unmatched, []string{}, NoMatch}, {tainted, []string{}, NoRoom},
	} {
		decided, failed := test.objects.NewScheduler().Decide(nil)
		if empty := test.objects.FindEmpty(test.objects.Placements[0]); test.empty != "" && empty != test.empty {
			t.Errorf("it selects nothing because of %q, want %q", empty, test.empty)
		}
		if diff := cmp.Diff(test.want, decided[placementKey]); diff != "" || len(failed) > 0 {
			t.Errorf("%v: decisions (-want +got):\n%s", failed, diff)
		}
	}
}
