package recorder_test

import (
	"testing"
	"time"
)

// TestPace: agents are asked to report half as often while what is known is not stored, but not less often
// than they mean to, or every five minutes.
func TestPace(t *testing.T) {
	r := newRig(t, newSQLiteStore)
	r.open()
	r.report("e1", "ready", "A")
	ask := func(what string, wants ...time.Duration) {
		t.Helper()
		for i, every := range []time.Duration{time.Minute, 4 * time.Minute, time.Hour} {
			if got := r.recorder.FindPace(every); got != wants[i]*time.Minute {
				t.Errorf("%s: every %s becomes %s, want %d minutes", what, every, got, wants[i])
			}
		}
	}
	flush := func() {
		if err := r.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	ask("all is stored", 1, 4, 60)
	r.now = r.now.Add(2 * time.Second)
	ask("after 2 seconds", 1, 4, 60)
	r.now = r.now.Add(time.Second)
	ask("after 3 seconds", 2, 5, 60)
	r.store.goAway()
	r.report("e1", "ready", "B")
	if r.recorder.Flush(t.Context()) == nil {
		t.Error("what cannot be written was")
	}
	ask("the store is away", 2, 5, 60)
	r.store.comeBack()
	flush()
	ask("it is back", 1, 4, 60)
}
