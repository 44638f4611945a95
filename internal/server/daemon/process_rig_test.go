package daemon_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// built builds the program for all tests of this process, in a folder that TestMain removes. What is
// for debuggers is left out: to link it takes three quarters of the time.
var built = sync.OnceValues(func() (file string, err error) {
	dir, err := os.MkdirTemp("", "fairlead")
	if err != nil {
		return "", err
	}
	builtIn = dir
	file = filepath.Join(dir, "fairlead")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", file, "../../../cmd/fairlead").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
})

var builtIn string // the folder, once there is one

// program returns the program, to be run in a process of its own: what is measured of it
// is not this process.
func program(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short builds no program to run in a process of its own")
	}
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// site is repositories in which several environments of one size are: each has a branch
// of its own in the control plane, in the repository of the workloads and in the GitOps
// repository.
type site struct {
	*rig
	fleets  []*fleet.Fleet
	written []map[string][]byte // what is on the branches of the control plane
	base    tree.Tree           // what is on its main branch
	more    string              // settings
}

func environmentName(i int) string { return fmt.Sprintf("prod%d", i) }

func newSite(t testing.TB, size fleet.Size, environments int) *site {
	t.Helper()
	s := &site{rig: &rig{TB: t, dir: t.TempDir(), server: gittest.ServeGit(t), repos: map[string]*git.Remote{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	s.create()
	base, err := map[string][]byte{}, error(nil)
	for i := range environments {
		s.fleets = append(s.fleets, fleet.New(size))
		name, env := environmentName(i), map[string][]byte{}
		layers := s.fleets[i].Layers()
		for path, data := range layers[0].Files.All() {
			if path == "registration.yaml" { // it names a branch, which each environment has its own of
				env[path] = []byte(strings.Replace(string(data), "branch: main", "branch: "+name, 1))
				continue
			}
			base[path] = data
		}
		for path, data := range layers[1].Files.All() {
			if path != "base-repo.yaml" { // its commit is not in this repository
				env[path] = []byte(strings.Replace(string(data), "branch: prod", "branch: "+name, 1))
			}
		}
		base[".environments/"+name+".yaml"] = []byte(strings.NewReplacer("name: prod", "name: "+name, "branch: prod", "branch: "+name).Replace(environmentFile))
		s.written = append(s.written, env)
		s.edit(i, "", "", "")
		s.push("apps", name, s.workloads(i))
		s.push("out", name, s.one("README.md", "Ours.\n"))
	}
	s.base, err = tree.FromFiles(base)
	s.must(err)
	s.push("cp", "main", s.base)
	return s
}

// edit replaces a text in a file of an environment, and pushes it.
func (s *site) edit(i int, file, old, new string) {
	s.Helper()
	if file != "" {
		s.written[i][file] = bytes.ReplaceAll(s.written[i][file], []byte(old), []byte(new))
	}
	files, err := tree.FromFiles(s.written[i])
	s.must(err)
	s.push("cp", environmentName(i), files)
}

// workloads gives the files of the workloads of an environment.
func (s *site) workloads(i int) tree.Tree {
	s.Helper()
	files := map[string][]byte{}
	for path, data := range s.fleets[i].Layers()[2].Files.All() {
		files[path] = []byte(strings.Replace(string(data), "environment: prod", "environment: "+environmentName(i), 1))
	}
	t, err := tree.FromFiles(files)
	s.must(err)
	return t
}

// change changes one workload of an environment: of the fleet of the figures, 200
// assignments.
func (s *site) change(i int) {
	s.Helper()
	s.changes++
	s.fleets[i].SetBranch(0, fmt.Sprintf("release-%d", s.changes))
	s.push("apps", environmentName(i), s.workloads(i))
}

// merge moves the output branches to what is proposed.
func (s *site) merge() {
	s.Helper()
	for i := range s.fleets {
		gittest.Git(s, s.server.Dir("out"), "update-ref", "refs/heads/"+environmentName(i), "refs/heads/fairlead/"+environmentName(i))
	}
}

// process is a daemon over a site, in a process of its own.
type process struct {
	*site
	pid     int
	log     *bufio.Scanner
	address string
}

// start starts a daemon, and waits until everything is proposed: its first cycle also
// promotes the base to each environment, which wakes it for a second one.
func (s *site) start(program string) *process {
	s.Helper()
	host := strings.TrimPrefix(strings.TrimSuffix(s.server.URL("out"), "/out.git"), "http://")
	text := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: %s/data\nwrite: true\ntimeout: 10m\nlisten: 127.0.0.1:0\nlog: {level: debug, format: json}\n"+
		"schedule: {interval: 24h}\nforges:\n- {host: %q, kind: git}\nmap:\n", s.server.URL("cp"), s.dir, host)
	for url, name := range map[string]string{"cp": "cp", "apps": "apps", "gitops": "out"} {
		text += fmt.Sprintf("  https://git.example.com/%s: %q\n", url, s.server.URL(name))
	}
	text += s.more
	settings := filepath.Join(s.dir, "fairlead.yaml")
	s.must(os.WriteFile(settings, []byte(text), 0o600))
	command := exec.Command(program, "serve", "--config", settings)
	stderr, err := command.StderrPipe()
	s.must(err)
	s.must(command.Start())
	p := &process{site: s, pid: command.Process.Pid, log: bufio.NewScanner(stderr)}
	s.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	p.address = p.until("listening").Address
	p.until("cycle")
	p.until("cycle")
	p.is("proposed")
	return p
}

// line is what is read of a line of the log.
type line struct {
	Msg, Address, Error string
}

// until reads the log until it says something, and gives the line.
func (p *process) until(what string) line {
	p.Helper()
	for p.log.Scan() {
		var l line
		p.must(json.Unmarshal(p.log.Bytes(), &l))
		if l.Error != "" {
			p.Fatalf("the daemon says %s", p.log.Bytes())
		}
		if l.Msg == what {
			return l
		}
	}
	p.Fatalf("the daemon has ended before it said %q: %v", what, p.log.Err())
	return line{}
}

// cycle has the daemon do a cycle, which must leave the environments as wanted: all, or
// those that are named. It gives the CPU time in seconds.
func (p *process) cycle(want string, environments ...int) float64 {
	p.Helper()
	spent := p.wake()
	p.is(want, environments...)
	return spent
}

// wake has the daemon do a cycle, and gives the CPU time in seconds.
func (p *process) wake() float64 {
	p.Helper()
	before := p.cpu()
	answer, err := http.Post("http://"+p.address+"/api/v1/wake", "", nil)
	p.must(err)
	p.must(answer.Body.Close())
	p.until("cycle")
	return p.cpu() - before
}

// is sees that environments are in a state: all, or those that are named.
func (p *process) is(want string, environments ...int) {
	p.Helper()
	for _, i := range p.selected(environments) {
		if state, reason := p.stateOf(i); state != want {
			p.Fatalf("environment %s is %s (%s), want %s", environmentName(i), state, reason, want)
		}
	}
}

// selected returns the environments that are named, or all if none is.
func (p *process) selected(environments []int) []int {
	if environments == nil {
		for i := range p.fleets {
			environments = append(environments, i)
		}
	}
	return environments
}

func (p *process) stateOf(i int) (state, reason string) {
	p.Helper()
	answer, err := http.Get("http://" + p.address + "/api/v1/environments/" + environmentName(i))
	p.must(err)
	var e struct{ State, Reason string }
	p.must(json.NewDecoder(answer.Body).Decode(&e))
	p.must(answer.Body.Close())
	return e.State, e.Reason
}

// cpu is the CPU time of the daemon, without that of processes that it has started, in
// seconds.
func (p *process) cpu() float64 {
	p.Helper()
	return cpuTime(p, p.pid)
}

// cpuTime returns the CPU time of a process in seconds: that of its threads, which the kernel
// knows more exactly than that of a process. Go does not end threads.
func cpuTime(t testing.TB, pid int) float64 {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	if len(threads) == 0 {
		t.Fatal("the kernel does not say how much CPU time a thread has had")
	}
	sum := 0.0
	for _, file := range threads {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		spent, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseFloat(spent, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n / 1e9
	}
	return sum
}

// memory is a figure of the daemon's memory in MiB.
func (p *process) memory(which string) float64 {
	p.Helper()
	mib, err := memory(p.pid, which)
	p.must(err)
	return mib
}
