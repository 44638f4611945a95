package daemon_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
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
	defer debug.SetGCPercent(debug.SetGCPercent(daemon.GCPercent)) // as the program does
	for b.Loop() {
		r := newRig(b, size, false)
		spent := r.cycle(status.Proposed)
		b.ReportMetric(spent.self, "cpu-s/fairlead")
		b.ReportMetric(spent.children, "cpu-s/git-receive-pack")
		if peak, err := memory(os.Getpid(), "VmHWM"); err == nil { // not everywhere is it told
			b.ReportMetric(peak, "MiB-peak")
		}
		b.ReportMetric(spent.packed.Seconds(), "wall-s/until-pack")
		b.ReportMetric(r.largestPack(), "MiB-pack")
		want := r.treeOf("fairlead/prod")
		reference, got := r.fastImport()
		if got != want {
			b.Fatalf("git fast-import makes tree %s of the same files, not %s", got, want)
		}
		b.ReportMetric(reference.children, "cpu-s/fast-import")
		b.ReportMetric(reference.packed.Seconds(), "wall-s/fast-import")
		b.ReportMetric(spent.self/reference.children, "ratio")
		b.ReportMetric(spent.packed.Seconds()/reference.packed.Seconds(), "ratio-wall")
	}
}

// BenchmarkChange changes one workload of a fleet that is running: 200 assignments.
func BenchmarkChange(b *testing.B) { eachSize(b, change) }

func change(b *testing.B, size fleet.Size) {
	r := newRig(b, size, true)
	r.cycle(status.Proposed)
	r.settle()
	runtime.GC()
	var self, children, pack, push, decide float64
	for b.Loop() {
		b.StopTimer()
		r.change()
		b.StartTimer()
		spent := r.cycle(status.Proposed)
		self += spent.self
		children += spent.children
		pack += spent.pack
		push += spent.push
		decide += spent.decide
	}
	b.ReportMetric(self/float64(b.N)*1e3, "cpu-ms/fairlead")
	b.ReportMetric(pack/float64(b.N)*1e3, "cpu-ms/until-pack")
	b.ReportMetric(decide/float64(b.N)*1e3, "cpu-ms/decide-render-pack")
	b.ReportMetric(children/float64(b.N)*1e3, "cpu-ms/git-receive-pack")
	b.StopTimer()
	reference := r.commit()
	b.ReportMetric(reference*1e3, "cpu-ms/git-add-commit")
	b.ReportMetric(self/float64(b.N)/reference, "ratio")
	b.ReportMetric(pack/float64(b.N)/reference, "ratio-until-pack")
	b.ReportMetric(decide/float64(b.N)/reference, "ratio-decide-render-pack")
	goGit := r.goGitPush()
	b.ReportMetric(push/float64(b.N)*1e3, "cpu-ms/push")
	b.ReportMetric(goGit*1e3, "cpu-ms/go-git-push")
	b.ReportMetric(push/float64(b.N)/goGit, "ratio-push")
}

// larger has ten times as many assignments as the fleet of the figures, in folders of the
// same size, of which a change of one workload touches as many.
var larger = fleet.Size{Workloads: 5000, ClusterTypes: 2000, Configs: 120, Reach: 200}

// BenchmarkLarger changes one workload of a million assignments, and of 100,000, in turns: what
// it costs must not grow with the fleet. Both are the eighth in the folders of their cluster
// types: the first of its kind in a folder is stored whole. It takes minutes and some GiB of disk.
func BenchmarkLarger(b *testing.B) {
	var rigs [2]*rig
	for i, size := range []fleet.Size{fleet.Large, larger} {
		r := newRig(b, size, true)
		r.cycle(status.Proposed)
		r.merge()
		r.cycle(status.InSync)
		rigs[i] = r
	}
	rigs[1].changed = 77
	const warm, counted = 3, 25
	var until, decide [2][]float64
	for round := range warm + counted {
		for i, r := range rigs {
			r.change()
			runtime.GC()
			spent := r.cycle(status.Proposed)
			if round >= warm {
				until[i], decide[i] = append(until[i], spent.pack), append(decide[i], spent.decide)
			}
		}
	}
	for b.Loop() { // once: the figures are of the loop above
	}
	for what, all := range map[string][2][]float64{"until-pack": until, "decide-render-pack": decide} {
		slices.Sort(all[0])
		slices.Sort(all[1])
		of, than := all[1][counted/2], all[0][counted/2]
		b.ReportMetric(than*1e3, "cpu-ms/"+what+"-100000")
		b.ReportMetric(of*1e3, "cpu-ms/"+what+"-1000000")
		b.ReportMetric(of/than, "ratio-"+what)
	}
}

// BenchmarkNothing commits to the control plane what alters nothing that is rendered.
func BenchmarkNothing(b *testing.B) { eachSize(b, nothing) }

func nothing(b *testing.B, size fleet.Size) {
	r := newRig(b, size, true)
	r.cycle(status.Proposed)
	r.merge()
	r.cycle(status.InSync)
	var self float64
	runtime.GC()
	for b.Loop() {
		b.StopTimer()
		r.idle()
		refs := gittest.Git(b, r.server.Dir("out"), "for-each-ref")
		b.StartTimer()
		self += r.cycle(status.InSync).self
		b.StopTimer()
		if now := gittest.Git(b, r.server.Dir("out"), "for-each-ref"); now != refs {
			b.Fatalf("something was written:\n%s\nwas\n%s", now, refs)
		}
		b.StartTimer()
	}
	b.ReportMetric(self/float64(b.N)*1e3, "cpu-ms/fairlead")
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
