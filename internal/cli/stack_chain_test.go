package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/cli/stacksim"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// chainFiles are a blueprint in the base with its module, by their paths.
var chainFiles = map[string]string{
	"modules/queue/main.tf": "variable \"size\" { type = number }\noutput \"arn\" { value = var.size }\n",
	"blueprints/shop.yaml": `apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: shop}
spec:
  components:
    - name: queue
      type: terraform
      module: {source: ./modules/queue}
      variables: [{name: size, value: "1"}]
      outputs: [{name: arn}]
`,
}

// stackChain is a daemon, and a simulated cluster for the stacks of each environment.
type stackChain struct {
	*testing.T
	folder demoFolder
	server string                       // the address of the daemon
	events map[string]chan string       // what has happened to components, by environment: "team/stack/component message"
	join   func(environments ...string) // starts the clusters of environments, which end with the test

	restart func() // has another daemon take the place of the first
}

func startStackChain(t *testing.T) *stackChain {
	t.Helper()
	return startStacks(t, chainFiles, func(e string) map[string]string {
		return map[string]string{"stacks/shop.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop}\nspec: {teamName: shop, envName: " + e + "}\n"}
	}, demoEnvironments...)
}

// startStacks runs a control plane with blueprints, and with the stacks of each environment.
func startStacks(t *testing.T, base map[string]string, stacks func(environment string) map[string]string, environments ...string) *stackChain {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no daemon")
	}
	c := &stackChain{T: t, folder: demoFolder(t.TempDir()), events: map[string]chan string{}}
	if err := c.folder.create(t.Context(), "127.0.0.1:0", true, environments...); err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(c.folder.path(defaultSettingsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.folder.path(defaultSettingsFile), append(settings, "\noutput: {create: true}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	c.commit("main", "blueprints", base)
	for _, e := range environments {
		files := stacks(e)
		files["stacks/settings.yaml"] = "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: stacks}\nspec:\n  state: {bucket: states, region: eu-1}\n  modules: {repo: \"https://git.example.com/gitops\"}\n"
		c.commit(e, "take the blueprint", files)
	}
	c.run()
	c.join(environments...)
	return c
}

// run starts the daemon, and has clusters reach it at an address that stays. It ends with the test.
func (c *stackChain) run() {
	c.Helper()
	a := &app{stdout: display.NewStream(&bytes.Buffer{}), stderr: display.NewStream(&bytes.Buffer{})}
	settings, err := a.loadSettings(c.folder.path(defaultSettingsFile), config.Load)
	if err != nil {
		c.Fatal(err)
	}
	log, err := os.Create(c.folder.path(demoLogFile))
	if err != nil {
		c.Fatal(err)
	}
	var running sync.WaitGroup
	var target atomic.Pointer[url.URL]
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target.Load()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	c.server = front.URL
	start := func() (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		address, ended := make(chan string, 1), make(chan struct{})
		go func() {
			defer close(ended)
			if err := daemon.Serve(ctx, daemon.Options{Settings: settings, Log: log, Ready: func(a string) { address <- a }}); err != nil {
				c.Errorf("the daemon: %v", err)
			}
		}()
		target.Store(&url.URL{Scheme: "http", Host: <-address})
		return func() { cancel(); <-ended }
	}
	stopDaemon := start()
	c.restart = func() { stopDaemon(); stopDaemon = start() }
	ctx, stop := context.WithCancel(context.Background())
	c.join = func(environments ...string) {
		keys, err := deriveDemoKeys(settings, environments)
		if err != nil {
			c.Fatal(err)
		}
		for _, e := range environments {
			shown, events := c.folder.path(stackFolder, e), make(chan string, 1000)
			if err := os.Mkdir(shown, 0o755); err != nil {
				c.Fatal(err)
			}
			c.events[e] = events
			running.Go(func() {
				stacksim.Run(ctx, stacksim.Options{
					Repository: c.folder.path("gitops.git"), Environment: e, Cluster: e, Server: c.server, Key: keys[e], Folder: shown,
					Interval: 100 * time.Millisecond, Patience: time.Second, CancelsChecks: true, Logger: slog.New(slog.DiscardHandler), Cost: costOfSize,
					Reported: func(event stacksim.Event) { events <- event.Component + " " + event.Message },
				})
			})
		}
	}
	c.Cleanup(func() {
		stop()
		running.Wait()
		stopDaemon()
		front.Close()
		log.Close()
	})
}

// restartOften has one daemon after the other, each of which ends in the middle of its work and lives a little longer than
// the one before, until the returned function is called.
func (c *stackChain) restartOften() (stop func()) {
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for life := 500 * time.Millisecond; ; life += 500 * time.Millisecond {
			select {
			case <-ended:
				return
			case <-time.After(life):
				c.restart()
			}
		}
	})
	return func() { close(ended); running.Wait() }
}

