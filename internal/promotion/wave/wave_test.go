package wave

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// TestPartition: the first wave that takes a cluster type has it, and nobody is forgotten.
func TestPartition(t *testing.T) {
	types := map[string]map[string]string{
		"a": {"ring": "canary", "region": "eu"}, "b": {"region": "eu"}, "c": {"region": "us"}, "d": {"region": "us"}, "e": {}, "f": {},
	}
	canary := model.Wave{Name: "canary", ClusterTypes: model.Selector{Requirements: []model.Requirement{{Key: "ring", Operator: model.In, Values: []string{"canary"}}}}}
	waves := []model.Wave{canary, {Name: "regions", Pick: &model.Pick{Count: 1, By: "region"}}, {Name: "half", Pick: &model.Pick{Percent: 50}}, {Name: "none", ClusterTypes: canary.ClusterTypes}}
	all := Partition("prod", "", waves, types)
	var sizes []string
	for _, m := range all {
		sizes = append(sizes, fmt.Sprint(m.Name, " ", len(m.Folders)))
	}
	if diff := cmp.Diff([]string{"canary 1", "regions 2", "half 2", "none 0", "rest 1"}, sizes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all, Partition("prod", "", waves, types)); diff != "" {
		t.Errorf("it is another the next time: %s", diff)
	}
}

// TestWaveOfClusters: clusters with folders of their own are picked among themselves, whatever cluster types there are.
func TestWaveOfClusters(t *testing.T) {
	types := map[string]map[string]string{"cloud": {}, "edge": {"region": "eu"}}
	for i := range 20 {
		types[fmt.Sprintf("shop-%02d", i)] = map[string]string{model.ClusterTypeLabel: "shop", "region": "eu"}
	}
	types["shop-07"]["region"] = "us"
	single := model.Selector{Requirements: []model.Requirement{{Key: model.ClusterTypeLabel, Operator: model.Exists}}}
	inUS := model.Selector{Requirements: append([]model.Requirement{{Key: "region", Operator: model.In, Values: []string{"us"}}}, single.Requirements...)}
	all := Partition("prod", "", []model.Wave{
		{Name: "region", ClusterTypes: inUS}, {Name: "tenth", ClusterTypes: single, Pick: &model.Pick{Percent: 10, Order: model.OrderName}},
	}, types)
	if diff := cmp.Diff([]Members{{"region", []string{"shop-07"}}, {"tenth", []string{"shop-00", "shop-01"}}}, all[:2]); diff != "" || len(all[2].Folders) != 19 {
		t.Errorf("the waves (-want +got):\n%s\nthe rest has %v", diff, all[2].Folders)
	}
}

// TestGroupOfWave: a wave has the cluster types that policies have chosen for a group, by the decisions that are written.
func TestGroupOfWave(t *testing.T) {
	layer := func(kind model.LayerKind, text string) model.Layer {
		return model.Layer{Kind: kind, Name: "prod", Files: tree.FromEntries([]tree.Entry{tree.File("all.yaml", []byte(text))})}
	}
	types := ""
	for _, name := range []string{"a", "b", "c"} {
		types += "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: " + name + "}\nspec: {reconciler: x, namespaceService: x, configType: x}\n"
	}
	m, _ := model.Parse("prod", layer(model.Env, types), layer(model.Decisions, `apiVersion: fairlead.io/v1alpha1
kind: Decision
metadata: {name: shop}
spec:
  by: fairlead
  groups:
    - {name: canary, clusterTypes: [b]}
    - {clusterTypes: [c]}
  units: {cart: [b, c]}
`))
	base := model.NewParser().Progress("base", model.Layer{Kind: model.Base, Name: "base", Prefix: ".fairlead", Files: tree.FromEntries([]tree.Entry{tree.File("promotion.yaml", []byte(`apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
    - name: prod
      waves: [{name: first, clusterTypes: {group: canary}}]
`))})})
	if len(base.Promotions) == 0 || len(m.Decisions) != 1 {
		t.Fatalf("%d decisions, %v", len(m.Decisions), base.Problems)
	}
	got := Partition("prod", "", base.Promotions[0].Stages[0].Waves, FindTypes(m))
	if diff := cmp.Diff([]Members{{"first", []string{"b"}}, {model.RestWave, []string{"a", "c"}}}, got); diff != "" {
		t.Errorf("the waves (-want +got):\n%s", diff)
	}
}

