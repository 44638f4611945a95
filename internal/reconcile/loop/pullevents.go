package loop

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
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
	err = l.inTurn(ctx, func() error {
		return l.barrier.Run("find forges to ask", "", func() error {
			questions = l.findQuestions()
			return nil
		})
	})
	if err == nil {
		err = l.askForges(ctx, questions)
	}
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

func (l *Loop) askForges(ctx context.Context, questions []*forgeQuestion) error {
	return l.barrier.Run("ask forges", "", func() error {
		parallel.Each(l.options.Settings.Parallel, questions, func(_ int, q *forgeQuestion) {
			q.answer.events, q.answer.err = q.journal.PullEvents(ctx)
		})
		return ctx.Err()
	})
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

// recall is the question to forges which pull requests were merged last, once a process has started.
type recall struct {
	begun    bool
	answered chan []*forgeQuestion // gets one element
	asking   sync.WaitGroup
}

// beginRecall asks the forges with an API, once, beside the cycles: one may be slow. What is known without them is
// reported at once.
func (l *Loop) beginRecall(ctx context.Context, r *recall) {
	if r.begun {
		return
	}
	r.begun, r.answered = true, make(chan []*forgeQuestion, 1)
	l.recallPulls(ctx, nil)
	var questions []*forgeQuestion
	_ = l.inTurn(ctx, func() error { // without an error
		questions = l.findQuestions()
		return nil
	})
	r.asking.Go(func() {
		if len(questions) > 0 && l.askForges(ctx, questions) == nil {
			r.answered <- questions
		}
	})
}

// recallPulls finds out from the answers of forges which pull request of each environment was merged last, where this
// process has seen none merged.
func (l *Loop) recallPulls(ctx context.Context, answers []*forgeQuestion) {
	_ = l.inTurn(ctx, func() error {
		return l.barrier.Run("recall pull requests", "", func() error { // a panic is logged
			for _, q := range answers {
				l.keepPullEvents(q.remote, q.answer)
			}
			for _, name := range slices.Sorted(maps.Keys(l.environments)) {
				l.recallPull(ctx, l.environments[name])
			}
			return nil
		})
	})
}

func (l *Loop) recallPull(ctx context.Context, e *environment) {
	remote, to, err := l.findOutputOf(e.name)
	if err != nil || e.outcome.merged.pull != nil {
		return
	}
	events, err := l.listPullEvents(ctx, remote)
	if err != nil {
		l.options.Logger.Warn("the last pull request of an environment could not be read", "environment", e.name, "error", err)
	}
	var last *forge.Pull
	for _, ev := range events {
		isMerge := ev.Action == forge.MergeAction && ev.Mark == e.name && ev.Head == l.options.proposalBranch(e.name) && ev.Base == to.Branch
		if isMerge && (last == nil || ev.Number > last.Number) {
			last = &ev.Pull
		}
	}
	if last == nil {
		return
	}
	e.outcome.merged = mergedPull{last, strings.TrimPrefix(last.Title, e.name+": ")}
	l.options.Store.SetMergedPull(e.name, newPull(e.outcome.merged.pull), e.outcome.merged.change)
}
