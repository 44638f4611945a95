// Package permit decides who may do what at the page, and where.
//
// What the package keeps true: a decision follows only from roles, person, action and environment,
// and has a reason. Without a role that permits it, or without a sign-in, an action is refused.
package permit

import (
	"fmt"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Force is the additional permission to override objections to an action.
const Force = "force"

// Everybody is the group of all who signed in.
const Everybody = "*"

// Role permits actions to groups, in environments that match patterns as in path.Match.
type Role struct {
	Groups, May, In []string
}

// Policy is what may be done at the page.
type Policy struct {
	// Actions is false if the page is read-only.
	Actions bool
	Roles   []Role
}

// Person is someone who signed in.
type Person struct {
	// Groups are the person's groups.
	Groups []string
}

// Verdict is a decision and its reason.
type Verdict struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
}

// Decide returns whether a person (nil for nobody) may perform an action in an environment; ""
// means all, which only the pattern "*" permits.
func (p Policy) Decide(who *Person, action, environment string) Verdict {
	switch {
	case !p.Actions:
		return Verdict{false, "the page is read-only: web.actions is off in the settings"}
	case who == nil:
		return Verdict{false, "sign in first"}
	}
	where := "in " + environment
	if environment == "" {
		where = "in all environments"
	}
	return p.decide(who, action, " "+where, func(r Role) bool { return r.matches(environment) })
}

func (p Policy) decide(who *Person, action, where string, matches func(Role) bool) Verdict {
	var others []string
	for _, r := range p.Roles {
		if !slices.Contains(r.May, action) || !matches(r) {
			continue
		}
		for _, g := range r.Groups {
			if g == Everybody || slices.Contains(who.Groups, g) {
				return Verdict{true, fmt.Sprintf("%s may %s%s", describeGroup(g), describeAction(action), where)}
			}
			if !slices.Contains(others, g) {
				others = append(others, g)
			}
		}
	}
	if others == nil {
		return Verdict{false, fmt.Sprintf("no role in the settings permits to %s%s", describeAction(action), where)}
	}
	return Verdict{false, fmt.Sprintf("only group %s may %s%s", text.Join(others, " or "), describeAction(action), where)}
}

// DecideAnywhere returns whether a person may perform an action in any environment.
func (p Policy) DecideAnywhere(who *Person, action string) Verdict {
	v := p.Decide(who, action, "")
	if v.Allowed || !p.Actions || who == nil {
		return v
	}
	v = p.decide(who, action, "", func(r Role) bool { return len(r.In) > 0 })
	if v.Allowed {
		v.Reason += " in some environments"
	}
	return v
}

// DecideAll returns whether a person may perform an action in all given environments; none means
// all that exist.
func (p Policy) DecideAll(who *Person, action string, environments []string) Verdict {
	if len(environments) == 0 {
		return p.Decide(who, action, "")
	}
	var v Verdict
	for _, e := range environments {
		v = p.Decide(who, action, e)
		if !v.Allowed {
			break
		}
	}
	return v
}

// FilterGroups returns the groups that roles name, without duplicates. Other groups never matter.
func (p Policy) FilterGroups(groups []string) []string {
	var named []string
	for _, g := range groups {
		isNamed := func(r Role) bool { return slices.Contains(r.Groups, g) }
		if g != Everybody && slices.ContainsFunc(p.Roles, isNamed) && !slices.Contains(named, g) {
			named = append(named, g)
		}
	}
	return named
}

func (r Role) matches(environment string) bool {
	return slices.ContainsFunc(r.In, func(pattern string) bool {
		if environment == "" {
			return pattern == "*"
		}
		ok, err := path.Match(pattern, environment)
		return err == nil && ok
	})
}

func describeGroup(name string) string {
	if name == Everybody {
		return "everybody who signed in"
	}
	return "group " + name
}

func describeAction(action string) string {
	switch action {
	case "rollback":
		return "roll back"
	case "approve-plan":
		return "approve plans of stacks"
	case "teardown":
		return "tear down stacks"
	case Force:
		return "override objections"
	}
	return action
}
