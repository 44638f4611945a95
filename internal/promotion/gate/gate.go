// Package gate evaluates the gates of a commit, with reasons.
//
// What the package keeps true: a verdict has a reason, and the time when it may change if known. A
// gate is a function of [Facts], and requests missing ones with a [Need]. A missing answer is
// waited for, and never counts as a yes.
package gate

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// Status is whether a gate lets a commit pass.
type Status string

// The states of a gate.
const (
	Pass Status = "pass"
	Wait Status = "wait"
	Fail Status = "fail" // needs a new fact, or another commit
)

// Verdict is the result of a gate, and its reason.
type Verdict struct {
	Gate   string `json:"gate"` // its name, or its kind
	Kind   Kind   `json:"kind,omitempty"`
	Status Status `json:"status"`
	Reason string `json:"reason"` // one sentence, without a full stop
	// NamesCommit means that Reason begins with the awaited commit.
	NamesCommit bool `json:"-"`
	// WaitsFor is what the commit waits for, to follow "waits for"; "" if Reason is worded differently.
	WaitsFor string `json:"waitsFor,omitempty"`
	// NamesTime means that Reason includes ValidUntil.
	NamesTime bool `json:"namesTime,omitempty"`
	// Follows means that this gate starts after another one and repeats its Reason.
	Follows bool `json:"-"`
	// ValidUntil is when the verdict may change without a new fact; zero if unknown.
	ValidUntil time.Time `json:"until,omitzero"`
	Parts      []Verdict `json:"parts,omitempty"`
	// Approvers are those waited for; nil for none. They must not be modified.
	Approvers *Approvers `json:"-"`
}

// Kind is the subject of a verdict, whatever the gate's name. Decisions use it, never the reason's
// words. People's gates have the kind that they wrote.
type Kind string

// The kinds of verdicts, first those of people's gates. Combined verdicts have none.
const (
	KindApproval Kind = "approval"
	KindCost     Kind = "cost"
	KindDispatch Kind = "dispatch"
	KindHTTP     Kind = "http"
	KindMerged   Kind = "merged"
	KindRollout  Kind = "rollout"
	KindSoak     Kind = "soak"
	KindStatus   Kind = "status"
	KindWindow   Kind = "window"
	KindFreeze   Kind = "freeze"
	KindProblems Kind = "problems"
	KindAfter    Kind = "after"
)

// Gate is a condition.
type Gate interface {
	// Name returns the gate's given name, or its kind.
	Name() string
	// Evaluate returns whether the gate is satisfied.
	Evaluate(f Facts) Verdict
	// Forecast returns when it will be satisfied, if reached at from and all goes well.
	Forecast(f Facts, from time.Time) Forecast
}

// Asker is a gate that needs external answers.
type Asker interface {
	// Needs returns what Evaluate needs. Answers have the keys of needs.
	Needs(f Facts) []Need
}

// Forecast is when a gate will be satisfied.
type Forecast struct {
	// Time is the earliest time, without the duration of WaitsFor; zero if unknown.
	Time time.Time `json:"at,omitzero"`
	// WaitsFor has no known end: "2 approvals".
	WaitsFor string `json:"waits,omitempty"`
	// Delays have a known end: "gate window until Mon 2026-11-30 09:00 UTC".
	Delays []string `json:"delays,omitempty"`
}

// Facts are the known facts about a base commit in an environment.
type Facts struct {
	Now         time.Time
	Environment string
	// Wave is the wave that is proven or waits, of the advance with this id; "" for none.
	Wave, Advance string
	WaveTypes     []string       // the cluster types of the wave
	WaveStatuses  []CommitStatus // of the output since the commit that brought the wave, the newest of each context
	Retries       int            // how often people had the workflows of the advance run again
	Commit        string
	Lane          string // the one that would get the commit; "" for all
	Authors       []Person
	PromotedAt    time.Time
	// MergedAt is when the output was first seen on the output branch, or zero.
	MergedAt     time.Time
	OutputCommit string
	// DeployedAt is when the clusters began to run the commit; zero if they do not, or unknown.
	// Before promotion, it is about the previous environments.
	DeployedAt time.Time
	// Withheld is why only a person may merge the output, or "". HasFormer means that an output of
	// the commit is already merged, from before Withheld's cause.
	Withheld  string
	HasFormer bool
	// Declined is the output's pull request that a person closed; 0 for none.
	Declined int
	Pull     *Pull
	Reports  []rollout.Report
	// Uncounted are clusters without a report of the environment's output. They are not in Reports.
	Uncounted []string
	// Excluded are clusters that report the environment's output but do not count: a closed list
	// omits them, or their keys are bound to others.
	Excluded []string
	// Untyped are clusters of which no report names a cluster type, so that they count in no wave.
	Untyped []string
	// Away are clusters that have been silent for so long that they do not count.
	Away []string
	// Fleets are the expected clusters' states, by key of the need.
	Fleets map[string]rollout.Fleet
	// ReportsLost is set while Reports may be incomplete.
	ReportsLost LostReports
	// BaseStatuses and OutputStatuses are statuses of the base's and the output's commit.
	BaseStatuses, OutputStatuses []CommitStatus
	// PreviousStatuses are the previous output's. Clusters that reported there must report here
	// too.
	PreviousStatuses []CommitStatus
	// OtherEnvironments share the output branch: a status that names no environment may be any of
	// theirs.
	OtherEnvironments []string
	Freezes           []*model.Freeze
	// Approvals are in Git; a pull request's are in Pull.
	Approvals []Approval
	Teams     map[string][]string
	Plans     *Plans
	// Costs are those of the plans that the commit leads to; nil if unknown.
	Costs   *[]PlannedCost
	Answers map[string]Answer
}