// TestCheckWaves: a wave without cluster types is a warning, and waves beside stacks are a problem.
func TestCheckWaves(t *testing.T) {
	waves := []model.Wave{{Name: "first", Pick: &model.Pick{Count: 1}}, {Name: "second", Pick: &model.Pick{Count: 1, By: "region"}}}
	types := map[string]map[string]string{"a": {}, "b": {}}
	if l := CheckWaves("prod", waves, types, false); len(l) != 1 || l.Stops() {
		t.Errorf("the problems are %v", l)
	}
	types["b"]["region"], types["a"]["region"] = "eu", "eu"
	if l := CheckWaves("prod", waves, types, false); len(l) != 0 {
		t.Errorf("the problems are %v", l)
	}
	if l := CheckWaves("prod", waves, types, true); !l.Stops() {
		t.Errorf("stacks are no problem: %v", l)
	}
	if l := CheckWaves("prod", nil, types, true); len(l) != 0 {
		t.Errorf("the problems without waves are %v", l)
	}
}

// TestOrder: a wave picks by name or label, or others for each advance.
func TestOrder(t *testing.T) {
	types := map[string]map[string]string{"a": {"n": "10"}, "b": {"n": "-2"}, "c": {"n": "x"}, "d": {"n": "9"}, "e": {}, "f": {"n": "1"}}
	for _, c := range []struct {
		order, label string
		count        int
		want         []string
	}{
		{model.OrderName, "", 2, []string{"a", "b"}},
		{model.OrderLabelled, "n", 1, []string{"b"}},
		{model.OrderLabelled, "n", 3, []string{"b", "d", "f"}},
		{model.OrderLabelled, "n", 4, []string{"a", "b", "d", "f"}},
		{model.OrderLabelled, "n", 5, []string{"a", "b", "c", "d", "f"}},
	} {
		waves := []model.Wave{{Name: "first", Pick: &model.Pick{Count: c.count, Order: c.order, OrderLabel: c.label}}}
		if diff := cmp.Diff(c.want, Partition("prod", "1", waves, types)[0].Folders); diff != "" {
			t.Errorf("%d by %s %s (-want +got):\n%s", c.count, c.order, c.label, diff)
		}
	}
	for order, want := range map[string]bool{model.OrderHash: false, model.OrderRotate: true} {
		first := map[string]bool{}
		for i := range 20 {
			first[Partition("prod", fmt.Sprint(i), []model.Wave{{Name: "first", Pick: &model.Pick{Count: 1, Order: order}}}, types)[0].Folders[0]] = true
		}
		if (len(first) > 1) != want {
			t.Errorf("by %s the first of 20 advances are %v", order, first)
		}
	}
}

// TestRemovals: the folder of a removed cluster type goes with the last wave, or with the first one that changes.
func TestRemovals(t *testing.T) {
	old, fresh := tree.ID{1}, tree.ID{2}
	f := Facts{
		Head: Folders{"a": old, "b": old, "c": old, "gone": old, "empty": old}, Target: Folders{"a": old, "b": fresh, "c": fresh},
		Waves: []Members{{"first", []string{"a"}}, {"second", []string{"b"}}, {"rest", []string{"c", "empty"}}},
	}
	for first, want := range map[bool][]Members{
		false: {{"second", []string{"b"}}, {"rest", []string{"c", "empty", "gone"}}}, true: {{"second", []string{"b", "gone"}}, {"rest", []string{"c", "empty"}}},
	} {
		f.RemovesFirst = first
		if diff := cmp.Diff(want, Decide(f).Waves); diff != "" {
			t.Errorf("first %t (-want +got):\n%s", first, diff)
		}
	}
}

