package webhook

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// maxRemembered and maxRememberedAge bound the remembered deliveries. Later, a repeated
	// delivery wakes the loop again, such as a manual redelivery.
	maxRemembered    = 4096
	maxRememberedAge = time.Hour
)

// key is a digest, so that all keys have one size.
type key [sha256.Size]byte

// deliveryKeys returns keys of the body and of the forge's id. The id is not signed: alone, it
// would permit replays with another id.
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

type deliveryLog struct {
	mu    sync.Mutex
	known map[key]bool
	order []delivery // oldest first
}

type delivery struct {
	received time.Time
	keys     []key
}

func newDeliveryLog() *deliveryLog { return &deliveryLog{known: map[key]bool{}} }

// addNew remembers a delivery, and returns true for exactly one caller with any of its keys.
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

func (m *deliveryLog) forgetOldest() {
	for _, k := range m.order[0].keys {
		delete(m.known, k)
	}
	m.order = m.order[1:]
}
