package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

const (
	programName = "fairlead"
	// fluxName is how people call the program as a plugin of the flux command, which runs the file pluginFile (Flux's RFC-0013).
	fluxName   = "flux fairlead"
	pluginFile = "flux-fairlead"
)

func calledName(program string) string {
	if strings.TrimSuffix(filepath.Base(program), ".exe") == pluginFile {
		return fluxName
	}
	return programName
}

func newPlugin(a *app) *cobra.Command {
	remove := false
	c := &cobra.Command{
		Use:     "plugin",
		GroupID: groupDaemon,
		Short:   "Make this program a plugin of the flux command",
		Long: `Plugin links this program into the folder of Flux's plugins, as flux-fairlead. Then
"flux fairlead" is this program: all commands, flags and completions. The folder is ~/.fluxcd/plugins,
or the one that the variable FLUXCD_PLUGINS names. It needs a flux command with plugins (RFC-0013).`,
		Example: `  fairlead plugin
  flux fairlead status
  fairlead plugin --remove`,
		Args: checkArguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			link, err := findPluginFile()
			if err != nil {
				return err
			}
			if remove {
				return a.removePlugin(link)
			}
			return a.linkPlugin(link)
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove the link")
	return c
}

func findPluginFile() (string, error) {
	dir := os.Getenv("FLUXCD_PLUGINS")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", problem.WithHint(err, "FLUXCD_PLUGINS names the folder of Flux's plugins")
		}
		dir = filepath.Join(home, ".fluxcd", "plugins")
	}
	name := pluginFile
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name), nil
}

func isForeignFile(path string) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode()&fs.ModeSymlink == 0, err
}

func (a *app) linkPlugin(link string) error {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return err
	}
	foreign, err := isForeignFile(link)
	if err != nil {
		return err
	}
	if foreign {
		return problem.Refusef("flux plugin update keeps it up to date; remove it to link this program instead", "%s is a file: flux installed it", link)
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(program, link); err != nil {
		return problem.WithHint(err, "copy the program to "+link+" where links are not permitted")
	}
	_, err = fmt.Fprintf(a.stdout, "flux fairlead runs %s\n", display.SanitizeLine(program))
	return err
}

func (a *app) removePlugin(link string) error {
	foreign, err := isForeignFile(link)
	if err != nil {
		return err
	}
	if foreign {
		return problem.Refusef("flux plugin uninstall fairlead removes it", "%s is a file: flux installed it", link)
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "flux has no plugin fairlead")
	return err
}
