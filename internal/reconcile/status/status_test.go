package status_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestSince(t *testing.T) {
	var s status.Store
	for i, c := range []struct {
		state  status.State
		reason string
		want   int // minutes after noon
	}{
		{status.InSync, "all is well", 0},
		{status.InSync, "all is well", 0},
		{status.InSync, "all is very well", 2},
		{status.Failed, "all is very well", 3},
		{status.Failed, "all is very well", 3},
		{status.InSync, "all is well", 5},
	} {
		checked := noon.Add(time.Duration(i) * time.Minute)
		s.SetEnvironment(status.Environment{Name: "dev", State: c.state, Reason: c.reason, Checked: checked})
		e, ok := s.Snapshot().FindEnvironment("dev")
		if want := noon.Add(time.Duration(c.want) * time.Minute); !ok || !e.Since.Equal(want) || !e.Checked.Equal(checked) {
			t.Errorf("report %d: since %v (checked %v, found %v), want %v", i, e.Since, e.Checked, ok, want)
		}
	}
}

// TestCopies writes into what was given and into what was got: the store stays as
// it was.
func TestCopies(t *testing.T) {
	var s status.Store
	given := status.Environment{
		Name: "dev", Problems: problem.List{{Summary: "first"}}, Inputs: []status.Input{{Layer: "base"}}, Pull: &status.Pull{Number: 1},
	}
	removals := []status.Removal{{Branch: "old", Pull: &status.Pull{Number: 2}}}
	remotes := []status.Remote{{URL: "b"}, {URL: "a"}}
	s.SetEnvironment(given)
	s.SetRemovals("dev", removals)
	s.SetRemotes(remotes)
	want := s.Snapshot()
	spoil := func(e status.Environment, removals []status.Removal, remotes []status.Remote) {
		removals[0].Pull.Number, removals[0].Branch = 666, "spoilt"
		e.Problems[0].Summary, e.Inputs[0].Layer, e.Pull.Number, remotes[0].URL = "spoilt", "spoilt", 666, "spoilt"
	}
	spoil(given, removals, remotes)
	got := s.Snapshot()
	spoil(got.Environments[0], got.Environments[0].Removals, got.Remotes)
	if diff := cmp.Diff(want, s.Snapshot()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want.Remotes[0].URL != "a" || want.Environments[0].Problems[0].Summary != "first" {
		t.Errorf("the snapshot is not what was set, sorted: %+v", want)
	}
}

// TestStageShowsRemovals: what an environment has left behind is shown with its promotion too,
// as was said last, however often it is checked; and of one without a report it is not kept.
func TestStageShowsRemovals(t *testing.T) {
	var s status.Store
	s.SetPromotions(status.Chain{Stages: []status.Stage{{Environment: "dev"}, {Environment: "stage"}}})
	for _, removals := range [][]status.Removal{{{Repo: "out", Branch: "old", Reason: "pull request 7 removes it", Pull: &status.Pull{Number: 7}}}, nil} {
		s.SetEnvironment(status.Environment{Name: "stage"})
		s.SetRemovals("stage", removals)
		s.SetRemovals("dev", removals)
		s.SetEnvironment(status.Environment{Name: "stage", State: status.Failed})
		now := s.Snapshot().Chain.Stages
		if diff := cmp.Diff(removals, now[1].Removals); diff != "" || now[0].Removals != nil {
			t.Errorf("dev has %v; stage (-want +got):\n%s", now[0].Removals, diff)
		}
	}
}

func TestForget(t *testing.T) {
	var s status.Store
	s.RetainEnvironments(nil)
	for _, name := range []string{"stage", "dev", "prod"} {
		s.SetEnvironment(status.Environment{Name: name})
	}
	s.RetainEnvironments([]string{"prod", "dev", "new"})
	var names []string
	for _, e := range s.Snapshot().Environments {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"dev", "prod"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := s.Snapshot().FindEnvironment("stage"); ok {
		t.Error("stage is still there")
	}
}

func TestReady(t *testing.T) {
	var s status.Store
	want := func(step string, reasons ...string) {
		t.Helper()
		ready, got := s.Snapshot().CheckReadiness()
		if diff := cmp.Diff(reasons, got); diff != "" || ready != (len(reasons) == 0) {
			t.Errorf("%s: ready %v (-want +got):\n%s", step, ready, diff)
		}
	}
	want("at the start", "the first cycle has not ended yet")
	s.SetControlPlane("connection refused")
	want("unreachable", "the first cycle has not ended yet", "the control plane cannot be read: connection refused")
	s.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeFailed})
	want("after a cycle", "the control plane cannot be read: connection refused")
	s.SetControlPlane("")
	want("reachable again")
	s.SetVanished([]string{"dev", "prod"})
	want("emptied", status.DescribeVanished([]string{"dev", "prod"}))
	s.SetVanished(nil)
	want("restored")
}

// TestCycles keeps the last 50 cycles, and each snapshot those of its time.
func TestCycles(t *testing.T) {
	var s status.Store
	for n := range 60 {
		s.SetCycle(status.Cycle{Number: int64(n)})
	}
	before := s.Snapshot().Cycles
	s.SetCycle(status.Cycle{Number: 60})
	after := s.Snapshot().Cycles
	if len(before) != 50 || before[0].Number != 59 || before[49].Number != 10 || len(after) != 50 || after[0].Number != 60 || after[49].Number != 11 {
		t.Errorf("kept are %v, and then %v", before, after)
	}
}

