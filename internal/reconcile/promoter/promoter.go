// Package promoter promotes commits of the base from one environment to the next.
//
// What the package keeps true:
//   - promote.DecideStages decides, from facts that were read before; an unknown fact is waited
//     for.
//   - A promotion is one commit on the environment's branch, which changes the record and nothing
//     else, or a pull request for it. If the branch has moved, the whole round is repeated.
//   - The state is in Git and at the forge: the record, the statuses of commits, and files that
//     people write. A new Promoter comes to the same decisions.
package promoter

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// Options are what a Promoter needs. All but Metrics, Now, Records and Inbox are required.
type Options struct {
	Settings *config.Settings
	Remotes  *repos.Set
	Store    *status.Store
	Metrics  *metrics.Metrics
	Logger   *slog.Logger
	Random   func() float64 // in [0, 1), for jitter
	// Now is when a promotion is written: after what it follows from in the round. nil is the time of the round.
	Now    func() time.Time
	Author git.Signature
	Sign   git.Signer
	// Keys are those whose signatures prove whose approvals are.
	Keys sign.Keys
	// BeforeEffect is called before each side effect.
	BeforeEffect func(what string)
	// Enter begins work for an environment, or for all with "", in the share that it belongs to; nil where there are no
	// other replicas. The result ends it.
	Enter func(ctx context.Context, environment string) (context.Context, func())
	// OnPromoted is called with the normalized URL of an environment's repository after a promotion
	// there.
	OnPromoted func(repo string)
	// Records caches the records of outputs; nil reads each anew.
	Records *publish.Records
	// Inbox has the reports of clusters; nil for none.
	Inbox observe.ReportSource
	// Ledger knows how clusters stand to outputs; nil for none.
	Ledger Ledger
	// FindPlans returns the plans that clusters sent; nil for none.
	FindPlans FindPlans
	// Barrier turns a panic in the work for one environment into its error.
	Barrier panics.Barrier
}

// Promoter promotes commits from one environment to the next.
type Promoter struct {
	options Options

	// Of the round.
	now          time.Time // when it began: what is decided in it is decided of one time
	source       *source.Source
	environments map[string]Environment
	simulates    bool // it is a simulation, which writes nothing

	// The fields below are caches, and may be lost.
	mu            sync.Mutex
	memories      map[string]*memory            // by environment
	answers       map[string]gate.Answer        // of HTTP needs
	logins        map[string]string             // of authors, by commit
	statuses      map[outputLocation]statusRead // in this round
	laneSteps     map[laneStep][]string         // which lanes steps of the base's line change
	historyCache  historyCache                  // of the base's branch
	described     describedCommits              // of the base's branch
	loggedProblem string                        // the problem that was logged last
	schedule      schedule
	openPulls     string    // the open ones of records, in the last round
	fleetCounted  time.Time // when the clusters of all environments were counted last
	// outputLines are those of the locations of outputs, whose heads are left out.
	outputLines map[outputLocation]outputLine
}

type statusRead func() ([]gate.CommitStatus, error)

// memory is what earlier rounds have found of an environment. One goroutine at a time works on an
// environment.
type memory struct {
	published      repos.StatusCache
	reported       reportedStatuses
	proofs         proofCache
	previousOutput previousOutput
	reversal       cachedReversal
	turns          cachedTurns
	synced         lane.Composition // that its output was in sync with; zero if that is not known
	loggedError    string           // that was logged last
	countedCommit  string           // whose lead time was counted last
	merged         mergedOutput
	listed         []*model.ListedCluster // that are expected
	closed         ledger.ClosedList      // by which no others count; zero if all do
	attached       attachedClusters
	laneObjects    *laneObjects
	releases       map[string]*memory // of lanes
	laneCache      *output.Cache      // of what lanes were checked with
	laneStatuses   map[string]string  // what was reported of commits that lanes have
	laneApplied    map[appliedFolder]time.Time
	waves          waveProofs
	waveEntry      waveEntry
	plansBefore    map[plansOf]plansBefore // of outputs whose plans have a cost
}

// New returns a Promoter.
func New(o Options) *Promoter {
	if o.Enter == nil {
		o.Enter = func(ctx context.Context, _ string) (context.Context, func()) { return ctx, func() {} }
	}
	return &Promoter{
		options: o, memories: map[string]*memory{}, answers: map[string]gate.Answer{}, logins: map[string]string{}, statuses: map[outputLocation]statusRead{},
		outputLines: map[outputLocation]outputLine{},
	}
}

func (m *Promoter) mayWrite(ctx context.Context) bool { return isWriting(m) && shares.MayWrite(ctx) }

func isWriting(m *Promoter) bool { return m.options.Settings.Write && !m.simulates }

func (m *Promoter) memoryOf(environment string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.memories[environment] == nil {
		m.memories[environment] = &memory{}
	}
	return m.memories[environment]
}
