package daemon_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
)

const (
	sharedSecret   = "s3cret"
	ledgerSettings = "controlPlane: {repo: plane.git}\nlisten: 127.0.0.1:0\ndataDir: data\nschedule: {interval: 1h}\nwrite: true\n" +
		"webhooks: {flux: {secret: {file: shared}}}\n"
)

// postEvent posts an event of Flux, as the notification-controller does, of a time ago.
func postEvent(t *testing.T, base, reason, revision string, ago time.Duration) {
	t.Helper()
	body := fmt.Sprintf(`{"involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": "fleet"},
		"severity": "info", "timestamp": %q, "reason": %q, "message": "Reconciliation finished in 1.27s, next run in 10m0s",
		"metadata": {"revision": %q, "cluster": "east-1", "environment": "dev", "clusterType": "large"}}`,
		time.Now().Add(-ago).UTC().Format(time.RFC3339), reason, revision)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/webhooks/flux", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(sharedSecret))
	mac.Write([]byte(body))
	request.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		t.Fatal(answer.Status)
	}
}

// serveTwice runs a daemon until its second cycle, calls between after the first one, and returns its
// log. The second cycle has to be woken.
func serveTwice(t *testing.T, dir, text string, between func(base string, s status.Snapshot)) string {
	t.Helper()
	ctx, stop := limited(t)
	defer stop()
	base, cycles := "", 0
	var log bytes.Buffer
	err := daemon.Serve(ctx, daemon.Options{
		Settings: settings(t, dir, text), Log: &log, Ready: func(address string) { base = "http://" + address },
		After: func(s status.Snapshot) {
			cycles++
			if cycles > 1 {
				stop()
				return
			}
			between(base, s)
		},
	})
	if err != nil || cycles != 2 {
		t.Fatalf("it ended with %v, after %d cycles:\n%s", err, cycles, &log)
	}
	return log.String()
}

func writeSecrets(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{"shared": sharedSecret, "secret": strings.Repeat("0123456789", 4)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLedger: what arrives at the webhook of Flux is in the ledger, also what was reported before the settings gave
// clusters keys.
func TestLedger(t *testing.T) {
	dir, _ := began(t)
	writeSecrets(t, dir)
	first, second := "main@sha1:"+strings.Repeat("1", 40), "main@sha1:"+strings.Repeat("2", 40)
	serveTwice(t, dir, ledgerSettings, func(base string, _ status.Snapshot) { postEvent(t, base, "ReconciliationSucceeded", first, time.Hour) })
	file := filepath.Join(dir, "data", "ledger.db")
	withLedger := ledgerSettings + "ledger: {secret: {file: secret}}\n"
	serveTwice(t, dir, withLedger, func(base string, _ status.Snapshot) {
		if code, body := ask(t, "GET", base+"/readyz"); code != http.StatusOK || body != "ready\n" {
			t.Errorf("/readyz is %d: %s", code, body)
		}
		postEvent(t, base, "Progressing", second, 0)
	})
	store, err := ledgerdb.OpenSQLite(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := store.FindHistory(t.Context(), ledger.Object{Cluster: "east-1", Name: "Kustomization/flux-system/fleet"})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range spans {
		got = append(got, fmt.Sprintf("%s %s lasts %t", s.Phase, s.Target(), s.Until.IsZero()))
	}
	want := []string{"ready " + first + " lasts false", "progressing " + second + " lasts true"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the ledger has %q\nwant %q", got, want)
	}
}

// TestLedgerAway: a ledger that cannot be stored is said, and stops no cycle.
func TestLedgerAway(t *testing.T) {
	dir, _ := began(t)
	writeSecrets(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "data", "ledger.db"))
	if err == nil {
		_, err = db.Exec("pragma user_version = 9999")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	log := serveTwice(t, dir, ledgerSettings+"ledger: {secret: {file: secret}}\n", func(base string, _ status.Snapshot) {
		code, body := ask(t, "GET", base+"/readyz")
		if code != http.StatusOK || !strings.Contains(body, "the ledger is not stored: ") || !strings.Contains(body, "newer version of Fairlead") {
			t.Errorf("/readyz is %d: %s", code, body)
		}
		postEvent(t, base, "ReconciliationSucceeded", "main@sha1:"+strings.Repeat("1", 40), 0)
	})
	if !strings.Contains(log, "the ledger could not be stored: what clusters report is held in memory") {
		t.Errorf("the log does not say it:\n%s", log)
	}
}

// TestAgentReports: what an agent reports is in the ledger, under the environment whose output its
// object pulls, and wakes the loop. The answer is 404 without a ledger.
func TestAgentReports(t *testing.T) {
	dir, _ := began(t)
	writeSecrets(t, dir)
	post := func(base string, output status.Output) int {
		return postReport(t, base, "east-1", agentapi.Entry{
			Kind: "Kustomization", Namespace: "flux-system", Name: "fleet", Phase: "ready", Revision: "main@sha1:" + strings.Repeat("1", 40), Observed: true,
			Source: &agentapi.Source{URL: output.Repo, Ref: output.Branch, Path: output.Folder + "/large"},
		})
	}
	var output status.Output
	serveTwice(t, dir, ledgerSettings, func(base string, s status.Snapshot) {
		output = s.Environments[0].Output
		if code := post(base, output); code != http.StatusNotFound {
			t.Errorf("without a ledger the answer is %d", code)
		}
		ask(t, "POST", base+"/api/v1/wake")
	})
	serveTwice(t, dir, ledgerSettings+"ledger: {secret: {file: secret}}\n", func(base string, _ status.Snapshot) {
		if code := post(base, output); code >= 300 {
			t.Errorf("the answer is %d", code)
			ask(t, "POST", base+"/api/v1/wake")
		}
	})
	r, err := recorder.Read(t.Context(), filepath.Join(dir, "data", "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	all := r.Clusters()
	want := ledger.Group{Environment: "dev", ClusterType: "large"}
	if len(all) != 1 || all[0].Group != want || all[0].Platform != "Kustomization/flux-system/fleet" || all[0].Unproven {
		t.Errorf("%+v", all)
	}
}
