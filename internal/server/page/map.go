package page

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
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

// Title returns the title of the page, and its heading.
func (v mapView) Title() string {
	switch {
	case v.Environment == "":
		return "Map"
	case v.Pull != nil:
		return fmt.Sprintf("Map of %s: what pull request %d changes", v.Environment, v.Pull.Number)
	}
	return "Map of " + v.Environment
}

// PictureLink returns the address of the picture.
func (v mapView) PictureLink() string {
	link := "map.png?env=" + url.QueryEscape(v.Environment)
	if v.Pull != nil {
		link += "&pull=" + strconv.Itoa(v.Pull.Number)
	}
	return link
}

// Sides returns what the rows and the columns are.
func (v mapView) Sides() string {
	return text.Count(len(v.ClusterTypes), "cluster type") + " from the top, and " + text.Count(len(v.Targets), "deployment target") + " from the left, both by name"
}

// Legend returns what the colors of the picture mean, of those that it has.
func (v mapView) Legend() (all []answer.State) {
	words := map[answer.Tone]string{answer.Unknown: "assigned; how it stands is not known"}
	if v.Pull != nil {
		words = map[answer.Tone]string{answer.Good: "added", answer.Busy: "changed", answer.Bad: "removed", answer.Unknown: "stays as it is"}
	}
	for _, c := range v.Counts {
		if word := words[c.State.Tone]; word != "" && c.State.Tone != answer.Unknown { // two states of one color
			words[c.State.Tone] = word + " or " + stateText(c.State.Word)
		} else {
			words[c.State.Tone] = stateText(c.State.Word)
		}
	}
	for _, tone := range answer.AllTones() {
		letter := map[answer.Tone]string{answer.Good: "g", answer.Busy: "b", answer.Waiting: "w", answer.Unknown: "u", answer.Stopped: "s", answer.Bad: "x"}[tone]
		if strings.Contains(strings.Join(v.Rows, ""), letter) {
			all = append(all, answer.State{Tone: tone, Word: words[tone]})
		}
	}
	return all
}

// Assignments counts those that are shown.
func (v mapView) Assignments() (n int) {
	for _, row := range v.Rows {
		n += len(row) - strings.Count(row, ".")
	}
	return n
}

// HasPicture reports whether there is anything to draw.
func (v mapView) HasPicture() bool { return v.Assignments() > 0 }