// TestManyProblems shows 100 of 150 problems, and among them all that stop.
func TestManyProblems(t *testing.T) {
	e := status.Environment{Name: "dev", Took: 1500 * time.Millisecond}
	for i := range 150 {
		e.Problems = append(e.Problems, problem.Problem{Summary: fmt.Sprint(i), Warning: i < 120})
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Problems     problem.List
		ProblemCount int
		TookSeconds  float64
		Inputs       []status.Input
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	stopping, warnings := got.Problems.Count()
	if stopping != 30 || warnings != 70 || got.ProblemCount != 150 || got.TookSeconds != 1.5 {
		t.Errorf("%d problems, %d warnings of %d, %v s; want 30, 70 of 150, 1.5 s", stopping, warnings, got.ProblemCount, got.TookSeconds)
	}
	if got.Problems[0].Summary != "120" || got.Problems[30].Summary != "0" || got.Inputs == nil {
		t.Errorf("the order is not kept, or a list is null: %s", data)
	}
}

func TestZeroTimesAreLeftOut(t *testing.T) {
	var s status.Store
	s.SetEnvironment(status.Environment{Name: "dev"})
	s.SetRemotes([]status.Remote{{URL: "a"}})
	data, err := json.Marshal(s.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"0001-01-01", "cycle\"", "null"} {
		if strings.Contains(string(data), no) {
			t.Errorf("%s is in %s", no, data)
		}
	}
}

// TestConcurrent is for the race detector: all writers and readers at once.
func TestConcurrent(t *testing.T) {
	var s status.Store
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				s.SetEnvironment(status.Environment{Name: fmt.Sprint(i), Problems: problem.List{{Summary: "x"}}, Pull: &status.Pull{Number: n}})
				s.SetRemotes([]status.Remote{{URL: "b", Failures: n}, {URL: "a"}})
				s.SetCycle(status.Cycle{Number: int64(n), Outcome: status.OutcomeOK})
				s.SetControlPlane("")
				s.SetPromotions(chain())
				now := s.Snapshot()
				now.Chain.Stages[1].Proof.Parts[0].Reason = "mine"
				now.Environments[0].Problems[0].Summary = "mine"
				now.Environments[0].Pull.Number = -1
				if _, err := json.Marshal(s.Snapshot()); err != nil {
					t.Error(err)
				}
				s.RetainEnvironments([]string{"0", "1", "2", "3", "4", "5", "6", "7"})
			}
		})
	}
	all.Wait()
	for _, e := range s.Snapshot().Environments {
		if e.Pull.Number != 199 || e.Problems[0].Summary != "x" {
			t.Errorf("%s is %+v", e.Name, e)
		}
	}
}

// TestEmpty: an environment in which nothing is assigned says so; one that has something else to say
// does not.
func TestEmpty(t *testing.T) {
	const empty = "0 assignments: see fairlead check -e dev, and https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/add-a-workload.md"
	for _, c := range []struct {
		name   string
		report status.Environment
		want   string
	}{
		{"nothing assigned", status.Environment{State: status.InSync}, empty},
		{"assignments", status.Environment{State: status.InSync, Assignments: 1}, ""},
		{"stacks", status.Environment{State: status.InSync, HasStacks: true}, ""},
		{"provisioned clusters", status.Environment{State: status.InSync, HasClusters: true}, ""},
		{"its last output is removed", status.Environment{State: status.Proposed}, ""},
		{"just merged", status.Environment{State: status.InSync, Reason: "pull request 1 was merged"}, ""},
		{"problems", status.Environment{State: status.Problems}, ""},
		{"failed", status.Environment{State: status.Failed}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.report.Name = "dev"
			var s status.Store
			s.SetPromotions(status.Chain{Stages: []status.Stage{{Environment: "dev"}}})
			s.SetEnvironment(c.report)
			now := s.Snapshot()
			if got := now.Environments[0]; got.EmptyReason() != c.want || now.Chain.Stages[0].Empty != c.want {
				t.Errorf("%q, and %q in the chain; want %q", got.EmptyReason(), now.Chain.Stages[0].Empty, c.want)
			}
		})
	}
}

// TestVersion: each change of what is kept is announced, and waking a reader costs it nothing.
func TestVersion(t *testing.T) {
	s := &status.Store{}
	for name, change := range map[string]func(){
		"an environment": func() { s.SetEnvironment(status.Environment{Name: "dev"}) },
		"removals": func() {
			s.SetEnvironment(status.Environment{Name: "dev"})
			s.SetRemovals("dev", []status.Removal{{Reason: "x"}})
		},
		"those retained": func() { s.RetainEnvironments(nil) },
		"remotes":        func() { s.SetRemotes(nil) },
		"a cycle":        func() { s.SetCycle(status.Cycle{Number: 1}) },
		"an error":       func() { s.SetControlPlane("401") },
		"promotions":     func() { s.SetPromotions(status.Chain{}) },
	} {
		before, changed := s.Version()
		select {
		case <-changed:
			t.Fatalf("before %s something has changed", name)
		default:
		}
		change()
		<-changed
		if after, _ := s.Version(); after == before {
			t.Errorf("%s is no other version", name)
		}
	}
}
