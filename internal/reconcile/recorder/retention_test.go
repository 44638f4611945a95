package recorder_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

const (
	day  = 24 * time.Hour
	kept = 10 * day
)

// openKeeping opens the Recorder with a limit to the past, and with metrics.
func (r *rig) openKeeping() *metrics.Metrics {
	r.Helper()
	m := metrics.New("test")
	r.openWith(func(o *recorder.Options) { o.Keep, o.Metrics = ledgerdb.Keep{Spans: kept, Days: 4 * kept}, m })
	return m
}

// stay lets a time pass, in which the cluster says the same.
func (r *rig) stay(d time.Duration) { r.now = r.now.Add(d) }

func scrape(m *metrics.Metrics) string {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// TestRetention: once an hour what is no longer kept is deleted, but for the last that has ended, and a
// process that starts anew goes on from there.
func TestRetention(t *testing.T) { onBothEngines(t, "", testRetention) }

func testRetention(t *testing.T, newStore func(*testing.T) testStore) {
	r := newRig(t, newStore)
	m := r.openKeeping()
	for i, revision := range []string{"A", "B", "C", "D"} {
		r.report("e1", "ready", revision)
		if i == 0 {
			r.report("e2", "ready", revision) // which says nothing else
		}
		r.stay(6 * day)
	}
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.recorder.Maintain(t.Context())
	r.wantStored("e1", "12:04-12:05 ready C, 12:05- ready D") // B has ended 12 days ago, and C 6
	if got := r.stored("e2"); !strings.HasSuffix(got, "- ready A") {
		t.Errorf("what lasts is gone: %s", got)
	}
	if body := scrape(m); strings.Contains(body, "\nfairlead_fleet_store_bytes 0\n") || !strings.Contains(body, "\nfairlead_fleet_flush_seconds_count ") {
		t.Errorf("the size of the store is not known:\n%s", body)
	}
	r.stay(30 * time.Minute)
	r.report("e1", "failed", "E")
	r.stay(kept + day)
	r.report("e1", "ready", "F")
	if err := r.recorder.Close(); err != nil {
		t.Fatal(err)
	}
	r.openKeeping()
	r.recorder.Maintain(t.Context())
	if got := r.stored("e1"); strings.Count(got, ",") != 1 || !strings.Contains(got, "failed E") {
		t.Errorf("after a restart is stored %s", got)
	}
}

// TestRoomIsMade: when there is no room for the store, half of the past is given up at once, and the store
// is tried again.
func TestRoomIsMade(t *testing.T) {
	r := newRig(t, newPostgresStore)
	m := r.openKeeping()
	for i := range 8 {
		r.report("e1", "ready", fmt.Sprint("v", i))
		r.stay(day)
	}
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.recorder.Maintain(t.Context())
	const rest = "12:04-12:05 ready v3, 12:05-12:06 ready v4, 12:06-12:07 ready v5, 12:07-12:08 ready v6, 12:08-"
	r.wantStored("e1", "12:01-12:02 ready v0, 12:02-12:03 ready v1, 12:03-12:04 ready v2, "+rest+" ready v7")
	r.store.change("create function full() returns trigger language plpgsql as 'begin raise exception ''no space left'' using errcode = ''53100''; end';" +
		"create trigger no_room before insert on span for each row execute function full()")
	r.report("e1", "failed", "v8")
	if err := r.recorder.Flush(t.Context()); !errors.Is(err, ledgerdb.ErrFull) {
		t.Fatal(err)
	}
	r.recorder.Maintain(t.Context())
	r.wantStored("e1", rest+" ready v7")
	if body := scrape(m); strings.Contains(body, "\nfairlead_fleet_pending_changes 0\n") {
		t.Errorf("nothing is pending:\n%s", body)
	}
	r.store.change("drop trigger no_room on span")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantStored("e1", rest+"12:09 ready v7, 12:09- failed v8")
}

// TestRefusals: what is refused is counted by day, cluster and reason, and stored with the next batch;
// names that no cluster has are counted together.
func TestRefusals(t *testing.T) { onBothEngines(t, "", testRefusals) }

func testRefusals(t *testing.T, newStore func(*testing.T) testStore) {
	r := newRig(t, newStore)
	m := r.openKeeping()
	contact := func(name, uid, boot string, sequence uint64, unproven bool) {
		r.recorder.Receive(ledger.Contact{Name: name, UID: uid, Boot: boot, Sequence: sequence, Unproven: unproven, Every: time.Minute, Sent: r.now, Received: r.now}, nil)
	}
	contact("e1", "u1", "b", 1, false)
	contact("e1", "u1", "b", 1, false) // a replay
	contact("e1", "u1", "b", 1, false)
	contact("e1", "u2", "b2", 1, false) // another cluster
	contact("e1", "", "", 0, true)      // without the key
	contact("e9", "u1", "b3", 1, false) // the same cluster under a second name
	r.recorder.RefuseKey("e1")
	for i := range 5 {
		r.recorder.RefuseKey(fmt.Sprint("made-up-", i))
	}
	many := make([]ledger.Report, ledger.MaxObjects+1)
	for i := range many {
		many[i] = ledger.Report{Object: ledger.Object{Name: fmt.Sprint("o", i)}, Phase: ledger.Ready, Target: "A", Said: r.now}
	}
	r.recorder.Receive(ledger.Contact{Name: "e1", UID: "u1", Boot: "b", Sequence: 2, Scope: ledger.Some, Every: time.Minute, Sent: r.now, Received: r.now}, many)
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.stay(day)
	r.recorder.RefuseKey("e1")
	r.recorder.RefuseKey("e1")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.recorder.Flush(t.Context()); err != nil { // which has nothing to write
		t.Fatal(err)
	}
	s := r.store.open()
	defer func() { _ = s.Close() }()
	all, err := s.FindRefusals(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range all {
		got = append(got, fmt.Sprintf("%s %s %s %d", one.Day.Start().Format("01-02"), one.Cluster, one.Reason, one.Count))
	}
	const want = "11-24 e1 unauthorized 2; 11-23  unauthorized 5; 11-23 e1 contested 1; 11-23 e1 objects 1; 11-23 e1 replayed 2; 11-23 e1 second-name 1; 11-23 e1 unauthorized 1; 11-23 e1 unproven 1"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("refused are\n%s\nwant\n%s", text, want)
	}
	if body := scrape(m); !strings.Contains(body, "\nfairlead_fleet_refusals_total{reason=\"unauthorized\"} 8\n") {
		t.Errorf("the metrics are\n%s", body)
	}
}
