package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
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

// TestSoakBefore: a soak among the gates of an environment is over once the environments before it have run the
// commit for so long, and one of the first environment is a mistake.
func TestSoakBefore(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: [merged]}\n    - {name: stage, after: [dev], merge: direct, gates: [soak: 30m], proof: [merged]}\n", "dev", "stage")
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	d.wantNext("stage", promote.Waiting, "it soaks for 30m, until")
	d.pass(30 * time.Minute)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=1")
	w.edit("main", promotionFile, "{name: dev, merge: direct, proof: [merged]}", "{name: dev, merge: direct, gates: [soak: 1h]}")
	d.pass(time.Minute)
	if all := fmt.Sprint(d.store.Snapshot().Chain.Problems); !strings.Contains(all, "no environment comes before dev, in which a commit could soak") {
		t.Errorf("the problems are %s", all)
	}
}

// TestDeployedSince: clusters run what an environment goes back to since they run it, where the commit between was
// never merged.
func TestDeployedSince(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: manual, proof: [merged]}\n", "dev")
	first := w.changeNow(1)
	d := w.begin(w.data)
	d.settle("dev")
	w.merge("dev")
	d.settle("dev")
	since := d.stage("dev").Deployed
	d.pass(time.Hour)
	w.changeNow(2)
	d.settle("dev")
	if s := d.stage("dev"); since.IsZero() || s.Commit == first || s.Merged {
		t.Fatalf("dev has %+v, and ran the first since %s", s, since)
	}
	if _, err := w.openActions().Rollback(t.Context(), actions.Rollback{Environment: "dev", Reason: "slow"}); err != nil {
		t.Fatal(err)
	}
	d.settle("dev")
	if s := d.stage("dev"); s.Commit != first || !s.Deployed.Equal(since) {
		t.Errorf("dev has %s, deployed at %s, want %s, deployed at %s", s.Commit, s.Deployed, first, since)
	}
}
