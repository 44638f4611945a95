package loop_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
)

// TestQuestions: what is rendered is explained and compared without a change of it, and not before the
// first cycle.
func TestQuestions(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct}\n", "dev", "stage")
	d := w.begin(w.data)
	if _, err := d.Explain(t.Context(), "dev", "ClusterType/cloud"); !errors.Is(err, loop.ErrNotRead) {
		t.Errorf("before the first cycle: %v", err)
	}
	w.changeNow(1)
	d.settle("dev")
	m, err := d.Explain(t.Context(), "dev", "nothing/of-this")
	var unknown *explain.QueryError
	if !errors.As(err, &unknown) {
		t.Errorf("what is not there is %+v, %v", m, err)
	}
	log, err := d.History(t.Context())
	past := slices.DeleteFunc(slices.Clone(log.Entries), func(e history.Entry) bool { return e.Pull > 0 })
	isChange := func(e history.Entry) bool { return e.Action == history.ChangeAction }
	for _, c := range past[max(0, slices.IndexFunc(past, isChange)):] { // what init has written on the branches of environments, and nothing of the base's
		if !isChange(c) || c.Title != "Start the environment "+c.Environment {
			t.Errorf("the oldest of the history is %+v", c)
		}
	}
	past = slices.DeleteFunc(past, isChange)
	if err != nil || len(log.Unread) > 0 || len(past) == 0 || past[len(past)-1].Environment != "dev" || past[len(past)-1].Action != history.PromoteAction || past[0].Who == "" {
		t.Errorf("the history is %+v, %v", past, err)
	}
	i := slices.IndexFunc(log.Entries, func(e history.Entry) bool { return e.Action == forge.MergeAction })
	if i < 0 || log.Entries[i].Environment != "dev" || log.Entries[i].Who == "" || log.Entries[i].To == "" || log.Entries[i].Pull == 0 {
		t.Errorf("the history has not who merged the output of dev: %+v", log.Entries)
	}
	report, err := d.CompareEnvironments(t.Context(), "dev", "stage")
	if err != nil || report.From != "dev" || report.To != "stage" || !strings.Contains(report.Text(), "dev") {
		t.Errorf("the report is %+v, %v", report, err)
	}
	if plan := d.store.Snapshot().Plans["dev"]; plan == nil || plan.Len() != d.state("dev").Assignments || plan.Len() == 0 {
		t.Errorf("the plan of dev is %+v, which has %d assignments", plan, d.state("dev").Assignments)
	}
	chain := d.store.Snapshot().Chain
	has := chain.FindCommit(chain.Stages[0].Commit)
	if has.Subject == "" || has.Author == "" || has.When.IsZero() || has.ID != chain.Stages[0].Commit {
		t.Errorf("of the commit of dev is known %+v, of %+v", has, chain.Commits)
	}
	before := d.state("dev").Output.Head
	d.settle("dev")
	if after := d.state("dev").Output.Head; after != before {
		t.Errorf("after questions dev is at %s, and was at %s", after, before)
	}
	if _, err := d.Explain(t.Context(), "none", "x"); !errors.Is(err, loop.ErrNotRead) {
		t.Errorf("of no environment: %v", err)
	}
}
