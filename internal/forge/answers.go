package forge

import (
	"net/http"
	"slices"
	"sync"
)

// answerCache stores answers with an ETag: a "not modified" does not count against the rate limit.
type answerCache struct {
	mu      sync.Mutex
	entries map[string]storedAnswer
	order   []string // keys, oldest first
	size    int      // of the bodies, in bytes
}

type storedAnswer struct {
	header http.Header
	body   []byte
}

const maxCachedBytes = 16 << 20

func answerKey(req *http.Request) string { return req.URL.String() + "\n" + req.Header.Get("Accept") }

func (a *answerCache) get(req *http.Request) (storedAnswer, bool) {
	if req.Method != http.MethodGet {
		return storedAnswer{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.entries[answerKey(req)]
	return found, ok
}

func (a *answerCache) put(req *http.Request, answer *http.Response, body []byte) {
	if req.Method != http.MethodGet || answer.StatusCode != http.StatusOK || answer.Header.Get("ETag") == "" || len(body) > maxCachedBytes {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := answerKey(req)
	a.remove(key)
	for a.size+len(body) > maxCachedBytes {
		a.remove(a.order[0])
	}
	if a.entries == nil {
		a.entries = map[string]storedAnswer{}
	}
	a.entries[key] = storedAnswer{answer.Header.Clone(), body}
	a.order = append(a.order, key)
	a.size += len(body)
}

// The caller of remove holds the lock.
func (a *answerCache) remove(key string) {
	old, ok := a.entries[key]
	if !ok {
		return
	}
	a.size -= len(old.body)
	delete(a.entries, key)
	a.order = slices.DeleteFunc(a.order, func(k string) bool { return k == key })
}
