package daemon_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// The environment of a chaos run: how long it takes, as make e2e sets it (without it,
// chaosSteps steps, the same each time), and the seed of an earlier run that is to be
// repeated.
const (
	chaosVariable     = "FAIRLEAD_CHAOS"
	chaosSeedVariable = "FAIRLEAD_CHAOS_SEED"
	chaosSteps        = 20
)

// chaosLimit is how long the daemon may be silent. It is far more than it needs, on any
// machine, and only ends a test that would hang.
const chaosLimit = 3 * time.Minute

// patience is how many cycles an honest change may take until it is proposed.
const patience = 40

// TestChaos lets a daemon, in a process of its own, live among hostile commits, failing
// servers and kills. Whatever dev, stage, main and the workloads' repository hold, the
// daemon does not end, and the environment calm gets its changes. In the end, when all is
// mended, a daemon with an empty data folder finds nothing left to do.
func TestChaos(t *testing.T) {
	c := newChaos(t)
	c.start()
	for n := 1; c.length == 0 && n <= chaosSteps || time.Now().Before(c.end); n++ {
		c.step(n)
	}
	c.mendAll()
	c.checkEnd()
	t.Logf("%d actions, %d kills, %d ends by SIGTERM, %d faults, %d hostile commits; the most memory was %.0f MiB",
		len(c.history), c.kills, c.ends, c.faults, c.hostile, c.memory)
}

// chaos is a fleet with a daemon, and what has been done to them.
type chaos struct {
	testing.TB
	random *rand.Rand
	server *gittest.Server
	dir    string
	binary string
	data   int                      // the number of the data folder
	clones map[string]*gittest.Work // by repository, for hostile commits: files of one branch may stay when another is checked out
	people *gittest.Work            // of the control plane, for honest commits only
	good   map[string]string        // by "repository branch", the commit that is in order
	healed []func()                 // what removes the faults
	fleetd *chaosDaemon

	length  time.Duration // 0 for chaosSteps steps
	end     time.Time     // if there is a length
	torn    bool          // the base's tree cannot be read
	honest  int           // honest changes
	history []string

	kills, ends, faults, hostile int
	memory                       float64
}

// chaosDaemon is a process and its log.
type chaosDaemon struct {
	command *exec.Cmd
	pipe    *os.File
	log     *bufio.Scanner
	address string
	tail    []string // the last lines
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	length, seed := time.Duration(0), uint64(1)
	if text := os.Getenv(chaosVariable); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv(chaosSeedVariable); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("%s=%d", chaosSeedVariable, seed)
	c := &chaos{TB: t, random: rand.New(rand.NewPCG(seed, 0)), server: gittest.ServeGit(t), dir: t.TempDir(), binary: program(t),
		clones: map[string]*gittest.Work{}, good: map[string]string{}, length: length, end: time.Now().Add(length)}
	for _, name := range []string{"cp", "out", "shop"} {
		c.server.Create(name)
	}
	o := scaffold.Options{
		ControlPlane: c.server.URL("cp"), GitOps: c.server.URL("out"), Environments: []string{"dev", "stage", "calm"}, Sample: true,
	}
	c.must(daemon.Repositories{Content: o, Author: git.Signature{Name: "a", Email: "a@git.example"}, When: time.Unix(0, 0)}.Create(t.Context()))
	c.furnish()
	for _, at := range chaosTargets {
		repo, branch, _ := strings.Cut(at, " ")
		c.good[at] = gittest.Git(c, c.server.Dir(repo), "rev-parse", "refs/heads/"+branch)
	}
	return c
}

// chaosTargets are the branches that hostile commits go to.
var chaosTargets = []string{"cp main", "cp dev", "cp stage", "shop main"}

// furnish adds workloads from a repository of their own, and an order of promotion in
// which calm is not: it keeps the commit of the base that it has.
func (c *chaos) furnish() {
	c.Helper()
	for _, repo := range []string{"cp", "shop"} {
		c.clones[repo] = c.server.Work(c, repo)
	}
	c.people = c.server.Work(c, "cp")
	shop := c.clones["shop"]
	shop.Switch("main")
	shop.Write("checkout.yaml", chaosWorkload)
	shop.Commit("Checkout")
	shop.Push("main")
	base := c.clones["cp"]
	base.Switch("main")
	base.Write("workloads/shop.yaml", fmt.Sprintf(chaosRegistration, c.server.URL("shop")))
	base.Write(".fairlead/promotion.yaml", chaosPromotion)
	base.Commit("Workloads of the shop")
	base.Push("main")
	for _, environment := range []string{"dev", "stage"} {
		base.Switch(environment)
		base.Write("scheduling-policies/shop.yaml", chaosPolicy)
		base.Commit("The shop runs here")
		base.Push(environment)
	}
}

