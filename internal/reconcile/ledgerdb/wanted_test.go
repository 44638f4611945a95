package ledgerdb

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// cutEngine is an engine whose process ends before a statement.
type cutEngine struct {
	engine
	statements int // that have run in transactions that may write
	left       int // until it ends; negative for ever
}

var errCut = errors.New("the process has ended")

func (e *cutEngine) transact(ctx context.Context, work func(session) error) error {
	return e.engine.transact(ctx, func(s session) error { return work(&cutSession{s, e}) })
}

func (e *cutEngine) count() error {
	if e.left == 0 {
		return errCut
	}
	e.left--
	e.statements++
	return nil
}

type cutSession struct {
	session
	of *cutEngine
}

func (s *cutSession) exec(ctx context.Context, statement string, args ...any) error {
	if err := s.of.count(); err != nil {
		return err
	}
	return s.session.exec(ctx, statement, args...)
}

func (s *cutSession) query(ctx context.Context, statement string, args []any, each func(scan scanFunc) error) error {
	if err := s.of.count(); err != nil {
		return err
	}
	return s.session.query(ctx, statement, args, each)
}

// newCutStore returns an empty store in a file.
func newCutStore(t testing.TB) (*Store, *cutEngine) {
	t.Helper()
	store, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	e := &cutEngine{engine: store.engine, left: -1}
	store.engine = e
	return store, e
}

// newChange returns an output that gives so many targets of some types a file of a version.
func newChange(commit string, types, targets int, version string) ledger.OutputChange {
	c := ledger.OutputChange{Revision: commit, Merged: noon, Parts: map[string][]ledger.Part{}}
	for i := range types {
		name := fmt.Sprintf("type-%d", i)
		c.Folders = append(c.Folders, ledger.FolderChange{ClusterType: name, ID: commit + name, Whole: version == "v1"})
		for j := range targets {
			f := ledger.FileChange{ClusterType: name, Target: fmt.Sprintf("target-%d", j), Digest: fmt.Sprintf("%s-%d-%d", version, i, j)}
			c.Files = append(c.Files, f)
			c.Parts[f.Digest] = []ledger.Part{{Object: "Kustomization/flux-system/" + f.Target, Repo: "https://example.com/" + f.Target, Ref: version, Path: "./", Pinned: version}}
		}
	}
	return c
}

