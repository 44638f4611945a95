package loop

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/importer"
	"github.com/fairlead-io/fairlead/internal/reconcile/preview"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/scheduler"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
)

// startWork begins with what a new process knows, apart from what was read of repositories: another
// replica may have worked meanwhile.
func startWork(l *Loop) {
	o, s := l.options, l.options.Settings
	clear(l.shared)
	for name, e := range l.environments {
		l.environments[name] = &environment{name: name, cache: e.cache, verified: e.verified, ephemeral: e.ephemeral}
	}
	l.schedulers = scheduler.New(scheduler.Options{
		Settings: s, Logger: o.Logger, Now: o.Now, BeforeEffect: o.BeforeEffect,
		Pause: func(failures int) time.Duration { return repos.BackoffAfter(failures, o.Random()) },
	})
	l.inventories = importer.New(importer.Options{
		Settings: s, Remotes: l.remotes, PublishOptions: l.publishOptions, Logger: o.Logger, Now: o.Now,
		Pause: func(failures int) time.Duration { return repos.BackoffAfter(failures, o.Random()) },
	})
	l.previews = preview.New(preview.Options{
		Settings: s, Remotes: l.remotes, SourceOptions: l.sourceOptions, Author: l.author, Logger: o.Logger, Now: o.Now, Random: o.Random,
		BeforeEffect: o.BeforeEffect, Barrier: l.barrier,
	})
	l.promoter = promoter.New(promoter.Options{
		Settings: s, Remotes: l.remotes, Store: o.Store, Metrics: o.Metrics, Logger: o.Logger, Random: o.Random, Now: o.Now,
		Author: l.author, Sign: l.sign, Keys: *o.TrustedKeys, BeforeEffect: o.BeforeEffect, Enter: func(ctx context.Context, environment string) (context.Context, func()) {
			return enterShare(ctx, l, environment)
		}, OnPromoted: l.Wake, Records: &l.records, Inbox: o.Inbox, Ledger: o.Ledger,
		Barrier: l.barrier, FindPlans: o.FindPlans,
	})
	l.ephemerals = &ephemeralLife{
		settings: s, remotes: l.remotes, barrier: l.barrier, logger: o.Logger, beforeEffect: o.BeforeEffect, promoter: l.promoter, orders: &l.orders, source: l.source,
	}
	l.retirement = &retirement{
		settings: s, remotes: l.remotes, publishOptions: l.publishOptions, barrier: l.barrier, logger: o.Logger, store: o.Store, now: o.Now,
		promoter: l.promoter, ephemerals: l.ephemerals, environments: l.environments, source: l.source,
	}
}

func enterShare(ctx context.Context, l *Loop, environment string) (context.Context, func()) {
	if environment == "" {
		return l.held.Enter(ctx, shares.Plane)
	}
	return l.held.Enter(ctx, shares.ShareOf(environment))
}

// beginShares reports whether the shares of this replica have changed since the last round. What it
// remembers is forgotten then: others have worked in them.
func beginShares(l *Loop) bool {
	held := l.options.Replica.BeginRound()
	if held.IsSame(l.held) {
		l.held = held
		return false
	}
	l.held = held
	startWork(l)
	return true
}

func mayWrite(ctx context.Context, s *config.Settings) bool { return s.Write && shares.MayWrite(ctx) }
