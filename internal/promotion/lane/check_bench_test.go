package lane

import (
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

// BenchmarkCheck lets one lane of a fleet of 100,000 assignments move, of which it has 200, while another one fails in dev: the
// environment is rendered as it is, with the lane moved, and as it was verified.
func BenchmarkCheck(b *testing.B) {
	cpu := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	}
	f, parser, cache := fleet.New(fleet.Large), model.NewParser(), &output.Cache{}
	const failing, moving, workload = 0, 1, 7
	t := newTeams(2)
	t.write(failing, 0, true)
	var h History
	render := func(c Composition) (Output, error) {
		for team := range 2 {
			has := Stage{Lanes: c.Lanes}
			has.Commit = c.Platform
			f.SetBranch(workload+team, "release-"+h.Version(laneOf(team), has.Has(laneOf(team))))
		}
		m, problems := parser.Parse(fleet.Environment, f.Layers()...)
		if problems.Stops() {
			b.Fatal(problems[0])
		}
		rendered, problems := output.Render(m, cache, output.Options{})
		if problems.Stops() {
			b.Fatal(problems[0])
		}
		owners := Partition{}.NewOwners(m, nil)
		for team := range 2 {
			owners.targets[m.Targets[workload+team].Name] = laneOf(team)
		}
		return Output{Tree: rendered, Owners: owners}, nil
	}
	h = t.history(b)
	if _, err := render(t.stages[1].Composition()); err != nil {
		b.Fatal(err)
	}
	spent := 0.0
	for b.Loop() {
		b.StopTimer()
		t.write(moving, 0, false)
		h = t.history(b)
		t.stages[0].Commit = t.commits[0]
		t.stages[0].Proof = gate.Verdict{Status: gate.Fail}
		b.StartTimer()
		start := cpu()
		r, err := Decide(Input{History: h, Stages: t.stages, Environment: chain[1], Render: render, VerifiedOnly: true, Proof: func(_, lane string) (gate.Verdict, bool) {
			return map[string]gate.Verdict{laneOf(moving): passes, laneOf(failing): {Status: gate.Fail}}[lane], true
		}})
		spent += cpu() - start
		if err != nil || len(r.Moving()) != 1 {
			b.Fatalf("%+v, %v", r, err)
		}
		t.stages[1].Commit, t.stages[1].Lanes = r.Next.Platform, r.Next.Lanes
	}
	b.ReportMetric(spent/float64(b.N)*1e3, "cpu-ms/lane")
}
