package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestFleetTransfer: what is exported from a ledger is imported into another one, unless that has
// anything, a line is damaged, or a daemon runs.
func TestFleetTransfer(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	ledgerworld.NewSQLite(t, filepath.Join(from, "ledger.db"))
	source, target := writeFleetSettings(t, from), writeFleetSettings(t, to)
	file := filepath.Join(to, "ledger.jsonl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(wantCode int, wantWords string, args ...string) fleetRun {
		t.Helper()
		r := runFleet(t.Context(), args...)
		if r.code != wantCode || !strings.Contains(r.stderr, wantWords) {
			t.Fatalf("%v: exits with %d:\n%s\nwant %d, with %q", args, r.code, r.stderr, wantCode, wantWords)
		}
		return r
	}
	exported := run(0, "rows exported", "export", "--config", source)
	lines := strings.SplitAfter(exported.out, "\n")

	write(strings.Join(lines[:5], ""))
	run(1, "line 6: is missing: the text was cut off", "import", file, "--config", target)
	write(strings.Replace(exported.out, lines[3], lines[3][:10]+"\n", 1))
	run(1, "line 4: is damaged", "import", file, "--config", target)
	write(exported.out)
	unlock, err := lock.AcquireWithPID(t.Context(), filepath.Join(to, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	run(1, "stop the daemon", "import", file, "--config", target)
	unlock()
	run(0, "rows imported", "import", file, "--config", target)
	run(1, "the ledger is not empty", "import", file, "--config", target)
	if again := run(0, "rows exported", "export", "--config", target); again.out != exported.out {
		t.Errorf("exported again is\n%s\nwant\n%s", again.out, exported.out)
	}
	for _, args := range [][]string{{"clusters"}, {"clusters", "-o", "json"}} {
		was, is := run(0, "", append(args, "--config", source)...), run(0, "", append(args, "--config", target)...)
		if was.out != is.out {
			t.Errorf("%v: after the import\n%s\nbefore\n%s", args, is.out, was.out)
		}
	}
	run(1, "no such file", "import", filepath.Join(to, "missing"), "--config", target)
	run(2, "no settings", "export", "--config", filepath.Join(to, "missing.yaml"))
}
