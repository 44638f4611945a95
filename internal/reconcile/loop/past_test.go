package loop_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// TestPast: an environment is rendered again as it was wanted when its output was another one, whichever way the moment
// is named, and is compared with what it is now; nothing is written.
func TestPast(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct}\n", "dev", "stage")
	d := w.begin(w.data)
	bases, outputs := map[int]string{}, map[int]string{}
	for _, level := range []int{1, 2} {
		bases[level] = w.changeNow(level)
		d.settle("dev")
		outputs[level] = d.state("dev").Output.Head
	}
	level := func(at string) (string, history.Output) {
		t.Helper()
		moment, ok := history.ParseMoment(at)
		if !ok {
			t.Fatalf("%s is no moment", at)
		}
		answer, output, err := d.ExplainPast(t.Context(), "dev", moment, "ConfigMap/level")
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		return answer.Text(), output
	}
	_, last := level(outputs[2])
	for at, want := range map[string]int{outputs[1]: 1, outputs[1][:8]: 1, bases[1]: 1, outputs[2]: 2, bases[2][:10]: 2, last.When.Format(time.RFC3339): 2} {
		text, output := level(at)
		if output.Commit != outputs[want] || !strings.HasPrefix(output.Base, bases[want][:7]) || output.When.IsZero() {
			t.Errorf("%s is %+v, want output %s of base %s:\n%s", at, output, outputs[want], bases[want], text)
		}
	}
	was, _ := history.ParseMoment(outputs[1])
	report, past, err := d.ComparePast(t.Context(), history.Place{Environment: "dev", At: was}, history.Place{Environment: "dev"})
	if err != nil || len(past) != 1 || report.From != "dev@"+outputs[1] || report.To != "dev" || !strings.Contains(report.Text(), "LEVEL: 1 → 2") {
		t.Errorf("since then %v, %v:\n%s", past, err, report.Text())
	}
	plan, _, err := d.PlanPast(t.Context(), "dev", was)
	if err != nil || plan.Len() != d.store.Snapshot().Plans["dev"].Len() {
		t.Errorf("the plan of then is %+v, %v", plan, err)
	}
	now, _ := history.ParseMoment(bases[2])
	changes, between, err := d.ChangesPast(t.Context(), "dev", was, now)
	if err != nil || len(between) != 2 || between[0].Commit != outputs[1] || between[1].Commit != outputs[2] || !strings.HasPrefix(between[1].Base, bases[2][:7]) || !strings.Contains(changes.Text(), "LEVEL: 1 -> 2") {
		t.Errorf("between them %+v, %v:\n%s", between, err, changes.Text())
	}
	same, _, err := d.ChangesPast(t.Context(), "dev", was, was)
	if err != nil || same.Files.Total() > 0 {
		t.Errorf("of one output %v:\n%s", err, same.Text())
	}
	for _, at := range []string{"2020-01-01", "abcd1234"} {
		moment, _ := history.ParseMoment(at)
		_, _, err := d.ExplainPast(t.Context(), "dev", moment, "ConfigMap/level")
		var unknown *explain.QueryError
		if !errors.As(err, &unknown) || !strings.Contains(unknown.Summary, "dev@"+at) {
			t.Errorf("at %s: %v", at, err)
		}
	}
	d.settle("dev")
	if after := d.state("dev").Output.Head; after != outputs[2] {
		t.Errorf("after questions dev is at %s, and was at %s", after, outputs[2])
	}
}
