package loop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestEdits: the commits that people make on an environment's own branch are known, and which of them the output holds.
func TestEdits(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	d := w.begin(w.data)
	w.changeNow(0)
	d.settle("dev", "stage")
	want := func(running string, edits ...string) {
		t.Helper()
		stage := d.stage("stage")
		ids := list.Convert(stage.Edits[:len(edits)], func(c status.Commit) string { return c.ID })
		if diff := cmp.Diff(edits, ids); diff != "" || stage.RunningEdit != running {
			t.Errorf("the output holds %s, want %s; the edits (-want +got):\n%s", stage.RunningEdit, running, diff)
		}
	}
	const own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, labels: {platform-config: \"true\"}}\ndata: {OWN: \"1\"}\n"
	first := w.commitNow("stage", "A value of stage", map[string]string{"configs/own.yaml": own})
	d.settle("dev", "stage")
	want(first, first)
	w.changeNow(1) // a promotion is no edit
	d.settle("dev", "stage")
	want(first, first)
	second := w.commitNow("stage", "A mistake", map[string]string{"configs/own.yaml": "kind: [\n"})
	d.settle("dev", "stage")
	want(first, second, first)
	third := w.commitNow("stage", "Without it", map[string]string{"configs/own.yaml": ""})
	d.settle("dev", "stage")
	want(third, third, second, first)
}
