package daemon

import (
	"testing"
	"time"
)

// TestPageRefresh: the page follows the daemon, that of a demo within two seconds.
func TestPageRefresh(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		time.Second: 2 * time.Second, 10 * time.Second: 10 * time.Second, time.Hour: 30 * time.Second, 0: 30 * time.Second,
	} {
		if got := pageRefresh(interval); got != want {
			t.Errorf("with an interval of %s the page refreshes every %s, want %s", interval, got, want)
		}
	}
}
