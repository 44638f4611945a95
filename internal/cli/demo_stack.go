package cli

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/cli/stacksim"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// demoStackFiles are the files of the stack of the demo, in a folder of this name, and those of the blueprint.
//
//go:embed demostack demochain
var demoStackFiles embed.FS

const (
	demoStackFolder = "demostack"
	demoChainFolder = "demochain"
)

// The environment of the stack, the cluster that runs it, and the folder with what kubectl would show of that.
const (
	stackEnvironment = "dev"
	stackCluster     = "platform"
	stackFolder      = "cluster"
)

// addEnvironment adds an environment to the name of a cluster or folder, unless it is that of the stack.
func addEnvironment(name, environment string) string {
	if environment == stackEnvironment {
		return name
	}
	return name + "-" + environment
}

func takenQueue(environment string) string {
	text := "# The blueprint queue of the base, and what differs here.\napiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata:\n  name: queue\nspec:\n  teamName: shop\n  envName: queue-" + environment + "\n"
	if environment == "prod" {
		text += "  autoApprove: false\n"
	}
	return text
}

// demoPatience is the longest time for which the controllers of the demo do not look again.
const demoPatience = 3 * time.Second

func (f demoFolder) pushFiles(ctx context.Context, branch, message, folder string, files map[string]string) error {
	for _, args := range [][]string{{"switch", "--quiet", branch}, {"pull", "--quiet"}} {
		if err := f.runGit(ctx, args...); err != nil {
			return err
		}
	}
	files = maps.Clone(files)
	err := fs.WalkDir(demoStackFiles, folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := demoStackFiles.ReadFile(name)
		_, inside, _ := strings.Cut(name, "/")
		files[inside] = string(content)
		return err
	})
	if err != nil {
		return err
	}
	for name, text := range files {
		file := f.path(demoClone, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return f.pushAll(ctx, message, branch)
}

func (f demoFolder) pushBlueprint(ctx context.Context) error {
	return f.pushFiles(ctx, "main", "Add the queue", demoChainFolder, map[string]string{})
}

// pushStacks adds stacks to all environments, last to the one that the clone stays on.
func (f demoFolder) pushStacks(ctx context.Context) error {
	for _, environment := range slices.Backward(demoEnvironments) {
		folder, message := path.Join(demoStackFolder, "stacks", "settings.yaml"), "Take the queue"
		if environment == stackEnvironment {
			folder, message = demoStackFolder, "Add the shop"
		}
		if err := f.pushFiles(ctx, environment, message, folder, map[string]string{"stacks/queue.yaml": takenQueue(environment)}); err != nil {
			return err
		}
	}
	return nil
}

// stackDemo shows a stack. Its methods may be called at the same time.
type stackDemo struct {
	demoLines
	folder demoFolder
	once   bool   // end after the first part
	end    func() // ends the demo
	pace   time.Duration
	keys   map[string]string // of the clusters

	mu      sync.Mutex
	pushed  bool              // whether the stacks are in the control plane
	outputs map[string]string // those that were printed last, by environment
	shown   map[string]bool   // problems, and pull requests, that were printed
	waiting int               // components that have waited for approval
	failed  error
}

func (s *stackDemo) begin(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, `A stack on this machine, in %s

  control plane  control-plane.git  what people write; control-plane is a clone of it
  output         gitops.git         what the cluster applies, and the root modules that it runs
  clusters       cluster            what kubectl would show; simulated, they report as agents do
  page           http://%s/
  log            %s

Part 1: the stack shop/dev is rendered and merged, and the cluster begins with its network;
stage and prod take only a queue, from a blueprint that they share with dev

`, s.folder, address, demoLogFile)
}