func TestDecide(t *testing.T) {
	old, fresh := tree.ID{1}, tree.ID{2}
	waves := []Members{{"first", []string{"a"}}, {"second", []string{"b"}}, {"rest", []string{"c"}}}
	target := Folders{"a": fresh, "b": fresh, "c": fresh}
	type want struct {
		State   State
		Next    int
		Earlier string
		IsLast  bool
	}
	for name, c := range map[string]struct {
		head     Folders
		record   string // its last wave; "" for no record
		previous string // the last wave of an advance that did not end; "" for none
		from     int
		verdicts map[string]gate.Status
		want     want
	}{
		"the target":            {head: target, want: want{State: Idle}},
		"all change":            {head: Folders{"a": old, "b": old, "c": old}, want: want{Offers, 0, "", false}},
		"a new folder":          {head: Folders{"b": old, "c": fresh}, want: want{Offers, 0, "", false}},
		"one wave":              {head: Folders{"a": fresh, "b": old, "c": fresh}, want: want{State: Whole}},
		"no verdict yet":        {head: Folders{"a": fresh, "b": old, "c": old}, record: "first", want: want{Proving, 1, "first", false}},
		"proven":                {head: Folders{"a": fresh, "b": old, "c": old}, record: "first", verdicts: map[string]gate.Status{"first": gate.Pass}, want: want{Offers, 1, "", false}},
		"failed":                {head: Folders{"a": fresh, "b": old, "c": old}, record: "first", verdicts: map[string]gate.Status{"first": gate.Fail}, want: want{Halted, 1, "first", false}},
		"an earlier one failed": {head: Folders{"a": fresh, "b": fresh, "c": old}, record: "second", verdicts: map[string]gate.Status{"first": gate.Fail, "second": gate.Wait}, want: want{Halted, 2, "first", true}},
		"a later one failed":    {head: Folders{"a": fresh, "b": fresh, "c": old}, record: "second", verdicts: map[string]gate.Status{"first": gate.Wait, "second": gate.Fail}, want: want{Halted, 2, "second", true}},
		"edited after its wave": {head: Folders{"a": old, "b": fresh, "c": old}, record: "second", want: want{Offers, 0, "", false}},
		"few":                   {head: Folders{"a": old, "b": old, "c": fresh}, from: 3, want: want{State: Whole}},
		"another target, and the first wave stays unproven":      {head: Folders{"a": fresh, "b": old, "c": old}, previous: "first", want: want{Proving, 0, "first", false}},
		"another target for the rest, and the first wave failed": {head: Folders{"a": fresh, "b": fresh, "c": old}, previous: "first", verdicts: map[string]gate.Status{"first": gate.Fail}, want: want{Halted, 0, "first", true}},
		"another target that changes the first wave too":         {head: Folders{"a": old, "b": old, "c": old}, previous: "first", verdicts: map[string]gate.Status{"first": gate.Fail}, want: want{Offers, 0, "", false}},
		"another target, and the first wave is proven":           {head: Folders{"a": fresh, "b": fresh, "c": old}, previous: "first", verdicts: map[string]gate.Status{"first": gate.Pass}, want: want{State: Whole}},
		"the last": {head: Folders{"a": fresh, "b": fresh, "c": old}, record: "second", verdicts: map[string]gate.Status{"first": gate.Pass, "second": gate.Pass}, want: want{Offers, 2, "", true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Head: c.head, Target: target, Waves: waves, Verdicts: map[string]gate.Verdict{}}
			if c.record != "" {
				f.Record = &Advance{Waves: waves, Wave: c.record}
			}
			f.From = c.from
			if c.previous != "" {
				f.Previous = &Advance{Waves: waves, Wave: c.previous}
			}
			for wave, status := range c.verdicts {
				f.Verdicts[wave] = gate.Verdict{Status: status}
			}
			d := Decide(f)
			if diff := cmp.Diff(c.want, want{d.State, d.Next, d.Earlier, d.IsLast}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCheckAdvance: a record that people have edited is refused if a folder is in two waves, or its wave is unknown.
func TestCheckAdvance(t *testing.T) {
	for name, c := range map[string]struct {
		waves []Members
		ok    bool
	}{
		"good":            {[]Members{{"a", []string{"x"}}, {"b", []string{"y", "z"}}}, true},
		"a folder twice":  {[]Members{{"a", []string{"x"}}, {"b", []string{"y", "x"}}}, false},
		"a wave twice":    {[]Members{{"a", []string{"x"}}, {"a", []string{"y"}}}, false},
		"an empty wave":   {[]Members{{"a", nil}, {"b", []string{"y"}}}, false},
		"an unknown wave": {[]Members{{"b", []string{"y"}}}, false},
		"no waves":        {nil, false},
	} {
		if err := (&Advance{Waves: c.waves, Wave: "a"}).Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBatches: a wave is split in parts of at most so many folders, of those that change.
func TestBatches(t *testing.T) {
	f := Facts{Head: Folders{}, Target: Folders{}, Waves: []Members{{"quarter", []string{"a", "b", "c", "d", "e", "f"}}, {"rest", []string{"g"}}}, Batches: map[string]int{"quarter": 2}}
	for _, name := range []string{"a", "b", "c", "d", "f", "g"} {
		f.Target[name] = tree.ID{1}
	}
	want := []Members{{"quarter/1", []string{"a", "b"}}, {"quarter/2", []string{"c", "d"}}, {"quarter/3", []string{"f"}}, {"rest", []string{"g"}}}
	if diff := cmp.Diff(want, Decide(f).Waves); diff != "" {
		t.Error(diff)
	}
	if BaseName("quarter/3") != "quarter" || BaseName("rest") != "rest" {
		t.Error("the wave of a batch is not found")
	}
}
