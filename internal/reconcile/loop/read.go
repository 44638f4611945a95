package loop

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// readControlPlane reads the control plane as it is now: its environments, and what is written
// about them. It returns the names of those to work on.
func (l *Loop) readControlPlane(ctx context.Context) (names []string, err error) {
	defer func() { l.reportControlPlane(err) }()
	if err := l.refreshSource(ctx); err != nil {
		return nil, err
	}
	if err := l.readKeyEpochs(ctx); err != nil {
		return nil, err
	}
	names, l.retirement.complete, err = l.listEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	l.orders, err = l.promoter.LoadPolicy(ctx, l.source)
	if err != nil {
		return nil, err
	}
	l.ephemerals.now = l.roundTime
	names, err = l.ephemerals.addEphemerals(ctx, names)
	if err != nil {
		return nil, err
	}
	return names, l.forgetRetired(names, l.retirement.complete)
}

func (l *Loop) refreshSource(ctx context.Context) (err error) {
	l.remotes.BeginReading()
	if l.source != nil {
		return l.source.Refresh(ctx)
	}
	s, err := source.Open(ctx, l.sourceOptions())
	if err == nil {
		err = claimDataFolder(l.options.Settings)
	}
	if err == nil {
		l.source, l.opened = s, true
		l.ephemerals.source, l.retirement.source = s, s
	}
	return err
}

func (l *Loop) readKeyEpochs(ctx context.Context) error {
	if l.options.Keys == nil {
		return nil
	}
	base, err := l.source.Base(ctx)
	if err == nil {
		l.options.Keys.SetEpochs(observe.ReadEpochs(base.Progress))
	}
	return err
}

// reportControlPlane reports to the store whether the control plane can be read. It cannot
// either when an old copy of it is used.
func (l *Loop) reportControlPlane(err error) {
	shown := err
	if shown == nil {
		shown = l.remotes.RemoteError(l.remotes.ReadLocation(l.options.Settings.ControlPlane.Repo))
	}
	l.unreadable = shown
	text := ""
	if shown != nil {
		text = withDiskHint(shown)
	}
	l.options.Store.SetControlPlane(text, l.remotes.FindFailing(shown)...)
	l.options.Store.SetVanished(l.vanished)
	l.undone = l.undone || err != nil
}

func withDiskHint(err error) string {
	if hint := git.DiskHint(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

// listEnvironments returns the environments to work on, and whether it is certain that these are all.
// The problems of the files that they are written in are reported with each of them.
func (l *Loop) listEnvironments(ctx context.Context) (names []string, certain bool, err error) {
	found, problems, err := l.source.Environments(ctx)
	if err != nil {
		return nil, false, err
	}
	certain = !problems.Stops() && !l.source.HasUnread()
	for _, e := range found {
		if l.retirement.isListed(e.Name) {
			names = append(names, e.Name)
		}
	}
	names = slices.Compact(names)
	for _, name := range l.options.Settings.Environments {
		if slices.Contains(names, name) {
			continue
		}
		left, err := l.retirement.hasLeft(name, certain)
		if err != nil {
			return nil, false, err
		}
		if !left {
			names = append(names, name) // to be reported: there is no such environment
		}
	}
	if len(names) > 0 {
		l.vanished = nil
		return names, certain, nil
	}
	l.vanished, err = l.findVanished()
	hint := "an object of kind Environment in .environments/ of the base makes one"
	l.options.Logger.Warn("the control plane has no environments", "hint", hint, "before", l.vanished)
	return nil, certain, err
}

// findVanished returns the names of the environments that the base had, where it has none now. The base's
// history names them after a restart; what this process has seen names them after a forced push.
func (l *Loop) findVanished() ([]string, error) {
	former, err := l.source.FormerEnvironments()
	if err != nil {
		return nil, err
	}
	all := slices.Clone(l.vanished)
	for _, e := range former {
		if l.retirement.isListed(e.Name) {
			all = append(all, e.Name)
		}
	}
	for name, e := range l.environments {
		if e.ephemeral == nil {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// forgetRetired drops what is known of environments that are gone. If that is not certain, one may
// only seem to be, because its file cannot be read: what was written for it stays.
func (l *Loop) forgetRetired(names []string, certain bool) error {
	for name, e := range l.environments {
		if slices.Contains(names, name) {
			continue
		}
		gone := certain || e.ephemeral != nil
		if gone && e.ephemeral == nil {
			named, err := l.source.StillNamed(name)
			if err != nil {
				return err
			}
			gone = len(named) == 0
			if !gone {
				l.options.Logger.Warn("an environment is missing, and a file with the environments has its name still: what it has stays", "environment", name)
			}
		}
		if gone {
			l.retirement.noteRetired(e)
		} else {
			l.retirement.searched = false // for when it is certain
		}
		delete(l.environments, name)
		l.options.Metrics.ForgetEnvironment(name)
	}
	for _, name := range names {
		if l.environments[name] == nil {
			l.environments[name] = &environment{name: name, cache: &output.Cache{}}
		}
		l.environments[name].ephemeral = l.ephemerals.all[name]
	}
	l.options.Store.RetainEnvironments(names)
	return nil
}