func (s *stackDemo) simulate(ctx context.Context, server string, logger *slog.Logger) {
	parallel.Each(len(demoEnvironments), demoEnvironments, func(_ int, environment string) {
		cluster := addEnvironment(stackCluster, environment)
		stacksim.Run(ctx, stacksim.Options{
			Repository: s.folder.path("gitops.git"), Environment: environment, Cluster: cluster, Server: server, Key: s.keys[cluster],
			Folder: s.folder.path(addEnvironment(stackFolder, environment)), Interval: demoPull, Pace: s.pace, Patience: demoPatience, CancelsChecks: true, Logger: logger,
			Reported: func(e stacksim.Event) { s.observeCluster(ctx, environment, e) },
		})
	})
}

func (s *stackDemo) failure() error { return s.failed }

// firstPlans is how many components wait for approval when the first part is over.
const firstPlans = 2

func (s *stackDemo) observeCluster(ctx context.Context, environment string, e stacksim.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	colour, who := "", path.Base(e.Component)
	if e.NeedsPerson {
		colour = display.Yellow
	}
	switch {
	case environment != stackEnvironment:
		who = environment + "/" + who
	case e.NeedsPerson:
		s.waiting++
	}
	s.printLine(who, colour, e.Message)
	if s.waiting < firstPlans || s.shown[demoStepsFile] || s.failed != nil || ctx.Err() != nil {
		return
	}
	s.shown[demoStepsFile] = true
	if s.once {
		s.end()
		return
	}
	s.failed = s.folder.printSteps(ctx, s.out, stackGuide)
	if s.failed != nil {
		s.end()
	}
}

// observeCycle prints what a cycle has made of the environment, and the plans that it has asked for.
func (s *stackDemo) observeCycle(ctx context.Context, snapshot status.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := snapshot.FindEnvironment(stackEnvironment)
	if !ok || s.failed != nil || ctx.Err() != nil {
		return
	}
	if !s.pushed {
		s.pushFirst(ctx, snapshot)
		return
	}
	for _, one := range snapshot.Environments {
		if one.State == status.InSync && one.Output.Head != s.outputs[one.Name] {
			s.outputs[one.Name] = one.Output.Head
			s.printLine(one.Name, "", "the output is merged")
		}
	}
	for _, w := range e.Withheld {
		s.printOnce(e.Name, display.Yellow, "the pull request of the output waits for a person: "+w.Reason, e.Output.Commit)
	}
	if p, stops := e.Problems.FirstStopping(); stops {
		s.printOnce(e.Name, display.Red, p.String(), e.Inputs)
	}
	repo, err := git.Open(s.folder.path("control-plane.git"))
	if err != nil {
		return
	}
	open, err := repo.Refs("refs/heads/fairlead/change/plan/")
	for _, ref := range slices.Sorted(maps.Keys(open)) {
		s.printOnce(e.Name, display.Yellow, "a pull request asks for another plan of "+path.Base(ref), open[ref])
	}
	if err != nil {
		s.printOnce(e.Name, display.Red, err.Error(), "")
	}
}

// pushFirst pushes the stacks once all environments have the base, and the daemon has written to their branches what it
// has to.
func (s *stackDemo) pushFirst(ctx context.Context, snapshot status.Snapshot) {
	for _, stage := range snapshot.Chain.Stages {
		e, ok := snapshot.FindEnvironment(stage.Environment)
		if !ok || e.State != status.InSync || stage.Commit != snapshot.Chain.Head {
			return
		}
		s.outputs[e.Name] = e.Output.Head
	}
	if len(snapshot.Chain.Stages) < len(demoEnvironments) {
		return
	}
	s.pushed = true
	s.failed = s.folder.pushStacks(ctx)
	if s.failed != nil {
		s.end()
		return
	}
	s.printLine(stackEnvironment, "", "gets the stack shop/dev: stacks/shop.yaml")
}

// printOnce prints a line, unless it was printed of the same thing.
func (s *stackDemo) printOnce(who, colour, what string, of any) {
	key := fmt.Sprintf("%s %v", what, of)
	if !s.shown[key] {
		s.shown[key] = true
		s.printLine(who, colour, what)
	}
}
