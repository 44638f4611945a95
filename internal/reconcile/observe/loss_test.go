package observe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// from returns an event of a cluster in an environment, so many seconds after noon.
func from(cluster, environment string, after int) observe.Event {
	e := said(after, "a", rollout.Ready)
	e.Cluster, e.Environment = cluster, environment
	return e
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestHeartbeats: an event that says the same again is no news, and is written once a minute, or when
// the daemon ends.
func TestHeartbeats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reports")
	inbox := open(t, file)
	for i, c := range []struct {
		event       observe.Event
		news, grows bool
	}{
		{said(0, "a", rollout.Progressing), true, true},
		{said(10, "a", rollout.Ready), true, true},
		{said(20, "a", rollout.Ready), false, true}, // the first since the start
		{said(20, "a", rollout.Ready), false, false},
		{said(15, "a", rollout.Failed), false, false}, // it comes late
		{said(40, "a", rollout.Ready), false, false},
		{said(59, "a", rollout.Progressing), false, false}, // drift is mended
		{said(79, "a", rollout.Ready), false, false},
		{said(80, "a", rollout.Ready), false, true},
		{said(130, "a", rollout.Ready), false, false},
		{said(131, "b", rollout.Ready), true, true},
		{said(132, "b", rollout.Failed), true, true},
		{said(133, "b", rollout.Failed), false, false},
		{said(133+1800, "b", rollout.Failed), true, true}, // it was thought to be gone
	} {
		var before int64
		if i > 0 {
			before = size(t, file)
		}
		news, err := inbox.Add(c.event)
		if err != nil || news != c.news || (size(t, file) > before) != c.grows {
			t.Errorf("event %d: news %t, %d bytes more, %v; want news %t, and more bytes %t", i, news, size(t, file)-before, err, c.news, c.grows)
		}
	}
	if _, err := inbox.Add(said(133+1830, "b", rollout.Failed)); err != nil {
		t.Fatal(err)
	}
	if got := shown(open(t, file), "b"); !strings.Contains(got, " 1933 *") {
		t.Errorf("before the flush the file has %s", got)
	}
	if err := inbox.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := shown(open(t, file), "b"); !strings.Contains(got, " 1963 *") {
		t.Errorf("after the flush the file has %s", got)
	}
}

// TestFlushOfNothing: a daemon that no cluster reports to writes no file; one whose file could not be
// written tries it once more when it ends.
func TestFlushOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	inbox := open(t, filepath.Join(dir, "reports"))
	if err := inbox.Flush(); err != nil {
		t.Error(err)
	}
	if _, err := inbox.Add(said(1, "a", rollout.Ready)); err == nil {
		t.Error("it is written to a folder that is not there")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := inbox.Flush(); err != nil {
		t.Error(err)
	}
	if got := shown(open(t, filepath.Join(dir, "reports")), "a"); !strings.Contains(got, "ready 1 *") {
		t.Errorf("the file has %q", got)
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
		file := filepath.Join(t.TempDir(), "reports")
		inbox := open(t, file)
		add(t, inbox, c.events...)
		if err := inbox.Flush(); err != nil {
			t.Fatal(err)
		}
		want := "east-1 Kustomization/flux-system/apps " + c.want + "\n"
		for _, known := range []*observe.Inbox{inbox, open(t, file)} {
			if got := shown(known, "a"); got != want {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
	}
}

// TestFull: what is known is not forgotten for what is new; who was refused is known, by environment,
// also to the next process; and what was silent for long makes room.
func TestFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reports")
	inbox, err := observe.NewSmallInbox(file, 3)
	if err != nil {
		t.Fatal(err)
	}
	add(t, inbox, from("one", "prod", 0), from("two", "prod", 1), from("three", "prod", 2))
	if _, lost := inbox.FindLoss("prod", noon); lost {
		t.Error("something is lost of three in three")
	}
	for i, want := range []bool{true, false, false} {
		if news, err := inbox.Add(from(fmt.Sprint("flood-", i), "dev", 10+i)); news != want || err != nil {
			t.Errorf("flood %d: news %t, %v", i, news, err)
		}
	}
	add(t, inbox, from("one", "prod", 20))
	for name, i := range map[string]*observe.Inbox{"this process": inbox, "the next one": open(t, file)} {
		loss, lost := i.FindLoss("dev", noon)
		if want := "3 objects report, and there is no room for more"; !lost || loss.Reason != want || !loss.Time.Equal(noon.Add(10*time.Second)) {
			t.Errorf("%s: dev has lost %t, %+v; want %s", name, lost, loss, want)
		}
		if _, lost := i.FindLoss("dev", noon.Add(11*time.Second)); lost {
			t.Errorf("%s: what was lost long ago counts", name)
		}
		if loss, lost := i.FindLoss("prod", noon); lost {
			t.Errorf("%s: prod has lost %+v, though all of it was known", name, loss)
		}
		if got := strings.Count(shown(i, "a"), "ready"); got != 3 {
			t.Errorf("%s: %d objects are known", name, got)
		}
	}
	month := 30 * 24 * 3600
	add(t, inbox, from("one", "prod", month+10))
	add(t, inbox, from("four", "prod", month+3610))
	got := shown(inbox, "a")
	if strings.Count(got, "ready") != 2 || !strings.Contains(got, "one") || !strings.Contains(got, "four") {
		t.Errorf("after a month: %s", got)
	}
	add(t, inbox, from("", "", month+3620), from("six", "", month+3630))
	if _, lost := inbox.FindLoss("prod", noon.Add(time.Duration(month)*time.Second)); !lost {
		t.Error("what was lost without an environment could be of any")
	}
}

// TestLossOfDamage: what a damaged line said is lost, of all environments, and the process after the one
// that has mended the file knows it. A torn last line loses nothing that was acknowledged.
func TestLossOfDamage(t *testing.T) {
	good := `{"cluster":"east-1","object":"Kustomization/flux-system/apps","commit":"a","phase":"ready","when":"2026-11-21T12:00:01Z"}` + "\n"
	for _, c := range []struct {
		name, text string
		lost       bool
	}{
		{"torn", good + good[:40], false},
		{"zeros", good + "\x00\x00\x00\n" + good, true},
		{"half a line in the middle", good[:40] + "\n" + good, true},
	} {
		file := filepath.Join(t.TempDir(), "reports")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		inbox, err := observe.NewInbox(file)
		if err == nil {
			t.Fatalf("%s: no warning", c.name)
		}
		add(t, inbox, from("west", "prod", 10))
		for name, i := range map[string]*observe.Inbox{"this process": inbox, "the next one": open(t, file)} {
			loss, lost := i.FindLoss("prod", time.Time{})
			if lost != c.lost || lost && !strings.Contains(loss.Reason, "lines in the file of reports were damaged") {
				t.Errorf("%s, %s: lost %t, %+v; want %t", c.name, name, lost, loss, c.lost)
			}
		}
	}
	if inbox := open(t, filepath.Join(t.TempDir(), "none")); inbox != nil {
		if _, lost := inbox.FindLoss("prod", time.Time{}); lost {
			t.Error("a first start has lost something")
		}
	}
}

// TestFileBounds: the file does not grow without an end.
func TestFileBounds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reports")
	inbox := open(t, file)
	for i := range 3000 {
		add(t, inbox, said(i, fmt.Sprint(i), rollout.Ready))
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Count(string(data), "\n") > 1100 {
		t.Errorf("the file has %d lines, %v", strings.Count(string(data), "\n"), err)
	}
}
