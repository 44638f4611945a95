// Package gate evaluates the gates of a commit, with reasons.
//
// What the package keeps true: a verdict always has a reason, and the time from which it may change
// where one is known; a gate is a function of the [Facts], and asks for what is not among them with
// a [Need]; an answer that is missing is waited for, and never counts as a yes.
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
	Wait Status = "wait" // it may pass later
	Fail Status = "fail" // this commit does not pass unless a fact changes
)

// Verdict is the result of a gate, and why.
type Verdict struct {
	Gate   string `json:"gate"` // its name, or its kind
	Kind   Kind   `json:"kind,omitempty"`
	Status Status `json:"status"`
	Reason string `json:"reason"` // one sentence, without a full stop
	// NamesCommit reports that Reason begins with the commit that is waited for.
	NamesCommit bool `json:"-"`
	// WaitsFor is what Reason says is waited for, to follow "waits for"; "" if Reason says it in other words.
	WaitsFor string `json:"waitsFor,omitempty"`
	// NamesTime reports that Reason says the time of ValidUntil.
	NamesTime bool `json:"namesTime,omitempty"`
	// Follows reports that Reason is that of the gate that decides, after which this one begins.
	Follows bool `json:"-"`
	// ValidUntil is when the verdict may change without a new fact; zero if that is not known.
	ValidUntil time.Time `json:"until,omitzero"`
	Parts      []Verdict `json:"parts,omitempty"`
	// Approvers is whose approval is waited for; nil for no approvals. Nothing may change it.
	Approvers *Approvers `json:"-"`
}

// Kind says what a verdict is about, whatever its gate is called: what decides on a verdict looks at it, and never
// at its words. The kind of a gate that people wrote is the kind that they wrote.
type Kind string

// The kinds of verdicts: first those of the gates that people write. Verdicts that are made of others have none.
const (
	KindApproval Kind = "approval" // people approve
	KindDispatch Kind = "dispatch" // a workflow runs
	KindHTTP     Kind = "http"     // a server answers
	KindMerged   Kind = "merged"   // the output is merged
	KindRollout  Kind = "rollout"  // clusters run the output
	KindSoak     Kind = "soak"     // time passes
	KindStatus   Kind = "status"   // a commit status is set
	KindWindow   Kind = "window"   // it is one of the times that the gate names
	KindFreeze   Kind = "freeze"   // a freeze covers the environment
	KindProblems Kind = "problems" // the environment cannot be rendered
	KindAfter    Kind = "after"    // the commit is verified in an environment before
)

// Gate is a condition.
type Gate interface {
	// Name returns the name that people gave it, or its kind.
	Name() string
	// Evaluate returns whether the gate is satisfied.
	Evaluate(f Facts) Verdict
	// Forecast returns when it will be satisfied if it is reached at a time and all goes well.
	Forecast(f Facts, from time.Time) Forecast
}

// Asker is a gate that needs answers from outside.
type Asker interface {
	// Needs returns what Evaluate needs to know. The answers have the keys of the needs.
	Needs(f Facts) []Need
}

// Forecast is when a gate will be satisfied.
type Forecast struct {
	// Time is the earliest time, if what is waited for is there by then; zero if that is not known.
	Time time.Time `json:"at,omitzero"`
	// WaitsFor names what has no known end: "2 approvals".
	WaitsFor string `json:"waits,omitempty"`
	// Delays are what has a known end and is not over yet when it is reached: "gate window until Mon 2026-11-30 09:00
	// UTC".
	Delays []string `json:"delays,omitempty"`
}

// Facts are what is known about one commit of the base in one environment.
type Facts struct {
	Now         time.Time
	Environment string
	Commit      string // of the base
	// Authors are those who wrote the promoted commits, as many as are known.
	Authors []Person
	// PromotedAt is when the commit was promoted to the environment; zero if it was not.
	PromotedAt time.Time
	// MergedAt is when the output of the commit was first seen on the output branch; zero if it is
	// not there.
	MergedAt time.Time
	// OutputCommit is the commit of the output branch that holds the output; "" if none does.
	OutputCommit string
	// DeployedAt is since when the clusters run the commit; zero if they do not, or that is not
	// known. For a commit that the environment does not have, they are those of the environments that it comes
	// after.
	DeployedAt time.Time
	// Withheld is why only a person may merge the output; "" if nothing requires it. HasFormer reports that the output
	// branch holds one of the commit already, from before what Withheld is about.
	Withheld  string
	HasFormer bool
	// Declined is the pull request of the output that a person closed; 0 for none.
	Declined int
	// Pull is the pull request of the output, or of the record.
	Pull    *Pull
	Reports []rollout.Report
	// Uncounted are the clusters that say they are of the environment, and have reported no output of
	// it, by name: none of Reports is theirs.
	Uncounted []string
	// Excluded are the clusters that report an output of the environment and do not count in it, by name: a closed list does
	// not name them, or their keys are bound to others.
	Excluded []string
	// Fleets are how the expected clusters stand to the output, by the key of the need.
	Fleets map[string]rollout.Fleet
	// ReportsLost is set while reports may be missing from Reports.
	ReportsLost LostReports
	// BaseStatuses and OutputStatuses are the statuses of the commit of the base, and of the
	// output's.
	BaseStatuses, OutputStatuses []CommitStatus
	// PreviousStatuses are those of the previous output. Clusters that reported on it must report
	// on this one too.
	PreviousStatuses []CommitStatus
	// OtherEnvironments are the environments whose output is on the same branch: a status that does
	// not name the environment could be of any of them.
	OtherEnvironments []string
	Freezes           []*model.Freeze
	// Approvals are those in Git. Those of a pull request are in Pull.
	Approvals []Approval
	// Teams are the members of the teams that gates name.
	Teams map[string][]string
	// Plans are those of the stacks of the environment; nil if they are not known.
	Plans *Plans
	// Answers are by the key of the need.
	Answers map[string]Answer
}

