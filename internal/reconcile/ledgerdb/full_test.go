package ledgerdb

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// TestFullDisk: a store for which there is no room is said to be full, and goes on when there is.
func TestFullDisk(t *testing.T) {
	store, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	limit := func(pages int) error {
		_, err := store.engine.(*sqlite3).writer.ExecContext(t.Context(), fmt.Sprintf("pragma max_page_count = %d", pages))
		return err
	}
	cluster := ledger.Cluster{ID: "e1", Names: []ledger.Naming{{Name: "e1", Since: noon}}, FirstSeen: noon, LastSeen: noon}
	b := Batch{Clusters: []ledger.Cluster{cluster}}
	for i := range 2000 {
		o := ledger.Object{Cluster: "e1", Name: strings.Repeat("o", 200) + time.Duration(i).String()}
		b.Spans = append(b.Spans, ledger.SpanWrite{Object: o, Span: ledger.Span{Since: noon, Phase: ledger.Ready, Revision: "A"}})
	}
	if err := limit(40); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), b); !errors.Is(err, ErrFull) {
		t.Fatal("the error of a full disk is", err)
	}
	if err := limit(1 << 20); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// TestRoomIsMade: in a store for which there is no room, retention makes some for what is new.
func TestRoomIsMade(t *testing.T) {
	store, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	fillPast(t, store, 4, 100)
	size, err := store.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.engine.(*sqlite3).writer.ExecContext(t.Context(), fmt.Sprintf("pragma max_page_count = %d", size/4096+1))
	if err != nil {
		t.Fatal(err)
	}
	begin := func(i int) error {
		o := ledger.Object{Cluster: "e1", Name: fmt.Sprintf("new %d", i)}
		return store.Write(t.Context(), Batch{Spans: []ledger.SpanWrite{{Object: o, Span: ledger.Span{Since: noon, Phase: ledger.Ready, Revision: "A"}}}})
	}
	written := 0
	for err == nil {
		written++
		err = begin(written)
	}
	if !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	r := store.NewRetention(keep, noon, 0)
	for more := true; more; {
		more, err = r.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := begin(written); err != nil {
		t.Error(err)
	}
}