// LostReports says why cluster reports were lost. Such clusters are not counted, so shares are not
// reliable.
type LostReports struct {
	Reason string // a clause; "" for none
	// Until is when a silent cluster stops being required; zero if the reports may still be read.
	Until time.Time
}

// Pull is a pull request.
type Pull struct {
	Number    int
	URL       string
	Missing   []string
	Approvals []Approval
}

// Approval is a person's approval of a commit in an environment.
type Approval struct {
	Approver string // a login; in Git, an address
	Time     time.Time
	// Location is "pull request 7", or a file.
	Location string
	// Login is the known forge login for the address in Approver. It identifies a person, but never
	// grants permission.
	Login string
	// Actor, Keys and Claims are as in [Person].
	Actor        string
	Keys, Claims []string
	Commit       string
	// Refused is why the forge does not count it, as in "is of an older commit", or "".
	Refused string
	// Distrusted is why it may be forged, as in "is in a commit without a signature", or "".
	Distrusted string
}

// Outcome is the state of a commit status or of a run.
type Outcome string

// The outcomes that all forges have.
const (
	Pending Outcome = "pending"
	Success Outcome = "success"
	Failure Outcome = "failure"
)

// CommitStatus is a status of a commit.
type CommitStatus struct {
	Context     string
	Outcome     Outcome
	Description string
	URL         string
	Time        time.Time
	Author      string // a login; "" if unknown
}

// NeedKind is how a need is answered.
type NeedKind string

// The kinds of needs.
const (
	HTTP           NeedKind = "http"     // GET, or POST with a body
	StackPlans     NeedKind = "plans"    // plans of the stacks; answered in Facts.Plans
	PlanCosts      NeedKind = "costs"    // of the plans; answered in Facts.Costs
	Dispatch       NeedKind = "dispatch" // run a workflow once per commit
	Members        NeedKind = "members"
	BaseStatuses   NeedKind = "base"
	OutputStatuses NeedKind = "output"
	WaveStatuses   NeedKind = "wave"
	Clusters       NeedKind = "clusters"
	Fleet          NeedKind = "fleet"     // the expected clusters; answered in Facts.Fleets
	Approvals      NeedKind = "approvals" // of the pull request and in Git
)

// Need is a query that a gate needs answered.
type Need struct {
	Key  string // for Answers; equal for equal needs
	Kind NeedKind
	// URL, MaxAge (of the answer) and Timeout are for HTTP.
	URL             string
	MaxAge, Timeout time.Duration
	Body            []byte
	// Secret names headers in the settings; "" for none.
	Secret        string
	Workflow, Ref string
	Inputs        map[string]string
	Team          string
	AllObjects    bool // for Fleet: all objects of a cluster count
}

// Answer is the answer to a need.
type Answer struct {
	Time    time.Time // of the answer, or of the dispatch
	Outcome Outcome
	URL     string // of the run, or the requested one
	Reason  string // of a failure; "" for none
	Code    int
	Body    []byte
}

// CombineVerdicts passes if all parts do. A failed part decides, or else the part that waits
// longest.
func CombineVerdicts(name string, parts []Verdict) Verdict {
	all := Verdict{Gate: name, Status: Pass, Reason: "all gates passed", Parts: parts}
	for _, p := range parts {
		decides := Verdict{
			Gate: name, Status: p.Status, Reason: p.Reason, NamesCommit: p.NamesCommit, WaitsFor: p.WaitsFor, NamesTime: p.NamesTime,
			ValidUntil: p.ValidUntil, Parts: parts,
		}
		switch {
		case p.Status == Fail:
			return decides
		case p.Status == Wait && (all.Status == Pass || !all.ValidUntil.IsZero() && (p.ValidUntil.IsZero() || p.ValidUntil.After(all.ValidUntil))):
			all = decides
		}
	}
	return all
}

// NextChange returns the earliest time when a part may change without a new fact, or zero.
func (v Verdict) NextChange() time.Time {
	at := v.ValidUntil
	for _, p := range v.Parts {
		at = EarlierTime(at, p.NextChange())
	}
	return at
}

// EarlierTime returns the earlier time; zero means none.
func EarlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
