package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Comparison is what differs between two plans.
type Comparison struct {
	Before, After *Plan
	Changes       []Change
	Stay          int // units whose places are the same
	Short         int // units with too few places, afterwards
}

// Change is the moves of one unit of the plan afterwards.
type Change struct {
	Unit  *Unit
	Moves []Move
}

// Compare returns what differs in the places of the units of two plans. A unit that is only in one of them does not
// move.
func Compare(before, after *Plan) Comparison {
	c := Comparison{Before: before, After: after, Changes: after.ChangesSince(&model.Model{Decisions: before.Decisions()})}
	c.Stay = len(after.Units()) - len(c.Changes)
	for _, u := range after.Units() {
		if u.IsShort() {
			c.Short++
		}
	}
	return c
}

// ChangesSince returns the moves of units from the places that the decisions of a model have.
func (p *Plan) ChangesSince(m *model.Model) []Change {
	var all []Change
	for _, u := range p.Units() {
		if moves := u.movesSince(p.model, m.DecisionOf(u.Policy).Units[u.Name]); moves != nil {
			all = append(all, Change{u, moves})
		}
	}
	return all
}

// Summary counts the units by what happens to them: "3 units move, 1 has too few places, 41 stay".
func (c Comparison) Summary() string {
	parts := []string{"nothing moves"}
	if n := len(c.Changes); n > 0 {
		parts[0] = countVerb(n, "unit moves", "units move")
	}
	if c.Short > 0 {
		parts = append(parts, countVerb(c.Short, "has too few places", "have too few places"))
	}
	return strings.Join(append(parts, countVerb(c.Stay, "stays", "stay")), ", ")
}

func countVerb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// DescribeMove returns the route of a move, with how many places the unit has where it gets none instead.
func (c Change) DescribeMove(m Move) string {
	if m.To == "" && c.Unit.IsShort() {
		return fmt.Sprintf("%s, %d of %d", m.Route(), len(c.Unit.Places), c.Unit.Policy.Choice.Pick)
	}
	return m.Route()
}

// maxMoves bounds the moves that [DescribeChanges] lists.
const maxMoves = 100

// DescribeChanges returns a line for each move of a unit, with the reason, and one with the number of units that have
// new places only.
func DescribeChanges(changes []Change) string {
	var b strings.Builder
	moves, placed := 0, 0
	for _, change := range changes {
		if !slices.ContainsFunc(change.Moves, func(m Move) bool { return m.From != "" }) {
			placed++
			continue
		}
		for _, move := range change.Moves {
			moves++
			if moves <= maxMoves && move.From != "" {
				fmt.Fprintf(&b, "%s/%s: %s\n", change.Unit.Policy.Name, change.Unit.Name, move)
			}
		}
	}
	if moves > maxMoves {
		fmt.Fprintf(&b, "and %d more\n", moves-maxMoves)
	}
	if placed > 0 {
		fmt.Fprintf(&b, "%s placed\n", text.Count(placed, "unit"))
	}
	return b.String()
}

func (u *Unit) movesSince(m *model.Model, before []string) []Move {
	var lost []Loss
	for _, name := range before {
		i, known := model.IndexOf(m.ClusterTypes, name)
		if known && u.isOn(i) {
			continue
		}
		l := Loss{ClusterType: name}
		if n := slices.IndexFunc(u.Lost, func(l Loss) bool { return l.ClusterType == name }); n >= 0 {
			l = u.Lost[n]
		}
		lost = append(lost, l)
	}
	var places []Place
	for _, p := range u.Places {
		p.Kept = slices.Contains(before, m.ClusterTypes[p.ClusterType].Name)
		places = append(places, p)
	}
	return (&Unit{Lost: lost, Places: places}).Moves(m)
}
