package recorder_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// TestToldInAnyOrder: spans that an agent tells in any order are stored as the history that they make in their
// order, also if the process ends after each, or only some is written at a time.
func TestToldInAnyOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(e *sqlEngine, i int)
	}{
		{"written at the end", func(*sqlEngine, int) {}},
		{"written after each", func(e *sqlEngine, _ int) { e.flush() }},
		{"written now and then", func(e *sqlEngine, i int) {
			if i%3 == 0 {
				e.flush()
			}
		}},
		{"ended after each", func(e *sqlEngine, _ int) { e.restart() }},
	} {
		onBothEngines(t, c.name, func(t *testing.T, newStore func(*testing.T) testStore) {
			e := &sqlEngine{T: t, store: newStore(t), now: func() time.Time { return told.Add(2 * time.Hour) }}
			e.open()
			random := rand.New(rand.NewPCG(17, 5))
			for n := range 5 {
				reports := tellHistory(random, n)
				want := describeHistory(reports)
				random.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
				for i, r := range reports {
					at := told.Add(time.Hour + time.Duration(i)*time.Second)
					e.recorder.Receive(ledger.Contact{
						Name: fmt.Sprint("e", n), Boot: "1", Sequence: uint64(i + 1), Sent: at, Received: at, AgentSeen: told.Add(-time.Hour), Every: time.Minute,
					}, []ledger.Report{r})
					c.after(e, i)
				}
				var got []string
				for _, s := range e.FindHistory(ledger.Object{Cluster: fmt.Sprint("e", n), Name: "Kustomization/flux-system/fleet"}) {
					got = append(got, describeTold(s.Since, s.Until, s.Phase, s.Target()))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v\n%s", reports, diff)
				}
			}
			e.check(e.recorder.Close())
		})
	}
}

// told is when what is told begins.
var told = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// tellHistory returns reports of what an object was from a time to a time, in their order, and of what it is at
// two times.
func tellHistory(random *rand.Rand, number int) (all []ledger.Report) {
	said := told
	for i := range 4 + random.IntN(5) {
		r := ledger.Report{Object: ledger.Object{Name: "Kustomization/flux-system/fleet"}, Phase: ledger.Ready, Target: string(rune('A' + (i+number)%3)), Level: true, Said: said}
		if random.IntN(3) == 0 {
			r.Phase = ledger.Failed
		}
		said = said.Add(time.Duration(1+random.IntN(5)) * time.Minute)
		r.Until = said
		all = append(all, r)
	}
	now := all[len(all)-1]
	now.Said, now.Until = now.Until, time.Time{}
	return append(all, now)
}

// describeHistory returns the history of reports that are told in their order. The last one says what is known.
func describeHistory(reports []ledger.Report) (all []string) {
	for _, r := range reports[:len(reports)-1] {
		until := r.Until
		if until.Equal(reports[len(reports)-1].Said) {
			until = time.Time{}
		}
		all = append(all, describeTold(r.Said, until, r.Phase, r.Target))
	}
	return all
}

func describeTold(since, until time.Time, phase ledger.Phase, target string) string {
	end := ""
	if !until.IsZero() {
		end = until.Format("15:04")
	}
	return fmt.Sprintf("%s-%s %s %s", since.Format("15:04"), end, phase, target)
}

// TestLateWhileAway: what is told late while the store is away is put in its place when it is back, and what two
// processes are told of one cluster is put there as well.
func TestLateWhileAway(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		e := &sqlEngine{T: t, store: newStore(t), now: func() time.Time { return told.Add(2 * time.Hour) }}
		e.open()
		object := ledger.Object{Name: "Kustomization/flux-system/fleet"}
		receive := func(i int, r ledger.Report) {
			at := told.Add(time.Hour + time.Duration(i)*time.Second)
			r.Object, r.Phase, r.Level = object, ledger.Ready, true
			e.recorder.Receive(ledger.Contact{Name: "e1", Boot: "1", Sequence: uint64(i), Sent: at, Received: at, AgentSeen: told.Add(-time.Hour)}, []ledger.Report{r})
		}
		minute := func(n int) time.Time { return told.Add(time.Duration(n) * time.Minute) }
		receive(1, ledger.Report{Target: "A", Said: minute(0)})
		e.flush()
		e.store.goAway()
		receive(2, ledger.Report{Target: "C", Said: minute(9)})
		receive(3, ledger.Report{Target: "B", Said: minute(3), Until: minute(9)})
		if err := e.recorder.Flush(t.Context()); err == nil {
			t.Error("the store takes what it cannot take")
		}
		e.store.comeBack()
		e.restart()
		var got []string
		object.Cluster = "e1"
		for _, s := range e.FindHistory(object) {
			got = append(got, describeTold(s.Since, s.Until, s.Phase, s.Target()))
		}
		want := []string{"12:00-12:03 ready A", "12:03-12:09 ready B", "12:09- ready C"}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		e.check(e.recorder.Close())
	})
}

// TestLateOfTwo: what one of two processes is told late is put in its place, also if the other one has stored
// something newer before.
func TestLateOfTwo(t *testing.T) {
	store := newPostgresStore(t)
	var all [2]*recorder.Recorder
	for i := range all {
		o := recorder.Options{Now: func() time.Time { return told.Add(2 * time.Hour) }, Logger: quiet}
		store.set(&o)
		all[i] = recorder.Open(t.Context(), o)
	}
	object := ledger.Object{Cluster: "e1", Name: "Kustomization/flux-system/fleet"}
	minute := func(n int) time.Time { return told.Add(time.Duration(n) * time.Minute) }
	receive := func(of *recorder.Recorder, i int, at time.Time, reports ...ledger.Report) {
		for n := range reports {
			reports[n].Object, reports[n].Phase, reports[n].Level = object, ledger.Ready, true
		}
		of.Receive(ledger.Contact{Name: "e1", Boot: "1", Sequence: uint64(i), Sent: at, Received: at}, reports)
	}
	flush := func(of *recorder.Recorder) {
		t.Helper()
		err := of.Flush(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	receive(all[0], 1, minute(0), ledger.Report{Target: "A", Said: minute(0)})
	flush(all[0])
	flush(all[1])
	receive(all[0], 2, minute(95), ledger.Report{Target: "B", Said: minute(61), Until: minute(70)}, ledger.Report{Target: "C", Said: minute(70)})
	receive(all[1], 3, minute(96), ledger.Report{Target: "D", Said: minute(90)})
	flush(all[1])
	flush(all[0])
	flush(all[1])
	var got []string
	found := store.open()
	spans, err := found.FindHistory(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		got = append(got, describeTold(s.Since, s.Until, s.Phase, s.Target()))
	}
	want := []string{"12:00-13:01 ready A", "13:01-13:10 ready B", "13:10-13:30 ready A", "13:30- ready D"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, close := range []func() error{found.Close, all[0].Close, all[1].Close} {
		err := close()
		if err != nil {
			t.Error(err)
		}
	}
}
