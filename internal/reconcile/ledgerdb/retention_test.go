package ledgerdb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// onBothEngines runs a test with an empty store in SQLite and in PostgreSQL.
func onBothEngines(t *testing.T, test func(t *testing.T, s *Store)) {
	for name, open := range map[string]func(t *testing.T) (*Store, error){
		"SQLite": func(t *testing.T) (*Store, error) {
			return OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
		},
		"PostgreSQL": func(t *testing.T) (*Store, error) { return OpenPostgres(t.Context(), pgtest.Create(t).Address) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			test(t, s)
		})
	}
}

const day = 24 * time.Hour

// keep is what the tests of retention keep.
var keep = Keep{Spans: 10 * day, Days: 40 * day}

// fillPast writes the spans of some objects of clusters over the last 60 days, with a pause now and
// then, and returns the objects.
func fillPast(t *testing.T, s *Store, seed uint64, clusters int) []ledger.Object {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	b := Batch{}
	var objects []ledger.Object
	for n := range clusters {
		name := fmt.Sprintf("e%d", n+1)
		b.Clusters = append(b.Clusters, ledger.Cluster{
			ID: name, Names: []ledger.Naming{{Name: name, Since: noon.Add(-60 * day)}}, Group: ledger.Group{Environment: "prod", ClusterType: "large"},
			FirstSeen: noon.Add(-60 * day), LastSeen: noon,
		})
		for i := range 6 {
			o := ledger.Object{Cluster: name, Name: fmt.Sprintf("Kustomization/flux-system/w%d", i)}
			objects = append(objects, o)
			for at := noon.Add(-60 * day); at.Before(noon); {
				until := at.Add(time.Duration(1+random.IntN(200)) * time.Hour)
				span := ledger.Span{Since: at, Until: until, Phase: ledger.Phase(1 + random.IntN(4)), Revision: fmt.Sprintf("r%d", random.IntN(5))}
				if span.Phase == ledger.Failed {
					span.Message = fmt.Sprintf("failed %d", random.IntN(8))
				}
				if until.After(noon) {
					span.Until = time.Time{}
				}
				b.Spans = append(b.Spans, ledger.SpanWrite{Object: o, Kind: ledger.BeginSpan, Span: span})
				at = until.Add(time.Duration(random.IntN(2)*random.IntN(50)) * time.Hour)
			}
		}
	}
	b.Refusals = []ledger.Refusals{
		{Day: ledger.DayOf(noon.Add(-50 * day)), Cluster: "e1", Reason: ledger.RefusedReplay, Count: 2, Last: noon.Add(-50 * day)},
		{Day: ledger.DayOf(noon), Cluster: "e1", Reason: ledger.RefusedReplay, Count: 3, Last: noon},
	}
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return objects
}

// past is what a store says of a time that is kept, and of the phases of each day.
type past struct {
	running  map[string][]Running
	history  map[ledger.Object][]ledger.Span // what ended within the time that is kept, or lasts
	last     map[ledger.Object]ledger.Span   // the last that ended
	days     map[string]int64                // seconds and changes of each day that is kept, as text
	messages string
}

