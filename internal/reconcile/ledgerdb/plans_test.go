package ledgerdb

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// scans matches a plan that reads all of a table that grows with the fleet's history.
var scans = regexp.MustCompile(`SCAN (span|arrival|desired)\b`)

var parameters = regexp.MustCompile(`\$\d+`)

// rebuilds is the end of the names of statements that a rebuilt ledger begins with.
const rebuilds = "_clear"

// TestPlans: no statement reads a whole history, unless it is to be rebuilt. A statement names these tables without an alias, or
// else its plan would not.
func TestPlans(t *testing.T) {
	store, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	e := store.engine.(*sqlite3)
	plan := func(text string) string {
		args := make([]any, len(parameters.FindAllString(text, -1)))
		rows, err := e.writer.QueryContext(t.Context(), "explain query plan "+text, args...)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		defer func() { _ = rows.Close() }()
		var lines []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, detail)
		}
		return strings.Join(lines, "\n")
	}
	if len(e.statements) < 10 {
		t.Fatalf("there are %d statements", len(e.statements))
	}
	for name, text := range e.statements {
		if found := plan(text); scans.MatchString(found) && !strings.HasSuffix(name, rebuilds) && !strings.HasPrefix(name, exportPrefix) && !strings.HasPrefix(name, anyPrefix) {
			t.Errorf("%s:\n%s", name, found)
		}
		if regexp.MustCompile(`(?i)\b(from|join) (span|arrival|desired) (as )?(a|b|d|s|x|old|other)\b`).MatchString(text) {
			t.Errorf("%s gives a table of histories an alias", name)
		}
	}
	if found := plan("select phase from span where until is null"); !scans.MatchString(found) {
		t.Errorf("a scan is not seen in the plan\n%s", found)
	}
}
