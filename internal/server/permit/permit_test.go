package permit_test

import (
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/server/permit"
)

// TestDecide is the table of who may do what where.
func TestDecide(t *testing.T) {
	policy := permit.Policy{Actions: true, Roles: []permit.Role{
		{Groups: []string{"sre"}, May: []string{"hold", "release", "rollback", "promote", "freeze", permit.Force}, In: []string{"*"}},
		{Groups: []string{"shop", "web"}, May: []string{"hold", "release"}, In: []string{"dev", "stage-*"}},
		{Groups: []string{permit.Everybody}, May: []string{"approve"}, In: []string{"dev"}},
		{Groups: []string{"qa"}, May: []string{"approve"}, In: []string{"["}}, // no pattern matches nothing
	}}
	in := func(groups ...string) *permit.Person { return &permit.Person{Groups: groups} }
	for _, test := range []struct {
		name        string
		who         *permit.Person
		action, env string
		allowed     bool
		reason      string
	}{
		{"nobody", nil, "hold", "dev", false, "sign in first"},
		{"no group", in(), "hold", "dev", false, "only group sre, shop or web may hold in dev"},
		{"everybody", in(), "approve", "dev", true, "everybody who signed in may approve in dev"},
		{"everybody, elsewhere", in(), "approve", "prod", false, "no role in the settings permits to approve in prod"},
		{"a team in its environment", in("shop"), "hold", "dev", true, "group shop may hold in dev"},
		{"a team in an environment of a pattern", in("other", "web"), "release", "stage-eu", true, "group web may release in stage-eu"},
		{"a team elsewhere", in("shop"), "hold", "prod", false, "only group sre may hold in prod"},
		{"what a team may not do", in("shop"), "rollback", "dev", false, "only group sre may roll back in dev"},
		{"all environments", in("sre"), "freeze", "", true, "group sre may freeze in all environments"},
		{"all environments, for a team", in("shop"), "hold", "", false, "only group sre may hold in all environments"},
		{"force", in("sre"), permit.Force, "prod", true, "group sre may override objections in prod"},
		{"force, for a team", in("shop"), permit.Force, "dev", false, "only group sre may override objections in dev"},
		{"a pattern that is none", in("qa"), "approve", "[", false, "no role in the settings permits to approve in ["},
		{"a group is one name, not a pattern", in("*"), "hold", "dev", false, "only group sre, shop or web may hold in dev"},
		{"what is no action", in("sre"), "", "dev", false, "no role in the settings permits to  in dev"},
		{"case counts", in("SRE"), "hold", "prod", false, "only group sre may hold in prod"},
	} {
		got := policy.Decide(test.who, test.action, test.env)
		if got.Allowed != test.allowed || got.Reason != test.reason {
			t.Errorf("%s: %v, %s; want %v, %s", test.name, got.Allowed, got.Reason, test.allowed, test.reason)
		}
	}
	policy.Actions = false
	if got := policy.Decide(in("sre"), "hold", "dev"); got.Allowed {
		t.Errorf("a page that is only read lets somebody act: %+v", got)
	}
}

// TestDecideAll: an action in several environments needs all of them.
func TestDecideAll(t *testing.T) {
	policy := permit.Policy{Actions: true, Roles: []permit.Role{{Groups: []string{"shop"}, May: []string{"freeze"}, In: []string{"dev", "stage"}}}}
	shop := &permit.Person{Groups: []string{"shop"}}
	for _, test := range []struct {
		environments []string
		want         bool
	}{{[]string{"dev", "stage"}, true}, {[]string{"dev", "prod"}, false}, {[]string{"prod", "dev"}, false}, {nil, false}} {
		if got := policy.DecideAll(shop, "freeze", test.environments); got.Allowed != test.want {
			t.Errorf("%v: %+v", test.environments, got)
		}
	}
	for _, test := range []struct {
		who  *permit.Person
		want bool
	}{{shop, true}, {nil, false}, {&permit.Person{}, false}} {
		if got := policy.DecideAnywhere(test.who, "freeze"); got.Allowed != test.want {
			t.Errorf("anywhere: %+v is %+v", test.who, got)
		}
	}
	if got := policy.FilterGroups([]string{"x", "shop", "shop", "*"}); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("of the groups %q are kept", got)
	}
}
