package observe_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// said gives an event of east-1's object apps, so many seconds after noon.
func said(after int, commit string, phase rollout.Phase) observe.Event {
	return observe.Event{Cluster: "east-1", Object: "Kustomization/flux-system/apps", Commit: commit, Phase: phase, When: noon.Add(time.Duration(after) * time.Second)}
}

// open gives an Inbox that reads its file without a warning.
func open(t *testing.T, file string) *observe.Inbox {
	t.Helper()
	inbox, err := observe.NewInbox(file)
	if err != nil {
		t.Fatal(err)
	}
	return inbox
}

func add(t *testing.T, inbox *observe.Inbox, events ...observe.Event) {
	t.Helper()
	for _, e := range events {
		if _, err := inbox.Add(e); err != nil {
			t.Fatal(err)
		}
	}
}

// shown gives what an Inbox has, a line for each object, with * where commit is meant.
func shown(inbox *observe.Inbox, commit string) string {
	var out strings.Builder
	for _, r := range inbox.Reports(func(e observe.Event) (bool, bool) { return e.Commit == commit, e.Environment != "other" }) {
		mark := ""
		if r.Current {
			mark = " *"
		}
		fmt.Fprintf(&out, "%s %s %s %d%s\n", r.Source, r.Object, r.Phase, r.Time.Unix()-noon.Unix(), mark)
	}
	return out.String()
}

