package access

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// ReadLocation returns the location to read repo from.
func ReadLocation(settings *config.Settings, repo string) string {
	return giturl.Relocate(repo, settings.Map)
}

// HasLocalRepository reports whether the settings name a local repository, which needs the git
// command.
func HasLocalRepository(settings *config.Settings) bool {
	local := !giturl.IsRemote(settings.ControlPlane.Repo)
	for _, location := range settings.Map {
		local = local || !giturl.IsRemote(location)
	}
	return local
}

// GuardLocation reports whether the settings do not name a location, so that it must not lead to
// this machine. A local folder that they do not name is an error.
func GuardLocation(settings *config.Settings, location string) (bool, error) {
	named := settings.NamesRepository(location)
	if !named && !giturl.IsRemote(location) {
		return true, fmt.Errorf("the folder %s of this machine is not one that the settings let the control plane name (network.allow): %w", location, git.ErrNotFound)
	}
	return !named, nil
}
