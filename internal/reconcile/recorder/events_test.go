package recorder_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// said gives an event of east-1's object apps, so many seconds after noon.
func said(after int, commit string, phase rollout.Phase) observe.Event {
	return observe.Event{Cluster: "east-1", Object: "Kustomization/flux-system/apps", Commit: commit, Phase: phase, When: noon.Add(time.Duration(after) * time.Second)}
}

// openEvents returns a Recorder of a file at a time.
func openEvents(t *testing.T, file string, now time.Time) *recorder.Recorder {
	t.Helper()
	r := recorder.Open(t.Context(), recorder.Options{Path: file, Now: func() time.Time { return now }, Logger: quiet})
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// reopen closes a Recorder, and returns one of the same file.
func reopen(t *testing.T, r *recorder.Recorder, file string) *recorder.Recorder {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return openEvents(t, file, noon)
}

func add(t *testing.T, r *recorder.Recorder, events ...observe.Event) {
	t.Helper()
	for _, e := range events {
		if _, err := r.Add(e); err != nil {
			t.Fatal(err)
		}
	}
}

// shown gives what an Inbox has, a line for each object, with * where commit is meant.
func shown(r *recorder.Recorder, commit string) string {
	var out strings.Builder
	for _, got := range r.Reports(func(e observe.Event) (bool, bool) { return e.Commit == commit, e.Environment != "other" }) {
		mark := ""
		if got.Current {
			mark = " *"
		}
		fmt.Fprintf(&out, "%s %s %s %d%s\n", got.Source, got.Object, got.Phase, got.Time.Unix()-noon.Unix(), mark)
	}
	return out.String()
}

// TestSeveralPlatforms: of a cluster with several objects that apply one branch nothing tells which folder each of them
// applies, so none is judged by the folder of the cluster type.
func TestSeveralPlatforms(t *testing.T) {
	event := func(cluster, object, branch string) observe.Event {
		return observe.Event{Cluster: cluster, ClusterType: "large", Object: object, Branch: branch, Commit: "a", Phase: rollout.Ready, When: noon}
	}
	r := openEvents(t, filepath.Join(t.TempDir(), "ledger.db"), noon)
	add(t, r,
		event("two", "Kustomization/flux-system/fleet", "dev"), event("two", "Kustomization/flux-system/stacks", "dev"), event("two", "Kustomization/team/apps", "dev"),
		event("one", "Kustomization/flux-system/fleet", "dev"), event("one", "Kustomization/flux-system/apps", "main"), event("one", "Kustomization/team/apps", "dev"))
	got := map[string]string{}
	r.Reports(func(e observe.Event) (bool, bool) {
		got[e.Cluster+" "+e.Object] = e.ClusterType
		return false, false
	})
	want := map[string]string{
		"two Kustomization/flux-system/fleet": "", "two Kustomization/flux-system/stacks": "", "two Kustomization/team/apps": "large",
		"one Kustomization/flux-system/fleet": "large", "one Kustomization/flux-system/apps": "large", "one Kustomization/team/apps": "large",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAwaitedPlans: a Kustomization that fails only because a plan waits for approval is in progress, and waits.
func TestAwaitedPlans(t *testing.T) {
	event := func(object, message string) observe.Event {
		return observe.Event{Cluster: "east-1", Object: object, Commit: "a", Phase: rollout.Failed, Message: message, When: noon}
	}
	plan := func(name string) observe.Event {
		e := event("Terraform/shop/"+name, "")
		e.Phase, e.Plan.ID = rollout.Waiting, "plan-modules-aaaaaaaaaa"
		return e
	}
	const stalled = "health check failed after 4s: failed early due to stalled resources: "
	for name, c := range map[string]struct {
		events []observe.Event
		waits  bool
	}{
		"one plan":                    {[]observe.Event{plan("db"), event("Kustomization/x/apps", stalled+"[Terraform/shop/db status: 'Failed']")}, true},
		"two plans":                   {[]observe.Event{plan("db"), plan("web"), event("Kustomization/x/apps", stalled+"[Terraform/shop/db status: 'Failed', Terraform/shop/web status: 'Failed']")}, true},
		"and something fails":         {[]observe.Event{plan("db"), event("Kustomization/x/apps", stalled+"[Terraform/shop/db status: 'Failed', Job/shop/x status: 'Failed']")}, false},
		"another object":              {[]observe.Event{plan("db"), event("Kustomization/x/apps", stalled+"[Terraform/other/db status: 'Failed']")}, false},
		"a Terraform object failed":   {[]observe.Event{event("Terraform/shop/db", "no such module"), event("Kustomization/x/apps", stalled+"[Terraform/shop/db status: 'Failed']")}, false},
		"that of another cluster":     {[]observe.Event{{Cluster: "west-1", Object: plan("db").Object, Commit: "a", Phase: rollout.Waiting, Plan: plan("db").Plan, When: noon}, event("Kustomization/x/apps", stalled+"[Terraform/shop/db status: 'Failed']")}, false},
		"something else is the cause": {[]observe.Event{plan("db"), event("Kustomization/x/apps", "kustomize build failed")}, false},
	} {
		r := openEvents(t, filepath.Join(t.TempDir(), "ledger.db"), noon)
		add(t, r, c.events...)
		for _, got := range r.Reports(func(e observe.Event) (bool, bool) { return true, e.Object == "Kustomization/x/apps" }) {
			if got.Waits != c.waits || (got.Phase == rollout.Progressing) != c.waits {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// TestLatest: of what is said of one object, the latest counts.
func TestLatest(t *testing.T) {
	const ready, failed, progressing = rollout.Ready, rollout.Failed, rollout.Progressing
	for _, c := range []struct {
		name   string
		events []observe.Event
		want   string
	}{
		{"one", []observe.Event{said(1, "a", ready)}, "ready 1 *"},
		{"a later one", []observe.Event{said(1, "a", progressing), said(2, "a", ready)}, "ready 2 *"},
		{"an older one", []observe.Event{said(2, "a", failed), said(1, "a", ready)}, "failed 2 *"},
		{"drift is mended, and the event before comes late", []observe.Event{said(2, "a", progressing), said(1, "a", ready)}, "ready 1 *"},
		{"an older commit, later", []observe.Event{said(1, "a", ready), said(2, "b", ready)}, "ready 2"},
		{"back to the commit", []observe.Event{said(1, "b", ready), said(2, "a", progressing)}, "progressing 2 *"},
		{"ready, then failed", []observe.Event{said(1, "a", ready), said(2, "a", failed)}, "failed 2 *"},
		{"a failure holds while it is tried again", []observe.Event{said(1, "a", failed), said(2, "a", progressing)}, "failed 1 *"},
		{"ready, then drift is mended", []observe.Event{said(1, "a", ready), said(2, "a", progressing)}, "ready 1 *"},
		{"in one second", []observe.Event{said(1, "a", progressing), said(1, "a", ready)}, "ready 1 *"},
		{"in one second, the other way round", []observe.Event{said(1, "a", ready), said(1, "a", progressing)}, "ready 1 *"},
		{"failed in the same second", []observe.Event{said(1, "a", failed), said(1, "a", ready)}, "failed 1 *"},
		{"the next commit in one second", []observe.Event{said(1, "b", ready), said(1, "a", progressing)}, "progressing 1 *"},
	} {
		file := filepath.Join(t.TempDir(), "ledger.db")
		r := openEvents(t, file, noon)
		add(t, r, c.events...)
		want := "east-1 Kustomization/flux-system/apps " + c.want + "\n"
		if got := shown(r, "a"); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		if got := shown(reopen(t, r, file), "a"); got != want {
			t.Errorf("%s, read again: %s, want %s", c.name, got, want)
		}
	}
}

func TestReports(t *testing.T) {
	r := openEvents(t, filepath.Join(t.TempDir(), "ledger.db"), noon)
	for i, name := range []string{"west/b", "east/b", "west/a", "other/a", "east/a"} {
		e := said(i, "a", rollout.Ready)
		e.Cluster, e.Object, _ = strings.Cut(name, "/")
		e.Phase, e.Message = rollout.Failed, "it is not"
		if e.Cluster == "other" {
			e.Environment = "other"
		}
		add(t, r, e)
	}
	if diff := cmp.Diff("east a failed 4 *\neast b failed 1 *\nwest a failed 2 *\nwest b failed 0 *\n", shown(r, "a")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got := r.Reports(func(e observe.Event) (bool, bool) { return false, e.Cluster == "west" && e.Object == "a" })
	want := []rollout.Report{{Source: "west", Object: "a", Phase: rollout.Failed, Message: "it is not", Time: noon.Add(2 * time.Second)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTogether is for the race detector.
func TestTogether(t *testing.T) {
	r := openEvents(t, filepath.Join(t.TempDir(), "ledger.db"), noon)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for n := range 50 {
				e := said(n, "a", rollout.Ready)
				e.Cluster = fmt.Sprint(i)
				if _, err := r.Add(e); err != nil {
					t.Error(err)
				}
				r.Reports(func(observe.Event) (bool, bool) { return true, true })
			}
		})
	}
	wait.Wait()
	if got := strings.Count(shown(r, "a"), " 49 *"); got != 8 {
		t.Errorf("%d clusters are at their last event, want 8", got)
	}
}

// TestProvenNames: a name that a cluster proves is its own, also after a restart, and until it has been
// silent for a week.
func TestProvenNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for n, c := range []struct {
		cluster string
		proven  bool
		after   time.Duration
		refused bool
		want    string
	}{
		{"one", false, 0, false, "one/a"},
		{"two", false, time.Second, false, "one/a two/a"},
		{"one", true, time.Second, false, "one/a two/a"},
		{"one", false, 2 * time.Second, true, "one/a two/a"},
		{"two", false, 3 * time.Second, false, "one/a two/a"},
		{"one", false, 7*24*time.Hour + time.Second, false, "one/a two/a"},
		{"one", true, 7*24*time.Hour + 2*time.Second, false, "one/a two/a"},
		{"one", false, 7*24*time.Hour + 3*time.Second, true, "one/a two/a"},
	} {
		i := openEvents(t, path, noon.Add(c.after)) // each time what was written is read
		e := observe.Event{Cluster: c.cluster, Proven: c.proven, Object: "a", Commit: "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1", Phase: rollout.Ready, When: noon.Add(c.after)}
		_, err := i.Add(e)
		if errors.Is(err, observe.ErrNameProven) != c.refused || err != nil && !c.refused {
			t.Errorf("event %d: %v", n, err)
		}
		var known []string
		for _, r := range i.Reports(func(e observe.Event) (bool, bool) {
			if c.cluster == "one" && e.Cluster == "one" && e.Proven != (c.proven || c.refused) {
				t.Errorf("event %d: that of one is proven: %t", n, e.Proven)
			}
			return true, true
		}) {
			known = append(known, r.Source+"/"+r.Object)
		}
		if got := strings.Join(known, " "); got != c.want {
			t.Errorf("event %d: %s, want %s", n, got, c.want)
		}
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProvenForgets: what others have said under a name does not count for the one that proves it.
func TestProvenForgets(t *testing.T) {
	i := openEvents(t, filepath.Join(t.TempDir(), "ledger.db"), noon)
	for _, e := range []observe.Event{
		{Cluster: "one", Object: "a", Commit: "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1", Phase: rollout.Ready, When: noon},
		{Cluster: "one", Object: "b", Commit: "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1", Phase: rollout.Failed, When: noon},
		{Cluster: "one", Object: "a", Commit: "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1", Phase: rollout.Progressing, When: noon.Add(-time.Hour), Proven: true},
	} {
		if news, err := i.Add(e); !news || err != nil {
			t.Errorf("%+v: %t, %v", e, news, err)
		}
	}
	got := i.Reports(func(observe.Event) (bool, bool) { return true, true })
	if len(got) != 1 || got[0].Object != "a" || got[0].Phase != rollout.Progressing {
		t.Errorf("%+v", got)
	}
}

// TestErrorWithoutRevision: an error that names no revision fails the object at the last one that is
// known, whichever event arrives first, and makes nothing known of a commit otherwise.
func TestErrorWithoutRevision(t *testing.T) {
	failure := said(5, "", rollout.Failed)
	failure.Message = "access denied"
	for _, c := range []struct {
		name   string
		events []observe.Event
		want   string
	}{
		{"after success", []observe.Event{said(1, "a", rollout.Ready), failure}, "failed 5 *"},
		{"before what happened earlier", []observe.Event{failure, said(1, "a", rollout.Ready)}, "failed 5 *"},
		{"another commit in between", []observe.Event{said(1, "a", rollout.Ready), failure, said(3, "b", rollout.Progressing)}, "failed 5"},
		{"mended", []observe.Event{failure, said(6, "a", rollout.Ready)}, "ready 6 *"},
		{"nothing else", []observe.Event{failure}, "failed 5"},
	} {
		file := filepath.Join(t.TempDir(), "ledger.db")
		r := openEvents(t, file, noon)
		add(t, r, c.events...)
		want := "east-1 Kustomization/flux-system/apps " + c.want + "\n"
		if got := shown(r, "a"); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		if got := shown(reopen(t, r, file), "a"); got != want {
			t.Errorf("%s, read again: %s, want %s", c.name, got, want)
		}
	}
}
