package schedule_test

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// BenchmarkDecide places 10,000 units on 3 of 200 cluster types each, with spread and capacity: from nothing, and
// where all but one cluster type stay.
func BenchmarkDecide(b *testing.B) {
	m := &model.Model{}
	for i := range 200 {
		name := fmt.Sprintf("type-%03d", i)
		m.ClusterTypes = append(m.ClusterTypes, clusterType(name, map[string]string{"region": fmt.Sprint("r", i%5)}))
	}
	for i := range 10_000 {
		t := target(fmt.Sprintf("workload-%05d-main", i), "", map[string]string{"app": fmt.Sprint(i)})
		t.Requests = model.Amounts{"cpu": model.Quantity(i%8*100 + 100), "memory": 1000 << 28}
		m.Targets = append(m.Targets, t)
	}
	m.Measures = []*model.Measures{{Object: model.Object{Name: "all"}, Capacity: true, Amounts: model.Amounts{"cpu": 100_000, "memory": 1000 << 36}}}
	p := policy("all", "", model.Selector{}, model.Selector{})
	p.Choice = &model.Choice{Pick: 3, Unit: model.UnitTarget, Spread: []model.Spread{{By: "region", MaxSkew: 1}}}
	m.Policies = []*model.Policy{p}

	first := schedule.NewPlan(m, nil)
	if n := first.Len(); n < 29_000 {
		b.Fatalf("%d assignments", n)
	}
	decided := withDecisions(m, first)
	drained := *decided.ClusterTypes[7]
	drained.Taints = []model.Taint{{Key: "drain", Effect: model.NoSelect}}
	decided.ClusterTypes = append(append([]*model.ClusterType{}, m.ClusterTypes[:7]...), append([]*model.ClusterType{&drained}, m.ClusterTypes[8:]...)...)
	for _, c := range []struct {
		name string
		m    *model.Model
	}{{"from nothing", m}, {"one drained", decided}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				schedule.NewPlan(c.m, nil)
			}
		})
	}
}
