package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// TestShowPage: the demo opens its page where somebody looks on, and nowhere else.
func TestShowPage(t *testing.T) {
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	for _, name := range []string{"xdg-open", "open"} {
		err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nprintf %s \"$1\" >> "+opened+"\n"), 0o755)
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	demo := func(once, terminal bool) *demoCommand {
		var out bytes.Buffer
		return &demoCommand{once: once, app: &app{stdout: &display.Stream{Writer: &out, Terminal: terminal}, stderr: &display.Stream{Writer: &out}}}
	}
	demo(true, true).showPage(t.Context(), "http://127.0.0.1:1/")
	demo(false, false).showPage(t.Context(), "http://127.0.0.1:2/")
	demo(false, true).showPage(t.Context(), "http://127.0.0.1:3/")
	page, err := os.ReadFile(opened)
	if err != nil || string(page) != "http://127.0.0.1:3/" {
		t.Errorf("the page that opens is %s (%v)", page, err)
	}
}
