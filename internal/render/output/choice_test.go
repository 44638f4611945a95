package output_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestChoice decides the control planes in testdata/choice: the wanted parts are the problems, what was chosen and
// why other places were lost, and the decision files. Rendering with these files gives the same.
func TestChoice(t *testing.T) {
	golden.Run(t, "testdata/choice/*.txtar", func(t *testing.T, c *golden.Case) {
		m, problems := model.Parse(c.Environment(), c.Layers(t)...)
		files, more := output.Render(m, nil, output.Options{})
		if more.Stops() && !files.IsEmpty() {
			t.Error("a stopped environment has files")
		}
		problems = append(problems, more...).Sorted()
		c.Want(t, "problems", golden.Problems(problems))
		plan := schedule.NewPlan(m, nil)
		c.Want(t, "units", describeUnits(m, plan))
		decided := writeDecisions(t, plan)
		c.Want(t, "decisions", decided)
		if problems.Stops() {
			return
		}
		again := *m
		again.Decisions = readDecisions(t, decided)
		if is := writeDecisions(t, schedule.NewPlan(&again, nil)); is != decided {
			t.Errorf("deciding again gives\n%s", is)
		}
		if same, _ := output.Render(&again, nil, output.Options{}); same.ID() != files.ID() {
			t.Error("the tree is another one once the decisions are written")
		}
	})
}

func describeUnits(m *model.Model, plan *schedule.Plan) string {
	var b strings.Builder
	for _, u := range plan.Units() {
		fmt.Fprintf(&b, "%s/%s:", u.Policy.Name, u.Name)
		for _, place := range u.Places {
			fmt.Fprintf(&b, " %s", m.ClusterTypes[place.ClusterType].Name)
			if !place.Kept {
				b.WriteString("(new)")
			}
		}
		for _, l := range u.Lost {
			fmt.Fprintf(&b, "; not %s: %s", l.ClusterType, l)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeDecisions(t *testing.T, plan *schedule.Plan) string {
	t.Helper()
	var b strings.Builder
	for _, d := range plan.Decisions() {
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "---\n%s", text)
	}
	return b.String()
}

func readDecisions(t *testing.T, text string) []*model.Decision {
	t.Helper()
	files := tree.FromEntries([]tree.Entry{tree.File("all.yaml", []byte(text))})
	m, problems := model.Parse("dev", model.Layer{Kind: model.Decisions, Name: "dev", Files: files, Prefix: model.DecisionFolder})
	for _, p := range problems {
		if p.Pos.File != "" {
			t.Errorf("a decision that was written cannot be read: %s", p)
		}
	}
	return m.Decisions
}
