package daemon_test

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

// BenchmarkCommands runs commands on a fleet of 100,000 assignments, each in a process
// that knows nothing: check renders it once, which is what the others are compared with.
// Of two sides that differ in 200 assignments, the second is rendered from the first.
func BenchmarkCommands(b *testing.B) {
	program := program(b)
	s := newSite(b, fleet.Large, 1)
	s.edit(0, "configs/config-006.yaml", ": value ", ": another value ") // of one workload
	s.edit(0, "configs/config-112.yaml", ": value ", ": another value ") // of all
	at := environmentName(0)
	for b.Loop() {
		rendered := s.command(program, 0, "check")
		b.ReportMetric(rendered.self, "cpu-s/check")
		for _, c := range []struct {
			name  string
			code  int
			args  []string
			sides float64 // that have to be rendered
			most  float64 // seconds beside that
			says  string
		}{
			{"diff-200", 4, []string{"diff", at + "~2", at + "~1"}, 1, 0.1, "200 assignments"},
			{"diff-100000", 4, []string{"diff", at + "~1", at}, 2, 3, "100000 assignments"},
			{"explain", 0, []string{"explain", "ct-0007/app-0007-main"}, 1, 0.1, "app-0007-main"},
		} {
			spent := s.command(program, c.code, c.args...)
			b.ReportMetric(spent.self, "cpu-s/"+c.name)
			b.ReportMetric(spent.peak, "MiB-peak/"+c.name)
			if !strings.Contains(spent.text, c.says) {
				b.Errorf("%s says %s", c.name, spent.text)
			}
			over := spent.self - c.sides*rendered.self
			b.Logf("%s takes %.2f s beside rendering, and %.0f MiB", c.name, over, spent.peak)
			if over > c.most+c.sides*rendered.self*unlike || spent.peak > mostOfCommand {
				b.Errorf("want at most %g s and %d MiB", c.most, mostOfCommand)
			}
		}
	}
}

const (
	// mostOfCommand is what a command may have had of memory, in MiB.
	mostOfCommand = 300
	// unlike is by how much two renderings may differ on a busy machine.
	unlike = 0.3
)

// ran is what a command took, and said.
type ran struct {
	self, peak float64 // seconds, MiB
	text       string
}

// command runs a command that must end with a code.
func (s *site) command(program string, code int, args ...string) ran {
	s.Helper()
	args = append(args, "--control-plane", s.server.Dir("cp"), "-e", environmentName(0))
	for url, name := range map[string]string{"cp": "cp", "apps": "apps", "gitops": "out"} {
		args = append(args, "--map", "https://git.example.com/"+url+"="+s.server.Dir(name))
	}
	command := exec.Command(program, args...)
	out, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	if got := command.ProcessState.ExitCode(); got != code {
		s.Fatalf("%s ends with %d, want %d:\n%s", args[0], got, code, out)
	}
	usage := command.ProcessState.SysUsage().(*syscall.Rusage)
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return ran{self: seconds(usage.Utime) + seconds(usage.Stime), peak: float64(usage.Maxrss) / 1024, text: string(out)}
}
