package webhook

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// remembered is how many deliveries are remembered, and memorySpan how long. After
	// that a repeated one wakes the loop again, as one that is redelivered by hand
	// should.
	remembered = 4096
	memorySpan = time.Hour
)

// key is a digest of what identifies a delivery, so that all keys are of one size.
type key [sha256.Size]byte

// keys returns the keys of a delivery: of its body, and of the forge's id for it. The id
// is not signed: if it were the only key, a delivery could be sent again with another.
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

// memory holds the recent deliveries that woke the loop.
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

// isNew remembers a delivery and reports whether none of its keys was known. Of concurrent
// callers with the same delivery exactly one gets true.
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

// forget removes the oldest delivery. No other has its keys, or it would not be new.
func (m *memory) forget() {
	for _, k := range m.order[0].keys {
		delete(m.all, k)
	}
	m.order = m.order[1:]
}
