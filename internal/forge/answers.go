package forge

import (
	"net/http"
	"slices"
	"sync"
)

// answers are answers that have an ETag, so that a forge needs to say only that
// nothing changed, which does not count against the rate limit.
type answers struct {
	mu    sync.Mutex
	of    map[string]storedAnswer
	order []string // of the keys; the oldest is forgotten first
	size  int      // of the bodies, in bytes
}

type storedAnswer struct {
	header http.Header
	body   []byte
}

// maxKnown bounds the bodies that are kept, in bytes.
const maxKnown = 16 << 20

func answerKey(req *http.Request) string { return req.URL.String() + "\n" + req.Header.Get("Accept") }

func (a *answers) find(req *http.Request) (storedAnswer, bool) {
	if req.Method != http.MethodGet {
		return storedAnswer{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.of[answerKey(req)]
	return found, ok
}

func (a *answers) keep(req *http.Request, answer *http.Response, body []byte) {
	if req.Method != http.MethodGet || answer.StatusCode != http.StatusOK || answer.Header.Get("ETag") == "" || len(body) > maxKnown {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := answerKey(req)
	a.forget(key)
	for a.size+len(body) > maxKnown {
		a.forget(a.order[0])
	}
	if a.of == nil {
		a.of = map[string]storedAnswer{}
	}
	a.of[key] = storedAnswer{answer.Header.Clone(), body}
	a.order = append(a.order, key)
	a.size += len(body)
}

// forget forgets an answer. The caller holds the lock.
func (a *answers) forget(key string) {
	old, ok := a.of[key]
	if !ok {
		return
	}
	a.size -= len(old.body)
	delete(a.of, key)
	a.order = slices.DeleteFunc(a.order, func(k string) bool { return k == key })
}
