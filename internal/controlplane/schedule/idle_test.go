package schedule_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// TestMisspelt: each row is a policy for the example, and what its labels nearly are.
func TestMisspelt(t *testing.T) {
	everything := model.Selector{}
	expression := func(key string, operator model.Operator, values ...string) model.Selector {
		return model.Selector{Requirements: []model.Requirement{{Key: key, Operator: operator, Values: values}}}
	}
	for _, test := range []struct {
		name                  string
		clusterTypes, targets model.Selector
		want                  string
	}{
		{"all is well", in("size", "large"), in("tier", "gold"), ""},
		{"a value of a target", everything, in("tier", "golt"), `nothing has tier=golt: did you mean "gold"?`},
		{"a value of a cluster type", in("size", "lage"), in("tier", "gold"), `nothing has size=lage: did you mean "large"?`},
		{"a key", in("sise", "large"), everything, `no label is called sise: did you mean "size"?`},
		{"a key that must be there", expression("siz", model.Exists), everything, `no label is called siz: did you mean "size"?`},
		{"one value of two is there", everything, in("tier", "golt", "tin"), ""},
		{"nothing is near", in("size", "gargantuan"), in("colour", "red"), ""},
		{"what must not be there", expression("siz", model.DoesNotExist), expression("tie", model.NotIn, "gold"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := schedule.MisspeltLabel(policy("p", "", test.clusterTypes, test.targets), example); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

// TestIdleSince: only what selected something before, and does not now, is said.
func TestIdleSince(t *testing.T) {
	with := func(policies ...*model.Policy) *model.Model {
		m := *example
		m.Policies = policies
		return &m
	}
	good, bad := in("tier", "gold"), in("tier", "golt")
	for _, test := range []struct {
		name        string
		before, now *model.Model
		want        string
	}{
		{"a typo", with(policy("a", "", model.Selector{}, good)), with(policy("a", "", model.Selector{}, bad)), "a: deployment target"},
		{"it was so before", with(policy("a", "", model.Selector{}, bad)), with(policy("a", "", model.Selector{}, bad)), ""},
		{"a new one", with(), with(policy("a", "", model.Selector{}, bad)), ""},
		{"it is mended", with(policy("a", "", model.Selector{}, bad)), with(policy("a", "", model.Selector{}, good)), ""},
		{"a cluster type", with(policy("a", "", in("size", "large"), good)), with(policy("a", "", in("size", "lage"), bad)), "a: cluster type and no deployment target"},
		{"another one", with(policy("a", "", model.Selector{}, good), policy("b", "", model.Selector{}, good)),
			with(policy("a", "", model.Selector{}, good), policy("b", "", model.Selector{}, bad)), "b: deployment target"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for p, lacks := range schedule.NewlyIdle(test.before, test.now) {
				got = append(got, p.Name+": "+lacks)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNewlyUnselected: an object whose labels no policy selects any more is found, with the label that was meant.
func TestNewlyUnselected(t *testing.T) {
	labeled := func(kind string, labels ...string) model.Object {
		o := model.Object{Kind: kind, Name: "x", Labels: map[string]string{}}
		for i := 0; i < len(labels); i += 2 {
			o.Labels[labels[i]] = labels[i+1]
		}
		return o
	}
	with := func(size, tier string, more ...string) *model.Model {
		return &model.Model{
			Policies:     []*model.Policy{policy("p", "", in("size", "large"), in("tier", "gold"))},
			ClusterTypes: []*model.ClusterType{{Object: labeled("ClusterType", append(more, "size", size)...)}},
			Targets:      []*model.Target{{Object: labeled("DeploymentTarget", append(more, "tier", tier)...)}},
		}
	}
	good := with("large", "gold")
	key := with("large", "gold")
	key.ClusterTypes[0].Labels = map[string]string{"sise": "large"}
	policies := with("large", "gold")
	policies.Policies = nil
	for _, test := range []struct {
		name        string
		before, now *model.Model
		want        map[string]string
	}{
		{"nothing changes", good, with("large", "gold"), map[string]string{}},
		{"a cluster type", good, with("lage", "gold"), map[string]string{"ClusterType/x": `SchedulingPolicy/p selects size=large: did you mean "large"?`}},
		{"a key", good, key, map[string]string{"ClusterType/x": `SchedulingPolicy/p selects by the label size: did you mean it? it has "sise"`}},
		{"a target", good, with("large", "golt"), map[string]string{"DeploymentTarget/x": `SchedulingPolicy/p selects tier=gold: did you mean "gold"?`}},
		{"nothing is near", good, with("tiny", "gold"), map[string]string{"ClusterType/x": ""}},
		{"another label", good, with("large", "gold", "a", "b"), map[string]string{}},
		{"it was so before", with("lage", "gold"), with("lag", "gold"), map[string]string{}},
		{"the policy goes", good, policies, map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := map[string]string{}
			for o, near := range schedule.NewlyUnselected(test.before, test.now) {
				got[o.Subject()] = near
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
