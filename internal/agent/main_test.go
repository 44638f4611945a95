package agent

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/kubeapi"
)

// TestCommandLine: what the program prints, and the code that it exits with.
func TestCommandLine(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"--server", "https://fairlead.example.com", "--name", "east-1", "--key-file", key}
	for _, c := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--help"}, 0, "fairlead-agent --server URL --name NAME --key-file FILE", ""},
		{[]string{"-h"}, 0, "Flags:", ""},
		{[]string{"--version"}, 0, readVersion() + "\n", ""},
		{nil, 2, "", "--server is missing\nfairlead-agent: hint: run fairlead-agent --help\n"},
		{good[:2], 2, "", "--name is missing"},
		{good[:4], 2, "", "--key-file is missing"},
		{[]string{"--nonsense"}, 2, "", "unknown flag: --nonsense"},
		{append(good, "more"), 2, "", `"more" is no flag`},
		{append(good, "--every", "1s"), 2, "", "--every is 1s, and should be from 10s to 1h0m0s"},
		{append(good, "--log-format", "xml"), 2, "", "--log-format is"},
		{[]string{"--server", "x", "--name", "East", "--key-file", key}, 2, "", "name a cluster"},
		{[]string{"--server", "fairlead.example.com", "--name", "east-1", "--key-file", key}, 1, "", "should be a URL"},
		{[]string{"--server", "https://user:x@fairlead.example.com", "--name", "east-1", "--key-file", key}, 1, "", "should be a URL"},
		{[]string{"--server", "https://fairlead.example.com", "--name", "east-1", "--key-file", key + "s"}, 1, "", "read --key-file"},
		{append(good, "--ca-file", key), 1, "", "has no certificate"},
		{good, 1, "", "name a file with --kubeconfig"},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(t.Context(), c.args, &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) || (c.stderr == "") != (stderr.Len() == 0) {
			t.Errorf("%q exits with %d:\n%s%s", c.args, code, stdout.String(), stderr.String())
		}
		if strings.Contains(stderr.String(), "secret") {
			t.Errorf("%q prints the key", c.args)
		}
	}
}

// TestOnce is the whole program, from the command line to the ledger.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputB, outputB, "11:00")
	m := w.join("e1", api)
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "a", "clusters": [{"name": "a", "cluster": {"server": "`+api.URL+
		`"}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--server", w.server.URL, "--name", "e1", "--key-file", m.agent.options.Ledger.keyFile, "--kubeconfig", config, "--once"}
	var stdout, stderr bytes.Buffer
	if code := Main(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Errorf("it exits with %d: %s", code, &stderr)
	}
	wantText(t, "P", w.state("e1", platform), "ready main@bb")
	w.setAway(true)
	if code := Main(t.Context(), args, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "502") {
		t.Errorf("it exits with %d: %s", code, &stderr)
	}
}

// TestWindow: health, readiness and metrics say what the agent does.
func TestWindow(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputB, outputB, "11:00")
	e1 := w.join("e1", api)
	get := func(path string) (int, string) {
		answer := httptest.NewRecorder()
		e1.agent.Window().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer.Code, answer.Body.String()
	}
	want := func(path string, code int, text string) {
		t.Helper()
		if got, body := get(path); got != code || !strings.Contains(body, text) {
			t.Errorf("%s is answered with %d: %s", path, got, body)
		}
	}
	want("/readyz", 503, "nothing was reported yet")
	want("/healthz", 200, "ok")
	w.runUntil("11:01", e1)
	want("/readyz", 200, "ok")
	want("/metrics", 200, "fairlead_agent_objects 2\n")
	want("/metrics", 200, `fairlead_agent_info{version="test"} 1`)
	want("/metrics", 200, "fairlead_agent_last_report_timestamp_seconds 1.795431")
	w.setAway(true)
	w.runUntil("11:05", e1)
	want("/readyz", 503, "502 Bad Gateway")
	want("/healthz", 200, "ok")
	want("/nothing", 404, "")
	w.setClock(at("12:00"))
	want("/healthz", 503, "nothing was done for 5")
}

// TestServesUntilTheEnd: the window is open while the agent runs, and closed afterwards.
func TestServesUntilTheEnd(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputB, outputB, "11:00")
	e1 := w.join("e1", api)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e1.agent.options.Wait = func(context.Context, time.Duration) {
		answer, err := http.Get("http://" + listener.Addr().String() + "/readyz")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", answer, err)
		} else {
			answer.Body.Close()
		}
		cancel()
	}
	if err := e1.agent.runWithWindow(ctx, listener); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + listener.Addr().String() + "/readyz"); err == nil {
		t.Error("it still answers")
	}
}
