// Package recent provides a map that drops entries that were not used lately.
//
// What the package keeps true: a map holds what was used since the last rotation but one, and
// nothing else, so that its size follows what is in use.
package recent

// Map is a map of two generations. The zero Map is ready; it is not for concurrent use.
type Map[K comparable, V any] struct {
	young, old map[K]V
}

// Find returns the value of a key and marks it as used.
func (m *Map[K, V]) Find(key K) (value V, ok bool) {
	value, ok = m.young[key]
	if ok {
		return value, true
	}
	value, ok = m.old[key]
	if ok {
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

// Rotate begins a generation and drops what was not used in the one that ends.
func (m *Map[K, V]) Rotate() { m.old, m.young = m.young, nil }

// Len returns how many keys were used in this generation.
func (m *Map[K, V]) Len() int { return len(m.young) }
