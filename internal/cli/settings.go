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

const defaultSettingsFile = "fairlead.yaml"

func addConfigFlag(c *cobra.Command, file *string, value, without string) {
	c.Flags().StringVar(file, "config", value, "settings `file`"+without)
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

// loadSettings reads settings with [config.Load], or [config.LoadForCommands] for
// commands without the daemon's secrets, and prints warnings.
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
