package loop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// ownerFile, in the data folder, names the control plane that the folder is of.
const ownerFile = "control-plane"

// claimDataFolder writes into the data folder which control plane it is of, and returns an error if it
// is of another one. It is called once the control plane was read: a URL with a typo claims nothing.
func claimDataFolder(s *config.Settings) error {
	file := filepath.Join(s.DataDir, ownerFile)
	err := CheckDataFolder(s)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err == nil && strings.TrimSpace(string(text)) != "" {
		return nil
	}
	return os.WriteFile(file, []byte(giturl.Redact(s.ControlPlane.Repo)+"\n"), 0o600)
}

// CheckDataFolder returns an error if the data folder is of another control plane. A folder that has
// a mirror of this control plane is also of this one.
func CheckDataFolder(s *config.Settings) error {
	file, own := filepath.Join(s.DataDir, ownerFile), giturl.Redact(s.ControlPlane.Repo)
	text, err := os.ReadFile(file)
	owner := strings.TrimSpace(string(text))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && owner == "":
		return nil
	case err != nil:
		return err
	case giturl.Normalize(owner) == giturl.Normalize(own):
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, "git", giturl.FolderName(s.ControlPlane.Repo))); err == nil {
		return nil
	}
	return problem.Refusef(fmt.Sprintf("write another dataDir into the settings; if the control plane has moved from there, delete %s", file),
		"the data folder %s is that of another control plane, %s", s.DataDir, owner)
}
