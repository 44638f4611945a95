package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// Store keeps the latest reports. The zero Store is ready, and is safe for concurrent use.
type Store struct {
	mu           sync.RWMutex
	environments map[string]Environment
	remotes      []Remote
	credentials  []Credential // immutable
	examination  Examination  // immutable
	cycle        Cycle
	cycles       []Cycle // finished ones, newest first; immutable
	chain        Chain
	controlPlane string
	unreachable  []string  // remotes that controlPlane is about
	vanished     []string  // immutable
	began        time.Time // the running cycle; zero if none
	plans        map[string]*schedule.Plan
	stacks       map[string][]stackview.Known
	reported     map[stackview.PlanKey]stackview.ReportedPlan // immutable
	pastPlans    []stackview.ReportedPlan                     // immutable
	restored     map[string]bool                              // plans by ID that may be wanted once a cycle has ended
	unfinished   map[string]time.Time                         // start of work since the last success, by environment
	problems     map[string]ProblemLog                        // by environment; "" is the promotion order
	keptSince    time.Time                                    // first cycle; zero before
	shown        map[string]shownState                        // by environment
	events       []Event                                      // the newest last; replaced, and never changed
	version      uint64                                       // counts changes
	changed      chan struct{}                                // closed at the next change; nil without readers
}

// Version returns a number that differs after each change, and a channel closed at the next.
func (s *Store) Version() (version uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.version, s.changed
}

// announceChange wakes waiting readers. The caller holds the lock.
func (s *Store) announceChange() {
	s.version++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// SetEnvironment replaces a report. It sets Since to Checked if State or Reason changed, and keeps
// Removals.
func (s *Store) SetEnvironment(e Environment) {
	e = e.clone()
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.environments[e.Name]
	e.Since, e.Removals = e.Checked, last.Removals
	if ok && last.State == e.State && last.Reason == e.Reason {
		e.Since = last.Since
	}
	if s.environments == nil {
		s.environments = map[string]Environment{}
	}
	s.environments[e.Name] = e
	s.followState(e.Name, e.Checked)
	if e.State != Failed { // it repeats the previous problems
		s.followProblems(e.Name, e.Problems, e.Inputs, e.Checked)
	}
	s.announceChange()
}

// SetMergedPull adds the last merged pull request and its change to an environment in sync.
func (s *Store) SetMergedPull(environment string, pull *Pull, change string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.environments[environment]
	if !ok || e.State != InSync || e.Pull != nil {
		return
	}
	e.Pull, e.Change = pull.clone(), change
	s.environments[environment] = e
	s.announceChange()
}

// SetPlan replaces the assignments of an environment's last render without problems.
func (s *Store) SetPlan(environment string, p *schedule.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plans[environment] == p {
		return
	}
	if s.plans == nil {
		s.plans = map[string]*schedule.Plan{}
	}
	s.plans[environment] = p
	s.announceChange()
}

// SetStacks replaces the stacks of an environment.
func (s *Store) SetStacks(environment string, stacks []stackview.Known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stacks == nil {
		s.stacks = map[string][]stackview.Known{}
	}
	s.stacks[environment] = stacks
	if len(s.reported) > 0 {
		s.reported = s.retainPlans()
	}
	s.announceChange()
}

// SetRemovals replaces the removals of an environment with a report.
func (s *Store) SetRemovals(environment string, removals []Removal) {
	removals = cloneRemovals(removals)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.environments[environment]; ok {
		e.Removals = removals
		s.environments[environment] = e
		s.announceChange()
	}
}

// RetainEnvironments removes the reports of all environments except keep.
func (s *Store) RetainEnvironments(keep []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.environments, func(name string, _ Environment) bool { return !slices.Contains(keep, name) })
	maps.DeleteFunc(s.plans, func(name string, _ *schedule.Plan) bool { return !slices.Contains(keep, name) })
	maps.DeleteFunc(s.stacks, func(name string, _ []stackview.Known) bool { return !slices.Contains(keep, name) })
	maps.DeleteFunc(s.problems, func(name string, _ ProblemLog) bool { return name != "" && !slices.Contains(keep, name) })
	maps.DeleteFunc(s.unfinished, func(name string, _ time.Time) bool { return !slices.Contains(keep, name) })
	maps.DeleteFunc(s.shown, func(name string, _ shownState) bool { return !slices.Contains(keep, name) })
	s.announceChange()
}

