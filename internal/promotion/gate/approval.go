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

const teamPrefix = "team:"

type approvalGate struct {
	gateName
	count         int
	people, teams []string // both empty: anyone
	distinct      bool     // authors may not approve
	trusted       bool     // ignores approvals that are only written in Git
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

// StageNeedsTrust reports whether a gate of a stage, its proof or its waves counts only trusted approvals.
func StageNeedsTrust(s model.Stage) bool {
	return slices.ContainsFunc(s.Gates, NeedsTrust) || slices.ContainsFunc(s.Proof, NeedsTrust) || slices.ContainsFunc(s.Waves, func(w model.Wave) bool {
		return slices.ContainsFunc(w.Gates, NeedsTrust) || slices.ContainsFunc(w.Proof, NeedsTrust)
	})
}

// AsksPeople reports whether a gate asks for approvals.
func AsksPeople(spec model.GateSpec) bool { return spec.Kind == "approval" }

// NeedsTrust reports whether a gate counts only trusted approvals.
func NeedsTrust(spec model.GateSpec) bool {
	if !AsksPeople(spec) {
		return false
	}
	g, _ := New(spec)
	a, isApproval := g.(approvalGate)
	return isApproval && a.trusted
}

func (g approvalGate) Needs(f Facts) []Need {
	teams := list.Convert(g.teams, func(team string) Need { return Need{Key: "members " + team, Kind: Members, Team: team} })
	return append([]Need{{Key: "approvals " + f.Environment, Kind: Approvals}}, teams...)
}

func (g approvalGate) Evaluate(f Facts) Verdict {
	counted, refused := g.countPeople(f)
	missing := g.count - len(counted)
	var parts []string
	asked := g.findApprovers(f, counted)
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%s missing%s", text.Count(missing, "approval"), g.describeApprovers(*asked)))
	}
	if len(counted) > 0 {
		parts = append(parts, "approved by "+text.Join(list.Convert(counted, func(a approver) string { return a.name }), " and "))
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

// Approvers are the people whose approval a gate waits for.
type Approvers struct {
	// Only are the people who may approve; nil for anyone, or unknown.
	Only []string
	// Counted have approved. Authors' approvals do not count.
	Counted, Authors []Person
	Missing          int
}

func (g approvalGate) findApprovers(f Facts, counted []approver) *Approvers {
	a := &Approvers{Only: slices.Clone(g.people), Counted: list.Convert(counted, func(one approver) Person { return one.person })}
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

// LacksApproval reports whether it waits for the approval of a person.
func (v Verdict) LacksApproval() bool {
	return v.Status == Wait && (v.Kind == KindApproval || slices.ContainsFunc(v.Parts, Verdict.LacksApproval))
}

// RefuseApprover returns why a person's approval would not count for a waiting verdict, or "".
func (v Verdict) RefuseApprover(who Person) string {
	for _, p := range v.Parts {
		if why := p.RefuseApprover(who); why != "" {
			return why
		}
	}
	if v.Approvers == nil {
		return ""
	}
	if why := v.Approvers.refusalReason(who); why != "" {
		return why
	}
	isWho := func(name string) bool { return who.Relate(Person{Names: []string{name}}) == Same }
	if v.Approvers.Only != nil && !slices.ContainsFunc(v.Approvers.Only, isWho) {
		return "you are not among those whose approval counts"
	}
	return ""
}

func (a Approvers) refusalReason(who Person) string {
	isWho := func(other Person) bool { return who.Relate(other) == Same }
	switch {
	case slices.ContainsFunc(a.Counted, isWho):
		return "you have approved it"
	case slices.ContainsFunc(a.Authors, isWho):
		return "you are an author of what is approved"
	case slices.ContainsFunc(a.Authors, who.mayBeAuthor):
		return "you may be an author of what is approved"
	}
	return ""
}

// mayBeAuthor reports whether a person may be a commit's author. It is true for people who signed
// in without a verified address, because nothing shows the contrary.
func (p Person) mayBeAuthor(author Person) bool {
	if p.Relate(author) == Same {
		return true
	}
	author.Actor = "" // anyone can write another one into a commit
	switch p.Relate(author) {
	case Different:
		return false
	case Uncertain:
		return p.Actor != "" && len(p.Keys) == 0 && !p.hasAddress()
	}
	return true
}

type approver struct {
	name   string
	person Person
}

// countPeople returns the approvers that count, and why others do not. People count separately only
// if they are known to be different.
func (g approvalGate) countPeople(f Facts) (counted []approver, refused []string) {
	all := g.sortedApprovals(f)
	people := g.mergePeople(all)
	seen := map[int]bool{}
	var may []approver
	for i, a := range all {
		n := people.index[i]
		if seen[n] {
			continue
		}
		if why := g.refusalReason(a, people.all[n], f); why != "" {
			refused = append(refused, why)
			continue // the same person may have approved under another name
		}
		seen[n] = true
		may = append(may, approver{a.Approver, people.all[n]})
	}
	counted, doubted := chooseDifferent(may)
	for _, a := range doubted {
		refused = append(refused, fmt.Sprintf("%s may be one of the others: nothing says that their logins, addresses and sign-ins are different people's", a.name))
	}
	slices.SortFunc(counted, func(a, b approver) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name)), cmp.Compare(a.name, b.name))
	})
	return counted, refused
}

