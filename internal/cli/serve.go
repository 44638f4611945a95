package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/daemon"
	"github.com/fairlead-io/fairlead/internal/display"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/status"
)

// settingsFile is where the settings are if nobody says otherwise.
const settingsFile = "fairlead.yaml"

// serveCommand is what `fairlead serve` was asked to do.
type serveCommand struct {
	*app
	config      string
	check, once bool
}

func newServe(a *app) *cobra.Command {
	s := &serveCommand{app: a}
	c := &cobra.Command{
		Use:     "serve",
		GroupID: groupDaemon,
		Short:   "Watch a control plane, and keep pull requests for its output",
		Long: `Serve watches the control plane that the settings name, renders every environment,
and keeps one pull request for each against its branch of the GitOps repository.
It may be killed at any time. Nothing is pushed until the settings say write: true.

With "listen" in the settings it answers on /healthz, /readyz, /metrics and
/api/v1/status, and shows a page on /.

docs/settings.md describes the settings.`,
		Example: `  fairlead serve --check      are the settings right?
  fairlead serve --once       one cycle, for cron jobs and CI
  fairlead serve --config /etc/fairlead/fairlead.yaml`,
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return s.run(c.Context()) },
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&s.config, "config", settingsFile, "settings `file`")
	c.Flags().BoolVar(&s.check, "check", false, "check the settings, and end")
	c.Flags().BoolVar(&s.once, "once", false, "run one cycle, and end")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	a.addOutput(c)
	return c
}

// settingsError says that the settings have problems.
type settingsError struct{ problemsError }

func (s *serveCommand) run(ctx context.Context) error {
	if s.check && s.once {
		return usagef("", "--check and --once exclude each other")
	}
	settings, err := s.settings(s.config)
	if err != nil {
		return err
	}
	if s.check {
		return s.print(map[string]bool{"valid": true}, func() string { return fmt.Sprintf("%s: the settings are valid\n", s.config) })
	}
	o := daemon.Options{Settings: settings, Version: version().Version, Log: s.err}
	if !s.once {
		return daemon.Serve(ctx, o)
	}
	snapshot, err := daemon.Once(ctx, o)
	if err != nil {
		return elsewhere(err, "controlPlane.repo in the settings says where it is, and remotes how to get in")
	}
	if err := s.print(snapshot, func() string { return statusText(snapshot) }); err != nil {
		return err
	}
	return s.outcome(snapshot)
}

// elsewhere adds a hint to an error that says that there is no such repository, or
// no way to it.
func elsewhere(err error, hint string) error {
	if errors.Is(err, git.ErrUnreachable) || errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrAccess) {
		return &hinted{err, hint}
	}
	return err
}

// settings reads a settings file, and says what is wrong with it.
func (a *app) settings(file string) (*config.Settings, error) {
	settings, problems, err := config.Load(file, os.Getenv)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("fairlead init makes one; or say where it is with --config", "there is no settings file %s", file)
	case err != nil:
		return nil, err
	case problems.Stops():
		return nil, &settingsError{problemsError{"the settings have " + display.Counted(problems.Count()), problems}}
	}
	fmt.Fprint(a.err, display.Problems(problems, a.err))
	return settings, nil
}

// outcome gives the error of a cycle in which not everything went well. Problems are
// said also if something has failed, and once, however many environments have them.
func (a *app) outcome(snapshot status.Snapshot) error {
	var failed []error
	all := found{}
	for _, e := range snapshot.Environments {
		switch e.State {
		case status.Failed:
			failed = append(failed, fmt.Errorf("environment %s: %s", e.Name, e.Error))
		case status.Problems:
			all.add(e.Name, e.Problems)
		}
	}
	problems := all.list().Sorted()
	switch {
	case failed != nil:
		fmt.Fprint(a.err, display.Problems(problems, a.err))
		return errors.Join(failed...)
	case problems != nil:
		return newProblemsError(problems)
	}
	return nil
}

// statusText shows all environments, a line for each.
func statusText(s status.Snapshot) string {
	rows, off := [][]string{{"ENVIRONMENT", "STATE", "PULL REQUEST", ""}}, false
	for _, e := range s.Environments {
		pull, says := "-", e.Change
		if e.Pull != nil {
			pull = fmt.Sprint(e.Pull.Number)
			if e.Pull.URL != "" {
				pull = e.Pull.URL
			}
		}
		if says == "" || e.State != status.Proposed && e.State != status.DryRun {
			says = e.Reason
		}
		off = off || e.State == status.DryRun
		rows = append(rows, []string{e.Name, string(e.State), pull, says})
	}
	if len(rows) == 1 {
		return "the control plane has no environments\n"
	}
	text := display.Table(rows)
	if off {
		text += "Writing is off: nothing was pushed. With write: true in the settings it will be.\n"
	}
	return text
}
