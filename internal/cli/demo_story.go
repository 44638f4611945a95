package cli

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/cli/fluxsim"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// demoStory prints what daemon and clusters do, and makes the first change. Its methods
// may be called concurrently.
type demoStory struct {
	demoLines
	folder demoFolder
	once   bool // end after the first part
	end    func()
	pace   time.Duration
	keys   map[string]string // by cluster

	mu     sync.Mutex
	part   demoPart
	change string                  // the first change's commit
	stages map[string]status.Stage // as last printed
	told   map[string]bool         // printed reports of clusters
	failed error
}

type demoPart int

const (
	demoStarts   demoPart = iota // the first output reaches the clusters
	demoChanges                  // the first change is promoted
	demoContinue                 // the user continues
)

func newDemoStory(lines demoLines, f demoFolder, end func()) *demoStory {
	return &demoStory{demoLines: lines, folder: f, end: end, stages: map[string]status.Stage{}, told: map[string]bool{}}
}

func (s *demoStory) simulate(ctx context.Context, server string, logger *slog.Logger) {
	fluxsim.Run(ctx, fluxsim.Options{
		Repository: s.folder.path("gitops.git"), Clusters: demoClusters, Server: server, Keys: s.keys,
		Interval: demoPull, Rollout: s.pace, CancelsChecks: true, Sources: demoSources, Reported: s.observeCluster, Logger: logger,
	})
}

func (s *demoStory) failure() error { return s.failed }

func (s *demoStory) begin(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, `A fleet on this machine, in %s

  control plane  control-plane.git  what people write; control-plane is a clone of it
  output         gitops.git         what clusters apply: a branch for each environment
  clusters       two in each of dev, stage and prod; simulated, they report as Flux does
  page           http://%s/
  log            %s

Part 1: a change goes from dev to stage to prod by itself

`, s.folder, address, demoLogFile)
}

func (s *demoStory) observeCluster(e fluxsim.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	colours := map[fluxsim.Phase]string{fluxsim.Healthy: display.Dim, fluxsim.Failed: display.Red}
	colour, shown := colours[e.Phase]
	key := e.Name + e.Commit + string(e.Phase) // failures are reported repeatedly
	if shown && !s.told[key] {
		s.printLine(e.Name, colour, e.Message)
	}
	s.told[key] = true
}

func (s *demoStory) observeCycle(ctx context.Context, snapshot status.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stage := range snapshot.Chain.Stages {
		s.printStage(s.stages[stage.Environment], stage)
		s.stages[stage.Environment] = stage
	}
	switch {
	case s.failed != nil || ctx.Err() != nil:
	case s.part == demoStarts && s.haveAll(snapshot.Chain, snapshot.Chain.Head):
		s.change, s.failed = s.folder.pushChange(ctx)
		s.part = demoChanges
		s.printLine("main", "", fmt.Sprintf("gets %s: %s", text.ShortCommit(s.change), s.subject(s.change)))
	case s.part == demoChanges && s.haveAll(snapshot.Chain, s.change):
		s.part = demoContinue
		fmt.Fprintf(s.out, "\n%s is everywhere.\n", text.ShortCommit(s.change))
		if !s.once {
			s.failed = s.folder.printSteps(ctx, s.out, demoGuide)
		}
	}
	if s.failed != nil || s.once && s.part == demoContinue {
		s.end()
	}
}

func (s *demoStory) haveAll(c status.Chain, commit string) bool {
	for _, stage := range c.Stages {
		if stage.Commit != commit || stage.Proof.Status != gate.Pass {
			return false
		}
	}
	return len(c.Stages) > 0 && commit != ""
}

func (s *demoStory) printStage(before, now status.Stage) {
	what := text.ShortCommit(now.Commit)
	isNew := now.Commit != before.Commit
	if now.Commit == "" {
		return
	}
	if isNew && s.part != demoStarts {
		verb := "gets"
		if s.isOlder(now.Commit, before.Commit) {
			verb = "goes back to"
		}
		s.printLine(now.Environment, "", fmt.Sprintf("%s %s: %s", verb, what, s.subject(now.Commit)))
	}
	for _, l := range now.Lanes {
		if l.Commit != "" && l.Commit != before.FindLane(l.Name).Commit && l.Commit != before.Commit {
			s.printLine(now.Environment, "", fmt.Sprintf("gets %s of lane %s: %s", text.ShortCommit(l.Commit), l.Name, s.subject(l.Commit)))
		}
	}
	if now.Hold != before.Hold {
		text := "is released"
		if now.Hold != "" {
			text = "is held: " + now.Hold
		}
		s.printLine(now.Environment, display.Yellow, text)
	}
	if len(now.Withheld) > 0 && !now.Merged && (isNew || len(before.Withheld) == 0) {
		s.printLine(now.Environment, display.Yellow, "its pull request waits for a person: "+now.Withheld[0].Reason)
	}
	if now.Merged && (isNew || !before.Merged) && s.part != demoStarts {
		s.printLine(now.Environment, "", "the output of "+what+" is merged")
	}
	if now.Proof.Status == before.Proof.Status && !isNew {
		return
	}
	switch now.Proof.Status {
	case gate.Pass:
		s.printLine(now.Environment, "", "all clusters run "+what)
	case gate.Fail:
		s.printLine(now.Environment, display.Red, what+" fails here and goes no further")
	}
}

type demoLines struct {
	out     *display.Stream
	started time.Time
}

func (l demoLines) printLine(who, colour, what string) {
	elapsed := time.Since(l.started).Round(time.Second)
	text := fmt.Sprintf("  %d:%02d  %-11s  %s", int(elapsed.Minutes()), int(elapsed.Seconds())%60, who, display.SanitizeLine(what))
	if colour != "" {
		text = l.out.Paint(colour, text)
	}
	fmt.Fprintln(l.out, text)
}

func (s *demoStory) subject(commit string) string {
	repo, err := git.Open(s.folder.path("control-plane.git"))
	if err != nil {
		return ""
	}
	info, err := repo.Commit(commit)
	if err != nil {
		return ""
	}
	return info.Subject()
}

func (s *demoStory) isOlder(commit, than string) bool {
	repo, err := git.Open(s.folder.path("control-plane.git"))
	if err != nil || than == "" {
		return false
	}
	older, err := repo.Contains(than, commit)
	return err == nil && older
}
