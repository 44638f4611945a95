package cli

import (
	"context"
	"maps"
	"os"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// openOfSettings opens the control plane that the settings in the current folder name, where there is no
// repository; found says whether there are such settings. Without them it returns the error that it was
// called with.
func (in *input) openOfSettings(ctx context.Context, missing error) (found bool, err error) {
	if _, err := os.Stat(defaultSettingsFile); err != nil {
		return false, missing
	}
	settings, err := (&app{stderr: display.NewStream(in.stderr())}).loadSettings(defaultSettingsFile, config.LoadForCommands)
	if err != nil {
		return true, err
	}
	places := maps.Clone(settings.Map)
	if places == nil {
		places = map[string]string{}
	}
	maps.Copy(places, in.options.Map) // what the flags say counts
	in.options.ControlPlane, in.options.BaseBranch, in.options.Map = settings.ControlPlane.Repo, settings.ControlPlane.Branch, places
	in.options.Credentials = access.New(settings, time.Now).GitCredentials
	in.source, err = source.Open(ctx, in.options)
	return true, err
}
