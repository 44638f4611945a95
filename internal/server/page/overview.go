package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/picture"
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
	// Acts reports whether something may wait for the reader.
	Acts bool
	// History reports whether there is a page of what was done.
	History bool
	// Levers are what the reader may do, by environment, and StackLevers what with its stacks.
	Levers, StackLevers map[string][]LeverLink
}

// needView is what needs a person, with the other environments that need the same.
type needView struct {
	answer.Need
	Others []string
}

// maxOthers is how many environments that need the same are named.
const maxOthers = 5

// Named returns the other environments that are named, and More counts those that are not.
func (n needView) Named() []string { return n.Others[:min(len(n.Others), maxOthers)] }

// More returns how many others are not named.
func (n needView) More() int { return len(n.Others) - len(n.Named()) }

// newNeeds returns what needs a person, each reason once.
func newNeeds(all []answer.Need) (needs []needView) {
	for _, n := range all {
		i := slices.IndexFunc(needs, func(other needView) bool {
			return n.Stack == "" && n.Environment != "" && other.Environment != "" && n.Pull == nil && other.Pull == nil && n.State == other.State && n.Reason == other.Reason
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

// How many environments are drawn, and how many of a column if there are more.
const maxDrawn, maxOfColumn = 60, 5

func newOverviewView(a answer.Overview, f Frame) overviewView {
	v := overviewView{Overview: a, Needs: newNeeds(a.Needs), Stations: newStations(a.Environments, a.Needs), Levers: f.Levers, StackLevers: f.StackLevers, Acts: f.Acts, History: f.History}
	v.Graph = newChainGraph(a.Environments)
	return v
}

// newChainGraph returns the picture of the environments that are promoted to; nil if there is nothing to draw, or too much.
func newChainGraph(all []answer.Environment) *graphView {
	var promoted []answer.Environment
	for _, e := range all {
		if e.Promoted {
			promoted = append(promoted, e)
		}
	}
	drawn := foldStations(promoted)
	if len(drawn) < 2 || len(drawn) > maxDrawn {
		return nil
	}
	return newGraphView(drawn)
}

// pastOverviewView is the data of past-overview.html.
type pastOverviewView struct {
	answer.PastOverview
	Graph   *graphView
	History bool // whether there is a page of what was done
}

// drawnStation is an environment that is drawn, or several of one column that are drawn as one box.
type drawnStation struct {
	answer.Environment
	// Folded is how many environments the box stands for, and Bad how many of them are in a bad state; 0 for a
	// box of one environment.
	Folded, Bad int
}

// foldStations returns what is drawn of environments: each of them, or if they are too many the most urgent of
// each column, and the others of the column as one box.
func foldStations(all []answer.Environment) []drawnStation {
	if len(all) <= maxDrawn {
		return list.Convert(all, func(e answer.Environment) drawnStation { return drawnStation{Environment: e} })
	}
	drawnAs := map[string]string{} // by the name of an environment
	columns := map[int][]answer.Environment{}
	for i, column := range picture.FindColumns(newNodes(all)) {
		drawnAs[all[i].Name] = all[i].Name
		columns[column] = append(columns[column], all[i])
	}
	var drawn []drawnStation
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		members := columns[column]
		shown := len(members)
		if shown > maxOfColumn+1 {
			shown = maxOfColumn
			slices.SortStableFunc(members, func(a, b answer.Environment) int { return answer.CompareUrgency(b.State.Tone, a.State.Tone) })
		}
		for _, e := range members[:shown] {
			drawn = append(drawn, drawnStation{Environment: e})
		}
		if rest := members[shown:]; len(rest) > 0 {
			drawn = append(drawn, newFold(fmt.Sprintf("/%d", column), rest, drawnAs))
		}
	}
	for i, d := range drawn {
		var after []string
		for _, name := range d.After {
			if as := drawnAs[name]; as != "" && !slices.Contains(after, as) {
				after = append(after, as)
			}
		}
		drawn[i].After = after
	}
	return drawn
}

// newFold returns the box of several environments, the most urgent first, under a name that none has.
func newFold(name string, of []answer.Environment, drawnAs map[string]string) drawnStation {
	fold := drawnStation{Environment: answer.Environment{Name: name, State: of[0].State}, Folded: len(of)}
	for _, e := range of {
		drawnAs[e.Name] = name
		fold.After = append(fold.After, e.After...)
		if e.State.Tone == answer.Bad {
			fold.Bad++
		}
	}
	return fold
}
