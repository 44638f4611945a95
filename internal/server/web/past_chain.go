package web

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// chainCache keeps the chain of the time that was asked about last, which several pages are about. The zero value is ready.
type chainCache struct {
	mu      sync.Mutex
	key     string
	chain   status.Chain
	outputs []history.Output
}

func (s *site) loadChain(ctx context.Context, at history.Moment) (status.Chain, []history.Output, error) {
	c, key := &s.chains, at.Time.UTC().Format(time.RFC3339)+" "+s.keyOf(at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key == key {
		return c.chain, c.outputs, nil
	}
	chain, outputs, err := s.options.Past.Chain(ctx, at.Time)
	if err == nil {
		c.key, c.chain, c.outputs = key, chain, outputs
	}
	return chain, outputs, err
}

// findThen returns what there was at a time at the path of a page about all environments. A commit leads to its time.
func (s *site) findThen(ctx context.Context, src answer.Source, q request) found {
	place, refusal, refused := s.readPlace(src, "", q.query.Get("at"))
	if refused {
		return refusal
	}
	if q.row.path == historyPath && !place.At.Time.IsZero() {
		return s.findHistory(ctx, src, q)
	}
	f := s.findMade(ctx, q.path, q.key()+s.keyOf(place.At), func(ctx context.Context) found { return s.makeThen(ctx, src, q, place.At) })
	if a, isOverview := f.answer.(answer.PastOverview); isOverview { // the past stays, and the timeline goes on
		a.Timeline = src.Timeline(place.At.Time)
		f.answer = a
	}
	return f
}

func (s *site) makeThen(ctx context.Context, src answer.Source, q request, at history.Moment) found {
	if at.Time.IsZero() {
		when, err := s.options.Past.Time(ctx, at)
		if err != nil {
			return s.refuseAnswer(ctx, q.path, err)
		}
		asked := maps.Clone(q.query)
		asked.Set("at", when.UTC().Format(time.RFC3339))
		return redirectTo(strings.TrimPrefix(q.path, "/") + "?" + asked.Encode())
	}
	chain, outputs, err := s.loadChain(ctx, at)
	if err != nil {
		return s.refuseAnswer(ctx, q.path, err)
	}
	then := s.addThen(ctx, src, at.Time).WithChain(q.query.Get("at"), chain, outputs)
	if q.row.path == commitsPath || q.row.path == commitPath {
		f := q.row.read(then, q)
		if f.redirect != "" {
			f.redirect += "?" + q.query.Encode()
		}
		return f
	}
	return newFound(then.PastOverview())
}

// cutHistory returns what was done by the time that the parameters of an address name: all, if they name none.
func cutHistory(all history.Log, query url.Values) history.Log {
	at, ok := history.ParseMoment(query.Get("at"))
	if !ok || at.Time.IsZero() {
		return all
	}
	until := history.Log{Unread: all.Unread}
	for _, e := range all.Entries {
		if !e.Time.After(at.Time) {
			until.Entries = append(until.Entries, e)
		}
	}
	return until
}

func (s *site) showPresent(show http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("at") == "":
			show(w, r)
		case isForProgram(r.URL.Path):
			s.refuse(http.StatusBadRequest, presentAlone, pastHint)(w, r)
		default:
			s.writePage(w, r, http.StatusBadRequest, page.Missing{Heading: headingOf(http.StatusBadRequest), Error: presentAlone, Hint: pastHint, Present: strings.TrimPrefix(withoutPast(r.URL), "/")})
		}
	}
}
