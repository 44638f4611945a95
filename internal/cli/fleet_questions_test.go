package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

var updateFleet = flag.Bool("update-fleet", false, "rewrite the wanted answers in testdata/fleet_questions.txtar")

// fleetRun is what a command about the fleet has printed.
type fleetRun struct {
	code        int
	out, stderr string
}

// runFleet runs a command about the fleet at the time of the fleet of tests.
func runFleet(ctx context.Context, args ...string) fleetRun {
	var out, errs bytes.Buffer
	a := &app{stdout: display.NewStream(&out), stderr: display.NewStream(&errs), format: "text"}
	root := &cobra.Command{Use: "fairlead", SilenceErrors: true, SilenceUsage: true}
	cc := newCommandContext(a)
	cc.now = func() time.Time { return ledgerworld.Now }
	root.AddGroup(&cobra.Group{ID: groupDaemon})
	root.AddCommand(newFleetOf(cc))
	root.SetArgs(append([]string{"fleet"}, args...))
	err := root.ExecuteContext(ctx)
	a.reportError(err)
	return fleetRun{exitCode(err), out.String(), errs.String()}
}

// TestFleetQuestions runs the commands in the names of the parts of a text: they print the same with a
// daemon, and without one, which they say.
func TestFleetQuestions(t *testing.T) {
	dir := t.TempDir()
	w := ledgerworld.NewSQLite(t, filepath.Join(dir, "ledger.db"))
	server := httptest.NewServer(web.New(web.Options{Fleet: w.View}))
	defer server.Close()
	settings := writeFleetSettings(t, dir)
	const file = "testdata/fleet_questions.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil || len(archive.Files) == 0 {
		t.Fatal(file, err)
	}
	for i, f := range archive.Files {
		args := strings.Fields(f.Name)
		asked := runFleet(t.Context(), append(args, "--url", server.URL)...)
		read := runFleet(t.Context(), append(args, "--config", settings)...)
		note, rest, _ := strings.Cut(read.stderr, "\n")
		if read.out != asked.out || rest != asked.stderr || read.code != asked.code || !strings.Contains(note, "no daemon answers at http://127.0.0.1:") {
			t.Errorf("%s: of a daemon, exit code %d:\n%s%s\nof the store, exit code %d:\n%s%s", f.Name, asked.code, asked.out, asked.stderr, read.code, read.out, read.stderr)
		}
		got := asked.out + asked.stderr
		if diff := cmp.Diff(string(f.Data), got); diff != "" && !*updateFleet {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
		archive.Files[i].Data = []byte(got)
	}
	if *updateFleet {
		err := os.WriteFile(file, txtar.Format(archive), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFleetPath: a URL may have a path that a proxy maps to the daemon, and what a browser shows behind it
// is left out; a path at which no daemon is, is named.
func TestFleetPath(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	daemon := web.New(web.Options{Fleet: w.View})
	mux := http.NewServeMux()
	mux.Handle("/fairlead/", http.StripPrefix("/fairlead", daemon))
	proxy, direct := httptest.NewServer(mux), httptest.NewServer(daemon)
	defer proxy.Close()
	defer direct.Close()
	hint := "hint: no daemon answers below /fairlead/: its page is at the root of its host, unless a proxy maps that path to it; try --url " + direct.URL + "\n"
	for _, c := range []struct {
		url  string
		code int
		want string // of standard error
	}{
		{direct.URL, exitOK, ""},
		{direct.URL + "/?refresh=off#clusters", exitOK, ""},
		{proxy.URL + "/fairlead", exitOK, ""},
		{proxy.URL + "/fairlead/", exitOK, ""},
		{proxy.URL + "/fairlead/#clusters", exitOK, ""},
		{direct.URL + "/fairlead/", exitFailed, "/fairlead/api/v1/fleet/standing?environment=prod answers 404 Not Found\nfairlead: " + hint},
		{proxy.URL, exitFailed, "answers 404 Not Found\nfairlead: hint: " + daemonHint},
	} {
		got := runFleet(t.Context(), "-e", "prod", "--url", c.url)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || c.code == exitOK && !strings.Contains(got.out, "ccccccc") {
			t.Errorf("fleet --url %s: %d\n%s%s\nwant %d with %q", c.url, got.code, got.out, got.stderr, c.code, c.want)
		}
	}
}

// writeFleetSettings writes settings of a daemon that does not run, and returns their file.
func writeFleetSettings(t *testing.T, dir string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	err = listener.Close()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "fairlead.yaml")
	text := "controlPlane: {repo: https://git.example.com/plane}\ndataDir: .\nlisten: " + address + "\nledger: {secret: {file: secret}}\n"
	for name, text := range map[string]string{file: text, filepath.Join(dir, "secret"): strings.Repeat("0123456789abcdef", 2)} {
		err := os.WriteFile(name, []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// TestFleetWithoutLedger: who can be asked nothing says what is missing.
func TestFleetWithoutLedger(t *testing.T) {
	none := httptest.NewServer(web.New(web.Options{}))
	defer none.Close()
	dir := t.TempDir()
	empty := writeFleetSettings(t, dir)
	bare := filepath.Join(dir, "bare.yaml")
	err := os.WriteFile(bare, []byte("controlPlane: {repo: https://git.example.com/plane}\ndataDir: .\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	err = os.Rename(empty, filepath.Join(dir, "settings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--url", none.URL}, exitUsage, "the daemon has no ledger"},
		{[]string{"--url", "http://127.0.0.1:1"}, exitFailed, "connection refused"},
		{[]string{"--config", "bare.yaml"}, exitUsage, "the settings have no ledger"},
		{nil, exitUsage, "it is not known where the daemon is"},
		{[]string{"--config", "settings.yaml"}, exitFailed, "and the ledger cannot be read"},
	} {
		got := runFleet(t.Context(), append([]string{"clusters"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || got.out != "" {
			t.Errorf("fleet clusters %v: %d\n%s%s\nwant %d with %q", c.args, got.code, got.out, got.stderr, c.code, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ledger.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a question has made the ledger's file: %v", err)
	}
}

// TestBehindWithoutClusters: where no cluster has reported, none is ready.
func TestBehindWithoutClusters(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	w.AddLab()
	page := httptest.NewServer(web.New(web.Options{Fleet: w.View}))
	defer page.Close()
	got := runFleet(t.Context(), "behind", "lab", "--url", page.URL)
	if got.code != 0 || got.out != "no cluster of lab has reported\n" {
		t.Errorf("%d\n%s%s", got.code, got.out, got.stderr)
	}
}

// TestLateHistory: a history has a column for what was told of afterwards if there is any, for programs
// always, and a last line if the ledger was lost.
func TestLateHistory(t *testing.T) {
	placement := fleetview.Placement{Cluster: "east-1", Version: "1.4.1", Phase: "ready", Since: ledgerworld.Now}
	late, lost := placement, placement
	late.Late, lost.Lost = true, ledgerworld.Now.Add(-time.Hour)
	for _, c := range []struct {
		format string
		all    []fleetview.Placement
		want   string
	}{
		{"text", []fleetview.Placement{placement}, "CLUSTER  VERSION  PHASE  SINCE                 UNTIL  MESSAGE\neast-1   1.4.1    ready  2026-11-23T13:05:00Z  -      -\n"},
		{"text", []fleetview.Placement{placement, late}, "CLUSTER  VERSION  PHASE  SINCE                 UNTIL  MESSAGE  LATE\n" +
			"east-1   1.4.1    ready  2026-11-23T13:05:00Z  -      -        -\neast-1   1.4.1    ready  2026-11-23T13:05:00Z  -      -        late\n"},
		{"csv", []fleetview.Placement{placement, late}, "cluster,environment,version,phase,since,until,message,clusterType,object,revision,attempted,late,appVersion,lost\n" +
			"east-1,,1.4.1,ready,2026-11-23T13:05:00Z,,,,,,,,,\neast-1,,1.4.1,ready,2026-11-23T13:05:00Z,,,,,,,late,,\n"},
		{"text", []fleetview.Placement{lost}, "CLUSTER  VERSION  PHASE  SINCE                 UNTIL  MESSAGE\neast-1   1.4.1    ready  2026-11-23T13:05:00Z  -      -\n" +
			"The ledger was lost at 2026-11-23T12:05:00Z: what was before may be missing.\n"},
	} {
		var out bytes.Buffer
		a := &app{stdout: display.NewStream(&out), format: c.format}
		err := a.printListing(newPlacementsListing(c.all, "checkout", true, ledgerworld.Now))
		if diff := cmp.Diff(c.want, out.String()); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", c.format, err, diff)
		}
	}
}

// TestNarrowTables: where the terminal is narrow, no word of why a cluster is not ready is cut, nor of what
// to do about it.
func TestNarrowTables(t *testing.T) {
	const why = "Kustomization/flux-system/fleet failed: health check failed after 4s: Deployment/shop/checkout-api is not ready; remove the finalizer"
	now := ledgerworld.Now
	for name, l := range map[string]listing{
		"clusters": newClustersListing([]fleetview.Cluster{{Name: "east-1", Environment: "prod", Type: "large", Standing: "failed", Why: why}}, now),
		"behind":   newLaggardsListing("prod", []fleetview.Laggard{{Cluster: "east-1", Type: "large", Standing: "failed", Cause: "failed", Why: why}}, now),
		"where":    newPlacementsListing([]fleetview.Placement{{Cluster: "east-1", Environment: "prod", Phase: "failed", Message: why}}, "checkout", false, now),
		"drift":    newDriftListing("prod", []fleetview.Drift{{Cluster: "east-1", Type: "large", Drift: "modified", Message: why}}, agentCounts{1, 1}),
		"refusals": newRefusalsListing([]fleetview.Refusal{{Cluster: "east-1", Reason: "contested", Why: why}}, now),
	} {
		var out bytes.Buffer
		a := &app{stdout: display.NewTerminal(&out, 80), format: "text"}
		err := a.printListing(l)
		for _, word := range strings.Fields(why) {
			if err != nil || !strings.Contains(out.String(), word) {
				t.Errorf("%s: %q is cut (%v) in\n%s", name, word, err, out.String())
			}
		}
	}
}
