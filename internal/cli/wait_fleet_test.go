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
// failed. Of prod 11 clusters are expected and 9 known; 2 are ready, and 1 has failed.
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
		{"--fleet prod --percent 18", "deployed", "prod: 2 of 11 clusters ready", exitOK},
		{"--fleet prod --percent 19", "timed-out", "fairlead fleet behind prod names them", exitFailed},
		{"--fleet prod --percent 22 --of known", "deployed", "prod: 2 of 9 clusters ready", exitOK},
		{"--fleet prod --percent 90", "timed-out", "the clusters of prod are not ready: 2 of 11 clusters ready (wants 90%): 2 behind, 1 progressing, 1 failed, 1 silent", exitFailed},
		{"--fleet prod", "failed", "the clusters of prod are not ready", exitFailed},
		{"--fleet prod --percent 90 -o json", "timed-out", `"state": "timed-out"`, exitFailed},
		{"--fleet prd", "", `did you mean "prod"?`, exitUsage},
		{"--fleet prod --percent 101", "", "--percent 101 is not from 1 to 100", exitUsage},
		{"--fleet prod --of all", "", "--of all: it is expected or known", exitUsage},
		{"--fleet prod main", "", "usage", exitUsage},
	} {
		_ = os.Remove(output)
		var out bytes.Buffer
		code := Main(t.Context(), append([]string{"wait", "--url", server.URL, "--timeout", "0s"}, strings.Fields(c.args)...), &out, &out)
		told, _ := os.ReadFile(output)
		if code != c.code || c.want != "usage" && !strings.Contains(out.String(), c.want) || c.state != "" && !strings.Contains(string(told), "state="+c.state+"\n") {
			t.Errorf("wait %s: %d\n%s%s\nwant %d, %q and the state %s", c.args, code, out.String(), told, c.code, c.want, c.state)
		}
	}
}
