package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type doctorCommand struct {
	app    *app
	config string
	push   bool
}

func newDoctor(a *app) *cobra.Command {
	d := &doctorCommand{app: a}
	c := &cobra.Command{
		Use:     "doctor",
		GroupID: groupDaemon,
		Short:   "Check a set-up against the settings, and say what to change",
		Long: `Doctor reads the settings, and asks every repository that the control plane names,
and its forge, whether the daemon can do its work there: read, push, open pull
requests, set statuses. It runs the daemon's first cycle without writing, and names
what would stop an environment, what would be proposed to each, and whether this
version changes the schema of the ledger. A daemon that runs is asked on which
clusters a newer commit waited for a health check. It changes nothing.

Hooks and push rules refuse a push only when they see it: with --push, doctor pushes
a branch to each repository that the daemon pushes to, and removes it at once.

It ends with 1 if something fails. What is only a warning the daemon can do without.`,
		Example: `  fairlead doctor
  fairlead doctor --config /etc/fairlead/fairlead.yaml --output json
  fairlead doctor --push`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return d.runDoctor(c.Context()) },
	}
	c.Flags().SortFlags = false
	addConfigFlag(c, &d.config, defaultSettingsFile, "")
	c.Flags().BoolVar(&d.push, "push", false, "push a branch that is removed at once, to see what hooks and push rules say")
	a.addOutputFlag(c)
	return c
}

func (d *doctorCommand) runDoctor(ctx context.Context) error {
	settings, err := d.app.loadSettings(d.config, config.Load)
	if err != nil {
		return err
	}
	heldUp := d.findHeldUp(ctx, settings)
	done := d.app.stderr.ShowProgress("ask the repositories and their forges")
	found, err := doctor.Examine(ctx, doctor.Options{Settings: settings, Now: time.Now, Push: d.push, CheckListen: daemon.CheckListen, HeldUp: heldUp})
	done()
	if err != nil {
		return err
	}
	if err := d.app.printValue(found, list.Convert(found, func(f doctor.Finding) string { return f.Subject }), func() string { return findingsText(found, d.app.stdout) }); err != nil {
		return err
	}
	fails := 0
	for _, f := range found {
		if f.Level == doctor.Fail {
			fails++
		}
	}
	switch fails {
	case 0:
		return nil
	case 1:
		return problem.WithHint(errors.New("1 check fails"), "the hint below it says what to change")
	}
	return problem.WithHint(fmt.Errorf("%d checks fail", fails), "the hints below them say what to change")
}

// findHeldUp asks the daemon for clusters where a newer commit waited for a health
// check; only a daemon knows. It notes why a running daemon does not answer.
func (d *doctorCommand) findHeldUp(ctx context.Context, settings *config.Settings) (held []doctor.HeldUp) {
	if !settings.HasLedger() {
		return nil
	}
	cc := newCommandContext(d.app)
	cc.settings = settings
	daemon, absence, err := cc.findFleetDaemon(ctx)
	if absence != "" {
		return nil
	}
	var all []fleetview.Cluster
	if err == nil {
		all, err = askAll[fleetview.Cluster](ctx, daemon, "clusters", newValues())
	}
	if err != nil {
		fmt.Fprintf(d.app.stderr, "fairlead: note: what clusters report is not checked: %v\n", err)
		return nil
	}
	for _, c := range all {
		if c.HeldUp != nil {
			held = append(held, doctor.HeldUp{Cluster: c.Name, Object: c.HeldUp.Object, Seen: c.HeldUp.Seen})
		}
	}
	return held
}

func findingsText(found []doctor.Finding, to *display.Stream) string {
	colours := map[string]string{string(doctor.Warn): display.Yellow, string(doctor.Fail): display.Red, string(doctor.OK): display.Dim}
	columns := []display.Column{{Colour: func(level string) string { return colours[level] }}, {}, {Fit: display.Wrap}}
	var rows [][]string
	for _, f := range found {
		rows = append(rows, []string{string(f.Level), f.Subject, f.Message})
	}
	var b strings.Builder
	for i, text := range to.FormatRows(columns, rows) {
		b.WriteString(text)
		if found[i].Hint != "" {
			b.WriteString(to.Paint(display.Dim, "      hint: "+display.SanitizeLine(found[i].Hint)) + "\n")
		}
	}
	return b.String()
}
