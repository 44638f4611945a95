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
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/cli/stacksim"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// demoStackFiles are the files of the stack of the demo, in a folder of this name.
//
//go:embed demostack
var demoStackFiles embed.FS

const demoStackFolder = "demostack"

// The environment of the stack, the cluster that runs it, the folder with what kubectl would show of that,
// and a component.
const (
	stackEnvironment = "dev"
	stackCluster     = "platform"
	stackFolder      = "cluster"
)

// demoPatience is the longest time for which the controllers of the demo do not look again.
const demoPatience = 3 * time.Second

// pushStack commits the stack to the branch of its environment, and pushes it.
func (f demoFolder) pushStack(ctx context.Context) error {
	clone := f.path(demoClone)
	for _, args := range [][]string{{"switch", "--quiet", stackEnvironment}, {"pull", "--quiet"}} {
		if err := f.runGit(ctx, args...); err != nil {
			return err
		}
	}
	err := fs.WalkDir(demoStackFiles, demoStackFolder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := demoStackFiles.ReadFile(name)
		if err != nil {
			return err
		}
		file := filepath.Join(clone, filepath.FromSlash(name[len(demoStackFolder)+1:]))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o644)
	})
	if err != nil {
		return err
	}
	return f.pushAll(ctx, "Add the shop", stackEnvironment)
}

// stackDemo shows a stack. Its methods may be called at the same time.
type stackDemo struct {
	demoLines
	folder demoFolder
	once   bool   // end after the first part
	end    func() // ends the demo
	pace   time.Duration
	key    string // of the cluster

	mu      sync.Mutex
	pushed  bool            // whether the stack is in the control plane
	output  string          // the output that was printed last
	shown   map[string]bool // problems, and pull requests, that were printed
	waiting int             // components that have waited for approval
	failed  error
}

func (s *stackDemo) begin(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, `A stack on this machine, in %s

  control plane  control-plane.git  what people write; control-plane is a clone of it
  output         gitops.git         what the cluster applies, and the root modules that it runs
  cluster        cluster            what kubectl would show; simulated, it reports as an agent does
  page           http://%s/
  log            %s

Part 1: the stack shop/dev is rendered and merged, and the cluster begins with its network

`, s.folder, address, demoLogFile)
}

func (s *stackDemo) simulate(ctx context.Context, server string, logger *slog.Logger) {
	stacksim.Run(ctx, stacksim.Options{
		Repository: s.folder.path("gitops.git"), Environment: stackEnvironment, Cluster: stackCluster, Server: server, Key: s.key,
		Folder: s.folder.path(stackFolder), Interval: demoPull, Pace: s.pace, Patience: demoPatience, CancelsChecks: true, Logger: logger,
		Reported: func(e stacksim.Event) { s.observeCluster(ctx, e) },
	})
}

func (s *stackDemo) failure() error { return s.failed }

// firstPlans is how many components wait for approval when the first part is over.
const firstPlans = 2

// observeCluster prints what has happened to a component.
func (s *stackDemo) observeCluster(ctx context.Context, e stacksim.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	colour := ""
	if e.NeedsPerson {
		colour = display.Yellow
		s.waiting++
	}
	s.printLine(path.Base(e.Component), colour, e.Message)
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
		s.pushFirst(ctx, e, snapshot.Chain)
		return
	}
	if e.State == status.InSync && e.Output.Head != s.output {
		s.output = e.Output.Head
		s.printLine(e.Name, "", "the output is merged")
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

// pushFirst pushes the stack once the daemon has written to the branch of the environment what it has to.
func (s *stackDemo) pushFirst(ctx context.Context, e status.Environment, chain status.Chain) {
	if e.State != status.InSync || len(chain.Stages) == 0 || chain.Stages[0].Commit == "" {
		return
	}
	s.pushed, s.output = true, e.Output.Head
	s.failed = s.folder.pushStack(ctx)
	if s.failed != nil {
		s.end()
		return
	}
	s.printLine(e.Name, "", "gets the stack shop/dev: stacks/shop.yaml")
}

// printOnce prints a line, unless it was printed of the same thing.
func (s *stackDemo) printOnce(who, colour, what string, of any) {
	key := fmt.Sprintf("%s %v", what, of)
	if !s.shown[key] {
		s.shown[key] = true
		s.printLine(who, colour, what)
	}
}
