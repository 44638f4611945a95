package daemon_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestLedgerOfOutputs: what is on the output branches is in the ledger, after one cycle that is run by
// hand, and beside the cycles of a daemon.
func TestLedgerOfOutputs(t *testing.T) {
	dir, o := began(t)
	writeSecrets(t, dir)
	text := ledgerSettings + "ledger: {secret: {file: secret}}\n"
	stored := func() ledgerdb.WantedState {
		t.Helper()
		store, err := ledgerdb.ReadSQLite(t.Context(), filepath.Join(dir, "data", "ledger.db"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := store.LoadWanted(t.Context(), "dev")
		if err := errors.Join(err, store.Close()); err != nil {
			t.Fatal(err)
		}
		return w
	}
	s, err := daemon.RunOnce(t.Context(), daemon.Options{Settings: settings(t, dir, text), Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	place := s.Environments[0].Output
	first := gittest.Git(t, o.GitOps, "rev-parse", place.Branch)
	if got := stored(); got.Newest != first || got.Environment.Branch != place.Branch {
		t.Fatalf("the head is %s, and stored is %+v", first, got)
	}

	clone := filepath.Join(dir, "clone")
	gittest.Git(t, dir, "clone", "-q", "--branch", place.Branch, o.GitOps, clone)
	gittest.Git(t, clone, "commit", "-q", "--allow-empty", "-m", "by a person")
	gittest.Git(t, clone, "push", "-q", "origin", place.Branch)
	second := gittest.Git(t, clone, "rev-parse", "HEAD")
	serveTwice(t, dir, text, func(base string, _ status.Snapshot) {
		limit := time.After(5 * time.Minute)
		for tick := time.Tick(10 * time.Millisecond); stored().Newest != second; {
			select {
			case <-tick:
			case <-limit:
				t.Fatalf("the head is %s, and stored is %+v", second, stored())
			}
		}
		ask(t, "POST", base+"/api/v1/wake")
	})
}
