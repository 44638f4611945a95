package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// reader is somebody who watches what is printed, and says stop at a word.
type reader struct {
	mu   sync.Mutex
	text bytes.Buffer
	word string
	stop func()
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.text.Write(p)
	if strings.Contains(r.text.String(), r.word) {
		r.stop()
	}
	return n, err
}

// TestStopped: SIGTERM and Ctrl-C are how the daemon ends, and no error.
func TestStopped(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, test := range []struct{ name, at string }{
		{"after a cycle", "msg=environment"},
		{"when it listens", "msg=listening"},
	} {
		t.Run("serve, "+test.name, func(t *testing.T) {
			dir := t.TempDir()
			if code, _, stderr := run(t.Context(), "init", dir, "--sample"); code != 0 {
				t.Fatal(stderr)
			}
			settings := filepath.Join(dir, "fairlead.yaml")
			replaceIn(t, settings, "127.0.0.1:8080", "127.0.0.1:0")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stdout, stderr := bytes.Buffer{}, &reader{word: test.at, stop: cancel}
			if code := cli.Main(ctx, []string{"serve", "--config", settings}, &stdout, stderr); code != 0 || stdout.Len() > 0 {
				t.Errorf("code %d, stdout %q", code, &stdout)
			}
			if text := stderr.text.String(); !strings.Contains(text, test.at) || strings.Contains(text, "fairlead: error: ") {
				t.Errorf("stderr %q", text)
			}
		})
	}
}

// TestStoppedDemo: Ctrl-C ends the demo at any point, without an error, and what it has made is gone.
func TestStoppedDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("-short starts no demo")
	}
	for _, at := range []string{"", "Part 1:", "main         gets "} {
		t.Run("at "+at, func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if at == "" {
				cancel()
			}
			out := &reader{word: at, stop: cancel}
			if code := cli.Main(ctx, []string{"demo", "--listen", "127.0.0.1:0", "--pace", "0s"}, out, out); code != 0 {
				t.Errorf("code %d", code)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("%v is left (%v)", left, err)
			}
			text := out.text.String()
			if strings.Contains(text, "fairlead: error: ") || !strings.Contains(text, at) {
				t.Errorf("it said\n%s", text)
			}
		})
	}
}

func replaceIn(t *testing.T, file, old, new string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, new)), 0o600); err != nil {
		t.Fatal(err)
	}
}
