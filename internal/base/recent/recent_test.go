package recent_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/recent"
)

// TestMap: what is used in each generation stays, and what is used in none is gone with the
// second turn.
func TestMap(t *testing.T) {
	var m recent.Map[string, int]
	if _, ok := m.Find("used"); ok || m.Len() != 0 {
		t.Error("something is in an empty map")
	}
	m.Put("used", 1)
	m.Put("unused", 2)
	for turn := range 5 {
		m.Rotate()
		if v, ok := m.Find("used"); !ok || v != 1 || m.Len() != 1 {
			t.Errorf("turn %d: what is used is %d (%v), of %d", turn, v, ok, m.Len())
		}
	}
	if _, ok := m.Find("unused"); ok {
		t.Error("what nobody used is still there")
	}
	m.Put("late", 3)
	m.Rotate()
	if v, ok := m.Find("late"); !ok || v != 3 {
		t.Error("what was put before one turn is gone")
	}
	m.Put("late", 4)
	if v, _ := m.Find("late"); v != 4 {
		t.Errorf("what was put last is %d", v)
	}
}
