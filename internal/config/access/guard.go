package access

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// GuardLocation reports whether a location is one that the settings do not name, so that it must not
// lead to this machine. A folder of this machine that they do not name is an error.
func GuardLocation(settings *config.Settings, location string) (bool, error) {
	named := settings.NamesRepository(location)
	if !named && !giturl.IsRemote(location) {
		return true, fmt.Errorf("the folder %s of this machine is not one that the settings let the control plane name (network.allow): %w", location, git.ErrNotFound)
	}
	return !named, nil
}
