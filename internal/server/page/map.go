package page

import (
	"net/url"

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

// Query returns the environment as a part of an address.
func (v mapView) Query() string { return url.Values{"env": {v.Environment}}.Encode() }

// Counted returns how many assignments are in each state, with links to the list of them.
func (v mapView) Counted() []chip {
	f := Fleet{Fleet: answer.Fleet{States: v.Counts}, Filter: answer.FleetFilter{Rows: answer.ByTarget, Columns: answer.ByClusterType, AssignmentFilter: answer.AssignmentFilter{Environment: v.Environment}}}
	return f.Counts()
}

// AsFleet returns what is known of clusters, as the fleet has it.
func (v mapView) AsFleet() answer.Fleet {
	return answer.Fleet{Ledger: v.Ledger, LedgerFails: v.LedgerFails, Environments: max(1, len(v.Environments))}
}
