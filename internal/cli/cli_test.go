package cli_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// run runs the program in this process.
func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Main(ctx, args, &out, &err)
	return code, out.String(), err.String()
}

// fleet unpacks testdata/fleet.txtar, and gives the flags that make its environment
// dev of plain folders.
func fleet(t *testing.T) []string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/fleet.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(archive, dir); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	return []string{"-e", "dev", "--base-dir", at("base"), "--environment-dir", at("dev"), "--workload", "shop=" + at("shop")}
}

// TestInterrupted cancels a command while it waits for a remote that never answers.
func TestInterrupted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-done
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	t.Cleanup(func() { close(done) })

	code, stdout, stderr := run(ctx, "check", "--control-plane", "http://"+listener.Addr().String()+"/plane")
	if code != 1 || stdout != "" || stderr != "fairlead: error: interrupted\n" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestInterruptedBeforeWriting sees that nothing is written once somebody has said
// stop.
func TestInterruptedBeforeWriting(t *testing.T) {
	for _, name := range []string{"out", "out.tar", "out.tgz"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			dir := t.TempDir()
			code, _, stderr := run(ctx, append([]string{"render", "-o", filepath.Join(dir, name)}, fleet(t)...)...)
			if code != 1 || stderr != "fairlead: error: interrupted\n" {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("there is %v (%v)", entries, err)
			}
		})
	}
}

// TestClosedOutput sees that output that nobody reads any more is an error, and no
// panic.
func TestClosedOutput(t *testing.T) {
	flags := fleet(t)
	for _, args := range [][]string{
		append([]string{"render"}, flags...),
		append([]string{"render", "--output", "json"}, flags...),
		append([]string{"check"}, flags...),
		append([]string{"check", "--output", "github", "--strict", "--workload", "nobody=x"}, flags...),
		append([]string{"check", "--output", "sarif"}, flags...),
		append([]string{"explain", "large"}, flags...),
		{"schema", "ClusterType"},
		{"version"},
	} {
		t.Run(strings.Join(args[:min(3, len(args))], " "), func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			if code := cli.Main(t.Context(), args, w, &stderr); code != 1 {
				t.Errorf("code %d", code)
			}
			if !strings.Contains(stderr.String(), "fairlead: error: ") {
				t.Errorf("stderr %q", stderr.String())
			}
		})
	}
}

// TestLaneWithoutName: an unset variable does not make an action about one lane one about the whole environment.
func TestLaneWithoutName(t *testing.T) {
	for _, command := range []string{"hold", "release", "rollback", "promote", "approve", "history"} {
		if code, out, errs := run(t.Context(), command, "prod", "--lane", ""); code != 2 || out != "" || !strings.Contains(errs, "--lane has no name") {
			t.Errorf("%s: code %d, %s%s", command, code, out, errs)
		}
	}
}
