// Package recent provides a map that drops entries that were not used lately.
//
// What the package keeps true: a map has exactly the entries used since the last rotation but one.
package recent

// Map is a map of two generations. The zero value is ready to use. It is not safe for concurrent
// use.
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

// Rotate drops entries that were not used since the previous call.
func (m *Map[K, V]) Rotate() { m.old, m.young = m.young, nil }

// Len returns the number of keys used since the last rotation.
func (m *Map[K, V]) Len() int { return len(m.young) }