// record writes outputs as a process does that begins anew.
func record(t testing.TB, s *Store, changes ...ledger.OutputChange) error {
	t.Helper()
	known, err := s.LoadWanted(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(changes, func(c ledger.OutputChange) bool { return c.Revision == known.Newest })
	for _, c := range changes[i+1:] {
		err := s.WriteParts(t.Context(), c.Parts)
		if err == nil {
			err = s.WriteOutputs(t.Context(), Outputs{Environment: Environment{Name: "prod"}, Follows: known.Newest, Changes: []ledger.OutputChange{c}, Expected: map[string]int{"type-0": 2}})
		}
		if err != nil {
			return err
		}
		known.Newest = c.Revision
	}
	return nil
}

// dump returns all rows of the tables of what clusters should run, without the ids that are given in the
// order of writing.
func dump(t testing.TB, e *cutEngine) string {
	t.Helper()
	var all []string
	for _, q := range []string{
		"select environment || ' ' || name || ' ' || coalesce(expected, 0) from cluster_type",
		"select environment || ' ' || seq || ' ' || line || ' ' || sha from output",
		"select cluster_type || ' ' || from_seq || ' ' || coalesce(to_seq, 0) || ' ' || folder from desired_type",
		"select cluster_type || ' ' || target || ' ' || from_seq || ' ' || coalesce(to_seq, 0) || ' ' || digest from desired join assignment on assignment.id = assignment join reconciler_file on reconciler_file.id = file",
		"select digest || ' ' || object || ' ' || pinned from part join reconciler_file on id = file",
	} {
		rows, err := e.engine.(*sqlite3).writer.QueryContext(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		_ = rows.Close()
		slices.Sort(lines)
		all = append(all, lines...)
	}
	return strings.Join(all, "\n")
}

// TestCutOutputs: a process that ends before any statement leaves what the next one completes.
func TestCutOutputs(t *testing.T) {
	changes := []ledger.OutputChange{newChange("A", 2, 2, "v1"), newChange("B", 1, 1, "v2"), newChange("C", 2, 1, "v1")}
	changes[2].Folders[1] = ledger.FolderChange{ClusterType: "type-1", Whole: true} // it is gone
	changes[2].Files = slices.DeleteFunc(changes[2].Files, func(f ledger.FileChange) bool { return f.ClusterType == "type-1" })
	whole, e := newCutStore(t)
	if err := record(t, whole, changes...); err != nil {
		t.Fatal(err)
	}
	want := dump(t, e)
	if e.statements < 50 || strings.Count(want, "\n") < 15 {
		t.Fatalf("%d statements have written\n%s", e.statements, want)
	}
	for n := range e.statements {
		store, cut := newCutStore(t)
		cut.left = n
		if err := record(t, store, changes...); !errors.Is(err, errCut) {
			t.Fatalf("before statement %d the error is %v", n, err)
		}
		cut.left = -1
		if err := record(t, store, changes...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, dump(t, cut)); diff != "" {
			t.Fatalf("ended before statement %d (-whole +cut):\n%s", n, diff)
		}
	}
}

// TestOvertaken: outputs that do not follow the newest one are refused, and nothing is written.
func TestOvertaken(t *testing.T) {
	store, e := newCutStore(t)
	if err := record(t, store, newChange("A", 1, 1, "v1")); err != nil {
		t.Fatal(err)
	}
	before := dump(t, e)
	for _, follows := range []string{"", "B"} {
		err := store.WriteOutputs(t.Context(), Outputs{Environment: Environment{Name: "prod"}, Follows: follows, Changes: []ledger.OutputChange{newChange("C", 1, 1, "v2")}})
		if !errors.Is(err, ErrOvertaken) {
			t.Errorf("after %q the error is %v", follows, err)
		}
	}
	if diff := cmp.Diff(before, dump(t, e)); diff != "" {
		t.Error(diff)
	}
}

// TestCostOfOneAssignment: a commit that changes one of 10,000 assignments costs less than a thousandth
// of the first one.
func TestCostOfOneAssignment(t *testing.T) {
	store, e := newCutStore(t)
	if err := record(t, store, newChange("A", 20, 500, "v1")); err != nil {
		t.Fatal(err)
	}
	first := e.statements
	if err := record(t, store, newChange("A", 20, 500, "v1"), newChange("B", 1, 1, "v2")); err != nil {
		t.Fatal(err)
	}
	change := e.statements - first
	if first < 40_000 || change == 0 || change*1000 > first {
		t.Errorf("one assignment takes %d statements, and the first output %d", change, first)
	}
}

// BenchmarkOutputs writes the first output of 100,000 assignments, and one that changes one of them.
func BenchmarkOutputs(b *testing.B) {
	first := newChange("A", 200, 500, "v1")
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			store, _ := newCutStore(b)
			if err := record(b, store, first); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		store, _ := newCutStore(b)
		if err := record(b, store, first); err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			n++
			c := newChange(fmt.Sprintf("B%d", n), 1, 1, fmt.Sprintf("w%d", n))
			c.Merged = noon.Add(time.Duration(n) * time.Second)
			known, err := store.LoadWanted(b.Context(), "prod")
			if err == nil {
				err = record(b, store, ledger.OutputChange{Revision: known.Newest}, c)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestOrderOfEnvironments: environments are listed in the order of promotion that was recorded last, and
// not in that in which their first outputs were.
func TestOrderOfEnvironments(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *Store) {
		for round, order := range [][]string{{"dev", "stage", "prod"}, {"prod", "dev", "stage"}} {
			for _, name := range []string{"stage", "prod", "dev"} {
				o := Outputs{Environment: Environment{Name: name, Order: slices.Index(order, name)}, Follows: "A"}
				if round == 0 {
					o.Follows, o.Changes = "", []ledger.OutputChange{{Revision: "A", Merged: noon}}
				}
				err := s.WriteOutputs(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				known, err := s.LoadWanted(t.Context(), name)
				if err != nil || known.Environment != o.Environment {
					t.Errorf("%s is stored as %+v (%v)", name, known.Environment, err)
				}
			}
			names, err := s.FindEnvironments(t.Context())
			if err != nil || !slices.Equal(names, order) {
				t.Errorf("the environments are %v (%v), want %v", names, err, order)
			}
		}
	})
}
