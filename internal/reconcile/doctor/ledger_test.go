package doctor_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// TestLedgerSchema: what the daemon will do to a ledger is found, and nothing is done to it.
func TestLedgerSchema(t *testing.T) {
	const ledgerSettings = "ledger: {secret: {file: LEDGER}}\n"
	for newer, want := range map[int]string{0: string(doctor.OK), -1: string(doctor.Warn), 1: string(doctor.Fail)} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t, func(string) string { return "404" }, "dev")
			secret := filepath.Join(w.TempDir(), "ledger")
			writeSecret(t, secret)
			settings := strings.ReplaceAll(ledgerSettings, "LEDGER", secret)
			if found := w.examine(settings); !strings.Contains(found, "ok    ledger: schema  there is no ledger yet") {
				t.Errorf("without a ledger it finds\n%s", found)
			}
			version := setSchema(t, filepath.Join(w.data, "ledger.db"), newer)
			found := w.examine(settings)
			if !strings.Contains(found, fmt.Sprintf("%-4s  ledger: schema  ", want)) {
				t.Errorf("it finds\n%s", found)
			}
			if after := setSchema(t, filepath.Join(w.data, "ledger.db"), 0); after != version {
				t.Errorf("the schema has version %d, and had %d", after, version)
			}
		})
	}
}

// setSchema makes the schema of a ledger so many versions newer, and returns its version.
func setSchema(t *testing.T, file string, newer int) (version int) {
	t.Helper()
	if newer != 0 || !exists(file) {
		store, err := ledgerdb.OpenSQLite(t.Context(), file)
		if err == nil {
			err = store.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", file)
	if err == nil {
		err = db.QueryRow("pragma user_version").Scan(&version)
	}
	if err == nil {
		version += newer
		_, err = db.Exec(fmt.Sprintf("pragma user_version = %d", version))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return version
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func writeSecret(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("a secret of thirty-two bytes, or more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
