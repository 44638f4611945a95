package output_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

// cpuSeconds is the time that the process has used on all processors, in seconds.
func cpuSeconds(tb testing.TB) float64 {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// render goes from files to a tree, as one run of the program does.
func render(tb testing.TB, parser *model.Parser, f *fleet.Fleet, cache *output.Cache) tree.Tree {
	tb.Helper()
	m, problems := parser.Parse(fleet.Environment, f.Layers()...)
	if problems.Stops() {
		tb.Fatal(problems[0])
	}
	t, problems := output.Render(m, cache, output.Options{})
	if problems.Stops() {
		tb.Fatal(problems[0])
	}
	return t
}

// sizes are fleets with as many workloads on every cluster type, ten times apart.
var sizes = []fleet.Size{
	{Workloads: 500, ClusterTypes: 20, Configs: 120},
	fleet.Large,
}

// BenchmarkFull reads and renders a fleet from nothing: every file is rendered,
// checked and hashed.
func BenchmarkFull(b *testing.B) {
	for _, size := range sizes {
		assignments := size.Workloads * size.ClusterTypes
		b.Run(fmt.Sprintf("assignments=%d", assignments), func(b *testing.B) {
			f := fleet.New(size)
			b.ReportAllocs()
			start := cpuSeconds(b)
			for b.Loop() {
				render(b, model.NewParser(), f, nil)
			}
			perAssignment := (cpuSeconds(b) - start) / float64(b.N) / float64(assignments)
			b.ReportMetric(perAssignment*1e6, "cpu-µs/assignment")
		})
	}
}

// warm are fleets of 100,000 and of 1,000,000 assignments in which a workload goes
// to 200 cluster types, and a cluster type has 500 targets.
var warm = []fleet.Size{
	fleet.Large,
	{Workloads: 5000, ClusterTypes: 2000, Configs: 120, Reach: 200},
}

// BenchmarkOneWorkload changes one workload of a fleet that is known: 200
// assignments are rendered, the others are not looked at. The time includes
// reading the files that changed and linking the model.
func BenchmarkOneWorkload(b *testing.B) {
	for _, size := range warm {
		reach := min(size.ClusterTypes, 200)
		b.Run(fmt.Sprintf("assignments=%d", size.Workloads*reach), func(b *testing.B) {
			change(b, size, int64(reach), func(f *fleet.Fleet, n int) { f.SetBranch(7, fmt.Sprintf("release-%d", n)) })
		})
	}
}

// BenchmarkIdle adds a config that nothing reads: nothing is rendered.
func BenchmarkIdle(b *testing.B) {
	change(b, fleet.Large, 0, func(f *fleet.Fleet, n int) { f.SetIdle(fmt.Sprintf("value-%d", n)) })
}

// change measures one edit of a known fleet after the other, and checks that each
// rendered as many assignments as it should.
func change(b *testing.B, size fleet.Size, touched int64, edit func(*fleet.Fleet, int)) {
	f, parser, cache := fleet.New(size), model.NewParser(), &output.Cache{}
	render(b, parser, f, cache)
	var spent float64
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		edit(f, n)
		layers := f.Layers()
		before := cache.Rendered()
		b.StartTimer()
		start := cpuSeconds(b)
		m, problems := parser.Parse(fleet.Environment, layers...)
		if problems.Stops() {
			b.Fatal(problems[0])
		}
		if _, problems = output.Render(m, cache, output.Options{}); problems.Stops() {
			b.Fatal(problems[0])
		}
		spent += cpuSeconds(b) - start
		if rendered := cache.Rendered() - before; rendered != touched {
			b.Fatalf("%d assignments were rendered, want %d", rendered, touched)
		}
	}
	b.ReportMetric(spent/float64(b.N)*1e3, "cpu-ms/change")
}
