package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// NoLimit is the number of moves of [Rebalance] where any number may be made.
const NoLimit = -1

// Rebalance decides some policies from nothing, all that Fairlead decides if none is named, and compares that with what
// was decided. Of more than atMost moves it makes those that gain most, as far as there is room without the others. An
// error is an [*UnknownError] or a [*NotOwnError].
func Rebalance(m *model.Model, policies []string, atMost int) (Comparison, error) {
	before := NewPlan(m, nil)
	decided := *m
	decided.Decisions = before.Decisions()
	forgotten, err := forget(&decided, policies)
	if err != nil {
		return Comparison{}, err
	}
	after := NewPlan(forgotten, nil)
	all := Compare(before, after)
	if atMost == NoLimit || countMoves(all.Changes) <= atMost {
		return all, nil
	}
	return Compare(before, NewPlan(withMoves(&decided, after.bestMoves(all.Changes, atMost)), nil)), nil
}

// forget returns the model without the decisions of policies that Fairlead decides, of all if none is named.
func forget(m *model.Model, policies []string) (*model.Model, error) {
	for _, name := range policies {
		if _, err := findOwn(m, name); err != nil {
			return nil, err
		}
	}
	c := *m
	c.Decisions = slices.DeleteFunc(slices.Clone(m.Decisions), func(d *model.Decision) bool {
		_, err := findOwn(m, d.Name)
		return err == nil && (len(policies) == 0 || slices.Contains(policies, d.Name))
	})
	return &c, nil
}

func countMoves(changes []Change) int {
	n := 0
	for _, c := range changes {
		n += len(c.Moves)
	}
	return n
}

// gainingMove is a move of a unit, and how much better its new place is by what does not depend on usage.
type gainingMove struct {
	unit *Unit
	move Move
	gain int
}

func (p *Plan) bestMoves(changes []Change, atMost int) []gainingMove {
	static := func(u *Unit, clusterType string) int {
		i, known := model.IndexOf(p.model.ClusterTypes, clusterType)
		if !known {
			return 0
		}
		return u.state.static[i]
	}
	var all []gainingMove
	for _, c := range changes {
		for _, move := range c.Moves {
			all = append(all, gainingMove{c.Unit, move, static(c.Unit, move.To) - static(c.Unit, move.From)})
		}
	}
	slices.SortStableFunc(all, func(a, b gainingMove) int { return cmp.Compare(b.gain, a.gain) }) // else in the order of units
	return all[:atMost]
}

func withMoves(m *model.Model, moves []gainingMove) *model.Model {
	c := m
	for _, g := range moves {
		d := *c.DecisionOf(g.unit.Policy)
		d.Units = maps.Clone(d.Units)
		places := slices.DeleteFunc(slices.Clone(d.Units[g.unit.Name]), func(name string) bool { return name == g.move.From })
		if g.move.To != "" {
			places = append(places, g.move.To)
		}
		slices.Sort(places)
		d.Units[g.unit.Name] = places
		c = c.WithDecision(&d)
	}
	return c
}

// DecisionFiles returns what is to be written so that the decisions of a plan stay: the files by their paths, of which
// nil is removed. folder is that of the environment, and written is its model as it is. What external schedulers decided
// is written as the model of the plan has it.
func (p *Plan) DecisionFiles(folder string, written *model.Model) (map[string][]byte, error) {
	wanted, files := &model.Model{Decisions: p.Decisions()}, map[string][]byte{}
	for _, policy := range p.Model().Policies {
		if policy.Choice != nil && policy.Choice.Decider.IsExternal() {
			wanted = wanted.WithDecision(p.Model().DecisionOf(policy))
		}
	}
	rewritten := map[string]bool{} // the files that change
	for _, d := range written.Decisions {
		i, known := model.IndexOf(wanted.Decisions, d.Name)
		if !known || !d.Equal(wanted.Decisions[i]) {
			files[d.Pos.File], rewritten[d.Pos.File] = nil, true
		}
	}
	for _, d := range wanted.Decisions {
		i, known := model.IndexOf(written.Decisions, d.Name)
		if known && !rewritten[written.Decisions[i].Pos.File] || d.By == "" {
			continue
		}
		text, err := d.Encode()
		if err != nil {
			return nil, fmt.Errorf("write the decision of %s: %w", d.Name, err)
		}
		files[path.Join(folder, model.DecisionFolder, d.Name+".yaml")] = text
	}
	return files, nil
}
