package answer

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// FleetMap is the answer of /api/v1/map: each assignment of an environment as one letter.
type FleetMap struct {
	Environment  string   `json:"environment"`
	Environments []string `json:"environments"` // of which it is known what is assigned
	Ledger       bool     `json:"ledger"`
	LedgerFails  bool     `json:"ledgerFails,omitempty"`
	// ClusterTypes are the rows, and Targets the columns, by name.
	ClusterTypes []string `json:"clusterTypes"`
	Targets      []string `json:"targets"`
	// Rows has a letter for each target: g good, b busy, w waiting, u unknown, x bad, and "." where it is not
	// assigned. Where there is no ledger, all are unknown. With Pull, it is what that does: g is added, b
	// changed, x removed, and u stays.
	Rows   []string     `json:"rows"`
	Counts []StateCount `json:"counts"`
	// Pull is the open pull request whose changes are shown, and Changes counts the assignments; nil for how
	// clusters stand.
	Pull    *status.Pull   `json:"pull,omitempty"`
	Changes *impact.Counts `json:"changes,omitempty"`
}

var toneLetters = map[Tone]byte{Good: 'g', Busy: 'b', Waiting: 'w', Unknown: 'u', Stopped: 's', Bad: 'x'}

// FleetMap returns the assignments of an environment, the last of the order of promotion if none is named, and
// whether it is known what is assigned in it. With the number of its open pull request, it is what that changes.
func (s Source) FleetMap(environment string, pull int) (FleetMap, bool) {
	answer := FleetMap{Environments: []string{}, Ledger: s.Ledger, LedgerFails: s.LedgerFails, ClusterTypes: []string{}, Targets: []string{}, Rows: []string{}, Counts: []StateCount{}}
	for _, name := range s.Names() {
		if s.Snapshot.Plans[name] != nil {
			answer.Environments = append(answer.Environments, name)
		}
	}
	if environment == "" && len(answer.Environments) > 0 {
		environment = answer.Environments[len(answer.Environments)-1]
	}
	answer.Environment = environment
	plan := s.Snapshot.Plans[environment]
	if plan == nil {
		return answer, environment == ""
	}
	grid := s.newGrid(environment)
	answer.ClusterTypes, answer.Targets = grid.types, grid.targets
	e, _ := s.Snapshot.FindEnvironment(environment)
	if pull > 0 {
		if e.Pull == nil || e.Pull.Number != pull || e.State == status.InSync {
			return answer, false
		}
		answer.Pull, answer.Changes = e.Pull, &impact.Counts{}
	}
	cells := newMatrix()
	s.visitAssignments(AssignmentFilter{Environment: environment}, func(a *assignment) {
		if a.rank != noRank {
			cells.states[a.rank]++
		}
		letter := toneLetters[cmp.Or(a.state().Tone, Unknown)]
		if answer.Pull != nil {
			letter = toneLetters[Unknown]
		}
		grid.set(a.clusterType.Name, a.target.Name, letter)
	})
	if answer.Pull != nil {
		for _, t := range listTouched(e) {
			letter, count := toneLetters[Busy], &answer.Changes.Changed
			switch {
			case t.Added:
				letter, count = toneLetters[Good], &answer.Changes.Added
			case t.Removed:
				letter, count = toneLetters[Bad], &answer.Changes.Removed
			}
			*count++
			grid.set(t.ClusterType, t.Target, letter)
		}
	} else {
		answer.Counts = append(answer.Counts, cells.countStates()...)
	}
	for _, row := range grid.rows {
		answer.Rows = append(answer.Rows, string(row))
	}
	return answer, true
}

// mapGrid is the cells of a map.
type mapGrid struct {
	types, targets []string // sorted
	rows           [][]byte
}

// newGrid returns a map of an environment without assignments: of what people wrote, and of what is there until
// a change is merged.
func (s Source) newGrid(environment string) mapGrid {
	m := s.Snapshot.Plans[environment].Model()
	g := mapGrid{types: []string{}, targets: []string{}}
	for _, c := range m.ClusterTypes {
		g.types = append(g.types, c.Name)
	}
	for _, t := range m.Targets {
		g.targets = append(g.targets, t.Name)
	}
	for _, a := range s.listRemovals(environment) {
		g.types, g.targets = append(g.types, a.clusterType.Name), append(g.targets, a.target.Name)
	}
	slices.Sort(g.types)
	slices.Sort(g.targets)
	g.types, g.targets = slices.Compact(g.types), slices.Compact(g.targets)
	for range g.types {
		g.rows = append(g.rows, slices.Repeat([]byte{'.'}, len(g.targets)))
	}
	return g
}

func (g mapGrid) set(clusterType, target string, letter byte) {
	i, hasType := slices.BinarySearch(g.types, clusterType)
	j, hasTarget := slices.BinarySearch(g.targets, target)
	if hasType && hasTarget {
		g.rows[i][j] = letter
	}
}