// SetRemotes replaces the reports of all remotes.
func (s *Store) SetRemotes(remotes []Remote) {
	sorted := slices.SortedFunc(slices.Values(remotes), func(a, b Remote) int { return cmp.Compare(a.URL, b.URL) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remotes = sorted
	s.announceChange()
}

const maxCycles = 50

// SetCycle records a finished cycle.
func (s *Store) SetCycle(c Cycle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cycle, s.began = c, time.Time{}
	for name, l := range s.problems {
		s.problems[name] = l.expire(c.Started)
	}
	s.cycles = append([]Cycle{c}, s.cycles[:min(len(s.cycles), maxCycles-1)]...)
	s.announceChange()
}

// SetVanished records the environments that a control plane lost, if it has none. The caller must
// not modify them later.
func (s *Store) SetVanished(environments []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.vanished, environments) {
		s.vanished = environments
		s.announceChange()
	}
}

// SetControlPlane records why the control plane cannot be read, and affected remotes; "" means
// success.
func (s *Store) SetControlPlane(err string, unreachable ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controlPlane, s.unreachable = err, unreachable
	s.announceChange()
}

// Snapshot returns an immutable copy of all reports.
func (s *Store) Snapshot() Snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := Snapshot{
		Environments:      make([]Environment, 0, len(s.environments)),
		Remotes:           append([]Remote{}, s.remotes...),
		Credentials:       s.credentials,
		Examination:       s.examination,
		Cycle:             s.cycle,
		Cycles:            s.cycles,
		Chain:             s.chain.clone(),
		ControlPlaneError: s.controlPlane,
		Unreachable:       s.unreachable,
		Vanished:          s.vanished,
		Plans:             maps.Clone(s.plans),
		Stacks:            maps.Clone(s.stacks),
		ReportedPlans:     s.reported,
		PastPlans:         s.pastPlans,
		Began:             s.began,
		ProblemLogs:       maps.Clone(s.problems),
		KeptSince:         s.keptSince,
		Events:            s.events,
		ShownSince:        map[string]time.Time{},
		Unfinished:        make([]Unfinished, 0, len(s.unfinished)),
	}
	for name, state := range s.shown {
		if !state.since.IsZero() {
			now.ShownSince[name] = state.since
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.unfinished)) {
		now.Unfinished = append(now.Unfinished, Unfinished{name, s.unfinished[name]})
	}
	for i, stage := range now.Chain.Stages {
		e := s.environments[stage.Environment]
		shown := &now.Chain.Stages[i]
		shown.Removals, shown.Empty = cloneRemovals(e.Removals), e.EmptyReason()
		if e.State != InSync {
			shown.Pull = e.Pull.clone()
		}
		shown.StalePull = e.StalePull.clone()
		shown.Action, shown.State = describeAction(stage, e), shown.FindState(e.State)
		shown.ActionOnPage = describeAction(stage, e.withoutCommands())
		shown.Shown, _ = shown.FindShown(e)
	}
	for _, e := range s.environments {
		now.Environments = append(now.Environments, e.clone())
	}
	slices.SortFunc(now.Environments, func(a, b Environment) int {
		return cmp.Or(cmp.Compare(now.Chain.rank(a.Name), now.Chain.rank(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return now
}

// Snapshot has all reports at one time. Environments are in promotion order, then by name, and
// remotes by URL; neither is nil.
type Snapshot struct {
	Environments []Environment `json:"environments"`
	Remotes      []Remote      `json:"remotes"`
	// Credentials are sorted by URL and immutable.
	Credentials []Credential `json:"-"`
	// Examination is immutable.
	Examination Examination `json:"-"`
	// Cycle is the last finished one; zero, and not in JSON, before the first.
	Cycle Cycle `json:"cycle,omitzero"`
	// Cycles are the last 50, newest first.
	Cycles []Cycle `json:"cycles,omitempty"`
	// Chain is empty without a report of promotions.
	Chain Chain `json:"chain"`
	// ControlPlaneError is why the control plane cannot be read; "" if it was read.
	ControlPlaneError string `json:"controlPlaneError,omitempty"`
	// Unreachable are the remotes that ControlPlaneError is about.
	Unreachable []string `json:"-"`
	// Vanished are the previous environments, sorted, if the control plane has none now.
	Vanished []string `json:"vanished,omitempty"`
	// Plans has the assignments of each environment's last render without problems in this process.
	// They are immutable.
	Plans map[string]*schedule.Plan `json:"-"`
	// Stacks has those of each environment's last render without a stopping problem in this
	// process. They are immutable.
	Stacks map[string][]stackview.Known `json:"-"`
	// ReportedPlans has the newest plans that clusters sent. They are immutable.
	ReportedPlans map[stackview.PlanKey]stackview.ReportedPlan `json:"-"`
	// PastPlans has replaced plans, newest last. They are immutable.
	PastPlans []stackview.ReportedPlan `json:"-"`
	// Began is the start of the running cycle; zero if none runs.
	Began time.Time `json:"-"`
	// ProblemLogs has problems by environment since KeptSince, the first cycle of the process; ""
	// is the promotion order.
	ProblemLogs map[string]ProblemLog `json:"-"`
	KeptSince   time.Time             `json:"-"`
	// Events are the last changes of shown states since KeptSince, newest last, and ShownSince is the
	// start of each shown state that began since then. They are immutable.
	Events     []Event              `json:"-"`
	ShownSince map[string]time.Time `json:"-"`
	// Unfinished has environments whose work has not succeeded, sorted by name.
	Unfinished []Unfinished `json:"-"`
}

// FindEnvironment returns the report of an environment, and false if unknown.
func (s Snapshot) FindEnvironment(name string) (Environment, bool) {
	i := slices.IndexFunc(s.Environments, func(e Environment) bool { return e.Name == name })
	if i < 0 {
		return Environment{}, false
	}
	return s.Environments[i], true
}

// CheckReadiness reports whether the reports are reliable, and if not, why.
func (s Snapshot) CheckReadiness() (ready bool, reasons []string) {
	if s.Cycle.Outcome == "" {
		reasons = append(reasons, "the first cycle has not ended yet")
	}
	if s.ControlPlaneError != "" {
		reasons = append(reasons, "the control plane cannot be read: "+s.ControlPlaneError)
	}
	if reason := DescribeVanished(s.Vanished); reason != "" {
		reasons = append(reasons, reason)
	}
	return len(reasons) == 0, reasons
}

const maxVanished = 5

// DescribeVanished describes a control plane that lost its environments, with the fix, or "".
func DescribeVanished(environments []string) string {
	if len(environments) == 0 {
		return ""
	}
	names := slices.Clone(environments[:min(len(environments), maxVanished)])
	if rest := len(environments) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	return "the control plane has no environments any more (it had " + text.Join(names, " and ") + "): restore the objects of kind Environment on its base branch"
}
