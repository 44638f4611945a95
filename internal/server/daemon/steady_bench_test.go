package daemon_test

import (
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

// The bounds of what a daemon keeps, and of what environments beside one another cost.
const (
	mostSteady   = 64 // MiB over a daemon that has next to nothing to do
	environments = 8
	mostBeside   = 1.3 // of what a change costs alone
	// noise is what two processors that share their caches add to what each would take.
	noise = 1.1
)

// small is a fleet of one assignment: what a daemon takes that has nothing to do.
var small = fleet.Size{Workloads: 1, ClusterTypes: 1, Configs: 1}

// BenchmarkSteady says how much memory a daemon has when it has proposed a fleet of
// 100,000 assignments, and then a change of it, and nothing moves any more: over a daemon
// with one assignment that has done the same.
func BenchmarkSteady(b *testing.B) {
	program := program(b)
	for b.Loop() {
		var of [2]float64
		for i, size := range []fleet.Size{small, fleet.Large} {
			p := newSite(b, size, 1).start(program)
			p.rest()
			of[i] = p.memory("VmRSS")
			b.Logf("%d assignments: %.1f MiB, at most %.1f", size.Workloads*size.ClusterTypes, of[i], p.memory("VmHWM"))
		}
		b.ReportMetric(of[0], "MiB/idle")
		b.ReportMetric(of[1]-of[0], "MiB/steady")
		if of[1]-of[0] > mostSteady {
			b.Errorf("a fleet of 100,000 assignments takes %.0f MiB, want at most %d", of[1]-of[0], mostSteady)
		}
	}
}

// rest takes a daemon from its first pull requests through a change to some rounds in
// which nothing moves.
func (p *process) rest() {
	p.Helper()
	p.merge()
	p.cycle("in-sync")
	p.site.change(0)
	for range 4 {
		p.cycle("proposed", 0)
	}
}

// BenchmarkEightEnvironments has a daemon of eight environments of 100,000 assignments do
// what one of a single such environment does: its first pull requests, and then a change
// of one environment, of which the others must not know.
func BenchmarkEightEnvironments(b *testing.B) {
	program := program(b)
	for b.Loop() {
		alone, beside := newSite(b, fleet.Large, 1).start(program), newSite(b, fleet.Large, environments).start(program)
		first, peak := beside.cpu()/alone.cpu(), beside.memory("VmHWM")/alone.memory("VmHWM")
		b.Logf("first pull requests: %.1f s and %.0f MiB, alone %.1f s and %.0f MiB", beside.cpu(), beside.memory("VmHWM"), alone.cpu(), alone.memory("VmHWM"))
		var spent [2][]float64
		alone.rest()
		beside.rest()
		for range changes {
			for i, p := range []*process{alone, beside} {
				p.site.change(0)
				spent[i] = append(spent[i], p.cycle("proposed", 0))
			}
		}
		alone.cycle("proposed", 0)
		beside.cycle("proposed", 0)
		change, changeAlone := median(spent[1]), median(spent[0])
		steady := beside.memory("VmRSS") / alone.memory("VmRSS")
		b.Logf("a change: %.0f ms, alone %.0f ms; at rest %.0f MiB, alone %.0f MiB", change*1e3, changeAlone*1e3, beside.memory("VmRSS"), alone.memory("VmRSS"))
		b.ReportMetric(first, "ratio/first")
		b.ReportMetric(peak, "ratio/MiB-peak")
		b.ReportMetric(steady, "ratio/MiB-steady")
		b.ReportMetric(change/changeAlone, "ratio/change")
		if most := max(first, peak, steady); most > environments*noise {
			b.Errorf("eight environments take %.2f times what one takes, want at most %d", most, environments)
		}
		if ratio := change / changeAlone; ratio > mostBeside {
			b.Errorf("a change of one of eight environments takes %.2f times what it takes alone, want at most %g", ratio, mostBeside)
		}
	}
}

// changes is how many are measured.
const changes = 11

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
