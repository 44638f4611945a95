package access

import (
	"github.com/fairlead-io/fairlead/internal/config"
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
