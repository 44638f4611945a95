package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestResolvedProblem: what a commit has mended is known with the commit, by its subject, author and time, while the
// process runs.
func TestResolvedProblem(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	w.commitNow("main", "break it", map[string]string{"configs/broken.yaml": "a: [\n"})
	d.cycle()
	d.want(map[string]status.State{"dev": status.Problems})
	broken := d.state("dev").Problems[0]
	w.now = w.now.Add(time.Minute)
	pushed := w.now.UTC()
	commit := w.commitNow("main", "mend it\n\nsee above", map[string]string{"configs/broken.yaml": ""})
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	now := d.store.Snapshot()
	resolved := now.ProblemLogs["dev"].Resolved
	want := status.Commit{ID: commit, Subject: "mend it", Author: "a", When: pushed}
	if len(resolved) != 1 || resolved[0].Problem != broken || !resolved[0].Until.Equal(now.Cycle.Started) || !resolved[0].Since.Before(resolved[0].Until) {
		t.Fatalf("resolved are %+v, want %v", resolved, broken)
	}
	if with := resolved[0].With; with == nil || with.Layer != "base" || with.Repo == "" || !cmp.Equal(with.About, want) {
		t.Errorf("it went with %+v, want %+v", with, want)
	}
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

// TestReportFails: a forge that refuses issues and statuses does not hide the problems that they are
// about, and fails nothing. What it was not told, it is told once it takes it.
func TestReportFails(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	head := gittest.Refs(t, w.server.Dir("out"))["refs/heads/dev"]
	refuses := &refusingForge{err: errors.New("403 Forbidden: the token lacks write:issue")}
	err := d.Wrap(w.server.URL("out"), func(f forge.Forge) forge.Forge {
		refuses.Forge = f
		return refuses
	})
	if err != nil {
		t.Fatal(err)
	}
	w.drop("out", "dev")
	for range 3 {
		d.cycle()
		w.now = w.now.Add(time.Hour)
		d.want(map[string]status.State{"dev": status.Problems, "prod": status.Proposed})
		e := d.state("dev")
		if !e.Problems.Stops() || e.Error != "" || !strings.Contains(e.Reason, "the forge could not be told: put the issue: 403 Forbidden: the token lacks write:issue") {
			t.Errorf("it says %q, with the problems %v and the error %q", e.Reason, e.Problems, e.Error)
		}
	}
	refuses.err = nil
	d.cycle()
	if issues := w.issues("dev"); len(issues) != 1 || !strings.HasPrefix(issues[0], "open") || strings.Contains(d.state("dev").Reason, "403") {
		t.Errorf("once the forge takes them, the issues are %q, and it says %q", issues, d.state("dev").Reason)
	}
	gittest.Git(t, w.server.Dir("out"), "update-ref", "refs/heads/dev", head)
	w.now = w.now.Add(time.Hour)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
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
