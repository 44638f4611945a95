package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// maxStreams is how many pages may follow the state at once.
	maxStreams = 4000
	// streamPace is the least time between two looks at a page, and streamBeat the most.
	streamPace, streamBeat = time.Second, 20 * time.Second
	// streamTimeout is how long a reader may take for an event before it is cut off.
	streamTimeout = 10 * time.Second
)

// streams counts the pages that follow the state. The zero value is ready.
type streams struct{ open atomic.Int64 }

// serveEvents tells a page when there is another version of it: the page then fetches itself. An event
// that is lost costs nothing, for the next one says the same.
func (s *site) serveEvents(w http.ResponseWriter, r *http.Request) {
	target, err := url.Parse(r.URL.Query().Get("page"))
	if err != nil || !strings.HasPrefix(target.Path, "/") || target.Host != "" || s.isWork(target) {
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{"the query names no page", "name its path, as in /events?page=/environments"})
		return
	}
	if s.streams.open.Add(1) > maxStreams {
		s.streams.open.Add(-1)
		s.refuseForNow(w, r, http.StatusServiceUnavailable, 30*time.Second, fmt.Sprintf("%d pages follow the state, which is the most", maxStreams))
		return
	}
	defer s.streams.open.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // so that proxies pass each event on
	if r.Method == http.MethodHead {
		return
	}
	s.followPage(w, r, target)
}

func (s *site) isWork(target *url.URL) bool {
	q := s.find(target)
	return q.row != nil && q.row.isWork
}

// followPage writes an event for each version of a page, and a comment where there is none for long, until
// the reader has gone, or the server ends.
func (s *site) followPage(w http.ResponseWriter, r *http.Request, target *url.URL) {
	out := http.NewResponseController(w)
	last := ""
	for {
		state, changed := s.options.Store.Version()
		p, err := s.loadPage(r.Context(), target, readView(r), state)
		event := ": beat\n\n"
		if err == nil && p.version != last {
			last, event = p.version, "event: version\ndata: "+p.version+"\n\n"
		}
		if err := writeEvent(w, out, event, s.options.StreamTimeout); err != nil {
			return
		}
		if !waitForChange(r, changed, s.options.StreamPace) {
			return
		}
	}
}

// writeEvent writes an event at once. It is an error if the reader does not take it in time.
func writeEvent(w http.ResponseWriter, out *http.ResponseController, event string, timeout time.Duration) error {
	err := out.SetWriteDeadline(time.Now().Add(timeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err = w.Write([]byte(event))
	if err != nil {
		return err
	}
	return out.Flush()
}

// waitForChange waits for a change of the state or for the next beat, but at least as long as pace says. It
// reports whether there is a reader then.
func waitForChange(r *http.Request, changed <-chan struct{}, pace time.Duration) bool {
	ended, _ := r.Context().Value(serverEnds{}).(<-chan struct{})
	paced, beat := time.NewTimer(pace), time.NewTimer(streamBeat)
	defer paced.Stop()
	defer beat.Stop()
	for isPaced := false; ; {
		wake := changed
		if !isPaced {
			wake = nil
		}
		select {
		case <-paced.C:
			isPaced = true
		case <-wake:
			return true
		case <-beat.C:
			return true
		case <-r.Context().Done():
			return false
		case <-ended:
			return false
		}
	}
}
