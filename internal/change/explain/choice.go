package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Choice explains the choice of one policy for an assignment.
type Choice struct {
	Policy Object `json:"policy" yaml:"policy"`
	Unit   string `json:"unit" yaml:"unit"`
	Places int    `json:"places" yaml:"places"`
	Pick   int    `json:"pick" yaml:"pick"` // -1 for all
	// Chosen is whether the unit is on the cluster type, Kept whether it was before,
	// and Decided where that is written.
	Chosen  bool        `json:"chosen" yaml:"chosen"`
	Kept    bool        `json:"kept,omitempty" yaml:"kept,omitempty"`
	Decided problem.Pos `json:"decided,omitzero" yaml:"decided,omitempty"`
	Since   *Placed     `json:"since,omitempty" yaml:"since,omitempty"`
	// Followed is the Placement of Open Cluster Management whose decisions count; nil for none.
	Followed *Followed        `json:"followed,omitempty" yaml:"followed,omitempty"`
	Reason   string           `json:"reason,omitempty" yaml:"reason,omitempty"` // why not chosen
	Scores   []schedule.Score `json:"scores,omitempty" yaml:"scores,omitempty"`
	Next     []Candidate      `json:"next,omitempty" yaml:"next,omitempty"`
	Usage    []string         `json:"usage,omitempty" yaml:"usage,omitempty"` // of the cluster type: "cpu 14 of 16"
	// Capacity is what ConfigMaps say of the cluster type, where several say something of one resource: the last counts.
	Capacity []Capacity `json:"capacity,omitempty" yaml:"capacity,omitempty"`
	// Unlimited are requested resources without a capacity on the cluster type.
	Unlimited []string `json:"unlimited,omitempty" yaml:"unlimited,omitempty"`
}

// Followed is a Placement, where its decisions are written, and the commit that changed them last.
type Followed struct {
	Placement string      `json:"placement" yaml:"placement"`
	Decided   problem.Pos `json:"decided,omitzero" yaml:"decided,omitempty"`
	Commit    string      `json:"commit,omitempty" yaml:"commit,omitempty"`
	Author    string      `json:"author,omitempty" yaml:"author,omitempty"`
	At        time.Time   `json:"at,omitzero" yaml:"at,omitempty"`
}

// Capacity is how much of a resource one ConfigMap says there is.
type Capacity struct {
	Resource string `json:"resource" yaml:"resource"`
	Amount   string `json:"amount" yaml:"amount"`
	By       Object `json:"by" yaml:"by"`
	Counts   bool   `json:"counts" yaml:"counts"`
}

// Candidate is a cluster type with its score.
type Candidate struct {
	ClusterType string `json:"clusterType" yaml:"clusterType"`
	Score       int    `json:"score" yaml:"score"`
}

const maxNext = 5

func (q *explainer) explainChoices(i, j int) []Choice {
	a := q.assignmentAt(i, j)
	var all []Choice
	for _, v := range q.plan.EvaluatePolicies(a) {
		u := v.Unit
		if u == nil {
			continue
		}
		c := Choice{Policy: objectOf(v.Policy), Unit: u.Name, Places: len(u.Places), Pick: v.Policy.Choice.Pick, Reason: v.NotChosen}
		c.Chosen, c.Kept = u.IsOn(i)
		if c.Kept {
			c.Decided = q.model.DecisionOf(v.Policy).Lines[u.Name]
			c.Since = findPlaced(q, c.Decided, u, i)
		}
		c.Followed = findFollowed(q, v.Policy.Choice.Decider)
		for _, candidate := range v.Candidates {
			if candidate.ClusterType == i {
				c.Scores = candidate.Scores
			}
			if candidate.Obstacle == "" && len(c.Next) < maxNext {
				c.Next = append(c.Next, Candidate{q.model.ClusterTypes[candidate.ClusterType].Name, candidate.Total()})
			}
		}
		limited := map[string]bool{}
		for _, usage := range q.plan.Usage(i) {
			limited[usage.Resource] = true
			c.Usage = append(c.Usage, usage.String())
		}
		c.Capacity = findDisputed(q.model, q.model.ClusterTypes[i])
		for name := range q.model.RequestsOf(a.Target) {
			if !limited[name] && name != model.Assignments {
				c.Unlimited = append(c.Unlimited, name)
			}
		}
		slices.Sort(c.Unlimited)
		all = append(all, c)
	}
	return all
}

