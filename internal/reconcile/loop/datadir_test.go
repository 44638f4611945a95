package loop

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestMistypedControlPlane: a daemon whose control plane could not be read leaves the data folder to
// the one that the mended settings name.
func TestMistypedControlPlane(t *testing.T) {
	s := &config.Settings{DataDir: t.TempDir()}
	s.ControlPlane.Repo = filepath.Join(t.TempDir(), "contol-plane.git")
	l, err := New(t.Context(), Options{Settings: s, Store: &status.Store{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Cycle(t.Context()); err == nil {
		t.Error("the control plane is not there, and was read")
	}
	l.Close()
	s.ControlPlane.Repo = filepath.Join(t.TempDir(), "control-plane.git")
	if err := CheckDataFolder(s); err != nil {
		t.Error(err)
	}
}

// TestClaimDataFolder: a data folder is of one control plane, whatever its URL looks like; another one
// is refused before anything is written into it, unless its mirror is there already.
func TestClaimDataFolder(t *testing.T) {
	const first, second = "https://git.example.com/team/fleet", "https://git.example.com/team/other"
	for _, test := range []struct {
		name, owner, repo string
		mirror            bool
		fails             string
	}{
		{name: "new folder", repo: first},
		{name: "own folder", owner: first + "\n", repo: first},
		{name: "own folder by another URL", owner: first + ".git\n", repo: first},
		{name: "a file that was half written", owner: "\n", repo: first},
		{name: "another's folder", owner: first + "\n", repo: second, fails: "is that of another control plane, " + first},
		{name: "a folder that both have used", owner: first + "\n", repo: second, mirror: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &config.Settings{DataDir: t.TempDir()}
			s.ControlPlane.Repo = test.repo
			file := filepath.Join(s.DataDir, ownerFile)
			if test.owner != "" {
				if err := os.WriteFile(file, []byte(test.owner), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.mirror {
				if err := os.MkdirAll(filepath.Join(s.DataDir, "git", giturl.FolderName(test.repo)), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			err := claimDataFolder(s)
			if (err != nil) != (test.fails != "") || err != nil && !strings.HasSuffix(err.Error(), test.fails) {
				t.Errorf("the error is %v, want %q", err, test.fails)
			}
			if text, err := os.ReadFile(file); err != nil || test.owner != "\n" && test.owner != "" && string(text) != test.owner || len(text) < 2 {
				t.Errorf("the file has %q (%v)", text, err)
			}
		})
	}
}
