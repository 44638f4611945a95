package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// defaultSettingsFile is the default path of the settings.
const defaultSettingsFile = "fairlead.yaml"

// addConfigFlag adds the flag that names the settings file to a command; without describes its default.
func addConfigFlag(c *cobra.Command, file *string, value, without string) {
	c.Flags().StringVar(file, "config", value, "settings `file`"+without)
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

// loadSettings reads a settings file with [config.Load], or [config.LoadForCommands] for commands that
// work without the daemon's own secrets, and prints its warnings.
func (a *app) loadSettings(file string, load func(string, func(string) string) (*config.Settings, problem.List, error)) (*config.Settings, error) {
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