func readPast(t *testing.T, s *Store, objects []ledger.Object, keep Keep) past {
	t.Helper()
	p := past{map[string][]Running{}, map[ledger.Object][]ledger.Span{}, map[ledger.Object]ledger.Span{}, map[string]int64{}, ""}
	kept := noon.Add(-keep.Spans)
	first := ledger.DayOf(noon.Add(-keep.Days))
	add := func(d ledger.Day, object string, phase ledger.Phase, seconds, changes int64) {
		if d >= first {
			p.days[fmt.Sprintf("%d %s %s seconds", d, object, phase)] += seconds
			p.days[fmt.Sprintf("%d %s %s changes", d, object, phase)] += changes
		}
	}
	for _, o := range objects {
		for at := kept; !at.After(noon); at = at.Add(31 * time.Hour) {
			found, err := s.FindRunning(t.Context(), o.Name, at)
			if err != nil {
				t.Fatal(err)
			}
			p.running[at.String()+o.Name] = found
		}
		all, err := s.FindHistory(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range all {
			if span.Until.IsZero() || !span.Until.Before(kept) {
				p.history[o] = append(p.history[o], span)
			}
			if span.Until.IsZero() {
				continue
			}
			p.last[o] = span
			for d := ledger.DayOf(span.Since); d.Start().Before(span.Until); d++ {
				from, to, changes := d.Start(), (d + 1).Start(), int64(0)
				if d == ledger.DayOf(span.Since) {
					from, changes = span.Since, 1
				}
				if span.Until.Before(to) {
					to = span.Until
				}
				add(d, o.Name, span.Phase, int64(to.Sub(from)/time.Second), changes)
			}
		}
	}
	days, err := s.FindPhaseDays(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		if d.Day < first || d.Group != (ledger.Group{Environment: "prod", ClusterType: "large"}) {
			t.Errorf("kept is %+v", d)
		}
		add(d.Day, d.Object, d.Phase, d.Seconds, d.Changes)
	}
	return p
}

// TestRetention: what is asked of the time that is kept, what ran last before, and the sums of each day
// are the same before and after, whatever the size of a step; what is older is gone, and no more than a
// step is changed at a time.
func TestRetention(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *Store) {
		objects := fillPast(t, s, 1, 2)
		before := readPast(t, s, objects, keep)
		steps := 0
		for more := true; more; steps++ {
			r := s.NewRetention(keep, noon, 60) // each step as after a restart
			var err error
			more, err = r.Step(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := readPast(t, s, objects, keep); !reflect.DeepEqual(got, before) {
				t.Fatalf("after step %d:\n%+v\nbefore:\n%+v", steps, got, before)
			}
		}
		if steps < 5 {
			t.Errorf("it took %d steps", steps)
		}
		for _, o := range objects {
			spans, err := s.FindHistory(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			old := slices.DeleteFunc(spans, func(x ledger.Span) bool { return x.Until.IsZero() || !x.Until.Before(noon.Add(-keep.Spans)) })
			if len(old) > 1 || len(old) == 1 && old[0] != before.last[o] {
				t.Errorf("of %v is kept %+v", o, old)
			}
		}
		refusals, err := s.FindRefusals(t.Context(), 0)
		if err != nil || len(refusals) != 1 || refusals[0].Count != 3 || !refusals[0].Last.Equal(noon) {
			t.Errorf("the refusals are %+v, %v", refusals, err)
		}
		wantOnlyUsedMessages(t, s)
	})
}

// wantOnlyUsedMessages checks that messages are stored that spans have, and no others.
func wantOnlyUsedMessages(t *testing.T, s *Store) {
	t.Helper()
	const question = "select (select count(*) from message where id not in (select message from span where message is not null)), " +
		"(select count(*) from span where message is not null and message not in (select id from message)), (select count(*) from message)"
	var unused, missing, all int64
	err := readRow(t.Context(), s, question, &unused, &missing, &all)
	if err != nil || unused != 0 || missing != 0 || all == 0 {
		t.Errorf("of %d messages %d are not used, and %d are missing: %v", all, unused, missing, err)
	}
}

func readRow(ctx context.Context, s *Store, question string, columns ...any) error {
	switch e := s.engine.(type) {
	case *sqlite3:
		return e.writer.QueryRowContext(ctx, question).Scan(columns...)
	case *postgres:
		return e.pool.QueryRow(ctx, question).Scan(columns...)
	}
	return errors.New("no such engine")
}

// TestRetentionTwice: two processes that clean up at once add up each span once.
func TestRetentionTwice(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *Store) {
		objects := fillPast(t, s, 2, 2)
		before := readPast(t, s, objects, keep)
		first, second := s.NewRetention(keep, noon, 0), s.NewRetention(keep, noon, 0)
		var found [2]oldSpans
		for i, r := range []*Retention{first, second} {
			err := s.engine.read(t.Context(), func(in session) (err error) {
				found[i], err = r.findSpans(t.Context(), in)
				return err
			})
			if err != nil || len(found[i].spans) == 0 {
				t.Fatalf("found are %d spans, %v", len(found[i].spans), err)
			}
		}
		for i, r := range []*Retention{first, second} {
			err := s.engine.transact(t.Context(), func(in session) error { return r.deleteSpans(t.Context(), in, found[i]) })
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := readPast(t, s, objects, keep); !reflect.DeepEqual(got, before) {
			t.Errorf("after both:\n%+v\nbefore:\n%+v", got, before)
		}
	})
}

