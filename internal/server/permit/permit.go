// Package permit decides who may do what at the page, and where.
//
// What the package keeps true: a decision is a function of the roles, the person, the action and the
// environment alone, and has a reason; what no role permits is refused, and so is all that somebody
// wants to do who has not signed in.
package permit

import (
	"fmt"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Force is what a role must permit besides an action for the objections to it to be overridden.
const Force = "force"

// Everybody is the group of all who signed in.
const Everybody = "*"

// Role permits actions to groups, in environments whose names match patterns as in path.Match.
type Role struct {
	Groups, May, In []string
}

// Policy is what may be done at the page.
type Policy struct {
	// Actions is false where the page is only read.
	Actions bool
	Roles   []Role
}

// Person is somebody who signed in.
type Person struct {
	// Groups are those of the person.
	Groups []string
}

// Verdict is a decision, and the reason for it.
type Verdict struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
}

// Decide returns whether a person may perform an action in an environment; who is nil for nobody, and
// environment "" for all environments, which only a pattern "*" permits.
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

// decide returns whether a role permits an action to somebody who signed in, among those that match.
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

// DecideAnywhere returns whether a person may perform an action in some environment.
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

// DecideAll returns whether a person may perform an action in all of some environments; none are all that
// there are.
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

// FilterGroups returns those groups that a role names, once each and in their order: nothing else of a
// person's groups is decided by.
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

// matches reports whether a role is about an environment.
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

// describeAction returns an action as a verb.
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
