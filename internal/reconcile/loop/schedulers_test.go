package loop_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// serveScheduler starts a scheduler that puts all units on the cluster type that answer returns, and fails for "".
func (w *world) serveScheduler(answer func() string) {
	w.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var r schedule.Request
		to := answer()
		if err := json.NewDecoder(req.Body).Decode(&r); err != nil || to == "" {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		a := schedule.Answer{Version: r.Version, Question: r.Question}
		for _, u := range r.Units {
			a.Units = append(a.Units, schedule.AnsweredUnit{Name: u.Name, ClusterTypes: []string{to}})
		}
		if err := json.NewEncoder(rw).Encode(a); err != nil {
			w.Error(err)
		}
	}))
	w.Cleanup(server.Close)
	w.more += "schedulers: [{name: acme, url: \"" + server.URL + "\"}]\n"
}

// TestSchedulerDecides: what an external scheduler answers is in Git, with who said it, before it is rendered; while
// the scheduler is down, and when it changes its mind, nothing moves.
func TestSchedulerDecides(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	var to atomic.Value
	to.Store("")
	w.serveScheduler(func() string { return to.Load().(string) })
	w.chooses("dev", "{pick: 1, by: acme}")
	d := w.begin(w.data)
	d.cycle()
	problems := d.state("dev").Problems
	if w.decision("dev") != "" || !slices.ContainsFunc(d.state("dev").Problems, func(p problem.Problem) bool { return strings.Contains(p.Summary, "does not answer") }) {
		t.Fatalf("the decision is %q, and the problems are %v", w.decision("dev"), problems)
	}
	to.Store("edge")
	d.now = d.now.Add(time.Minute)
	d.cycle()
	decided := w.decision("dev")
	if !strings.Contains(decided, "by: acme") || !strings.Contains(decided, "hello-web: [edge]") || !strings.Contains(decided, "of: sha256:") {
		t.Fatalf("the decision is\n%s\n%s", decided, d.logs.String())
	}
	d.want(map[string]status.State{"dev": status.Proposed})
	head := w.head("cp", "dev")
	for _, answer := range []string{"cloud", ""} {
		to.Store(answer)
		d.now = d.now.Add(time.Hour)
		d.cycle()
		w.edit("dev", "cluster-types/cloud.yaml", "  name: cloud\n", "  name: cloud\n  annotations: {note: \"x"+answer+"\"}\n")
		d.cycle()
		if w.decision("dev") != decided {
			t.Errorf("the decision is\n%s", w.decision("dev"))
		}
	}
	if n := w.countSince(head); n != "2" { // those of the people
		t.Errorf("there are %s commits", n)
	}
}

// TestSchedulerKilled: a daemon that is killed between the answer and the commit asks again, and makes the same commit.
func TestSchedulerKilled(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	var asked atomic.Int64
	w.serveScheduler(func() string { asked.Add(1); return "edge" })
	w.chooses("dev", "{pick: 1, by: acme}")
	w.more += "parallel: 1\n"
	before := w.save()
	w.life(w.data)
	want := w.outcome()
	decided := w.head(w.cp(), "dev")
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	steps := w.killAtEveryStep(before, w.beginAgain(want))
	asks, decides := slices.Index(steps, "ask the scheduler acme"), slices.Index(steps, "commit to dev")
	if asks < 0 || asks > decides || w.head(w.cp(), "dev") != decided {
		t.Errorf("the steps are %q", steps)
	}
}