func findPlaced(q *explainer, at problem.Pos, u *schedule.Unit, clusterType int) *Placed {
	if q.placedSince == nil {
		return nil
	}
	commit, since := q.placedSince(at, u.Policy.Name, u.Name, q.model.ClusterTypes[clusterType].Name)
	if commit == "" {
		return nil
	}
	return &Placed{commit, since}
}

func findDisputed(m *model.Model, c *model.ClusterType) []Capacity {
	given := map[string][]Capacity{}
	for _, measures := range m.Measures {
		if !measures.Capacity || !measures.Selects.Matches(c.Labels) {
			continue
		}
		for name, amount := range measures.Amounts {
			given[name] = append(given[name], Capacity{Resource: name, Amount: amount.String(), By: objectOf(measures)})
		}
	}
	var all []Capacity
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if of := given[name]; len(of) > 1 {
			of[len(of)-1].Counts = true
			all = append(all, of...)
		}
	}
	return all
}

func findFollowed(q *explainer, d model.Decider) *Followed {
	if d.Placement == "" {
		return nil
	}
	f := &Followed{Placement: d.Placement}
	for _, page := range d.Pages {
		last := Followed{Placement: d.Placement, Decided: page}
		if q.changedLast != nil {
			last.Commit, last.Author, last.At = q.changedLast(page.File)
		}
		if f.Decided == (problem.Pos{}) || last.At.After(f.At) {
			*f = last
		}
	}
	return f
}

func writeChoices(p *page, all []Choice) {
	for _, c := range all {
		p.writeSection("choice of %s", c.Policy.subject())
		p.writeTable(1, c.tableRows())
	}
}

func formatPlaces(places, pick int) string {
	if pick == model.PickAll {
		return text.Count(places, "place")
	}
	return fmt.Sprintf("%d of %s", places, text.Count(pick, "place"))
}

func (c Choice) tableRows() [][]any {
	unit := c.Unit + ", " + formatPlaces(c.Places, c.Pick)
	state := "not chosen: " + c.Reason
	switch {
	case c.Kept && c.Since != nil:
		state = fmt.Sprintf("kept since %s, commit %s", c.Since.At.UTC().Format("2006-01-02 15:04 UTC"), text.ShortCommit(c.Since.Commit))
	case c.Kept:
		state = "kept"
	case c.Chosen:
		state = "chosen now"
	}
	rows := [][]any{{"unit", unit}, {"state", state, c.Decided}}
	if !c.Kept {
		rows[1] = rows[1][:2]
	}
	if f := c.Followed; f != nil {
		row := []any{"placement", f.Placement}
		if f.Commit != "" {
			row[1] = fmt.Sprintf("%s, decided %s by %s, commit %s", f.Placement, f.At.UTC().Format("2006-01-02 15:04 UTC"), f.Author, text.ShortCommit(f.Commit))
		}
		if f.Decided != (problem.Pos{}) {
			row = append(row, f.Decided)
		}
		rows = append(rows, row)
	}
	for _, s := range c.Scores {
		rows = append(rows, []any{"score", fmt.Sprintf("%d × %d, %s", s.Weight, s.Value, s.For)})
	}
	if c.Usage != nil {
		rows = append(rows, []any{"usage", strings.Join(c.Usage, ", ")})
	}
	for _, given := range c.Capacity {
		counts := "replaced"
		if given.Counts {
			counts = "wins"
		}
		rows = append(rows, []any{"capacity", fmt.Sprintf("%s %s, %s: %s", given.Resource, given.Amount, given.By.subject(), counts), given.By.At})
	}
	if c.Unlimited != nil {
		rows = append(rows, []any{"no limit", nameList(c.Unlimited, maxNames)})
	}
	if c.Next != nil {
		rows = append(rows, []any{"next", nameList(list.Convert(c.Next, func(n Candidate) string { return fmt.Sprintf("%s (%d)", n.ClusterType, n.Score) }), maxNames)})
	}
	return rows
}
