package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

func clusterType(name string, labels map[string]string) *model.ClusterType {
	return &model.ClusterType{Object: model.Object{Kind: "ClusterType", Name: name, Labels: labels}}
}

func target(name, workspace string, labels map[string]string) *model.Target {
	return &model.Target{Object: model.Object{Kind: "DeploymentTarget", Name: name, Labels: labels}, Workspace: workspace}
}

func in(key string, values ...string) model.Selector {
	return model.Selector{Requirements: []model.Requirement{{Key: key, Operator: model.In, Values: values}}}
}

func policy(name, workspace string, clusterTypes, targets model.Selector) *model.Policy {
	return &model.Policy{Object: model.Object{Kind: "SchedulingPolicy", Name: name}, Workspace: workspace, ClusterTypes: clusterTypes, Targets: targets}
}

var example = &model.Model{
	ClusterTypes: []*model.ClusterType{
		clusterType("beacon", map[string]string{"size": "small"}),
		clusterType("pier", map[string]string{"size": "large"}),
		clusterType("reef", nil),
	},
	Targets: []*model.Target{
		target("crane-main", "dock", map[string]string{"tier": "gold"}),
		target("gull-main", "dock", map[string]string{"tier": "tin"}),
		target("tern-main", "", map[string]string{"tier": "gold"}),
	},
	Policies: []*model.Policy{
		policy("gold", "dock", in("size", "large", "small"), in("tier", "gold")),
		policy("idle", "", in("size", "huge"), in("tier", "iron")),
		policy("large", "", in("size", "large"), model.Selector{}),
	},
}

func pairs(p *schedule.Plan) string {
	var out []string
	for a := range p.All() {
		out = append(out, a.ClusterType.Name+"/"+a.Target.Name)
	}
	return strings.Join(out, " ")
}

// The two policies agree on pier/crane-main; it is there once.
func TestAssign(t *testing.T) {
	p := schedule.NewPlan(example, nil)
	if got, want := pairs(p), "beacon/crane-main pier/crane-main pier/gull-main pier/tern-main"; got != want {
		t.Errorf("assignments are\n%s, want\n%s", got, want)
	}
	if p.Len() != 4 {
		t.Errorf("there are %d assignments, want 4", p.Len())
	}
	for policy, lacks := range p.IdlePolicies() {
		if policy.Name != "idle" || lacks != "cluster type and no deployment target" {
			t.Errorf("policy %s selects no %s", policy.Name, lacks)
		}
	}
}

func TestOpinions(t *testing.T) {
	var got []string
	for _, o := range schedule.EvaluatePolicies(example, schedule.Assignment{ClusterType: example.ClusterTypes[2], Target: example.Targets[2]}) {
		got = append(got, fmt.Sprintf("%s %v: %s; %s", o.Policy.Name, o.Selected, o.ClusterType, o.Target))
	}
	want := []string{
		"gold false: needs size in (large,small), has no label size; needs workspace dock, is in no workspace",
		"idle false: needs size=huge, has no label size; needs tier=iron, has tier=gold",
		"large false: needs size=large, has no label size; ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLastPlan edits fleets at random: a plan made with the help of the last one is
// the plan that is made without.
func TestLastPlan(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	f, parser := fleet.New(fleet.Size{Workloads: 9, ClusterTypes: 8, Configs: 3, Reach: 2}), model.NewParser()
	var last *schedule.Plan
	for range 60 {
		edit := f.Edit(random)
		m, problems := parser.Parse(fleet.Environment, f.Layers()...)
		if problems.Stops() {
			t.Fatal(problems)
		}
		last = schedule.NewPlan(m, last)
		if got, want := pairs(last), pairs(schedule.NewPlan(m, nil)); got != want {
			t.Fatalf("after an edit (%s) the plan is\n%s, want\n%s", edit, got, want)
		}
	}
}
