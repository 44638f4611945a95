package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
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

// refusingForge is a forge that cannot write issues while there is an error.
type refusingForge struct {
	forge.Forge
	err error
}

func (f *refusingForge) PutIssue(ctx context.Context, i forge.Issue) (forge.Issue, error) {
	if f.err != nil {
		return forge.Issue{}, f.err
	}
	return f.Forge.PutIssue(ctx, i)
}

// TestIssueIsClosedLater: an issue that could not be closed when its problems were gone is closed
// once the forge lets us.
func TestIssueIsClosedLater(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	head := gittest.Refs(t, w.server.Dir("out"))["refs/heads/dev"]
	w.drop("out", "dev")
	d.cycle()
	d.want(map[string]status.State{"dev": status.Problems, "prod": status.Proposed})
	refuses := &refusingForge{err: errors.New("503 Service Unavailable")}
	err := d.Wrap(w.server.URL("out"), func(f forge.Forge) forge.Forge {
		refuses.Forge = f
		return refuses
	})
	if err != nil {
		t.Fatal(err)
	}
	w.level("debug", "error")
	gittest.Git(t, w.server.Dir("out"), "update-ref", "refs/heads/dev", head)
	d.cycle()
	if issues := w.issues("dev"); len(issues) != 1 || !strings.HasPrefix(issues[0], "open") {
		t.Fatalf("the issues are %q", issues)
	}
	refuses.err = nil
	w.now = w.now.Add(time.Hour)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
	if issues := w.issues("dev"); len(issues) != 1 || !strings.HasPrefix(issues[0], "closed") {
		t.Errorf("the issues are %q", issues)
	}
}
