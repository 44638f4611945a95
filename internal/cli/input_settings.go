package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// openOfSettings opens the control plane of the settings in the current folder, or
// returns missing and false without settings.
func (in *input) openOfSettings(ctx context.Context, missing error) (found bool, err error) {
	if _, err := os.Stat(defaultSettingsFile); err != nil {
		return false, missing
	}
	settings, err := (&app{stderr: display.NewStream(in.stderr())}).loadSettings(defaultSettingsFile, config.LoadForCommands)
	if err != nil {
		return true, err
	}
	in.settings = settings
	in.addMap(settings.Map)
	in.options.ControlPlane, in.options.BaseBranch = settings.ControlPlane.Repo, settings.ControlPlane.Branch
	in.options.Credentials = access.New(settings, time.Now).GitCredentials
	in.source, err = source.Open(ctx, in.options)
	return true, err
}

// addMap adds locations with lower priority than flags.
func (in *input) addMap(places map[string]string) {
	all := maps.Clone(places)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, in.options.Map)
	in.options.Map = all
}

// addMapOfSettings reads repositories where the daemon does, except the control plane
// itself. It ignores committed settings: anybody who writes the control plane can
// change them, and they may lead nowhere.
func (in *input) addMapOfSettings(ctx context.Context) {
	if _, err := os.Stat(defaultSettingsFile); err != nil {
		return
	}
	if _, err := runGit(ctx, nil, "rev-parse", "--git-dir"); err != nil { // the settings name the control plane
		return
	}
	if _, err := runGit(ctx, nil, "ls-files", "--error-unmatch", defaultSettingsFile); err == nil {
		return
	}
	settings, problems, err := config.LoadForCommands(defaultSettingsFile, os.Getenv)
	if err == nil && problems.Stops() {
		err = errors.New("they have " + display.CountProblems(problems.Count()))
	}
	if err != nil {
		fmt.Fprintf(in.stderr(), "fairlead: note: the settings in %s here are not used: %s\n", defaultSettingsFile, display.SanitizeLine(err.Error()))
		return
	}
	in.settings = settings
	own := giturl.Normalize(settings.ControlPlane.Repo)
	places := maps.Clone(settings.Map)
	maps.DeleteFunc(places, func(url, place string) bool { return giturl.Normalize(url) == own || giturl.Normalize(place) == own })
	in.addMap(places)
}

func (in *input) noteNotRead(all []source.NotRead) {
	follows := map[string]string{
		"templates": "two revisions of them count as different, and it is not checked whether there are such",
		"modules":   "their variables are not checked",
	}
	for _, n := range all {
		if in.notRead[n] {
			continue
		}
		in.notRead[n] = true
		url := display.SanitizeLine(n.URL)
		fmt.Fprintf(in.stderr(), "fairlead: note: the %s at %s are not read, so %s: add --map %s=PATH-or-URL\n", n.Holds, url, follows[n.Holds], url)
	}
}
