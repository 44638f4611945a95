package page

import (
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/picture"
)

// NewMap returns the picture of a map.
func NewMap(a answer.FleetMap) picture.Map { return picture.Map{Rows: a.Rows, Columns: len(a.Targets)} }

// mapView is the data of map.html.
type mapView struct {
	answer.FleetMap
	Width, Height int
}

func newMapView(a answer.FleetMap) mapView {
	width, height := NewMap(a).Size()
	return mapView{a, width, height}
}

// ChangeCounts returns how many assignments the pull request removes, changes and adds.
func (v mapView) ChangeCounts() (all []answer.State) {
	for _, c := range []struct {
		tone answer.Tone
		word string
		n    int
	}{{answer.Bad, "removed", v.Changes.Removed}, {answer.Busy, "changed", v.Changes.Changed}, {answer.Good, "added", v.Changes.Added}} {
		if c.n > 0 {
			all = append(all, answer.State{Tone: c.tone, Word: c.word + " " + groupDigits(c.n)})
		}
	}
	return all
}

// Counted returns how many assignments are in each state, with links to the list of them.
func (v mapView) Counted() []chip {
	f := Fleet{Fleet: answer.Fleet{States: v.Counts}, Filter: answer.FleetFilter{Rows: answer.ByTarget, Columns: answer.ByClusterType, AssignmentFilter: answer.AssignmentFilter{Environment: v.Environment}}}
	return f.Counts()
}

// AsFleet returns what is known of clusters, as the fleet has it.
func (v mapView) AsFleet() answer.Fleet {
	return answer.Fleet{Ledger: v.Ledger, LedgerFails: v.LedgerFails, Environments: max(1, len(v.Environments))}
}
