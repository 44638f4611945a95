package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// historyPath is the path of the history, whose reading waits for the cycle that runs.
const historyPath = "/history"

// searchPath is the path of what a text is the name of.
const searchPath = "/search"

// figuresPath is the path of the figures of the history.
const figuresPath = historyPath + "/figures"

// findFigures returns how long commits took, and how many were taken back.
func (s *site) findFigures(ctx context.Context, src answer.Source) found {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil {
		return s.refuseAnswer(ctx, figuresPath, err)
	}
	return found{src.Figures(all, s.options.Now()), http.StatusOK, ""}
}

// findHistory returns what was done, as the control plane in Git has it.
func (s *site) findHistory(ctx context.Context, src answer.Source, query url.Values) found {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil {
		return s.refuseAnswer(ctx, historyPath, err)
	}
	src.At = query.Get("at")
	shown := src.History(cutHistory(all, query), page.ParseHistoryFilter(query))
	if what := page.ParseHistoryFilter(query).Action; what != "" && !slices.Contains(shown.Actions, what) && !page.IsAction(what) {
		return found{errorAnswer{fmt.Sprintf("the filter what has no value %q", what), withNearest(what, shown.Actions, "it has "+strings.Join(shown.Actions, ", "))}, http.StatusBadRequest, ""}
	}
	if who := query.Get("who"); who != "" && !slices.ContainsFunc(shown.People, func(name string) bool { return strings.EqualFold(name, who) }) {
		return found{errorAnswer{fmt.Sprintf("the history has nobody called %q", who), withNearest(who, shown.People, "it has "+strings.Join(shown.People, ", "))}, http.StatusNotFound, ""}
	}
	return found{shown, http.StatusOK, ""}
}

// pullNumber matches a text that may be the number of a pull request.
var pullNumber = regexp.MustCompile(`^#?[0-9]+$`)

// findNumber returns what a number is the name of: pull requests that are not open are found in the history.
func (s *site) findNumber(ctx context.Context, src answer.Source, number string) found {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	all, err := s.loadHistory(ctx)
	if err != nil { // the others are found all the same
		s.options.Logger.WarnContext(ctx, "the history cannot be read, and pull requests that are not open are not found", slog.Any("error", err))
	}
	return searchNames(src, number, all.Entries)
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
