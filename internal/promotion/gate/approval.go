package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type approvalSpec struct {
	Count    int      `yaml:"count"`
	By       []string `yaml:"by"`
	Distinct bool     `yaml:"distinct"`
	Trusted  bool     `yaml:"trusted"`
}

// teamPrefix begins the teams among those who may approve.
const teamPrefix = "team:"

// approvalGate waits for people to approve.
type approvalGate struct {
	gateName
	count         int
	people, teams []string // who may; both empty: anyone
	distinct      bool     // authors may not approve
	trusted       bool     // what is only written in Git does not count
}

func newApprovalGate(spec model.GateSpec) (Gate, problem.List) {
	s := approvalSpec{Count: 1}
	problems := spec.Decode(&s)
	g := approvalGate{gateName: gateNameOf(spec), count: s.Count, distinct: s.Distinct, trusted: s.Trusted}
	for _, who := range s.By {
		team, ok := strings.CutPrefix(who, teamPrefix)
		switch {
		case strings.TrimSpace(team) == "":
			problems = append(problems, spec.Problem(`write it as by: [alice, "team:org/sre"]`, "%q names neither a user nor a team", who))
		case ok:
			g.teams = append(g.teams, team)
		case !slices.ContainsFunc(g.people, func(p string) bool { return strings.EqualFold(p, who) }):
			g.people = append(g.people, who)
		}
	}
	switch {
	case len(problems) > 0:
	case s.By != nil && len(s.By) == 0:
		problems = append(problems, spec.Problem("list users or teams, or remove by to accept anyone's approval", "by is an empty list, so no approval counts"))
	case s.Count < 1:
		problems = append(problems, spec.Problem("remove the gate if no approval is needed", "count is 0"))
	case len(g.teams) == 0 && len(g.people) > 0 && len(g.people) < s.Count:
		problems = append(problems, spec.Problem("name more people, or ask for fewer", "%s are required, but only %s may approve",
			text.Count(s.Count, "approval"), text.Join(g.people, " and ")))
	}
	return g, problems
}

// StageNeedsTrust reports whether a gate of a stage, or of its proof, counts only approvals that can be trusted.
func StageNeedsTrust(s model.Stage) bool {
	return slices.ContainsFunc(s.Gates, NeedsTrust) || slices.ContainsFunc(s.Proof, NeedsTrust)
}

// AsksPeople reports whether a gate asks for approvals.
func AsksPeople(spec model.GateSpec) bool { return spec.Kind == "approval" }

// NeedsTrust reports whether a gate counts only approvals that can be trusted.
func NeedsTrust(spec model.GateSpec) bool {
	if !AsksPeople(spec) {
		return false
	}
	g, _ := New(spec)
	a, isApproval := g.(approvalGate)
	return isApproval && a.trusted
}

// Needs returns the approvals, and the members of the teams.
func (g approvalGate) Needs(f Facts) []Need {
	teams := list.Convert(g.teams, func(team string) Need { return Need{Key: "members " + team, Kind: Members, Team: team} })
	return append([]Need{{Key: "approvals " + f.Environment, Kind: Approvals}}, teams...)
}

// Evaluate counts those who approved and may.
func (g approvalGate) Evaluate(f Facts) Verdict {
	counted, refused := g.countPeople(f)
	missing := g.count - len(counted)
	var parts []string
	asked := g.findApprovers(f, counted)
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%s missing%s", text.Count(missing, "approval"), g.describeApprovers(*asked)))
	}
	if len(counted) > 0 {
		parts = append(parts, "approved by "+text.Join(counted, " and "))
	}
	parts = append(parts, slices.Compact(refused)...)
	if missing <= 0 {
		return g.pass("%s", strings.Join(parts, "; "))
	}
	for _, need := range g.Needs(f) {
		_, known := f.Teams[need.Team]
		switch amiss := f.unansweredReason(need.Key); {
		case need.Kind == Members && !known:
			parts = append(parts, fmt.Sprintf("the members of %s are not known%s", need.Team, amiss))
		case need.Kind == Approvals && amiss != "":
			parts = append(parts, "there may be others"+amiss)
		}
	}
	v := g.wait("%s", strings.Join(parts, "; "))
	asked.Missing = missing
	v.Approvers = asked
	return v
}

// Approvers is whose approval a gate waits for.
type Approvers struct {
	// Only are those who may approve; nil if that is anybody, or not known.
	Only []string
	// Counted are those who have approved, and Authors those whose approval does not count for they are authors.
	Counted, Authors []string
	// Missing is how many approvals are waited for.
	Missing int
}

// findApprovers returns whose approval is waited for, where some count already.
func (g approvalGate) findApprovers(f Facts, counted []string) *Approvers {
	a := &Approvers{Only: slices.Clone(g.people), Counted: counted}
	if g.distinct {
		a.Authors = f.Authors
	}
	for _, team := range g.teams {
		members, known := f.Teams[team]
		if !known {
			a.Only = nil
			break
		}
		a.Only = append(a.Only, members...)
	}
	return a
}

// RefuseApprover returns why the approval of a person, who has several names, would not count for a verdict that waits
// for approvals; "" if it may.
func (v Verdict) RefuseApprover(names ...string) string {
	for _, p := range v.Parts {
		if why := p.RefuseApprover(names...); why != "" {
			return why
		}
	}
	if v.Approvers == nil {
		return ""
	}
	if why := v.Approvers.refusalReason(names); why != "" {
		return why
	}
	if v.Approvers.Only != nil && !isOneOf(v.Approvers.Only, names) {
		return "you are not among those whose approval counts"
	}
	return ""
}

