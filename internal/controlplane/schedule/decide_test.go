package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// manyUnits returns 300 units that each pick 2 of some cluster types.
func manyUnits(types int) *model.Model {
	m := &model.Model{}
	for i := range types {
		m.ClusterTypes = append(m.ClusterTypes, clusterType(fmt.Sprintf("t%02d", i), nil))
	}
	for i := range 300 {
		m.Targets = append(m.Targets, target(fmt.Sprintf("u%03d", i), "", nil))
	}
	p := policy("all", "", model.Selector{}, model.Selector{})
	p.Choice = &model.Choice{Pick: 2, Unit: model.UnitTarget}
	m.Policies = []*model.Policy{p}
	return m
}

// TestDecideWithoutFile: a decision without units is no decision; and without a decision, a cluster type that is added
// gets about its share of the places, and no unit moves between others. With one, nobody moves.
func TestDecideWithoutFile(t *testing.T) {
	ten, eleven := manyUnits(10), manyUnits(11)
	plan := schedule.NewPlan(ten, nil)
	before := plan.Decisions()[0].Units
	empty := *ten
	empty.Decisions = []*model.Decision{{Object: model.Object{Name: "all"}}}
	same := func(a, b map[string][]string) bool { return maps.EqualFunc(a, b, slices.Equal) }
	if !same(before, schedule.NewPlan(&empty, nil).Decisions()[0].Units) {
		t.Error("with an empty decision, others are chosen")
	}
	if !same(before, schedule.NewPlan(withDecisions(eleven, plan), nil).Decisions()[0].Units) {
		t.Error("a unit has moved because a cluster type was added")
	}
	moved := 0
	for unit, types := range schedule.NewPlan(eleven, nil).Decisions()[0].Units {
		for _, name := range types {
			if !slices.Contains(before[unit], name) {
				moved++
				if name != "t10" {
					t.Errorf("%s is on %s now", unit, name)
				}
			}
		}
	}
	if moved == 0 || moved > 600*2/11 {
		t.Errorf("%d of 600 places moved to the new one of 11 cluster types", moved)
	}
}

// TestDecideFileOrder: which file an object is in does not matter.
func TestDecideFileOrder(t *testing.T) {
	object := func(kind, name, annotations, spec string) string {
		return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n  annotations: {" + annotations + "}\nspec: " + spec + "\n"
	}
	var texts []string
	for i := range 6 {
		texts = append(texts, object("ClusterType", fmt.Sprintf("t%d", i), "", "{reconciler: a, namespaceService: a, configType: a}"))
		texts = append(texts, object("DeploymentTarget", fmt.Sprintf("u%d", i), `fairlead.io/requests: "{cpu: 2}"`, "{environment: dev, manifests: {}}"))
	}
	for i := range 3 {
		texts = append(texts, object("SchedulingPolicy", fmt.Sprintf("p%d", i), fmt.Sprintf(`fairlead.io/choose: "{pick: 2, priority: %d}"`, i%2), "{deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {}}}"))
		texts = append(texts, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, labels: {fairlead.io/capacity: \"true\"}}\ndata: {cpu: \"%d\"}\n", i, 4+i))
	}
	var want string
	for turn := range 5 {
		var b tree.Builder
		for i, text := range texts {
			if err := b.Add(fmt.Sprintf("%02d.yaml", (i*7+turn*5)%len(texts)), []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: b.Tree()})
		if len(m.Policies) != 3 || len(m.Targets) != 6 || len(m.Measures) != 3 || m.Policies[0].Choice == nil {
			t.Fatalf("%d policies, %d targets", len(m.Policies), len(m.Targets))
		}
		got := describeDecisions(schedule.NewPlan(m, nil))
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("in another order, these are chosen:\n%s\nnot\n%s", got, want)
		}
	}
}
