package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
)

// defaultSettingsFile is the default path of the settings.
const defaultSettingsFile = "fairlead.yaml"

// loadSettings reads a settings file, and prints its warnings.
func (a *app) loadSettings(file string) (*config.Settings, error) {
	return a.readSettings(file, config.Load)
}

// loadUserSettings is loadSettings for commands that work without the daemon's own secrets.
func (a *app) loadUserSettings(file string) (*config.Settings, error) {
	return a.readSettings(file, config.LoadForCommands)
}

func (a *app) readSettings(file string, load func(string, func(string) string) (*config.Settings, problem.List, error)) (*config.Settings, error) {
	settings, problems, err := load(file, os.Getenv)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usageErrorf("fairlead init makes one; or say where it is with --config", "there is no settings file %s", file)
	case err != nil:
		return nil, err
	case problems.Stops():
		return nil, &problemsError{"the settings have " + display.CountProblems(problems.Count()), problems, true}
	}
	fmt.Fprint(a.stderr, display.FormatProblems(problems, a.stderr))
	return settings, nil
}

// envCredentials returns the credentials for the host of the control plane. They come from the
// process environment, because other users can read command lines.
func envCredentials() git.Credentials {
	c := git.Credentials{Username: os.Getenv("FAIRLEAD_GIT_USERNAME"), Secret: os.Getenv("FAIRLEAD_GIT_TOKEN")}
	if c.Username == "" {
		c.Username = "x-access-token" // what GitHub calls the holder of a token; others ignore it
	}
	return c
}

// readCredentials is envCredentials for what asks before each connection.
func readCredentials(context.Context) (git.Credentials, error) { return envCredentials(), nil }