const (
	chaosWorkload = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: checkout, labels: {app: checkout}}
spec:
  deploymentTargets:
  - {name: api, environment: dev, manifests: {repo: https://git.example.com/checkout, branch: dev, path: ./api}}
  - {name: api, environment: stage, manifests: {repo: https://git.example.com/checkout, branch: stage, path: ./api}}
`
	chaosRegistration = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: shop}
spec:
  workload: {repo: %q, branch: main, path: .}
  workspace: shop
`
	chaosPromotion = `apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
  - {name: dev, merge: direct, proof: []}
  - {name: stage, after: [dev], proof: []}
`
	chaosPolicy = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: shop}
spec:
  deploymentTargetSelector: {labelSelector: {matchLabels: {app: checkout}}}
  clusterTypeSelector: {labelSelector: {matchLabels: {location: cloud}}}
`
)

func (c *chaos) must(err error) {
	c.Helper()
	if err != nil {
		c.fail("%v", err)
	}
}

// fail ends the run with what has led to it.
func (c *chaos) fail(format string, args ...any) {
	c.Helper()
	tail := ""
	if c.fleetd != nil {
		tail = strings.Join(c.fleetd.tail, "\n")
	}
	last := c.history[max(0, len(c.history)-30):]
	c.Fatalf("%s\nthe last actions:\n  %s\nthe log:\n%s", fmt.Sprintf(format, args...), strings.Join(last, "\n  "), tail)
}

func (c *chaos) note(format string, args ...any) {
	c.history = append(c.history, fmt.Sprintf(format, args...))
}

// start starts the daemon, and waits until it listens.
func (c *chaos) start() {
	c.Helper()
	host := strings.TrimPrefix(strings.TrimSuffix(c.server.URL("out"), "/out.git"), "http://")
	text := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: %s/data%d\nwrite: true\ntimeout: 30s\nlisten: 127.0.0.1:0\nlog: {level: debug, format: json}\n"+
		"schedule: {interval: 1s}\nforges:\n- {host: %q, kind: git}\n", c.server.URL("cp"), c.dir, c.data, host)
	settings := filepath.Join(c.dir, "fairlead.yaml")
	c.must(os.WriteFile(settings, []byte(text), 0o600))
	read, write, err := os.Pipe()
	c.must(err)
	d := &chaosDaemon{command: exec.Command(c.binary, "serve", "--config", settings), pipe: read, log: bufio.NewScanner(read)}
	d.log.Buffer(nil, 64<<20)
	d.command.Stderr = write
	c.must(d.command.Start())
	c.must(write.Close())
	c.Cleanup(func() {
		_ = d.command.Process.Kill()
		_ = d.command.Wait()
		_ = read.Close()
	})
	c.fleetd = d
	c.until("listening")
}

// until reads the log until it says something. A daemon that ends fails the test.
func (c *chaos) until(what string) {
	c.Helper()
	d := c.fleetd
	c.must(d.pipe.SetReadDeadline(time.Now().Add(chaosLimit)))
	for d.log.Scan() {
		d.tail = append(d.tail[max(0, len(d.tail)-60):], d.log.Text())
		var l line
		if err := json.Unmarshal(d.log.Bytes(), &l); err != nil {
			continue // what Go prints of a panic
		}
		if l.Address != "" {
			d.address = l.Address
		}
		if l.Msg == what {
			return
		}
	}
	c.fail("the daemon has ended, or is silent, before it said %q: %v", what, d.log.Err())
}

// wake has the daemon begin a cycle. That it can be asked shows that it lives.
func (c *chaos) wake() {
	c.Helper()
	answer, err := http.Post("http://"+c.fleetd.address+"/api/v1/wake", "", nil)
	if err != nil {
		c.until("an end, with what it said last")
	}
	c.must(answer.Body.Close())
	if mib, err := memory(c.fleetd.command.Process.Pid, "VmHWM"); err == nil {
		c.memory = max(c.memory, mib)
	}
}

// step does one action, lets the daemon meet it, and, where no server fails, sees that
// calm gets its change.
func (c *chaos) step(n int) {
	c.Helper()
	chaosActions[c.random.IntN(len(chaosActions))](c)
	for range c.random.IntN(3) {
		c.wake()
		c.until("cycle")
	}
	if n%4 == 0 {
		c.heal()
		c.checkCalm()
	}
}

// checkCalm changes calm, and waits until that is proposed.
func (c *chaos) checkCalm() {
	c.Helper()
	if c.torn { // nobody can say which environments there are
		c.mend("cp main")
	}
	c.honest++
	value := fmt.Sprintf("honest-%d", c.honest)
	w := c.people
	w.Pull("calm")
	w.Write("configs/honest.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 90-honest, labels: {platform-config: \"true\"}}\ndata: {HONEST: %s}\n", value))
	w.Commit("An honest change")
	w.Push("calm")
	c.wake()
	for range patience {
		if c.proposed("calm", value) {
			return
		}
		c.until("cycle")
	}
	c.fail("calm did not get its change %s in %d cycles", value, patience)
}

// proposed reports whether what is proposed for an environment, or is there, has a text.
func (c *chaos) proposed(environment, text string) bool {
	for _, branch := range []string{"refs/heads/fairlead/" + environment, "refs/heads/" + environment} {
		command := exec.Command("git", "grep", "-q", text, branch)
		command.Dir = c.server.Dir("out")
		if command.Run() == nil {
			return true
		}
	}
	return false
}

// heal removes all faults, and has the daemon begin anew: it would wait for minutes
// before it asks a server again that has failed.
func (c *chaos) heal() {
	if len(c.healed) == 0 {
		return
	}
	for _, remove := range c.healed {
		remove()
	}
	c.healed = nil
	c.note("the servers are well again")
	c.kill()
	c.start()
}

// kill ends the daemon as a power failure would.
func (c *chaos) kill() {
	c.Helper()
	c.kills++
	c.must(c.fleetd.command.Process.Kill())
	_ = c.fleetd.command.Wait()
}

// stop ends the daemon by SIGTERM. One that does not end by itself says so by its exit code.
func (c *chaos) stop() {
	c.Helper()
	c.ends++
	d := c.fleetd
	c.must(d.command.Process.Signal(syscall.SIGTERM))
	c.must(d.pipe.SetReadDeadline(time.Now().Add(chaosLimit)))
	for d.log.Scan() {
		d.tail = append(d.tail[max(0, len(d.tail)-60):], d.log.Text())
	}
	if err := d.command.Wait(); err != nil {
		c.fail("after SIGTERM the daemon ended with %v", err)
	}
}

// mendAll makes everything as it should be.
func (c *chaos) mendAll() {
	c.Helper()
	c.heal()
	for at := range c.good {
		c.mend(at)
	}
	c.checkCalm()
	for _, environment := range []string{"dev", "stage"} {
		w := c.people
		w.Pull(environment)
		value := "mended-in-" + environment
		w.Write("configs/mended.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 91-mended, labels: {platform-config: \"true\"}}\ndata: {MENDED: %s}\n", value))
		w.Commit("All is well again")
		w.Push(environment)
		c.wake()
		for n := 0; !c.proposed(environment, value); n++ {
			if n == 4*patience {
				c.fail("%s did not get its change %s in %d cycles", environment, value, n)
			}
			c.until("cycle")
		}
	}
}

// checkEnd sees that nothing is left to do for who knows nothing but what is in Git.
func (c *chaos) checkEnd() {
	c.Helper()
	for range 5 {
		c.wake()
		c.until("cycle")
	}
	c.stop()
	before := gittest.Refs(c, c.server.Dir("out"))
	c.data++
	c.start()
	for range 5 {
		c.wake()
		c.until("cycle")
	}
	c.stop()
	after := gittest.Refs(c, c.server.Dir("out"))
	for ref, commit := range after {
		if strings.HasPrefix(ref, "refs/heads/") && before[ref] != commit {
			c.fail("a daemon that remembers nothing moved %s from %.12s to %.12s", ref, before[ref], commit)
		}
	}
}
