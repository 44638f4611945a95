package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// findFigures returns how long commits took, and how many were taken back.
func (s *site) findFigures(ctx context.Context, src answer.Source, _ request) found {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil {
		return s.refuseAnswer(ctx, figuresPath, err)
	}
	return newFound(src.Figures(all, s.options.Now()))
}

// findHistory returns what was done, as the control plane in Git has it.
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

// historyCache keeps what was done for a time, since each reading keeps a cycle waiting. The zero value is
// ready.
type historyCache struct {
	mu   sync.Mutex
	made time.Time
	all  history.Log
}

// loadHistory returns what was done.
func (s *site) loadHistory(ctx context.Context) (history.Log, error) {
	s.past.mu.Lock()
	defer s.past.mu.Unlock()
	now := s.options.Now()
	if !s.past.made.IsZero() && now.Sub(s.past.made) < cachedFor {
		return s.past.all, nil
	}
	all, err := s.options.History(ctx)
	if err == nil {
		s.past.all, s.past.made = all, now
	}
	return all, err
}