func (c *stackChain) git(args ...string) {
	c.Helper()
	if _, err := runGit(c.Context(), nil, append([]string{"-C", c.folder.path(demoClone)}, args...)...); err != nil {
		c.Fatalf("git %v: %v", args, err)
	}
}

// commit pushes files to a branch of the control plane; "" for a text removes one.
func (c *stackChain) commit(branch, message string, files map[string]string) {
	c.Helper()
	c.git("fetch", "--quiet")
	c.git("checkout", "--quiet", "-B", branch, "origin/"+branch)
	for name, text := range files {
		file := c.folder.path(demoClone, name)
		if text == "" {
			c.git("rm", "--quiet", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			c.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			c.Fatal(err)
		}
	}
	c.git("add", "--all")
	c.git("commit", "--quiet", "--message", message)
	c.git("push", "--quiet", "origin", branch)
}

func (c *stackChain) await(environment, what string) {
	c.Helper()
	limit := time.After(chainLimit)
	for {
		select {
		case message := <-c.events[environment]:
			if strings.Contains(message, what) {
				return
			}
		case <-limit:
			log, _ := os.ReadFile(c.folder.path(demoLogFile))
			c.Fatalf("%s never says %q; the log:\n%s", environment, what, log)
		}
	}
}

// chainLimit is far more than a step takes, on any machine.
const chainLimit = 5 * time.Minute

var inputsLine = regexp.MustCompile(`fairlead\.io/inputs: "?([0-9a-f]{16})`)

// approve waits for the plan of the queue of an environment, approves it, and waits until it is applied. The approval stays.
func (c *stackChain) approve(environment string) {
	c.Helper()
	c.approvePlan(environment, "shop/"+environment+"/queue")
}

func (c *stackChain) approvePlan(environment, component string) {
	c.Helper()
	c.approveInputs(environment, component)
	c.await(environment, component+" is applied")
}

func (c *stackChain) approveInputs(environment, component string) {
	c.Helper()
	c.await(environment, component+" waits")
	c.approveWaiting(environment, component)
}

// approveWaiting approves the plan that a cluster has of a component.
func (c *stackChain) approveWaiting(environment, component string) {
	c.Helper()
	text, err := os.ReadFile(c.folder.path(stackFolder, environment, strings.ReplaceAll(component, "/", "-")+".yaml"))
	if err != nil {
		c.Fatal(err)
	}
	found := inputsLine.FindSubmatch(text)
	if found == nil {
		c.Fatalf("the Terraform object has no inputs:\n%s", text)
	}
	c.fairlead("approve-plan", environment, component, "--inputs", string(found[1]))
}

func (c *stackChain) fairlead(args ...string) {
	c.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main(c.Context(), append(args, "--config", c.folder.path(defaultSettingsFile)), &stdout, &stderr); code != 0 {
		c.Fatalf("%v: %s", args, stderr.String())
	}
}

func (c *stackChain) ask(into any, args ...string) {
	c.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "-o", "json")
	if code := Main(c.Context(), args, &stdout, &stderr); code != 0 {
		c.Fatalf("%v: %s", args, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		c.Fatal(err)
	}
}

func (c *stackChain) module(environment string) map[string]string {
	c.Helper()
	return c.files("fairlead-modules-" + environment)
}

func (c *stackChain) files(branch string) map[string]string {
	c.Helper()
	repo, err := git.Open(c.folder.path("gitops.git"))
	if err != nil {
		c.Fatal(err)
	}
	head, err := repo.Branch(branch)
	if err != nil {
		return nil
	}
	view, err := repo.View(head)
	if err != nil {
		c.Fatal(err)
	}
	all := map[string]string{}
	for name, e := range view.Tree.Walk() {
		all[name] = string(e.Data)
	}
	return all
}

// TestStackChain: a change of a blueprint and of its module goes from dev to prod, each with a plan and an approval
// of its own, and is planned in an environment once it is applied in the one before, however often the daemon ends.
func TestStackChain(t *testing.T) {
	t.Parallel()
	c := startStackChain(t)
	defer c.restartOften()()
	for _, e := range demoEnvironments {
		c.approve(e)
	}
	c.commit("main", "a module with a tag", map[string]string{
		"modules/queue/main.tf": chainFiles["modules/queue/main.tf"] + "output \"tag\" { value = \"v2\" }\n",
		"blueprints/shop.yaml":  strings.Replace(chainFiles["blueprints/shop.yaml"], `value: "1"`, `value: "2"`, 1),
	})
	for i, e := range demoEnvironments {
		c.await(e, "waits")
		for _, later := range demoEnvironments[i+1:] {
			for name, text := range c.module(later) {
				if strings.Contains(text, "v2") {
					t.Errorf("while %s waits for an approval, %s has the change in %s", e, later, name)
				}
			}
		}
		c.events[e] <- "shop/" + e + "/queue waits"
		c.approve(e)
	}
	dev, prod := c.module("dev"), c.module("prod")
	if len(dev) == 0 || len(dev) != len(prod) {
		t.Fatalf("dev has %d files of root modules, and prod %d", len(dev), len(prod))
	}
	for name, text := range dev {
		got := prod[strings.ReplaceAll(name, "/dev-", "/prod-")]
		if want := strings.ReplaceAll(text, "shop/dev/", "shop/prod/"); got != want {
			t.Errorf("%s differs in prod:\n%s\nand in dev:\n%s", name, got, text)
		}
	}
}

func changeModule(tag string) map[string]string {
	return map[string]string{"modules/queue/main.tf": chainFiles["modules/queue/main.tf"] + "output \"tag\" { value = \"" + tag + "\" }\n"}
}

func (c *stackChain) awaitModule(environment, text string, want bool) {
	c.Helper()
	c.poll(fmt.Sprintf("the root modules of %s have %q: %v", environment, text, want), func() bool {
		found := false
		for _, file := range c.module(environment) {
			found = found || strings.Contains(file, text)
		}
		return found == want
	})
}

func (c *stackChain) poll(what string, isSo func() bool) {
	c.Helper()
	limit, next := time.After(chainLimit), time.NewTicker(200*time.Millisecond)
	defer next.Stop()
	for !isSo() {
		select {
		case <-next.C:
		case <-limit:
			log, _ := os.ReadFile(c.folder.path(demoLogFile))
			c.Fatalf("it is never so that %s; the log:\n%s", what, log)
		}
	}
}

// awaitChain waits until the promotion of the newest commit of the base is as wanted.
func (c *stackChain) awaitChain(what string, isSo func(newest string, stages map[string]status.Stage) bool) {
	c.Helper()
	c.poll(what, func() bool {
		var chain status.Chain
		var stdout, stderr bytes.Buffer
		if Main(c.Context(), []string{"status", "--url", c.server, "-o", "json"}, &stdout, &stderr) != 0 {
			return false // between two daemons
		}
		if err := json.Unmarshal(stdout.Bytes(), &chain); err != nil {
			c.Fatal(err)
		}
		stages := map[string]status.Stage{}
		for _, s := range chain.Stages {
			stages[s.Environment] = s
		}
		return isSo(chain.Head, stages)
	})
}

// TestStackChainRejected: a plan that nobody approves in stage keeps the change from prod. Rolled back, stage has what it
// had, and no plan. A fix in the base then goes to stage and prod, which never had the mistake. The daemon ends often.
func TestStackChainRejected(t *testing.T) {
	t.Parallel()
	c := startStackChain(t)
	defer c.restartOften()()
	for _, e := range demoEnvironments {
		c.approve(e)
	}
	c.commit("main", "a mistake", changeModule("wrong"))
	c.approve("dev")
	c.await("stage", "waits")
	c.awaitChain("stage has the mistake, reports that it is not verified, and keeps it from prod", func(newest string, stages map[string]status.Stage) bool {
		held := stages["stage"]
		return held.Commit == newest && held.Merged && held.Proof.Status != gate.Pass && held.Proof.Reason != "" && stages["prod"].Commit != newest
	})
	c.fairlead("rollback", "stage", "--reason", "nobody approves it", "--timeout", "0")
	c.awaitModule("stage", "wrong", false)
	c.commit("main", "a fix", changeModule("right"))
	c.approve("dev")
	c.awaitChain("the fix is verified in dev", func(newest string, stages map[string]status.Stage) bool {
		dev := stages["dev"]
		for name, text := range c.module("dev") {
			if strings.HasSuffix(name, "/main.tf") && !strings.Contains(text, "right") {
				return false
			}
		}
		return dev.Commit == newest && dev.Merged && dev.Proof.Status == gate.Pass
	})
	c.fairlead("release", "stage")
	for _, e := range []string{"stage", "prod"} {
		c.awaitModule(e, "right", true)
		c.approve(e)
	}
	for name, text := range c.module("prod") {
		if strings.Contains(text, "wrong") {
			t.Errorf("prod has the mistake in %s", name)
		}
	}
}
