package access

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// ReadLocation returns where a repository is read: elsewhere if the settings say so.
func ReadLocation(settings *config.Settings, repo string) string {
	return giturl.Relocate(repo, settings.Map)
}

// HasLocalRepository reports whether the settings name a repository of this machine, which is
// reached through the git command.
func HasLocalRepository(settings *config.Settings) bool {
	local := !giturl.IsRemote(settings.ControlPlane.Repo)
	for _, location := range settings.Map {
		local = local || !giturl.IsRemote(location)
	}
	return local
}

// GuardLocation reports whether a location is one that the settings do not name, so that it must not
// lead to this machine. A folder of this machine that they do not name is an error.
func GuardLocation(settings *config.Settings, location string) (bool, error) {
	named := settings.NamesRepository(location)
	if !named && !giturl.IsRemote(location) {
		return true, fmt.Errorf("the folder %s of this machine is not one that the settings let the control plane name (network.allow): %w", location, git.ErrNotFound)
	}
	return !named, nil
}
