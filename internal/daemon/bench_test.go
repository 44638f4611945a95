package daemon_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fleet"
	"github.com/fairlead-io/fairlead/internal/status"
)

// sizes are the fleet of the figures, and one of a tenth of its workloads.
var sizes = []fleet.Size{tenth, fleet.Large}

func eachSize(b *testing.B, run func(*testing.B, fleet.Size)) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("assignments=%d", size.Workloads*size.ClusterTypes), func(b *testing.B) { run(b, size) })
	}
}

// BenchmarkFirst goes from repositories to a pull request for a fleet that nothing is
// known of, and then has Git do the same from the files: git fast-import.
func BenchmarkFirst(b *testing.B) { eachSize(b, first) }

func first(b *testing.B, size fleet.Size) {
	for b.Loop() {
		r := newRig(b, size, false)
		spent := r.cycle(status.Proposed)
		b.ReportMetric(spent.self, "cpu-s/fairlead")
		b.ReportMetric(spent.children, "cpu-s/git-receive-pack")
		b.ReportMetric(peak(b), "MiB-peak")
		want := r.treeOf("fairlead/prod")
		reference, got := r.fastImport()
		if got != want {
			b.Fatalf("git fast-import makes tree %s of the same files, not %s", got, want)
		}
		b.ReportMetric(reference.children, "cpu-s/fast-import")
		b.ReportMetric(spent.self/reference.children, "ratio")
	}
}

// peak is the most memory that the process has had, in MiB.
func peak(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}

// BenchmarkChange changes one workload of a fleet that is running: 200 assignments.
func BenchmarkChange(b *testing.B) { eachSize(b, change) }

func change(b *testing.B, size fleet.Size) {
	r := newRig(b, size, true)
	r.cycle(status.Proposed)
	r.settle()
	runtime.GC()
	var self, children, pack float64
	for b.Loop() {
		b.StopTimer()
		r.change()
		b.StartTimer()
		spent := r.cycle(status.Proposed)
		self += spent.self
		children += spent.children
		pack += spent.pack
	}
	b.ReportMetric(self/float64(b.N)*1e3, "cpu-ms/fairlead")
	b.ReportMetric(pack/float64(b.N)*1e3, "cpu-ms/until-pack")
	b.ReportMetric(children/float64(b.N)*1e3, "cpu-ms/git-receive-pack")
	b.StopTimer()
	reference := r.commit()
	b.ReportMetric(reference*1e3, "cpu-ms/git-add-commit")
	b.ReportMetric(self/float64(b.N)/reference, "ratio")
}

// BenchmarkQuiet polls when nothing has happened.
func BenchmarkQuiet(b *testing.B) { eachSize(b, quiet) }

func quiet(b *testing.B, size fleet.Size) {
	r := newRig(b, size, true)
	r.cycle(status.Proposed)
	r.cycle(status.Proposed)
	var self, children float64
	runtime.GC()
	for b.Loop() {
		spent := r.cycle(status.Proposed)
		self += spent.self
		children += spent.children
	}
	b.ReportMetric(self/float64(b.N)*1e3, "cpu-ms/fairlead")
	b.ReportMetric(children/float64(b.N)*1e3, "cpu-ms/git")
}