// refusalReason returns why nobody waits for the approval of a person; "" if that is not so.
func (a Approvers) refusalReason(names []string) string {
	switch {
	case isOneOf(a.Counted, names):
		return "you have approved it"
	case isOneOf(a.Authors, names):
		return "you are an author of what is approved"
	}
	return ""
}

// isOneOf reports whether one of the names of a person is among others.
func isOneOf(all, names []string) bool {
	return slices.ContainsFunc(all, func(other string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && personIdentity(name) == personIdentity(other) })
	})
}

// countPeople returns whose approvals count, and why others do not. A login and an address that the
// forge does not connect may be one person: then only reviews or only files count, whichever are
// more.
func (g approvalGate) countPeople(f Facts) (counted, refused []string) {
	reviewed := map[string]bool{}
	if f.Pull != nil {
		for _, a := range f.Pull.Approvals {
			reviewed[a.personIdentity()] = a.Refused == "" || reviewed[a.personIdentity()]
		}
	}
	seen := map[string]bool{}
	var reviews, others, addresses []string
	for _, a := range g.sortedApprovals(f) {
		person := a.personIdentity()
		if seen[person] {
			continue
		}
		if why := g.refusalReason(a, f); why != "" {
			refused = append(refused, why)
			continue // the same person may have approved under another name
		}
		seen[person] = true
		switch {
		case reviewed[person]:
			reviews = append(reviews, a.Approver)
		case strings.Contains(person, "@"):
			addresses = append(addresses, a.Approver)
		default:
			others = append(others, a.Approver)
		}
	}
	if len(reviews) > 0 && len(addresses) > 0 {
		dropped := &addresses
		if len(addresses) > len(reviews) {
			dropped = &reviews
		}
		for _, name := range *dropped {
			refused = append(refused, fmt.Sprintf("%s may be one of the others: the forge does not say whose login and address are one person's", name))
		}
		*dropped = nil
	}
	counted = slices.Concat(reviews, others, addresses)
	slices.SortFunc(counted, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return counted, refused
}

// sortedApprovals returns all approvals in one order, without those that have no name.
func (g approvalGate) sortedApprovals(f Facts) []Approval {
	all := slices.Clone(f.Approvals)
	if f.Pull != nil {
		all = append(all, f.Pull.Approvals...)
	}
	all = slices.DeleteFunc(all, func(a Approval) bool { return strings.TrimSpace(a.Approver) == "" })
	slices.SortFunc(all, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Approver), strings.ToLower(b.Approver)), cmp.Compare(a.Approver, b.Approver))
	})
	return all
}

// refusalReason returns why an approval does not count; "" if it does.
func (g approvalGate) refusalReason(a Approval, f Facts) string {
	who := a.Approver
	switch {
	case a.Refused != "":
		return "the approval of " + who + " " + a.Refused
	case g.trusted && a.Distrusted != "":
		return "the approval of " + who + " " + a.Distrusted
	case !g.mayApprove(who, f):
		return who + " may not approve"
	case g.distinct && len(f.Authors) == 0:
		return who + " may be an author: it is not known who wrote the commits"
	case g.distinct && slices.ContainsFunc(f.Authors, func(author string) bool {
		return personIdentity(author) == a.personIdentity() || personIdentity(author) == personIdentity(who)
	}):
		return who + " is an author of what is approved"
	default:
		return ""
	}
}

func (g approvalGate) mayApprove(who string, f Facts) bool {
	same := func(other string) bool { return strings.EqualFold(other, who) }
	if len(g.people) == 0 && len(g.teams) == 0 || slices.ContainsFunc(g.people, same) {
		return true
	}
	return slices.ContainsFunc(g.teams, func(team string) bool { return slices.ContainsFunc(f.Teams[team], same) })
}

// describeApprovers returns who may approve and is waited for.
func (g approvalGate) describeApprovers(asked Approvers) string {
	isDone := func(name string) bool { return asked.refusalReason([]string{name}) != "" }
	who := slices.Concat(slices.DeleteFunc(slices.Clone(g.people), isDone), list.Convert(g.teams, func(team string) string { return "team " + team }))
	switch {
	case len(g.people)+len(g.teams) == 0:
		return ""
	case len(who) == 0:
		return ", and nobody who may approve is left"
	}
	return ", of " + text.Join(who, " or ")
}

// Forecast has no known end. It counts as Evaluate does.
func (g approvalGate) Forecast(f Facts, from time.Time) Forecast {
	counted, _ := g.countPeople(f)
	return forecastVerdict(g.Evaluate(f), from, text.Count(max(0, g.count-len(counted)), "approval")+g.describeApprovers(*g.findApprovers(f, counted)))
}

// personIdentity identifies who has approved.
func (a Approval) personIdentity() string { return personIdentity(cmp.Or(a.Login, a.Approver)) }

// personIdentity returns what names of one person have in common: case does not count, and the
// addresses that GitHub and GitLab make up for a login stand for the login. It identifies a person
// and never grants permission: anybody can write an address into a commit.
func personIdentity(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	local, host, _ := strings.Cut(name, "@")
	switch host {
	case "users.noreply.github.com":
		return withoutNumber(local, "+")
	case "users.noreply.gitlab.com":
		return withoutNumber(local, "-")
	default:
		return name
	}
}

// withoutNumber removes the number before a login.
func withoutNumber(local, separator string) string {
	number, login, ok := strings.Cut(local, separator)
	if ok && strings.Trim(number, "0123456789") == "" {
		return login
	}
	return local
}
