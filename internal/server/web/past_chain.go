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

// commitsPath is the path of the commits of the base.
const commitsPath = "/commits"

// hasChain reports whether the page at a path is about all environments at one time: then a commit stands for when it was
// made, or merged.
func hasChain(path string) bool {
	return path == "/" || path == "/overview" || path == commitsPath || path == historyPath || isCommit(path)
}

// isCommit reports whether a path is that of one commit.
func isCommit(path string) bool {
	id, isOne := strings.CutPrefix(path, commitsPath+"/")
	return isOne && !strings.Contains(id, "/")
}

// chainCache keeps the chain of the time that was asked about last, which several pages are about. The zero value is ready.
type chainCache struct {
	mu      sync.Mutex
	key     string
	chain   status.Chain
	outputs []history.Output
}

// loadChain returns how far commits had been promoted at a time, and the outputs of then.
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
func (s *site) findThen(ctx context.Context, src answer.Source, path string, query url.Values) found {
	place, refusal, refused := s.readPlace(src, "", query.Get("at"))
	if refused {
		return refusal
	}
	if path == historyPath && !place.At.Time.IsZero() {
		return s.findHistory(ctx, src, query)
	}
	key := path + "?" + query.Encode() + s.keyOf(place.At)
	return s.findMade(ctx, path, key, func(ctx context.Context) found { return s.makeThen(ctx, src, path, query, place.At) })
}

func (s *site) makeThen(ctx context.Context, src answer.Source, path string, query url.Values, at history.Moment) found {
	if at.Time.IsZero() {
		when, err := s.options.Past.Time(ctx, at)
		if err != nil {
			return s.refuseAnswer(ctx, path, err)
		}
		asked := maps.Clone(query)
		asked.Set("at", when.UTC().Format(time.RFC3339))
		return found{nil, http.StatusFound, strings.TrimPrefix(path, "/") + "?" + asked.Encode()}
	}
	chain, outputs, err := s.loadChain(ctx, at)
	if err != nil {
		return s.refuseAnswer(ctx, path, err)
	}
	then := s.addThen(ctx, src, at.Time).WithChain(query.Get("at"), chain, outputs)
	if path == commitsPath || isCommit(path) {
		f := findAnswer(then, path, query)
		if f.redirect != "" {
			f.redirect += "?" + query.Encode()
		}
		return f
	}
	return found{then.PastOverview(), http.StatusOK, ""}
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

// showPresent returns what shows a page that has no past, and refuses a moment.
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
