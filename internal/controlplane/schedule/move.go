package schedule

import (
	"cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Move is a change of one place of a unit. From is "" for a place that is only added, To for one that is only lost.
type Move struct {
	From   string `json:"from,omitempty" yaml:"from,omitempty"`
	To     string `json:"to,omitempty" yaml:"to,omitempty"`
	Reason string `json:"reason,omitempty" yaml:"reason,omitempty"` // why From was lost
}

// Moves pairs the places that a unit has lost with those that it got.
func (u *Unit) Moves(m *model.Model) []Move {
	var all []Move
	for _, l := range u.Lost {
		all = append(all, Move{From: l.ClusterType, Reason: l.String()})
	}
	n := 0
	for _, p := range u.Places {
		if p.Kept {
			continue
		}
		if n == len(all) {
			all = append(all, Move{})
		}
		all[n].To = m.ClusterTypes[p.ClusterType].Name
		n++
	}
	return all
}

// Route returns the move without its reason: "large-eu-1 → large-eu-3".
func (m Move) Route() string {
	if m.From == "" {
		return "→ " + m.To
	}
	return m.From + " → " + cmp.Or(m.To, "(nowhere)")
}

// String returns the move as people read it: "large-eu-1 → large-eu-3 (taint drain)".
func (m Move) String() string {
	if m.From == "" || m.Reason == "" {
		return m.Route()
	}
	return m.Route() + " (" + m.Reason + ")"
}
