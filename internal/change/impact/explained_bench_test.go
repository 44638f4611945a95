package impact_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

// explained is a change of the fleet of 100,000 assignments, and what its explanation
// may take.
type explained struct {
	name        string
	from, to    string // what is replaced
	in          string // the files in which it is, by the beginning of their paths
	assignments int
	most        float64 // seconds of CPU; 0 for as long as it takes
}

const (
	// mostMemory is what the process may have had at most, in MiB.
	mostMemory = 300
	// mostOfRender is how many times a full render it may take, where a busy machine
	// lets both take long.
	mostOfRender = 1.6
)

// BenchmarkExplained says what a change means, as a pull request does, when both sides
// have been rendered: of one workload, of a line that all assignments have, and of six to
// ten values in each of them, other ones in most.
func BenchmarkExplained(b *testing.B) {
	for _, e := range []explained{
		{"workload", "branch: main", "branch: release", "teams/team-07/app-0007.yaml", 200, 0.1},
		{"template", "timeout: 5m", "timeout: 6m", "templates.yaml", 100_000, 3},
		{"value", ": value ", ": another value ", "configs/config-112.yaml", 100_000, 3},
		{"values", ": value ", ": another value ", "configs/", 100_000, 0},
	} {
		b.Run(e.name, e.run)
	}
}

func (e explained) run(b *testing.B) {
	layers, parser := fleet.New(fleet.Large).Layers(), model.NewParser()
	var cache output.Cache
	render := func() (tree.Tree, *model.Model) {
		m, problems := parser.Parse(fleet.Environment, layers...)
		t, more := output.Render(m, &cache, output.Options{})
		if problems.Stops() || more.Stops() {
			b.Fatal(problems, more)
		}
		return t, m
	}
	rendered := -cpu(b)
	old, before := render()
	rendered += cpu(b)
	for i := range layers {
		layers[i].Files = e.edit(b, layers[i].Files)
	}
	new, after := render()
	runtime.GC()
	forgetPeak(b)
	var spent float64
	for b.Loop() {
		from := cpu(b)
		report := impact.Compare(old, new, impact.Options{Workload: model.WorkloadOf(before, after)})
		text := report.Markdown(60_000)
		spent += cpu(b) - from
		if report.Assignments.Changed != e.assignments || text == "" {
			b.Fatalf("%d assignments are explained, want %d", report.Assignments.Changed, e.assignments)
		}
	}
	spent /= float64(b.N)
	most := peak(b)
	b.ReportMetric(spent*1e3, "cpu-ms/explained")
	b.ReportMetric(spent/rendered, "ratio/full-render")
	b.ReportMetric(most, "MiB-peak")
	if e.most > 0 && spent > max(e.most, rendered*mostOfRender) || most > mostMemory {
		b.Errorf("it takes %.3f s and %.0f MiB, want %g s and %d MiB", spent, most, e.most, mostMemory)
	}
}

// edit gives the files of a layer after the change.
func (e explained) edit(b *testing.B, files tree.Tree) tree.Tree {
	b.Helper()
	edited := map[string][]byte{}
	for path, data := range files.All() {
		if strings.HasPrefix(path, e.in) {
			data = bytes.ReplaceAll(data, []byte(e.from), []byte(e.to))
		}
		edited[path] = data
	}
	t, err := tree.FromFiles(edited)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// cpu is the CPU time of this process, in seconds.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// forgetPeak has the kernel count the most memory from now on.
func forgetPeak(b *testing.B) {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Skip("the kernel does not count memory for us: ", err)
	}
}

// peak is the most memory that the process has had, in MiB.
func peak(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}