// LostReports says that reports of clusters were lost, and why. A cluster whose report was lost is
// not counted, so a share of those that are says little.
type LostReports struct {
	Reason string // a clause; "" if none were lost
	// Until is when a cluster that has been silent since is not required any more; zero if what was
	// reported may yet be read.
	Until time.Time
}

// Pull is a pull request.
type Pull struct {
	Number    int
	URL       string
	Missing   []string // to be merged
	Approvals []Approval
}

// Approval is a person's approval of this commit in this environment.
type Approval struct {
	Approver string // a login; in Git, an address
	Time     time.Time
	// Location is "pull request 7", or a file.
	Location string
	// Login is the forge's login for the address in Approver, where it is known. It identifies a
	// person, and never grants permission.
	Login string
	// Actor, Keys and Claims are those of [Person].
	Actor        string
	Keys, Claims []string
	// Commit is the one that added the file.
	Commit string
	// Refused is why the forge does not count it, as in "is of an older commit"; "" if it does.
	Refused string
	// Distrusted is why it may be another person's, as in "is in a commit without a signature"; "" if
	// a forge or a signature says whose it is.
	Distrusted string
}

// Outcome is the state of a commit status or of a run.
type Outcome string

// The outcomes that all forges know.
const (
	Pending Outcome = "pending"
	Success Outcome = "success"
	Failure Outcome = "failure"
)

// CommitStatus is a status that was set on a commit.
type CommitStatus struct {
	Context     string
	Outcome     Outcome
	Description string
	URL         string
	Time        time.Time
	Author      string // a login; "" if the forge does not tell
}

// NeedKind is how a need is answered.
type NeedKind string

// The kinds of needs.
const (
	HTTP           NeedKind = "http"      // GET a URL, or POST to it if there is a body
	StackPlans     NeedKind = "plans"     // the plans of the environment's stacks; the answer goes to Facts.Plans
	Dispatch       NeedKind = "dispatch"  // run a workflow, once for a commit, and wait for its end
	Members        NeedKind = "members"   // of a team; the answer goes to Facts.Teams
	BaseStatuses   NeedKind = "base"      // what was said of the commit of the base
	OutputStatuses NeedKind = "output"    // what was said of the commit of the output
	Clusters       NeedKind = "clusters"  // what clusters have reported
	Fleet          NeedKind = "fleet"     // how the expected clusters stand; the answer goes to Facts.Fleets
	Approvals      NeedKind = "approvals" // of the pull request, and those in Git
)

// Need is a question that a gate must have answered.
type Need struct {
	Key  string // for Answers; the same need has the same key
	Kind NeedKind
	// URL is for HTTP, MaxAge how old its answer may be, and Timeout how long the request may take.
	URL             string
	MaxAge, Timeout time.Duration
	// Body is JSON to send to the URL; nil for none.
	Body []byte
	// Secret names the headers in the settings to send; "" for none.
	Secret string
	// Workflow, Ref and Inputs are for Dispatch.
	Workflow, Ref string
	Inputs        map[string]string
	Team          string // for Members
	AllObjects    bool   // for Fleet: not only the platform object of a cluster counts
}

// Answer is the answer to a need.
type Answer struct {
	Time    time.Time // of the answer, or of the dispatch
	Outcome Outcome   // of a run
	URL     string    // of the run, or that was asked
	Reason  string    // why it failed, or could not be asked; "" if it could
	// Code and Body are the response of an HTTP server.
	Code int
	Body []byte
}

// CombineVerdicts passes if all parts do. A part that failed decides; otherwise the part that waits
// longest, or without a known end.
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

// NextChange returns the earliest time at which a part of the verdict may change without a new
// fact; zero if none is known.
func (v Verdict) NextChange() time.Time {
	at := v.ValidUntil
	for _, p := range v.Parts {
		at = EarlierTime(at, p.NextChange())
	}
	return at
}

// EarlierTime returns the earlier of two times; a zero time is none.
func EarlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
