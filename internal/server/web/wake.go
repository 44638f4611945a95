package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/page"
)

// wakePath is where a page sends that the next cycle is to start now, and wakePace how often it does.
const (
	wakePath = "/wake"
	wakePace = 5 * time.Second
)

// wakeLimit bounds how often people start cycles. The zero value is ready.
type wakeLimit struct {
	mu   sync.Mutex
	last time.Time
}

func (l *wakeLimit) admit(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last) < wakePace {
		return false
	}
	l.last = now
	return true
}

func (s *site) serveWakeForm(w http.ResponseWriter, r *http.Request) {
	if !s.woken.admit(s.options.Now()) {
		w.Header().Set("Retry-After", "5")
		s.writePage(w, r, http.StatusTooManyRequests, page.Refused{Error: "a cycle was started less than 5 seconds ago", Hint: "it finds the same"})
		return
	}
	s.options.Wake()
	w.Header().Set("Location", "./health")
	w.WriteHeader(http.StatusSeeOther)
}
