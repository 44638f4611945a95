package page

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// overviewView is the data of overview.html.
type overviewView struct {
	answer.Overview
	// Graph is the picture of the order of promotion; nil where a list says as much.
	Graph *graphView
	// Needs are those of the answer: what several environments need for the same reason is one.
	Needs []needView
	// Stations are the environments. What one needs, the needs say.
	Stations []answer.Environment
	// Waiting counts what waits for the reader; "" for nobody.
	Waiting string
	// Levers are what the reader may do, by environment.
	Levers map[string][]LeverLink
}

// needView is what needs a person, with the other environments that need the same.
type needView struct {
	answer.Need
	Others []string
}

// newNeeds returns what needs a person, each reason once.
func newNeeds(all []answer.Need) (needs []needView) {
	for _, n := range all {
		i := slices.IndexFunc(needs, func(other needView) bool {
			return n.Environment != "" && other.Environment != "" && n.Pull == nil && other.Pull == nil && n.State == other.State && n.Reason == other.Reason
		})
		if i < 0 {
			needs = append(needs, needView{Need: n})
			continue
		}
		needs[i].Others = append(needs[i].Others, n.Environment)
	}
	return needs
}

// maxRepeated is how long a reason may be that is shown twice.
const maxRepeated = 80

// newStations returns environments whose reasons do not repeat the long ones of the needs.
func newStations(all []answer.Environment, needs []answer.Need) []answer.Environment {
	stations := slices.Clone(all)
	for i, e := range stations {
		for _, n := range needs {
			_, cause, _ := strings.Cut(n.Reason, ": ") // after what is to be done
			if len(cause) > maxRepeated {
				stations[i].Reason = strings.Replace(e.Reason, cause, "see above", 1)
			}
			if stations[i].Reason != e.Reason {
				break
			}
		}
	}
	return stations
}

// maxDrawn is how many environments are drawn.
const maxDrawn = 60

func newOverviewView(a answer.Overview, f Frame) overviewView {
	v := overviewView{Overview: a, Needs: newNeeds(a.Needs), Stations: newStations(a.Environments, a.Needs), Levers: f.Levers, Waiting: f.Waiting}
	var promoted []answer.Environment
	for _, e := range a.Environments {
		if e.Promoted {
			promoted = append(promoted, e)
		}
	}
	if len(promoted) > 1 && len(promoted) <= maxDrawn {
		v.Graph = newGraphView(promoted)
	}
	return v
}
