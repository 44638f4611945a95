package status

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// TestEvents: a failure, a recovery and a wait are events, each once; what was there at the start is none, and its beginning
// is unknown.
func TestEvents(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var s Store
	minute := 0
	report := func(proof gate.Status, next promote.Decision, output State) {
		at := noon.Add(time.Duration(minute) * time.Minute)
		s.SetEnvironment(Environment{Name: "prod", State: output, Reason: "because", Assignments: 1, Checked: at})
		s.SetPromotions(Chain{Checked: at, Stages: []Stage{{Environment: "prod", Commit: "a", Merged: true, Proof: gate.Verdict{Status: proof}, Next: next}}})
		minute++
	}
	current, waits := promote.Decision{State: promote.Current}, promote.Decision{State: promote.Waiting, Candidate: "b"}
	report(gate.Fail, current, InSync) // 0: the start
	if since := s.Snapshot().ShownSince["prod"]; !since.IsZero() {
		t.Errorf("it is known to fail since %v", since)
	}
	report(gate.Fail, current, InSync) // 1
	report(gate.Pass, current, InSync) // 2
	report(gate.Pass, waits, InSync)   // 3
	report(gate.Pass, waits, InSync)   // 4
	report(gate.Pass, waits, Failed)   // 5
	report(gate.Pass, waits, Failed)   // 6
	var got []string
	for _, e := range s.Snapshot().Events {
		got = append(got, fmt.Sprint(int(e.When.Sub(noon).Minutes()), " ", e.Action, " ", e.Commit))
	}
	if want := []string{"2 recovered a", "3 waits b", "5 failed a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if since := s.Snapshot().ShownSince["prod"]; !since.Equal(noon.Add(5 * time.Minute)) {
		t.Errorf("it fails since %v", since)
	}
	s.RetainEnvironments(nil)
	if since := s.Snapshot().ShownSince; len(since) != 0 {
		t.Errorf("of an environment that is gone it is known since when: %v", since)
	}
	for range 2 * maxEvents {
		report(gate.Fail, current, InSync)
		report(gate.Pass, current, InSync)
	}
	if n := len(s.Snapshot().Events); n != maxEvents {
		t.Errorf("%d events are kept", n)
	}
}

// TestRecovered: an environment has recovered once it is well, and not while a newer commit is rolled out.
func TestRecovered(t *testing.T) {
	var s Store
	s.SetEnvironment(Environment{Name: "prod", State: InSync, Assignments: 1})
	var got []string
	for _, proof := range []gate.Status{gate.Pass, gate.Fail, gate.Wait, gate.Fail, gate.Wait, gate.Pass} {
		s.SetPromotions(Chain{Stages: []Stage{{Environment: "prod", Commit: "a", Merged: true, Proof: gate.Verdict{Status: proof}, Next: promote.Decision{State: promote.Current}}}})
		actions := ""
		for _, e := range s.Snapshot().Events {
			actions += e.Action[:1]
		}
		got = append(got, actions)
	}
	if want := []string{"", "f", "f", "ff", "ff", "ffr"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
