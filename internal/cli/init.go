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
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type initCommand struct {
	app     *app
	options scaffold.Options
	forge   string // "" derives it from the hosts
	folders bool
}

func newInit(a *app) *cobra.Command {
	i := &initCommand{app: a}
	c := &cobra.Command{
		Use:     "init [FOLDER]",
		GroupID: groupDaemon,
		Short:   "Create a control plane, a GitOps repository and settings",
		Long: `Init fills two empty repositories, a control plane and a GitOps repository, and
writes settings for the daemon to FOLDER/fairlead.yaml (the current folder by default).
Then it prints the next steps. On a terminal it asks for what no flag says.

Without flags the repositories are bare ones in FOLDER. Init creates repositories on
this machine. Repositories on a server must exist and be empty. A repository that has
branches is left alone.

Environment variables, for repositories on a server:
  FAIRLEAD_GIT_TOKEN     the token to log in with; the settings name the variable
  FAIRLEAD_GIT_USERNAME  the user name that goes with it, if the server needs one
                         (default: x-access-token, which GitHub, GitLab and Gitea take)`,
		Example: `  fairlead init --sample fleet
  fairlead init fleet --control-plane https://github.com/acme/control-plane \
    --gitops https://github.com/acme/gitops --environments dev,prod
  fairlead init fleet --forge gitea --control-plane https://git.example.com/team/control-plane \
    --gitops https://git.example.com/team/gitops --reconciler argocd`,
		Args: checkArguments(0, 1), ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error { return i.runInit(c, args) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&i.forge, "forge", "", "the `kind` of forge on the server: "+text.Join(forgeKinds, " or ")+" (default: by the host)")
	f.StringVar(&i.options.ControlPlane, "control-plane", "", "the control plane: a `PATH-or-URL` (default: FOLDER/control-plane.git)")
	f.StringVar(&i.options.GitOps, "gitops", "", "the GitOps repository: a `PATH-or-URL` (default: FOLDER/gitops.git)")
	f.StringSliceVar(&i.options.Environments, "environments", nil, "their `names`, in the order of promotion (default dev,stage,prod)")
	f.StringVar(&i.options.Reconciler, "reconciler", "", "the `name` of what applies workloads on the clusters of the sample: "+text.Join(scaffold.Reconcilers(), " or ")+" (default: flux on one cluster type, argocd on the other)")
	f.BoolVar(&i.folders, "folders", false, "one branch with a folder for each environment, instead of a branch for each")
	f.BoolVar(&i.options.Sample, "sample", false, "add two cluster types and a workload")
	f.BoolVar(&i.options.Stack, "stack", false, "add a stack of Terraform modules to each environment")
	_ = c.RegisterFlagCompletionFunc("forge", cobra.FixedCompletions(forgeKinds, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("reconciler", cobra.FixedCompletions(scaffold.Reconcilers(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (i *initCommand) runInit(c *cobra.Command, args []string) error {
	folder, err := filepath.Abs(strings.Join(args, "")) // by default the current folder
	if err != nil {
		return err
	}
	if c.Flags().Changed("environments") && len(i.options.Environments) == 0 {
		return usageErrorf("as in --environments dev,prod; without the flag they are dev, stage and prod", "--environments names none")
	}
	settings := filepath.Join(folder, defaultSettingsFile)
	if _, err := os.Stat(settings); !errors.Is(err, fs.ErrNotExist) {
		return usageErrorf("choose another folder, or delete it", "there is a %s already", settings)
	}
	if isTerminal(c.InOrStdin()) && i.app.stdout.Terminal {
		if err := i.askOptions(c, folder); err != nil {
			return err
		}
	}
	if err := i.completeOptions(folder); err != nil {
		return err
	}
	remotes, forges, err := i.serverSettings()
	if err != nil {
		return err
	}
	content := scaffold.Daemon{Create: true, DataDir: "data", Listen: "127.0.0.1:8080", Remotes: remotes, Forges: forges}
	if err := createRepositories(c.Context(), i.options, folder, content, i.app.readCredentials); err != nil {
		return err
	}
	fmt.Fprint(i.app.stdout, i.nextSteps(settings))
	return nil
}

func (i *initCommand) nextSteps(settings string) string {
	file := text.QuoteShell(settings)
	rows := [][]string{
		{"  fairlead check --control-plane " + text.QuoteShell(i.options.ControlPlane), "# checks every environment"},
		{"  fairlead doctor --config " + file, "# checks that the daemon can do its work"},
		{"  fairlead serve --once --config " + file, "# shows what the daemon would propose"},
		{"  sed -i.bak 's/^write: false/write: true/' " + file, "# lets it push and open pull requests"},
		{"  fairlead serve --config " + file, "# starts it; its page is http://127.0.0.1:8080"},
	}
	order := ""
	if len(i.options.Environments) != 1 && (i.options.Sample || i.options.Stack) {
		order = "\nEach environment gets its first pull request at once. Merge them in the order of promotion: each when\nfairlead status shows the environment before it as verified.\n"
	}
	return fmt.Sprintf(`Created the control plane      %s
        the GitOps repository  %s
        the settings           %s

Next steps; fairlead doctor shows what is missing after each:

%s%s`, giturl.Redact(i.options.ControlPlane), giturl.Redact(i.options.GitOps), settings, i.app.stdout.FormatTable(make([]display.Column, 2), rows), order)
}

func (i *initCommand) completeOptions(folder string) error {
	if i.folders {
		i.options.Layout = scaffold.Folders
	}
	for _, p := range []struct {
		flag     string
		location *string
		name     string
	}{{"--control-plane", &i.options.ControlPlane, controlPlaneName}, {"--gitops", &i.options.GitOps, gitOpsName}} {
		err := checkLocation(p.flag, *p.location) // also for answers, which have no flag
		switch {
		case err != nil:
			return err
		case *p.location == "":
			*p.location = filepath.Join(folder, p.name)
		case !giturl.IsRemote(*p.location):
			full, err := filepath.Abs(giturl.LocalPath(*p.location))
			if err != nil {
				return err
			}
			*p.location = full
		}
		if git.IsWorkingClone(*p.location) {
			return usageErrorf("init makes a bare one at a path where nothing is yet; an empty bare one, as git init --bare makes it, is good too", "%s %s is a clone that people work in, and Git does not let others push to its branch", p.flag, *p.location)
		}
	}
	if giturl.Identify(i.options.ControlPlane).Same(giturl.Identify(i.options.GitOps)) {
		i.options.GitOps = i.options.ControlPlane // one spelling makes it a problem
	}
	if problems := i.options.Problems(); problems.Stops() {
		return &problemsError{"init cannot use these options", problems, true}
	}
	return nil
}

const (
	controlPlaneName = "control-plane.git"
	gitOpsName       = "gitops.git"
)

func createRepositories(ctx context.Context, o scaffold.Options, folder string, d scaffold.Daemon, credentials func(string) func(context.Context) (git.Credentials, error)) error {
	content, err := scaffold.SettingsFile(o, d)
	if err != nil {
		return err
	}
	for _, location := range []string{o.ControlPlane, o.GitOps} {
		if !giturl.IsRemote(location) {
			if err := checkGitProgram(ctx, "a repository on this machine"); err != nil {
				return err
			}
		}
	}
	undo := removeNew(folder, o.ControlPlane, o.GitOps)
	err = fillRepositories(ctx, o, folder, credentials)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, defaultSettingsFile), []byte(content), 0o644)
	}
	if err != nil {
		undo()
	}
	return err
}

// removeNew returns a function that removes those paths, and parents, that do not exist
// yet, so that failures leave nothing.
func removeNew(paths ...string) func() {
	var created []string
	for _, path := range paths {
		for !giturl.IsRemote(path) {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				break
			}
			created = append(created, path)
			path = filepath.Dir(path)
		}
	}
	return func() {
		for _, path := range created {
			_ = os.RemoveAll(path)
		}
	}
}

func fillRepositories(ctx context.Context, o scaffold.Options, folder string, credentials func(string) func(context.Context) (git.Credentials, error)) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	repositories := daemon.Repositories{
		Content: o, Author: defaultAuthor(), When: time.Now(),
		Credentials: credentials,
	}
	err := repositories.Create(ctx)
	if errors.Is(err, daemon.ErrNotEmpty) {
		return problem.WithHint(err, "init fills empty repositories only; name others, or delete what is there")
	}
	if errors.Is(err, git.ErrUnreachable) {
		return problem.WithHint(err, "check the URL, that the server is running, and that this machine can reach it")
	}
	return withLocationHint(err, "create the repository on the server first; FAIRLEAD_GIT_TOKEN, and FAIRLEAD_GIT_USERNAME if the server needs it, are what init logs in with")
}
