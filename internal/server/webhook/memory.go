package webhook

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// remembered is how many deliveries are remembered, and memorySpan how long. After
	// that a repeated one wakes the loop again, as one that somebody sends again by
	// hand should.
	remembered = 4096
	memorySpan = time.Hour
)

// key is a digest of what a delivery is known by, so that all are equally large.
type key [sha256.Size]byte

// keys gives what a delivery is known by: the forge's id for it, and the body. The id
// is not signed, so it alone could be changed to send a delivery twice.
func keys(forge, id string, body []byte) []key {
	all := []key{digest(forge, "body", body)}
	if id != "" {
		all = append(all, digest(forge, "id", []byte(id)))
	}
	return all
}

func digest(forge, what string, data []byte) key {
	h := sha256.New()
	h.Write([]byte(forge + "\x00" + what + "\x00"))
	h.Write(data)
	return key(h.Sum(nil))
}

// memory knows the deliveries that woke the loop lately.
type memory struct {
	mu    sync.Mutex
	all   map[key]bool
	order []delivery // the oldest first
}

type delivery struct {
	at   time.Time
	keys []key
}

func newMemory() *memory { return &memory{all: map[key]bool{}} }

// isNew reports whether a delivery is known by none of its keys, and remembers it. Of
// many callers at once with the same delivery one is told that it is.
func (m *memory) isNew(now time.Time, keys ...key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) > 0 && now.Sub(m.order[0].at) >= memorySpan {
		m.forget()
	}
	for _, k := range keys {
		if m.all[k] {
			return false
		}
	}
	if len(m.order) >= remembered {
		m.forget()
	}
	for _, k := range keys {
		m.all[k] = true
	}
	m.order = append(m.order, delivery{now, keys})
	return true
}

// forget removes the oldest delivery. No other has its keys, or it were not new.
func (m *memory) forget() {
	for _, k := range m.order[0].keys {
		delete(m.all, k)
	}
	m.order = m.order[1:]
}
