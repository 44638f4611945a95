package cli_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git/lock"
)

// TestTakenAddress: the demo takes no other address than the one that was asked for.
func TestTakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := filepath.Join(t.TempDir(), "demo")
	code, _, stderr := run(t.Context(), "demo", "--once", "--dir", dir, "--listen", taken.Addr().String())
	if code != 1 || !strings.HasPrefix(stderr, "fairlead: error: --listen "+taken.Addr().String()+": ") || !strings.Contains(stderr, "\nfairlead: hint: name another address, ") {
		t.Errorf("it ends with %d:\n%s", code, stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it has made its folder")
	}
}

// TestSecondDaemon: the hint of a data folder that another daemon uses is a command that can be typed, with the address at which
// that daemon listens, whatever these settings say.
func TestSecondDaemon(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	if code, _, stderr := run(t.Context(), "init", dir); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	leave, err := lock.AcquireWithPID(t.Context(), filepath.Join(dir, "data", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	for address, command := range map[string]string{
		"": "", "127.0.0.1:43210\n": "fairlead status --url http://127.0.0.1:43210/ shows what it does; ", "[::]:9000": "fairlead status --url http://localhost:9000/ shows what it does; ",
	} {
		if err := lock.WriteAddress(filepath.Join(dir, "data", "lock"), address); err != nil {
			t.Fatal(err)
		}
		hint := " uses it, a fairlead serve most likely\nfairlead: hint: " + command + "for another fleet write another dataDir into the settings\n"
		code, _, stderr := run(t.Context(), "serve", "--once", "--config", filepath.Join(dir, "fairlead.yaml"))
		if code != 1 || !strings.HasSuffix(stderr, hint) {
			t.Errorf("%q: it ends with %d:\n%s", address, code, stderr)
		}
	}
}
