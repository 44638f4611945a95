package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Choice explains what the choice of one policy did with an assignment.
type Choice struct {
	Policy Object `json:"policy" yaml:"policy"`
	Unit   string `json:"unit" yaml:"unit"`
	Places int    `json:"places" yaml:"places"`
	Pick   int    `json:"pick" yaml:"pick"` // -1 for all
	// Chosen is whether the unit is on the cluster type, and Kept whether it was before. Decided is where that is
	// written.
	Chosen  bool             `json:"chosen" yaml:"chosen"`
	Kept    bool             `json:"kept,omitempty" yaml:"kept,omitempty"`
	Decided problem.Pos      `json:"decided,omitzero" yaml:"decided,omitempty"`
	Reason  string           `json:"reason,omitempty" yaml:"reason,omitempty"` // why it is not
	Scores  []schedule.Score `json:"scores,omitempty" yaml:"scores,omitempty"`
	// Next are the cluster types that the unit would get if it had one more place, the best first.
	Next  []Candidate `json:"next,omitempty" yaml:"next,omitempty"`
	Usage []string    `json:"usage,omitempty" yaml:"usage,omitempty"` // of the cluster type: "cpu 14 of 16"
	// Unlimited are the resources that the unit asks for, and that the cluster type has no capacity of.
	Unlimited []string `json:"unlimited,omitempty" yaml:"unlimited,omitempty"`
}

// Candidate is a cluster type with its score.
type Candidate struct {
	ClusterType string `json:"clusterType" yaml:"clusterType"`
	Score       int    `json:"score" yaml:"score"`
}

// maxNext bounds the candidates that an answer names.
const maxNext = 5

// explainChoices returns what the choices of policies did with an assignment that they select.
func (q *explainer) explainChoices(i, j int) []Choice {
	a := q.assignmentAt(i, j)
	verdicts := q.plan.EvaluatePolicies(a)
	var all []Choice
	for _, policy := range q.model.Policies {
		if policy.Choice == nil || assignmentDistance(policy, a) > 0 {
			continue
		}
		u := q.plan.FindUnit(policy, a.Target)
		c := Choice{Policy: objectOf(policy), Unit: u.Name, Places: len(u.Places), Pick: policy.Choice.Pick}
		c.Chosen, c.Kept = u.IsOn(i)
		if d, known := model.IndexOf(q.model.Decisions, policy.Name); known && c.Kept {
			c.Decided = q.model.Decisions[d].Lines[u.Name]
		}
		v := slices.IndexFunc(verdicts, func(v schedule.PolicyVerdict) bool { return v.Policy == policy })
		c.Reason = cmp.Or(verdicts[v].NotChosen, verdicts[v].ClusterType)
		for _, candidate := range q.plan.Candidates(u) {
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

func writeChoices(p *page, all []Choice) {
	for _, c := range all {
		p.writeSection("choice of %s", c.Policy.subject())
		p.writeTable(1, c.tableRows())
	}
}

func (c Choice) tableRows() [][]any {
	unit := c.Unit + ", " + text.Count(c.Places, "place")
	if c.Pick != model.PickAll {
		unit = fmt.Sprintf("%s, %d of %s", c.Unit, c.Places, text.Count(c.Pick, "place"))
	}
	state := "not chosen: " + c.Reason
	switch {
	case c.Kept:
		state = "kept"
	case c.Chosen:
		state = "chosen now"
	}
	rows := [][]any{{"unit", unit}, {"state", state, c.Decided}}
	if !c.Kept {
		rows[1] = rows[1][:2]
	}
	for _, s := range c.Scores {
		rows = append(rows, []any{"score", fmt.Sprintf("%d × %d, %s", s.Weight, s.Value, s.For)})
	}
	if c.Usage != nil {
		rows = append(rows, []any{"usage", strings.Join(c.Usage, ", ")})
	}
	if c.Unlimited != nil {
		rows = append(rows, []any{"no limit", nameList(c.Unlimited, maxNames)})
	}
	if c.Next != nil {
		rows = append(rows, []any{"next", nameList(list.Convert(c.Next, func(n Candidate) string { return fmt.Sprintf("%s (%d)", n.ClusterType, n.Score) }), maxNames)})
	}
	return rows
}
