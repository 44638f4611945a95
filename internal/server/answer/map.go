package answer

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
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
	// assigned. Where there is no ledger, all are unknown.
	Rows   []string     `json:"rows"`
	Counts []StateCount `json:"counts"`
}

// toneLetters are the letters of tones on a map.
var toneLetters = map[Tone]byte{Good: 'g', Busy: 'b', Waiting: 'w', Unknown: 'u', Stopped: 's', Bad: 'x'}

// FleetMap returns the assignments of an environment, the last of the order of promotion if none is named, and
// whether it is known what is assigned in it.
func (s Source) FleetMap(environment string) (FleetMap, bool) {
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
	m := plan.Model()
	rows := make([][]byte, len(m.ClusterTypes))
	for i, c := range m.ClusterTypes {
		answer.ClusterTypes = append(answer.ClusterTypes, c.Name)
		rows[i] = slices.Repeat([]byte{'.'}, len(m.Targets))
	}
	for _, t := range m.Targets {
		answer.Targets = append(answer.Targets, t.Name)
	}
	cells := newMatrix()
	s.visitAssignments(AssignmentFilter{Environment: environment}, func(a *assignment) {
		i, _ := model.IndexOf(m.ClusterTypes, a.clusterType.Name)
		j, _ := model.IndexOf(m.Targets, a.target.Name)
		tone := a.state.Tone
		if tone == "" {
			tone = Unknown
		} else {
			cells.states[slices.Index(AllTones(), tone)]++
		}
		rows[i][j] = toneLetters[tone]
	})
	for _, row := range rows {
		answer.Rows = append(answer.Rows, string(row))
	}
	answer.Counts = append(answer.Counts, cells.countStates()...)
	return answer, true
}