// mergedPeople: approval i is of all[index[i]].
type mergedPeople struct {
	all   []Person
	index []int
}

// mergePeople joins approvals of one person. Approvals that the gate does not trust prove no
// identity.
func (g approvalGate) mergePeople(approvals []Approval) mergedPeople {
	m := mergedPeople{index: make([]int, len(approvals))}
	owner := map[string]int{}
	root := func(i int) int {
		for m.index[i] != i {
			i = m.index[i]
		}
		return i
	}
	for i, a := range approvals {
		m.index[i] = i
		m.all = append(m.all, a.Person())
		if g.trusted && a.Distrusted != "" {
			continue
		}
		for _, mark := range a.Person().marks() {
			first, known := owner[mark]
			if !known {
				owner[mark] = i
				continue
			}
			from, to := root(i), root(first)
			if from != to {
				m.index[from], m.all[to] = to, m.all[to].merge(m.all[from])
			}
		}
	}
	for i := range m.index {
		m.index[i] = root(i)
	}
	return m
}

// chooseDifferent returns a large set of people known to be different, and the rest. It prefers
// logins, then sign-ins, then addresses; people who claim another's name are last.
func chooseDifferent(all []approver) (chosen, rest []approver) {
	claims := func(a, b Person) bool { return haveCommon(normalizeAll(a.Claims), b.identities()) }
	for _, isKind := range []func(Person) bool{
		func(p Person) bool { return p.login() != "" }, func(p Person) bool { return p.Actor != "" }, Person.hasAddress,
	} {
		rank := map[string]int{}
		for _, a := range all {
			switch {
			case slices.ContainsFunc(all, func(b approver) bool { return a.name != b.name && claims(a.person, b.person) }):
				rank[a.name] = 2
			case !isKind(a.person):
				rank[a.name] = 1
			}
		}
		ordered := slices.Clone(all)
		slices.SortStableFunc(ordered, func(a, b approver) int { return cmp.Compare(rank[a.name], rank[b.name]) })
		var in, out []approver
		for _, a := range ordered {
			if slices.ContainsFunc(in, func(b approver) bool { return a.person.Relate(b.person) != Different }) {
				out = append(out, a)
			} else {
				in = append(in, a)
			}
		}
		if len(in) > len(chosen) {
			chosen, rest = in, out
		}
	}
	return chosen, rest
}

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

func (g approvalGate) refusalReason(a Approval, p Person, f Facts) string {
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
	case g.distinct && slices.ContainsFunc(f.Authors, func(author Person) bool { return p.Relate(author) == Same }):
		return who + " is an author of what is approved"
	case g.distinct && slices.ContainsFunc(f.Authors, p.mayBeAuthor):
		return who + " may be an author: nothing says that their sign-in and the address of the author are different people's"
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

func (g approvalGate) describeApprovers(asked Approvers) string {
	isDone := func(name string) bool { return asked.refusalReason(Person{Names: []string{name}}) != "" }
	who := slices.Concat(slices.DeleteFunc(slices.Clone(g.people), isDone), list.Convert(g.teams, func(team string) string { return "team " + team }))
	switch {
	case len(g.people)+len(g.teams) == 0:
		return ""
	case len(who) == 0:
		return ", and nobody who may approve is left"
	}
	return ", of " + text.Join(who, " or ")
}

func (g approvalGate) Forecast(f Facts, from time.Time) Forecast {
	counted, _ := g.countPeople(f)
	return forecastVerdict(g.Evaluate(f), from, text.Count(max(0, g.count-len(counted)), "approval")+g.describeApprovers(*g.findApprovers(f, counted)))
}

// Person returns the approver.
func (a Approval) Person() Person {
	login := a.Login
	if login == "" && !strings.Contains(a.Approver, "@") {
		login = a.Approver
	}
	return Person{Actor: a.Actor, Login: login, Keys: a.Keys, Names: []string{a.Approver}, Claims: a.Claims}
}
