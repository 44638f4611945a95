package webhook

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// maxRemembered is how many deliveries are remembered, and memorySpan how long. After
	// that a repeated one wakes the loop again, as one that is redelivered by hand
	// should.
	maxRemembered    = 4096
	maxRememberedAge = time.Hour
)

// key is a digest of what identifies a delivery, so that all keys are of one size.
type key [sha256.Size]byte

// deliveryKeys returns the keys of a delivery: of its body, and of the forge's id for it. The id
// is not signed: if it were the only key, a delivery could be sent again with another.
func deliveryKeys(forge, id string, body []byte) []key {
	all := []key{deliveryDigest(forge, "body", body)}
	if id != "" {
		all = append(all, deliveryDigest(forge, "id", []byte(id)))
	}
	return all
}

func deliveryDigest(forge, what string, data []byte) key {
	h := sha256.New()
	h.Write([]byte(forge + "\x00" + what + "\x00"))
	h.Write(data)
	return key(h.Sum(nil))
}

// deliveryLog holds the recent deliveries that woke the loop.
type deliveryLog struct {
	mu    sync.Mutex
	known map[key]bool
	order []delivery // the oldest first
}

type delivery struct {
	received time.Time
	keys     []key
}

func newDeliveryLog() *deliveryLog { return &deliveryLog{known: map[key]bool{}} }

// addNew remembers a delivery and reports whether none of its keys was known. Of concurrent
// callers with the same delivery exactly one gets true.
func (m *deliveryLog) addNew(now time.Time, keys ...key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) > 0 && now.Sub(m.order[0].received) >= maxRememberedAge {
		m.forgetOldest()
	}
	for _, k := range keys {
		if m.known[k] {
			return false
		}
	}
	if len(m.order) >= maxRemembered {
		m.forgetOldest()
	}
	for _, k := range keys {
		m.known[k] = true
	}
	m.order = append(m.order, delivery{now, keys})
	return true
}

// forgetOldest removes the oldest delivery. No other has its keys, or it would not be new.
func (m *deliveryLog) forgetOldest() {
	for _, k := range m.order[0].keys {
		delete(m.known, k)
	}
	m.order = m.order[1:]
}
