package loop

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// eventsKept is how long what forges with an API tell of pull requests that ended is not asked for again, unless
// a branch moves.
const eventsKept = time.Minute

// pullEvents are the answer of a forge.
type pullEvents struct {
	asked  time.Time
	refs   map[string]string // of the repository, when it was asked
	events []forge.PullEvent
	err    error
}

// forgeQuestion is a forge that is to be asked.
type forgeQuestion struct {
	remote  *repos.Remote
	journal forge.Journal
	answer  pullEvents
}

// takeTurnWithForges takes a turn once the forges with an API were asked for the pull requests that ended. They are
// asked before it, so that one that is slow keeps no cycle from beginning.
func (l *Loop) takeTurnWithForges(ctx context.Context) (end func(), err error) {
	select { // who asks at the same time finds the answers
	case l.asks <- struct{}{}:
		defer func() { <-l.asks }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var questions []*forgeQuestion
	err = l.barrier.Run("ask forges", "", func() error {
		err := l.inTurn(ctx, func() error {
			questions = l.findQuestions()
			return nil
		})
		if err != nil {
			return err
		}
		parallel.Each(l.options.Settings.Parallel, questions, func(_ int, q *forgeQuestion) {
			q.answer.events, q.answer.err = q.journal.PullEvents(ctx)
		})
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	end, err = l.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		l.keepPullEvents(q.remote, q.answer)
	}
	return end, nil
}

// findQuestions returns the forges with an API whose answers are not there, or too old: references have moved, or a
// while has passed.
func (l *Loop) findQuestions() []*forgeQuestion {
	var all []*forgeQuestion
	now := l.options.Now()
	for _, remote := range l.listOutputRemotes(slices.Sorted(maps.Keys(l.environments))) {
		f, err := remote.Forge()
		journal, tells := f.(forge.Journal)
		if err != nil || !tells || f.Name() == forge.PlainName {
			continue // listPullEvents says why
		}
		refs, err := remote.Mirror().Refs("refs/")
		last := l.pullEvents[remote.Remote]
		if err == nil && (now.Sub(last.asked) >= eventsKept || !maps.Equal(refs, last.refs)) {
			all = append(all, &forgeQuestion{remote.Remote, journal, pullEvents{asked: now, refs: refs}})
		}
	}
	return all
}

// keepPullEvents keeps an answer. With an error, the events are those that the forge told last.
func (l *Loop) keepPullEvents(remote *repos.Remote, answer pullEvents) {
	if answer.err != nil {
		answer.events = l.pullEvents[remote].events
	}
	l.pullEvents[remote] = answer
}

// listPullEvents returns what a repository tells of its pull requests that ended: a forge with an API has told it to
// takeTurnWithForges; plain Git is asked here, once references have moved. With an error, they are those that it told
// last.
func (l *Loop) listPullEvents(ctx context.Context, remote *repos.Remote) ([]forge.PullEvent, error) {
	f, err := remote.Forge()
	if err != nil {
		return nil, err
	}
	journal, tells := f.(forge.Journal)
	if !tells {
		return nil, errors.New("this forge does not tell who merged and closed pull requests")
	}
	refs, err := remote.Mirror().Refs("refs/")
	if err != nil {
		return nil, err
	}
	last := l.pullEvents[remote]
	if f.Name() == forge.PlainName && (last.asked.IsZero() || last.err != nil || !maps.Equal(refs, last.refs)) {
		answer := pullEvents{asked: l.options.Now(), refs: refs}
		answer.events, answer.err = journal.PullEvents(ctx)
		l.keepPullEvents(remote, answer)
		last = l.pullEvents[remote]
	}
	return last.events, last.err
}
