package explain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// modelOf reads the control plane of a case; templates in built-in/ are built-in.
func modelOf(t *testing.T, c *golden.Case) *model.Model {
	t.Helper()
	layers := append(c.Layers(t), model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: c.Tree(t, "built-in")})
	m, problems := model.Parse(c.Environment(), layers...)
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	return m
}

// A case asks the lines of the file queries, one after the other. The clusters that there are, are those of
// the files below before.
func TestText(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		m := modelOf(t, c)
		before, _ := model.Parse(c.Environment(), model.Layer{Kind: model.Env, Name: c.Environment(), Files: c.Tree(t, "before")})
		o := explain.Options{Clusters: func() []provision.State { return provision.NewStates(before) }}
		var b strings.Builder
		for query := range strings.SplitSeq(strings.TrimSuffix(c.Text("queries"), "\n"), "\n") {
			fmt.Fprintf(&b, "=== %s\n", query)
			a, err := explain.AnswerQuery(m, query, o)
			var unknown *explain.QueryError
			switch {
			case errors.As(err, &unknown):
				fmt.Fprintf(&b, "error: %s\nhint: %s\n", unknown.Summary, unknown.Hint)
			case err != nil:
				t.Error(err)
			default:
				b.WriteString(a.Text())
			}
			b.WriteString("\n")
		}
		c.Want(t, "want", b.String())
	})
}

// TestPlanFromNothing: where it is not known which clusters there are, the steps of a pool are said to be those
// that make all of them.
func TestPlanFromNothing(t *testing.T) {
	golden.Run(t, "testdata/clusters.txtar", func(t *testing.T, c *golden.Case) {
		a, err := explain.AnswerQuery(modelOf(t, c), "NodePool/fleet/edge/control", explain.Options{})
		if text := a.Text(); err != nil || !strings.Contains(text, "steps about it of the plan that makes all clusters from nothing") {
			t.Errorf("%v: the answer is\n%s", err, text)
		}
	})
}