// errKilled ends a transaction as the end of the process does.
var errKilled = errors.New("killed")

// killer is a session that fails from a statement on.
type killer struct {
	session
	left *int
}

func (k killer) exec(ctx context.Context, statement string, args ...any) error {
	*k.left--
	if *k.left < 0 {
		return errKilled
	}
	return k.session.exec(ctx, statement, args...)
}

// TestRetentionKilled: a process that ends at any statement has changed nothing, or a whole step.
func TestRetentionKilled(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *Store) {
		objects := fillPast(t, s, 3, 2)
		before := readPast(t, s, objects, keep)
		for at := 0; ; at += 23 {
			r := s.NewRetention(keep, noon, 100)
			var found oldSpans
			err := s.engine.read(t.Context(), func(in session) (err error) {
				found, err = r.findSpans(t.Context(), in)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			left := at
			err = s.engine.transact(t.Context(), func(in session) error { return r.deleteSpans(t.Context(), killer{in, &left}, found) })
			if got := readPast(t, s, objects, keep); !reflect.DeepEqual(got, before) {
				t.Fatalf("killed at statement %d:\n%+v\nbefore:\n%+v", at, got, before)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
	})
}

// TestAddDays: a span counts in each day that it touches, from the first that is kept.
func TestAddDays(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse("2006-01-02 15:04:05", "2026-11-"+text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct{ since, until, first, want string }{
		{"20 10:00:00", "20 11:00:00", "01 00:00:00", "20: 3600 s, 1"},
		{"20 23:00:00", "22 01:00:00", "01 00:00:00", "20: 3600 s, 1; 21: 86400 s, 0; 22: 3600 s, 0"},
		{"20 00:00:00", "21 00:00:00", "01 00:00:00", "20: 86400 s, 1"},
		{"20 23:59:59", "21 00:00:00", "01 00:00:00", "20: 1 s, 1"},
		{"20 10:00:00", "20 10:00:00", "01 00:00:00", "20: 0 s, 1"},
		{"18 10:00:00", "21 01:00:00", "20 12:00:00", "20: 86400 s, 0; 21: 3600 s, 0"},
		{"18 10:00:00", "19 01:00:00", "20 00:00:00", ""},
	} {
		found := oldSpans{days: map[phaseDay]*phaseTime{}}
		found.addDays(phaseDay{phase: ledger.Ready}, at(c.since), at(c.until), ledger.DayOf(at(c.first)))
		var got []string
		for d, sum := range found.days {
			got = append(got, fmt.Sprintf("%d: %d s, %d", d.day.Start().Day(), sum.seconds, sum.changes))
		}
		slices.Sort(got)
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s to %s: %s, want %s", c.since, c.until, text, c.want)
		}
	}
}

// TestShrink: the file of SQLite gets smaller when spans are deleted, and the size says so.
func TestShrink(t *testing.T) {
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	b := Batch{Clusters: []ledger.Cluster{{ID: "e1", Names: []ledger.Naming{{Name: "e1", Since: noon}}, FirstSeen: noon, LastSeen: noon}}}
	for i := range 20_000 {
		since := noon.Add(-50*day + time.Duration(i)*time.Minute)
		b.Spans = append(b.Spans, ledger.SpanWrite{Object: ledger.Object{Cluster: "e1", Name: "w"}, Span: ledger.Span{
			Since: since, Until: since.Add(time.Minute), Phase: ledger.Failed, Revision: "r", Message: fmt.Sprintf("failed at %d, %s", i, strings.Repeat("x", 100))}})
	}
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	before, err := s.Size(t.Context())
	if err != nil || before == 0 {
		t.Fatal(before, err)
	}
	r := s.NewRetention(keep, noon, 0)
	for more := true; more; {
		more, err = r.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Shrink(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := s.Size(t.Context())
	if err != nil || after > before/10 {
		t.Errorf("of %d bytes %d are left, %v", before, after, err)
	}
}
