package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
)

// initCommand is `fairlead init`.
type initCommand struct {
	app     *app
	options scaffold.Options
	folders bool
}

func newInit(a *app) *cobra.Command {
	i := &initCommand{app: a}
	c := &cobra.Command{
		Use:     "init [FOLDER]",
		GroupID: groupDaemon,
		Short:   "Begin a control plane, a GitOps repository and the daemon's settings",
		Long: `Init fills two empty repositories, a control plane and a GitOps repository, and
writes settings for the daemon to FOLDER/fairlead.yaml (the current folder by default).
The repositories are bare ones in FOLDER, or those that are named: on this machine
they are made, on a server they must be there and be empty. To a server it shows the
token in FAIRLEAD_GIT_TOKEN.

A repository that has branches is left alone.`,
		Example: `  fairlead init --sample fleet
  fairlead init --control-plane https://git.example.com/team/control-plane \
    --gitops https://git.example.com/team/gitops --environments dev,prod`,
		Args: checkArguments(0, 1), ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error { return i.runInit(c.Context(), args) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&i.options.ControlPlane, "control-plane", "", "the control plane: a `PATH-or-URL` (default: FOLDER/control-plane.git)")
	f.StringVar(&i.options.GitOps, "gitops", "", "the GitOps repository: a `PATH-or-URL` (default: FOLDER/gitops.git)")
	f.StringSliceVar(&i.options.Environments, "environments", nil, "their `names`, in the order of promotion (default dev,stage,prod)")
	f.BoolVar(&i.folders, "folders", false, "one branch with a folder for each environment, instead of a branch for each")
	f.BoolVar(&i.options.Sample, "sample", false, "with two cluster types and a workload, to look at")
	return c
}

func (i *initCommand) runInit(ctx context.Context, args []string) error {
	folder, err := filepath.Abs(strings.Join(args, "")) // without an argument the current one
	if err != nil {
		return err
	}
	settings := filepath.Join(folder, defaultSettingsFile)
	if _, err := os.Stat(settings); !errors.Is(err, fs.ErrNotExist) {
		return usageErrorf("choose another folder, or delete it", "there is a %s already", settings)
	}
	if err := i.completeOptions(folder); err != nil {
		return err
	}
	if err := createRepositories(ctx, i.options, folder, scaffold.Daemon{Create: true}); err != nil {
		return err
	}
	fmt.Fprintf(i.app.stdout, `The control plane is in      %s
the GitOps repository in     %s
and the daemon's settings in %s

Look at what the daemon would do, and then let it, with write: true in its settings:

  fairlead serve --once --config %[4]s
`, giturl.Redact(i.options.ControlPlane), giturl.Redact(i.options.GitOps), settings, text.QuoteShell(settings))
	return nil
}

// completeOptions sets the paths of the repositories that the flags do not name, and checks the
// options.
func (i *initCommand) completeOptions(folder string) error {
	if i.folders {
		i.options.Layout = scaffold.Folders
	}
	for _, p := range []struct {
		place *string
		name  string
	}{{&i.options.ControlPlane, "control-plane.git"}, {&i.options.GitOps, "gitops.git"}} {
		switch {
		case *p.place == "":
			*p.place = filepath.Join(folder, p.name)
		case !giturl.IsRemote(*p.place):
			full, err := filepath.Abs(giturl.LocalPath(*p.place))
			if err != nil {
				return err
			}
			*p.place = full
		}
	}
	if problems := i.options.Problems(); problems.Stops() {
		return &problemsError{"that cannot be begun with", problems, true}
	}
	return nil
}

// createRepositories fills the repositories and then writes the settings, whose presence means that all
// of it is complete.
func createRepositories(ctx context.Context, o scaffold.Options, folder string, d scaffold.Daemon) error {
	content, err := scaffold.SettingsFile(o, d)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	repositories := daemon.Repositories{
		Content: o, Author: defaultAuthor(), When: time.Now(),
		Credentials: readCredentials,
	}
	if err := repositories.Create(ctx); err != nil {
		if errors.Is(err, daemon.ErrNotEmpty) {
			return problem.WithHint(err, "init fills empty repositories only; name others, or delete what is there")
		}
		return withLocationHint(err, "a repository on a server must be there before init; FAIRLEAD_GIT_TOKEN is what it is shown")
	}
	return os.WriteFile(filepath.Join(folder, defaultSettingsFile), []byte(content), 0o644)
}
