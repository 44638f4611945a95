package observe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// actions is a forge that runs workflows, as far as Runs looks at it.
type actions struct {
	t      *testing.T
	now    time.Time
	said   []forge.CommitStatus
	runs   []forge.Run
	log    []string
	broken map[string]error // by "status", "dispatch" or "runs"
	lazy   bool             // what is dispatched does not appear
}

func (a *actions) SetStatus(_ context.Context, on string, s forge.Status) error {
	if err := a.broken["status"]; err != nil {
		return err
	}
	if on != commit || len(s.Context) > 100 {
		a.t.Errorf("the status %q is set on %s", s.Context, on)
	}
	text, _, _ := strings.Cut(s.Description, ", claim ")
	a.log = append(a.log, strings.TrimSpace(fmt.Sprintf("%s: %s %s", s.Outcome, text, s.URL)))
	a.said = slices.DeleteFunc(a.said, func(o forge.CommitStatus) bool { return o.Context == s.Context })
	a.said = append(a.said, forge.CommitStatus{Context: s.Context, Outcome: s.Outcome, Description: s.Description, URL: s.URL, Time: a.now})
	return nil
}

func (a *actions) DispatchWorkflow(_ context.Context, w forge.Workflow) error {
	if err := a.broken["dispatch"]; err != nil {
		return err
	}
	a.log = append(a.log, fmt.Sprintf("dispatch %s at %s %v", w.Name, w.Ref, w.Inputs))
	if !a.lazy {
		a.start("smoke")
	}
	return nil
}

// start has a run begin now.
func (a *actions) start(title string) {
	id := fmt.Sprint(len(a.runs) + 1)
	run := forge.Run{ID: id, Title: title, Outcome: forge.Pending, Started: a.now, URL: "https://f/runs/" + id}
	a.runs = slices.Insert(a.runs, 0, run) // the newest first
}

// end has a run end.
func (a *actions) end(id string, o forge.Outcome, reason string) {
	for i := range a.runs {
		if a.runs[i].ID == id {
			a.runs[i].Outcome, a.runs[i].Reason = o, reason
		}
	}
}

func (a *actions) WorkflowRuns(_ context.Context, _ forge.Workflow, since time.Time) ([]forge.Run, error) {
	if err := a.broken["runs"]; err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(a.runs), func(r forge.Run) bool { return r.Started.Before(since) }), nil
}

var need = gate.Need{Key: "dispatch stage smoke", Kind: gate.Dispatch, Workflow: "smoke.yaml", Inputs: map[string]string{"environment": "stage"}}

// look does one step, some time later, and gives what came of it.
func (a *actions) look(later time.Duration) string {
	a.now = a.now.Add(later)
	r := observe.WorkflowRunner{Dispatcher: a, SetStatus: a.SetStatus, Branch: "main"}
	got := r.Advance(context.Background(), commit, need, a.said, a.now)
	return strings.TrimSpace(fmt.Sprintf("%s @%d %s %s", got.Outcome, int(got.Time.Sub(noon).Seconds()), got.URL, got.Reason))
}

func newActions(t *testing.T) *actions {
	return &actions{t: t, now: noon, broken: map[string]error{}}
}

const dispatched = "dispatch smoke.yaml at main map[environment:stage]"

