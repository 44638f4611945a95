package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// TestDataDirOfEachFleet: two control planes have different folders by default, one has the
// same each time, and a folder from before there was one for each stays in use.
func TestDataDirOfEachFleet(t *testing.T) {
	state := t.TempDir()
	dataDir := func(repo, more string) string {
		t.Helper()
		s, problems := config.Parse("fairlead.yaml", []byte("controlPlane: {repo: "+repo+"}\n"+more), t.TempDir(), func(name string) string {
			return map[string]string{"XDG_STATE_HOME": state}[name]
		})
		if problems.Stops() {
			t.Fatal(problems)
		}
		return s.DataDir
	}
	const one, other, mapped = "https://git.example.com/acme/one", "https://git.example.com/acme/other", "https://mirror.example.com/one"
	for repo, want := range map[string]string{one: giturl.FolderName(one), one + ".git": giturl.FolderName(one), other: giturl.FolderName(other)} {
		if got := dataDir(repo, ""); got != filepath.Join(state, "fairlead", want) {
			t.Errorf("of %s it is %s, want %s", repo, got, want)
		}
	}
	if giturl.FolderName(one) == giturl.FolderName(other) {
		t.Error("two control planes have one folder")
	}
	old := filepath.Join(state, "fairlead")
	for _, place := range []string{one, mapped} {
		if err := os.MkdirAll(filepath.Join(old, "git", giturl.FolderName(place)), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := dataDir(one, "map: {"+one+": "+mapped+"}\n"); got != old {
			t.Errorf("with the old mirror of %s it is %s", place, got)
		}
		if got := dataDir(other, ""); got == old {
			t.Error("another control plane has the old folder")
		}
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
	}
}
