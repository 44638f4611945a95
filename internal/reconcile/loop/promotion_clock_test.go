package loop_test

import (
	"strings"
	"testing"
	"time"
)

// TestForgeClockBehind: on a forge whose clock is behind, each status is set once, soaking ends, and
// the commit goes on. A daemon that begins again sets them once more, and not in each cycle.
func TestForgeClockBehind(t *testing.T) {
	h := newHub(t, "    - {name: dev, proof: [merged, soak: 10m]}\n    - {name: stage, after: [dev]}\n", "dev", "stage")
	h.fake.Now = func() time.Time { return h.now.Add(-6 * time.Hour) }
	posts := func() (n int) {
		for _, r := range h.fake.Requests() {
			if r.Method == "POST" && strings.Contains(r.Path, "/statuses/") {
				n++
			}
		}
		return n
	}
	first := h.changeNow(1)
	h.looks(3, time.Minute)
	h.fake.Merge(githubOut, h.state("dev").Pull.Number, false)
	h.looks(3, time.Minute)
	before := posts()
	h.looks(4, time.Minute)
	if n := posts() - before; n != 0 {
		t.Errorf("%d statuses are set in cycles in which nothing happens:\n%s", n, h.said(first))
	}
	h.Close()
	h.daemon = h.begin(h.data)
	h.looks(2, time.Minute)
	before = posts()
	h.looks(6, time.Minute)
	if n := posts() - before; n != 0 {
		t.Errorf("after another start, %d statuses are set in cycles in which nothing happens:\n%s", n, h.said(first))
	}
	h.looks(6, time.Minute)
	h.wantLine(map[string]string{first: "1"}, "dev=1 stage=1")
}