// TestRun follows workflows from look to look.
func TestRun(t *testing.T) {
	const at1, at2 = "https://f/runs/1", "https://f/runs/2"
	type look struct {
		do    func(a *actions)
		later time.Duration
		want  string
	}
	nothing := func(*actions) {}
	end := func(o forge.Outcome, reason string) func(*actions) { return func(a *actions) { a.end("1", o, reason) } }
	breaks := func(what string) func(*actions) {
		return func(a *actions) { a.broken[what] = errors.New("it says no") }
	}
	works := func(what string) func(*actions) { return func(a *actions) { delete(a.broken, what) } }
	lazy := func(a *actions) { a.lazy = true }
	for _, c := range []struct {
		name  string
		looks []look
		log   []string
	}{
		{"success", []look{
			{nothing, 0, "pending @0"},
			{nothing, time.Minute, "pending @0 " + at1},
			{nothing, time.Hour, "pending @60 " + at1},
			{end(forge.Success, "success"), time.Minute, "success @60 " + at1},
			{breaks("runs"), time.Hour, "success @3720 " + at1},
		}, []string{"pending: Dispatched smoke.yaml", dispatched, "pending: Running smoke.yaml " + at1, "success: smoke.yaml succeeded " + at1}},
		{"failure", []look{
			{nothing, 0, "pending @0"},
			{end(forge.Failure, "timed_out"), time.Minute, "failure @0 " + at1 + " timed_out"},
			{end(forge.Success, "success"), time.Minute, "failure @60 " + at1 + " timed_out"},
		}, []string{"pending: Dispatched smoke.yaml", dispatched, "failure: smoke.yaml failed: timed_out " + at1}},
		{"it does not appear", []look{
			{lazy, 0, "pending @0"},
			{nothing, 119 * time.Second, "pending @0  its run has not appeared yet"},
			{nothing, time.Second, "pending @120"},
			{nothing, 119 * time.Second, "pending @120  its run has not appeared yet"},
			{func(a *actions) { a.lazy = false }, time.Second, "pending @240"},
			{nothing, time.Second, "pending @240 " + at1},
		}, []string{
			"pending: Dispatched smoke.yaml", dispatched, "pending: Dispatched smoke.yaml (2)", dispatched,
			"pending: Dispatched smoke.yaml (3)", dispatched, "pending: Running smoke.yaml " + at1,
		}},
		{"it cannot be written down", []look{
			{breaks("status"), 0, "@0  it could not be written on the commit: it says no"},
			{works("status"), time.Second, "pending @1"},
		}, []string{"pending: Dispatched smoke.yaml", dispatched}},
		{"it cannot be dispatched", []look{
			{breaks("dispatch"), 0, "@0  it says no"},
			{nothing, time.Minute, "@0  it says no"},
			{nothing, time.Minute, "@120  it says no"},
			{works("dispatch"), time.Minute, "@120  it says no"},
			{nothing, time.Minute, "pending @240"},
			{nothing, time.Second, "pending @240 " + at1},
		}, []string{
			"pending: Dispatched smoke.yaml", "pending: Not started: (1) it says no", "pending: Dispatched smoke.yaml (2)",
			"pending: Not started: (2) it says no", "pending: Dispatched smoke.yaml (3)", dispatched, "pending: Running smoke.yaml " + at1,
		}},
		{"it only seemed not to be dispatched", []look{
			{breaks("dispatch"), 0, "@0  it says no"},
			{func(a *actions) { a.start("smoke") }, time.Second, "pending @0 " + at1},
		}, []string{"pending: Dispatched smoke.yaml", "pending: Not started: (1) it says no", "pending: Running smoke.yaml " + at1}},
		{"runs cannot be read", []look{
			{nothing, 0, "pending @0"},
			{breaks("runs"), time.Hour, "pending @0  its run cannot be looked for: it says no"},
		}, []string{"pending: Dispatched smoke.yaml", dispatched}},
		{"the end cannot be written down", []look{
			{nothing, 0, "pending @0"},
			{end(forge.Success, ""), 0, "success @0 " + at1},
			{func(a *actions) { a.said[0].Outcome = forge.Pending; breaks("status")(a) }, time.Second, "pending @0 " + at1 + " how it fares could not be written on the commit: it says no"},
			{works("status"), time.Second, "success @0 " + at1},
		}, []string{"pending: Dispatched smoke.yaml", dispatched, "success: smoke.yaml succeeded " + at1, "success: smoke.yaml succeeded " + at1}},
		{"its run is removed", []look{
			{nothing, 0, "pending @0"},
			{nothing, time.Second, "pending @0 " + at1},
			{func(a *actions) { a.runs = nil; a.start("x"); a.start("x") }, time.Hour, "pending @1 " + at1},
			{func(a *actions) { a.runs = a.runs[:1] }, time.Hour, "pending @1 " + at1 + " its run is no longer there"},
		}, []string{"pending: Dispatched smoke.yaml", dispatched, "pending: Running smoke.yaml " + at1}},
		{"others run it too", []look{
			{func(a *actions) { a.start("before"); a.now = a.now.Add(time.Second) }, 0, "pending @1"},
			{func(a *actions) { a.start("after") }, time.Second, "pending @1 " + at2},
		}, []string{"pending: Dispatched smoke.yaml", dispatched, "pending: Running smoke.yaml " + at2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newActions(t)
			for i, l := range c.looks {
				l.do(a)
				if got := a.look(l.later); got != l.want {
					t.Errorf("look %d: %s, want %s", i+1, got, l.want)
				}
			}
			if diff := cmp.Diff(c.log, a.log); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWhichRun: of several runs it is the one that says so, or else the oldest that
// nobody else has.
func TestWhichRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		titles []string // the oldest first
		others []string // the runs of other statuses
		want   string
	}{
		{"the oldest", []string{"smoke", "smoke"}, nil, "1"},
		{"the environment", []string{"smoke", "smoke on stage"}, nil, "2"},
		{"the commit", []string{"smoke on stage", "smoke of 731f7ea"}, nil, "2"},
		{"both", []string{"smoke of " + commit, "smoke of " + commit + " on stage"}, nil, "2"},
		{"the oldest of two", []string{"smoke", "stage", "stage"}, nil, "2"},
		{"taken", []string{"smoke", "smoke"}, []string{"1"}, "2"},
		{"all taken", []string{"smoke"}, []string{"1"}, ""},
	} {
		a := newActions(t)
		a.lazy = true
		a.look(0)
		for _, title := range c.titles {
			a.now = a.now.Add(time.Second)
			a.start(title)
		}
		for _, id := range c.others {
			a.said = append(a.said, forge.CommitStatus{Context: "x" + id, URL: "https://f/runs/" + id})
		}
		want := "pending @0 https://f/runs/" + c.want
		if c.want == "" {
			want = "pending @0  its run has not appeared yet"
		}
		if got := a.look(time.Second); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}

func TestNoWorkflows(t *testing.T) {
	r := observe.WorkflowRunner{SetStatus: newActions(t).SetStatus}
	got := r.Advance(context.Background(), commit, need, nil, noon)
	if got.Outcome != "" || got.Reason != "the forge of the control plane runs no workflows" {
		t.Errorf("%+v", got)
	}
	ended := forge.CommitStatus{Context: "fairlead/dispatch/stage/smoke", Outcome: forge.Success, Time: noon}
	if got := r.Advance(context.Background(), commit, need, []forge.CommitStatus{ended}, noon); got.Outcome != "success" {
		t.Errorf("%+v", got)
	}
}

func TestRunContext(t *testing.T) {
	for key, want := range map[string]string{
		"dispatch stage smoke":                       "fairlead/dispatch/stage/smoke",
		"dispatch eu/prod-1 smoke.v2_x":              "fairlead/dispatch/eu/prod-1/smoke.v2_x",
		"dispatch stage smoke: (all) tests":          "fairlead/dispatch/stage/smoke-/-all-/tests-2f6a107b",
		"dispatch stage " + strings.Repeat("x", 100): "fairlead/dispatch/stage/" + strings.Repeat("x", 67) + "-563ba0a5",
	} {
		got := observe.RunContext(gate.Need{Key: key})
		if got != want || len(got) > 100 {
			t.Errorf("%s is remembered as %s (%d), want %s", key, got, len(got), want)
		}
	}
}

// TestTwoDaemons: a workflow is started once, though two daemons have found out at the same
// time that it is to be.
func TestTwoDaemons(t *testing.T) {
	for _, test := range []struct {
		name    string
		between func(a *actions, claim int) // what the other one does before a question of the first
		runs    int
	}{
		{"alone", func(*actions, int) {}, 1},
		{"the other one was faster", func(a *actions, question int) {
			if question == 1 {
				other := observe.WorkflowRunner{Dispatcher: a, SetStatus: a.SetStatus, Branch: "main"}
				other.Advance(t.Context(), commit, need, nil, a.now.Add(time.Millisecond))
			}
		}, 1},
		{"the other one writes after it", func(a *actions, question int) {
			if question == 2 { // and goes on by itself, which is not of interest here
				_ = a.SetStatus(t.Context(), commit, forge.Status{Context: "fairlead/dispatch/stage/smoke", Outcome: forge.Pending, Description: "Dispatched smoke.yaml, claim 1234"})
			}
		}, 0},
	} {
		a := newActions(t)
		asked := 0
		r := observe.WorkflowRunner{Dispatcher: a, SetStatus: a.SetStatus, Branch: "main", Statuses: func(context.Context, string) ([]forge.CommitStatus, error) {
			asked++
			test.between(a, asked)
			return slices.Clone(a.said), a.broken["statuses"]
		}}
		if got := r.Advance(t.Context(), commit, need, nil, a.now); got.Outcome != forge.Pending || len(a.runs) != test.runs {
			t.Errorf("%s: %+v, and %d runs, want %d; %q", test.name, got, len(a.runs), test.runs, a.log)
		}
	}
	a := newActions(t)
	r := observe.WorkflowRunner{Dispatcher: a, SetStatus: a.SetStatus, Branch: "main", Statuses: func(context.Context, string) ([]forge.CommitStatus, error) {
		return nil, errors.New("it is down")
	}}
	if got := r.Advance(t.Context(), commit, need, nil, a.now); len(a.runs) != 0 || !strings.Contains(got.Reason, "it is down") {
		t.Errorf("what is not known: %+v, and %d runs", got, len(a.runs))
	}
}
