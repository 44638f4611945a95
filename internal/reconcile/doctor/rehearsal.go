package doctor

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// rehearseCycle runs the daemon's cycle in a temporary folder, without writing, and reports what
// stops each environment.
func (d *examination) rehearseCycle(ctx context.Context, dir string) {
	settings, store := *d.config, &status.Store{}
	settings.Write, settings.DataDir = false, filepath.Join(dir, "rehearsal")
	l, err := loop.New(ctx, loop.Options{Settings: &settings, Store: store, Now: d.now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		d.addError(Fail, "daemon", err)
		return
	}
	defer l.Close()
	if err := l.Cycle(ctx); err != nil {
		d.addError(Fail, "daemon", err)
		return
	}
	found := store.Snapshot()
	for _, e := range found.Environments {
		d.addRehearsed(e)
	}
	for _, s := range found.Chain.Stages {
		e, ok := found.FindEnvironment(s.Environment)
		if s.Next.State == promote.Stopped && (!ok || !e.Problems.Stops() && e.Error == "") { // otherwise already reported
			d.addFailure("environment "+s.Environment+": promotion", "mend what this names; fairlead explain promotion "+s.Environment+" shows the whole of it", "%s", s.Next.Verdict.Reason)
		}
	}
}

// maxChange bounds what is said of the change of an output.
const maxChange = 120

func (d *examination) addRehearsed(e status.Environment) {
	what := "environment " + e.Name
	switch {
	case e.Problems.Stops():
		for _, p := range e.Problems {
			if !p.Warning {
				d.addFailure(what, cmp.Or(p.Hint, "fairlead check says more"), "%s", p.String())
			}
		}
	case e.Error != "":
		d.addFailure(what, "mend what the checks of that repository name; fairlead serve --once says more", "%s", e.Error)
	default:
		change := ""
		if e.Proposed != nil && !e.Proposed.IsEmpty() {
			change = "; the next proposal would " + e.Proposed.Title(maxChange)
		}
		d.addOK(what, "its output goes to branch %s of %s%s", e.Output.Branch, access.ReadLocation(d.config, e.Output.Repo), change)
		d.addWithheld(e)
	}
}

// addWithheld reports why a person must merge despite the settings.
func (d *examination) addWithheld(e status.Environment) {
	if !d.mergesItself(output{environment: e.Name}) {
		return
	}
	i := slices.IndexFunc(e.Withheld, func(w status.Withheld) bool { return w.Cause == string(publish.CauseLocation) })
	if i >= 0 {
		d.addWarning("environment "+e.Name+": merge", "merge its first pull request yourself; the later ones are merged as merge says", "%s", e.Withheld[i].Reason)
	}
}
