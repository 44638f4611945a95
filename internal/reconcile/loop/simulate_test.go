package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
)

// TestSimulationWritesNothing: a daemon that may write neither sets a status nor runs a workflow for a
// simulation, though the next cycle does both.
func TestSimulationWritesNothing(t *testing.T) {
	h := newHub(t, "    - {name: dev, proof: [rollout, dispatch: {workflow: smoke.yaml}]}\n    - {name: stage, after: [dev], merge: direct}\n", "dev", "stage")
	commit := h.changeNow(1)
	h.looks(3, time.Minute)
	h.fake.Merge(githubOut, h.state("dev").Pull.Number, false)
	h.looks(2, time.Minute)
	h.flux("dev", "success", "reconciled")
	said, asked, written := h.said(commit), len(h.fake.Requests()), h.fake.Writes()
	arrivals, err := h.Simulate(t.Context(), commit)
	if err != nil || len(arrivals) != 2 || arrivals[0].State != promote.ArrivalHas || arrivals[1].State != promote.ArrivalWaits || !strings.Contains(arrivals[1].Reason, "smoke.yaml") {
		t.Errorf("arrivals %+v (%v)", arrivals, err)
	}
	calls := h.fake.Requests()[asked:]
	if len(calls) == 0 || h.fake.Writes() != written || h.said(commit) != said {
		t.Errorf("it called %+v, and of the commit is said\n%s", calls, h.said(commit))
	}
	h.looks(2, 20*time.Minute)
	if h.fake.Writes() == written || h.run(commit) == 0 {
		t.Error("the next cycle has not run the workflow")
	}
}

// TestSimulationOfPassedCommit: a commit that is older than those of all environments is on the base's branch
// all the same; an environment whose pull request was superseded before a person merged it has left the commit out.
func TestSimulationOfPassedCommit(t *testing.T) {
	h := newHub(t, "    - {name: dev, merge: direct}\n    - {name: test}\n", "dev", "test")
	passed := h.changeNow(1)
	h.looks(3, time.Minute)
	h.changeNow(2)
	h.looks(3, time.Minute)
	h.fake.Merge(githubOut, h.state("test").Pull.Number, false)
	h.looks(2, time.Minute)
	arrivals, err := h.Simulate(t.Context(), passed)
	if err != nil || len(arrivals) != 2 || arrivals[0].State != promote.ArrivalReached || arrivals[1].State != promote.ArrivalLeftOut || !arrivals[1].Time.IsZero() {
		t.Errorf("arrivals %+v (%v)", arrivals, err)
	}
}

// TestSimulationTurn: a simulation before the first cycle is refused, and one that is asked for during a
// cycle waits for its end, or for that of who asks.
func TestSimulationTurn(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two("queue: latest"), "dev", "stage")
	answers := make(chan error, 1)
	var d *daemon
	simulated := false
	d = w.begin(w.data, func(o *loop.Options) {
		o.BeforeWork = func(work, _ string) {
			if simulated || work != "promote" {
				return
			}
			simulated = true
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := d.Simulate(ended, "main"); !errors.Is(err, context.Canceled) {
				t.Errorf("who has gone gets %v", err)
			}
			go func() {
				_, err := d.Simulate(t.Context(), "main")
				answers <- err
			}()
		}
	})
	if _, err := d.Simulate(t.Context(), "main"); !errors.Is(err, loop.ErrNotRead) {
		t.Errorf("before the first cycle: %v", err)
	}
	d.pass(time.Minute)
	if err := <-answers; err != nil || !simulated {
		t.Errorf("after the cycle: %v", err)
	}
}
