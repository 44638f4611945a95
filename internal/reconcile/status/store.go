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

// Store keeps the latest reports. The zero Store is ready, and may be used by any number of
// goroutines.
type Store struct {
	mu           sync.RWMutex
	environments map[string]Environment
	remotes      []Remote
	credentials  []Credential // never written to
	examination  Examination  // likewise
	cycle        Cycle
	cycles       []Cycle // those that ended last, the newest first; never written to
	chain        Chain
	controlPlane string
	unreachable  []string                                     // remotes that controlPlane is about
	vanished     []string                                     // never written to
	began        time.Time                                    // the cycle that runs; zero if none does
	plans        map[string]*schedule.Plan                    // by environment
	stacks       map[string][]stackview.Known                 // by environment
	reported     map[stackview.PlanKey]stackview.ReportedPlan // replaced, and never changed
	pastPlans    []stackview.ReportedPlan                     // replaced, and never changed
	unfinished   map[string]time.Time                         // environments, by when their work began that has not ended well since
	problems     map[string]ProblemLog                        // by environment; "" is the order of promotion
	keptSince    time.Time                                    // the first cycle; zero before
	version      uint64                                       // counts the changes
	changed      chan struct{}                                // closed at the next change; nil if there is no reader
}

// Version returns a number that is another one after each change, and a channel that is closed at the
// next one.
func (s *Store) Version() (version uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.version, s.changed
}

// announceChange wakes all that wait for a change. The caller holds the lock.
func (s *Store) announceChange() {
	s.version++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// SetEnvironment replaces the report of an environment. Since stays as it was if State and Reason
// do, and is Checked otherwise. Removals stay as they were.
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
	if e.State != Failed { // such a report has the problems of the one before
		s.followProblems(e.Name, e.Problems, e.Inputs, e.Checked)
	}
	s.announceChange()
}

// SetMergedPull adds the pull request that was merged last, and what it changed, to the report of an environment that is
// in sync and has none.
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

// SetPlan replaces the assignments of an environment: those that it was rendered with when that had no
// problems last.
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

// SetRemovals replaces the locations that an environment has left, if it has a report.
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

// RetainEnvironments removes the reports of all environments but those to keep.
func (s *Store) RetainEnvironments(keep []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.environments, func(name string, _ Environment) bool { return !slices.Contains(keep, name) })
	maps.DeleteFunc(s.plans, func(name string, _ *schedule.Plan) bool { return !slices.Contains(keep, name) })
	maps.DeleteFunc(s.stacks, func(name string, _ []stackview.Known) bool { return !slices.Contains(keep, name) })
	maps.DeleteFunc(s.problems, func(name string, _ ProblemLog) bool { return name != "" && !slices.Contains(keep, name) })
	maps.DeleteFunc(s.unfinished, func(name string, _ time.Time) bool { return !slices.Contains(keep, name) })
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

// maxCycles is how many cycles are kept.
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

// SetVanished records the environments that the control plane had, if it has none now. The caller does not
// change them later.
func (s *Store) SetVanished(environments []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.vanished, environments) {
		s.vanished = environments
		s.announceChange()
	}
}

// SetControlPlane records why the control plane cannot be read, and which remotes that is about; "" means that it was
// read.
func (s *Store) SetControlPlane(err string, unreachable ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controlPlane, s.unreachable = err, unreachable
	s.announceChange()
}

// Snapshot returns a copy of all reports, which nothing changes.
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
		Unfinished:        make([]Unfinished, 0, len(s.unfinished)),
	}
	for _, name := range slices.Sorted(maps.Keys(s.unfinished)) {
		now.Unfinished = append(now.Unfinished, Unfinished{name, s.unfinished[name]})
	}
	for i, stage := range now.Chain.Stages {
		e := s.environments[stage.Environment]
		shown := &now.Chain.Stages[i]
		shown.Removals, shown.Empty = cloneRemovals(e.Removals), e.EmptyReason()
		if e.State != InSync { // a merged one is no news
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

// Snapshot is all reports at one time. Environments are in the order of promotion, and then by name;
// remotes are sorted by URL; neither is nil.
type Snapshot struct {
	Environments []Environment `json:"environments"`
	Remotes      []Remote      `json:"remotes"`
	// Credentials are those of the settings that the API of a forge was opened with, sorted by URL. Nothing may
	// change them.
	Credentials []Credential `json:"-"`
	// Examination is what was found when the set-up was checked last. Nothing may change it.
	Examination Examination `json:"-"`
	// Cycle is the last one that ended; zero, and not in JSON, before the first.
	Cycle Cycle `json:"cycle,omitzero"`
	// Cycles are that one and those before it, the newest first, at most 50.
	Cycles []Cycle `json:"cycles,omitempty"`
	// Chain is the report of promotions; empty if there is none yet, or promotion is off.
	Chain Chain `json:"chain"`
	// ControlPlaneError is why the control plane could not be read; "" if it was.
	ControlPlaneError string `json:"controlPlaneError,omitempty"`
	// Unreachable are the URLs of the remotes whose failure ControlPlaneError is about.
	Unreachable []string `json:"-"`
	// Vanished are the environments that the control plane had, sorted, if it has none now.
	Vanished []string `json:"vanished,omitempty"`
	// Plans are the assignments of environments, by their names: those that each was rendered with when that
	// had no problems last, in this process. Nothing may change them.
	Plans map[string]*schedule.Plan `json:"-"`
	// Stacks are those of environments, by their names, where their output was last rendered without a problem
	// that stops all of it, in this process. Nothing may change them.
	Stacks map[string][]stackview.Known `json:"-"`
	// ReportedPlans are the newest plans that clusters have sent of components of Stacks. Nothing may change them.
	ReportedPlans map[stackview.PlanKey]stackview.ReportedPlan `json:"-"`
	// PastPlans are the last ones of before, the newest last. Nothing may change them.
	PastPlans []stackview.ReportedPlan `json:"-"`
	// Began is when the running cycle began; zero if none runs.
	Began time.Time `json:"-"`
	// ProblemLogs are the problems of environments, by their names, since KeptSince, when the first cycle of this
	// process began; "" is the order of promotion.
	ProblemLogs map[string]ProblemLog `json:"-"`
	KeptSince   time.Time             `json:"-"`
	// Unfinished are the environments whose work has not succeeded, sorted by name.
	Unfinished []Unfinished `json:"-"`
}

// FindEnvironment returns the report of one environment.
func (s Snapshot) FindEnvironment(name string) (Environment, bool) {
	i := slices.IndexFunc(s.Environments, func(e Environment) bool { return e.Name == name })
	if i < 0 {
		return Environment{}, false
	}
	return s.Environments[i], true
}

// CheckReadiness reports whether the reports can be relied on, and if not, why: no cycle has ended
// yet, the control plane could not be read, or all of its environments are gone.
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

// maxVanished is how many environments a reason names.
const maxVanished = 5

// DescribeVanished returns the problem of a control plane that had environments and has none now, and its fix;
// "" if there are none that it had.
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
