package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

func (s *site) findFigures(ctx context.Context, src answer.Source, _ request) found {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil {
		return s.refuseAnswer(ctx, figuresPath, err)
	}
	return newFound(src.Figures(all, s.options.Now()))
}

func (s *site) findHistory(ctx context.Context, src answer.Source, q request) found {
	query := q.query
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil {
		return s.refuseAnswer(ctx, historyPath, err)
	}
	src.At = query.Get("at")
	filter := page.ParseHistoryFilter(query)
	filter.All = q.table
	shown := src.History(cutHistory(all, query), filter)
	if what := filter.Action; what != "" && !slices.Contains(shown.Actions, what) && !page.IsAction(what) {
		return failWith(http.StatusBadRequest, fmt.Sprintf("the filter what has no value %q", what), withNearest(what, shown.Actions, "it has "+strings.Join(shown.Actions, ", ")))
	}
	if who := query.Get("who"); who != "" && !slices.ContainsFunc(shown.People, func(name string) bool { return strings.EqualFold(name, who) }) {
		return failWith(http.StatusNotFound, fmt.Sprintf("the history has nobody called %q", who), withNearest(who, shown.People, "it has "+strings.Join(shown.People, ", ")))
	}
	return newFound(shown)
}

// pullNumber matches a text that may be the number of a pull request.
var pullNumber = regexp.MustCompile(`^#?[0-9]+$`)

// search returns what has a text in its name: pull requests that are not open are found in the history.
func (s *site) search(ctx context.Context, src answer.Source, q request) found {
	if s.options.History == nil || !pullNumber.MatchString(q.text()) {
		return searchNames(src, q.text(), nil)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil { // the others are found all the same
		s.options.Logger.WarnContext(ctx, "the history cannot be read, and pull requests that are not open are not found", slog.Any("error", err))
	}
	return searchNames(src, q.text(), all.Entries)
}

// loadHistory returns what was done, as it was within the last seconds: each reading keeps a cycle waiting.
func (s *site) loadHistory(ctx context.Context) (history.Log, error) {
	return s.past.load("", s.options.Now(), cachedFor, func() (history.Log, error) { return s.readHistory(ctx) })
}

func (s *site) readHistory(ctx context.Context) (all history.Log, err error) {
	err = s.newBarrier(ctx).Run("read", "history", func() error {
		all, err = s.options.History(ctx)
		return err
	})
	all.Entries = slices.Clone(all.Entries)
	for _, e := range s.options.Store.Snapshot().Events {
		all.Entries = append(all.Entries, history.Entry{Time: e.When, Environment: e.Environment, Action: e.Action, To: e.Commit, Reason: answer.CleanText(e.Reason)})
	}
	all = addDrifts(ctx, s.options, all)
	history.Sort(all.Entries)
	return all, err
}

func addDrifts(ctx context.Context, o Options, all history.Log) history.Log {
	if o.Fleet == nil {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	periods, err := fleetview.ListDriftPeriods(ctx, o.Fleet)
	if err != nil {
		o.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
		all.Unread = append(slices.Clone(all.Unread), history.Unread{Reason: "the ledger cannot be asked now"})
	}
	all.Entries = append(all.Entries, answer.ListDriftEvents(periods)...)
	return all
}

const (
	// timelinePatience is how long the overview waits for what the timeline has besides the state: without it, or with
	// that of before, it is there at once.
	timelinePatience = 500 * time.Millisecond
	// forecastFor is how long the forecast of the newest commit is kept: forges are asked for it.
	forecastFor = 30 * time.Second
)

func (s *site) addActions(ctx context.Context, src answer.Source, _ request) answer.Source {
	if s.options.History == nil || len(src.Snapshot.Chain.Stages) == 0 {
		return src
	}
	src.Actions = s.past.latest("", s.options.Now(), cachedFor, timelinePatience, func() (history.Log, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
		defer cancel()
		return s.readHistory(ctx)
	}).Entries
	return src
}

func (s *site) addHeadForecast(ctx context.Context, src answer.Source, _ request) answer.Source {
	head := src.Snapshot.Chain.Head
	if s.options.Simulate == nil || head == "" || len(src.Reasons) > 0 || src.Snapshot.Chain.External {
		return src
	}
	src.HeadForecast = s.ahead.latest(head, s.options.Now(), forecastFor, timelinePatience, func() (f answer.HeadForecast, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), simulationTimeout)
		defer cancel()
		err = s.newBarrier(ctx).Run("simulate", head, func() error {
			f.Arrivals, err = s.options.Simulate(ctx, head)
			return err
		})
		f.Commit = head
		return f, err
	})
	return src
}
