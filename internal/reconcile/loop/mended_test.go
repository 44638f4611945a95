package loop_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestMendedIsNotPaused: an environment that has failed is left alone for a while, but not
// once its branch, or the base, has another commit: that may be what mends it.
func TestMendedIsNotPaused(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
	w.edit("dev", "gitops-repo.yaml", w.server.URL("out"), "/etc")
	for range 6 {
		d.cycle()
	}
	d.want(map[string]status.State{"dev": status.Failed, "prod": status.Proposed})
	failed := d.state("dev").Checked
	next := func() {
		w.now = w.now.Add(time.Second)
		if err := d.Cycle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	next()
	if at := d.state("dev").Checked; !at.Equal(failed) {
		t.Errorf("it is looked at again at once, though nothing has moved: %s", d.state("dev").Reason)
	}

	w.edit("dev", "gitops-repo.yaml", "/etc", w.server.URL("out"))
	next()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
}
