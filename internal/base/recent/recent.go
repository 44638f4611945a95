// Package recent has a map that forgets what nobody has used for a while.
//
// What the package keeps true: what was used since the last turn but one is known, and
// nothing else is, so that a map is as large as what is in use and not as what ever was.
package recent

// Map is a map of two generations. The zero Map is ready; it is not for concurrent use.
type Map[K comparable, V any] struct {
	young, old map[K]V
}

// Find returns the value of a key, which is used by that.
func (m *Map[K, V]) Find(key K) (value V, ok bool) {
	if value, ok = m.young[key]; ok {
		return value, true
	}
	if value, ok = m.old[key]; ok {
		m.Put(key, value)
	}
	return value, ok
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, value V) {
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[key] = value
}

// Turn begins a generation: what was not used in the one that ends is forgotten.
func (m *Map[K, V]) Turn() { m.old, m.young = m.young, nil }

// Len returns how many keys were used in this generation.
func (m *Map[K, V]) Len() int { return len(m.young) }