// TestSeveralPlatforms: of a cluster with several objects that apply one branch nothing tells which folder each of them
// applies, so none is judged by the folder of the cluster type.
func TestSeveralPlatforms(t *testing.T) {
	event := func(cluster, object, branch string) observe.Event {
		return observe.Event{Cluster: cluster, ClusterType: "large", Object: object, Branch: branch, Commit: "a", Phase: rollout.Ready, When: noon}
	}
	inbox := open(t, filepath.Join(t.TempDir(), "reports"))
	add(t, inbox,
		event("two", "Kustomization/flux-system/fleet", "dev"), event("two", "Kustomization/flux-system/stacks", "dev"), event("two", "Kustomization/team/apps", "dev"),
		event("one", "Kustomization/flux-system/fleet", "dev"), event("one", "Kustomization/flux-system/apps", "main"), event("one", "Kustomization/team/apps", "dev"))
	got := map[string]string{}
	inbox.Reports(func(e observe.Event) (bool, bool) {
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
		inbox := open(t, filepath.Join(t.TempDir(), "reports"))
		add(t, inbox, c.events...)
		for _, r := range inbox.Reports(func(e observe.Event) (bool, bool) { return true, e.Object == "Kustomization/x/apps" }) {
			if r.Waits != c.waits || (r.Phase == rollout.Progressing) != c.waits {
				t.Errorf("%s: %+v", name, r)
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
		file := filepath.Join(t.TempDir(), "reports")
		inbox := open(t, file)
		add(t, inbox, c.events...)
		want := "east-1 Kustomization/flux-system/apps " + c.want + "\n"
		if got := shown(inbox, "a"); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		if got := shown(open(t, file), "a"); got != want {
			t.Errorf("%s, read again: %s, want %s", c.name, got, want)
		}
	}
}

func TestReports(t *testing.T) {
	inbox := open(t, filepath.Join(t.TempDir(), "reports"))
	for i, name := range []string{"west/b", "east/b", "west/a", "other/a", "east/a"} {
		e := said(i, "a", rollout.Ready)
		e.Cluster, e.Object, _ = strings.Cut(name, "/")
		e.Phase, e.Message = rollout.Failed, "it is not"
		if e.Cluster == "other" {
			e.Environment = "other"
		}
		add(t, inbox, e)
	}
	if diff := cmp.Diff("east a failed 4 *\neast b failed 1 *\nwest a failed 2 *\nwest b failed 0 *\n", shown(inbox, "a")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got := inbox.Reports(func(e observe.Event) (bool, bool) { return false, e.Cluster == "west" && e.Object == "a" })
	want := []rollout.Report{{Source: "west", Object: "a", Phase: rollout.Failed, Message: "it is not", Time: noon.Add(2 * time.Second)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDamaged: a file that is not what it should be is a warning, and the next event
// mends it.
func TestDamaged(t *testing.T) {
	good := `{"cluster":"east-1","object":"Kustomization/flux-system/apps","commit":"a","phase":"ready","when":"2026-11-21T12:00:01Z"}` + "\n"
	for _, c := range []struct{ name, text, want, warning string }{
		{"empty", "", "", ""},
		{"good", good, "ready 1 *", ""},
		{"no line end", strings.TrimSpace(good), "ready 1 *", ""},
		{"torn", good + good[:40], "ready 1 *", "1 of 2 lines are damaged"},
		{"something else", "PNG\x00\n\x01\n", "", "2 of 2 lines are damaged"},
		{"no commit", `{"cluster":"x","object":"y","when":"2026-11-21T12:00:01Z"}` + "\n", "", "1 of 1 lines are damaged"},
	} {
		file := filepath.Join(t.TempDir(), "reports")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		inbox, err := observe.NewInbox(file)
		if (err == nil) != (c.warning == "") || err != nil && !strings.Contains(err.Error(), c.warning) {
			t.Errorf("%s: the warning is %v, want %q", c.name, err, c.warning)
		}
		want := ""
		if c.want != "" {
			want = "east-1 Kustomization/flux-system/apps " + c.want + "\n"
		}
		if got := shown(inbox, "a"); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		other := said(3, "a", rollout.Failed)
		other.Cluster = "west"
		add(t, inbox, other)
		if got := shown(open(t, file), "a"); got != want+"west Kustomization/flux-system/apps failed 3 *\n" {
			t.Errorf("%s, mended: %s", c.name, got)
		}
	}
}

// TestUnwritable: what cannot be written is known all the same, and is written with what
// comes next.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	inbox := open(t, filepath.Join(dir, "reports"))
	if _, err := inbox.Add(said(1, "a", rollout.Ready)); err == nil {
		t.Error("it is written to a folder that is not there")
	}
	if got := shown(inbox, "a"); got == "" {
		t.Error("it is forgotten")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	west := said(2, "a", rollout.Ready)
	west.Cluster = "west"
	if _, err := inbox.Add(west); err == nil {
		t.Error("it is tried again at once, which writes all that is known")
	}
	add(t, inbox, said(11, "a", rollout.Failed))
	if got := shown(open(t, filepath.Join(dir, "reports")), "a"); strings.Count(got, "\n") != 2 {
		t.Errorf("the file has %s", got)
	}
	if err := os.Remove(filepath.Join(dir, "reports")); err != nil {
		t.Fatal(err)
	}
	add(t, inbox, said(12, "a", rollout.Ready))
	if got := shown(open(t, filepath.Join(dir, "reports")), "a"); strings.Count(got, "\n") != 2 {
		t.Errorf("after somebody removed it the file has %s", got)
	}
	if _, err := observe.NewInbox(dir); err == nil {
		t.Error("a folder is a file")
	}
}

// TestTogether is for the race detector.
func TestTogether(t *testing.T) {
	inbox := open(t, filepath.Join(t.TempDir(), "reports"))
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for n := range 50 {
				e := said(n, "a", rollout.Ready)
				e.Cluster = fmt.Sprint(i)
				if _, err := inbox.Add(e); err != nil {
					t.Error(err)
				}
				inbox.Reports(func(observe.Event) (bool, bool) { return true, true })
			}
		})
	}
	wait.Wait()
	if got := strings.Count(shown(inbox, "a"), " 49 *"); got != 8 {
		t.Errorf("%d clusters are at their last event, want 8", got)
	}
}

// TestProvenNames: a name that a cluster proves is its own, also after a restart, and until it has been
// silent for a week.
func TestProvenNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports")
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
		i := open(t, path) // each time what was written is read
		e := observe.Event{Cluster: c.cluster, Proven: c.proven, Object: "a", Commit: "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1", Phase: rollout.Ready, When: noon.Add(c.after)}
		_, err := i.Add(e)
		if errors.Is(err, observe.ErrNameProven) != c.refused || err != nil && !c.refused {
			t.Errorf("event %d: %v", n, err)
		}
		if err := i.Flush(); err != nil {
			t.Fatal(err)
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
	}
}

// TestProvenForgets: what others have said under a name does not count for the one that proves it.
func TestProvenForgets(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "reports"))
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
