package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

type serveCommand struct {
	app         *app
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

https://github.com/fairlead-io/fairlead/blob/main/docs/reference/settings.md
describes the settings.`,
		Example: `  fairlead serve --check      are the settings right?
  fairlead serve --once       one cycle, for cron jobs and CI
  fairlead serve --config /etc/fairlead/fairlead.yaml`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return s.runServe(c.Context()) },
	}
	c.Flags().SortFlags = false
	addConfigFlag(c, &s.config, defaultSettingsFile, "")
	c.Flags().BoolVar(&s.check, "check", false, "check the settings, and end")
	c.Flags().BoolVar(&s.once, "once", false, "run one cycle, and end")
	a.addOutputFlag(c)
	return c
}

func (s *serveCommand) runServe(ctx context.Context) error {
	if s.check && s.once {
		return usageErrorf("", "--check and --once exclude each other")
	}
	settings, err := s.app.loadSettings(s.config, config.Load)
	if err != nil {
		return err
	}
	if s.check {
		return s.app.printValue(map[string]bool{"valid": true}, []string{s.config}, func() string { return fmt.Sprintf("%s: the settings are valid\n", s.config) })
	}
	o := daemon.Options{Settings: settings, Version: s.app.version, Log: s.app.stderr}
	if !s.once {
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(daemon.GCPercent)
		}
		return withRunningHint(daemon.Serve(ctx, o), settings)
	}
	snapshot, err := daemon.RunOnce(ctx, o)
	if err != nil {
		return withSettingsHint(withRunningHint(err, settings))
	}
	names := list.Convert(snapshot.Environments, func(e status.Environment) string { return e.Name })
	if err := s.app.printValue(snapshot, names, func() string { return plaintext.FormatEnvironments(snapshot.Environments, s.app.stdout) }); err != nil {
		return err
	}
	return newCycleError(s.app, snapshot)
}

// withRunningHint adds where the other daemon shows its work if that uses the data
// folder.
func withRunningHint(err error, settings *config.Settings) error {
	var running *lock.HeldError
	if !errors.As(err, &running) {
		return err
	}
	hint := "for another fleet write another dataDir into the settings"
	if page := pageOf(running.Address); page != "" {
		hint = "fairlead status --url " + page + " shows what it does; " + hint
	}
	return problem.WithHint(err, hint)
}

// newCycleError returns an error if an environment failed or has problems. It prints
// problems once, next to failures.
func newCycleError(a *app, snapshot status.Snapshot) error {
	var failed []error
	all := problemSet{}
	if snapshot.ControlPlaneError != "" { // an old copy was rendered
		failed = append(failed, fmt.Errorf("the control plane cannot be read: %s", snapshot.ControlPlaneError))
	}
	if reason := status.DescribeVanished(snapshot.Vanished); reason != "" {
		failed = append(failed, errors.New(reason))
	}
	for _, e := range snapshot.Environments {
		switch {
		case e.State == status.Failed:
			failed = append(failed, fmt.Errorf("environment %s: %s", e.Name, e.Error))
		case e.State == status.Problems || e.Problems.Stops(): // of the environment or one of its stacks
			all.add(e.Name, e.Problems)
		}
	}
	problems := all.list().Sorted()
	switch {
	case failed != nil:
		fmt.Fprint(a.stderr, display.FormatProblems(problems, a.stderr))
		return errors.Join(failed...)
	case problems != nil:
		return newProblemsError(problems)
	}
	return nil
}
