package cli

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestWaitFleet: a pipeline goes on when enough clusters are ready, and learns at once that too many have
// failed. Of prod 11 clusters are expected and 9 known; 1 is ready, and 2 have failed: of one only an app.
func TestWaitFleet(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	server := httptest.NewServer(web.New(web.Options{Fleet: w.View}))
	defer server.Close()
	output := filepath.Join(t.TempDir(), "output")
	t.Setenv("GITHUB_OUTPUT", output)
	for _, c := range []struct {
		args, state, want string
		code              int
	}{
		{"--fleet stage", "deployed", "stage: 1 of 1 cluster ready (wants 95%)", exitOK},
		{"--fleet prod --percent 9", "deployed", "prod: 1 of 11 clusters ready", exitOK},
		{"--fleet prod --percent 10", "timed-out", "fairlead fleet behind prod names them", exitFailed},
		{"--fleet prod --percent 11 --of known", "deployed", "prod: 1 of 9 clusters ready", exitOK},
		{"--fleet prod --percent 80", "timed-out", "the clusters of prod are not ready: 1 of 11 clusters ready (wants 80%): 2 behind, 1 progressing, 2 failed, 1 silent, 4 other", exitFailed},
		{"--fleet prod --percent 75 --of known", "timed-out", "1 of 9 clusters ready (wants 75%): 2 behind, 1 progressing, 2 failed, 1 silent, 2 other", exitFailed},
		{"--fleet prod", "failed", "the clusters of prod are not ready", exitFailed},
		{"--fleet prod --percent 80 -o json", "timed-out", `"state": "timed-out"`, exitFailed},
		{"--fleet prd", "", `did you mean "prod"?`, exitUsage},
		{"--fleet prod --percent 101", "", "--percent 101 is not from 1 to 100", exitUsage},
		{"--fleet prod --of all", "", "--of all: it is expected or known", exitUsage},
		{"--fleet prod main", "", `error: --fleet prod waits for no commit, and there is "main"` + "\n" +
			"fairlead: hint: fairlead wait --fleet prod waits for the clusters of prod; fairlead wait prod COMMIT waits for a commit", exitUsage},
	} {
		_ = os.Remove(output)
		var out bytes.Buffer
		code := Main(t.Context(), append([]string{"wait", "--url", server.URL, "--timeout", "0s"}, strings.Fields(c.args)...), &out, &out)
		told, _ := os.ReadFile(output)
		if code != c.code || !strings.Contains(out.String(), c.want) || strings.Count(out.String(), " ready (wants ") > 1 && !strings.Contains(c.args, "json") || c.state != "" && !strings.Contains(string(told), "state="+c.state+"\n") {
			t.Errorf("wait %s: %d\n%s%s\nwant %d, %q and the state %s", c.args, code, out.String(), told, c.code, c.want, c.state)
		}
	}
}

// TestWaitFleetWithoutDaemon: what a daemon that has died had stored lets no pipeline go on, although all
// clusters of stage were ready.
func TestWaitFleetWithoutDaemon(t *testing.T) {
	dir := t.TempDir()
	ledgerworld.NewSQLite(t, filepath.Join(dir, "ledger.db"))
	settings := writeFleetSettings(t, dir)
	listed := runFleet(t.Context(), "-e", "stage", "--config", settings, "-o", "csv")
	if listed.code != exitOK || !strings.Contains(listed.out, ",1,1,0,") || !strings.Contains(listed.stderr, "these are the last reports") {
		t.Fatalf("fleet: %d\n%s%s", listed.code, listed.out, listed.stderr)
	}
	output := filepath.Join(t.TempDir(), "output")
	t.Setenv("GITHUB_OUTPUT", output)
	var out, errs bytes.Buffer
	code := Main(t.Context(), []string{"wait", "--fleet", "stage", "--config", settings, "--timeout", "0s"}, &out, &errs)
	_, err := os.Stat(output)
	if code != exitFailed || out.Len() > 0 || !os.IsNotExist(err) || !strings.Contains(errs.String(), ", and stored reports may be out of date\nfairlead: hint: start fairlead serve, or name the daemon with --url") {
		t.Errorf("wait --fleet: %d\n%s%s", code, out.String(), errs.String())
	}
}
