// Package gate says whether a commit may go on, and why.
//
// What the package keeps true: a verdict always has a reason, and a time from which it
// may be another where one is known; a gate is a function of the [Facts], and asks for
// what is not among them with a [Need]; what nobody has answered yet is waited for, and
// never taken for a yes.
package gate

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// Status is whether a gate lets a commit pass.
type Status string

// The states of a gate.
const (
	Pass Status = "pass"
	Wait Status = "wait" // it may pass later, by itself or when somebody acts
	Fail Status = "fail" // this commit will not pass unless the world changes its mind
)

// Verdict is what a gate says, and why.
type Verdict struct {
	Gate   string `json:"gate"` // its name, or its kind
	Status Status `json:"status"`
	Reason string `json:"reason"` // one sentence, without a full stop
	// Until is when the verdict may become another by itself; zero if that is not
	// known.
	Until time.Time `json:"until,omitzero"`
	Parts []Verdict `json:"parts,omitempty"`
}

// Gate is a condition.
type Gate interface {
	// Name is what people call it: its kind, or the name that they gave it.
	Name() string
	// Check says whether it is satisfied.
	Check(f Facts) Verdict
	// Forecast says when it will be satisfied if it is reached at a time and all goes
	// well.
	Forecast(f Facts, from time.Time) Forecast
}

// Asker is a gate that must have something found out.
type Asker interface {
	// Needs gives what is to be found out before Check can say more. The keys of the
	// answers are the needs' keys.
	Needs(f Facts) []Need
}

// Forecast is when something will be.
type Forecast struct {
	// At is the earliest time, if what is waited for is there by then; zero if that is
	// not known.
	At time.Time `json:"at,omitzero"`
	// Waits is for whom or what, where the end is not known: "2 approvals".
	Waits string `json:"waits,omitempty"`
}

// Facts are what is known about one commit of the base in one environment.
type Facts struct {
	Now         time.Time
	Environment string
	Commit      string // of the base
	// Authors are who wrote the commits that come with it: logins, names and
	// addresses, as many as are known.
	Authors []string
	// Since is when the environment was given this commit; zero if it has not got it.
	Since time.Time
	// Merged is when the output of the commit was first seen on the output branch;
	// zero if it is not there.
	Merged time.Time
	// Output is the commit of the output branch that holds it; "" if none does.
	Output string
	// Deployed is since when the clusters run it; zero if they do not, or that is not
	// known.
	Deployed time.Time
	// Withheld says why only a person may merge the output; "" if nothing does.
	Withheld string
	// Pull is the pull request that people look at: of the output, or of the record.
	Pull    *Pull
	Reports []rollout.Report
	// Base and Result are what was said of the commit of the base, and of the output's.
	Base, Result []CommitStatus
	// Before is what was said of the output before: who has said something then, will
	// be heard of this one too.
	Before []CommitStatus
	// Others are the environments whose output is on the same branch: a status that
	// does not name the environment could be of any of them.
	Others  []string
	Freezes []Freeze
	// Approvals are those in Git. Those of a pull request are in Pull.
	Approvals []Approval
	// Teams are the members of the teams that gates name.
	Teams map[string][]string
	// Answers are what was found out, by the key of the need.
	Answers map[string]Answer
}

// Pull is a pull request.
type Pull struct {
	Number    int
	URL       string
	Missing   []string // to be merged
	Approvals []Approval
}

// Approval is a yes of a person to this commit in this environment.
type Approval struct {
	By   string // a login; in Git, an address
	When time.Time
	// Where it is: "pull request 7", or a file.
	Where string
	// Login is whose address By is, where the forge knows. It tells who is the same, and
	// never who may approve.
	Login string
	// Commit is the one that brought the file.
	Commit string
	// Refused is why the forge does not count it, as in "is of an older commit"; "" if it
	// does.
	Refused string
}

// CommitStatus is a commit status.
type CommitStatus struct {
	Context     string
	Outcome     string // "pending", "success" or "failure"
	Description string
	URL         string
	When        time.Time
	By          string
}

// Freeze keeps everything as it is for a time.
type Freeze struct {
	Name         string
	Reason       string
	Environments []string  // nil for all
	From, To     time.Time // zero for always, and for ever
	// Except are commits that may pass, with the reason that somebody gave.
	Except map[string]string
}

// Kind is what is to be done to find something out.
type Kind string

// The kinds of needs.
const (
	HTTP      Kind = "http"      // GET a URL
	Dispatch  Kind = "dispatch"  // run a workflow, once for a commit, and wait for its end
	Members   Kind = "members"   // of a team; the answer goes to Facts.Teams
	OfBase    Kind = "base"      // what was said of the commit of the base
	OfOutput  Kind = "output"    // what was said of the commit of the output
	Clusters  Kind = "clusters"  // what clusters have reported
	Approvals Kind = "approvals" // of the pull request, and those in Git
)

// Need is something that a gate must have found out.
type Need struct {
	Key  string // for Answers; the same need has the same key
	Kind Kind
	// URL is for HTTP, Every how old its answer may be, and Timeout how long it may
	// take.
	URL            string
	Every, Timeout time.Duration
	// Header names are sent with values that the settings have under Secret; "" for
	// none.
	Secret string
	// Workflow, Ref and Inputs are for Dispatch.
	Workflow, Ref string
	Inputs        map[string]string
	Team          string // for Members
}

// Answer is what was found out.
type Answer struct {
	At time.Time // of the answer, or of the dispatch
	// Outcome of a run is "pending", "success" or "failure".
	Outcome string
	URL     string // of the run, or that was asked
	Reason  string // why it failed, or could not be asked; "" if it could
	// Code and Body are what an HTTP server said.
	Code int
	Body []byte
}

// All passes if all of its gates do. A part that failed decides; else the part whose
// end is the farthest, or unknown.
func All(name string, parts []Verdict) Verdict {
	v := Verdict{Gate: name, Status: Pass, Reason: "nothing is in the way", Parts: parts}
	for _, p := range parts {
		if p.Status == Fail {
			return Verdict{Gate: name, Status: Fail, Reason: p.Reason, Until: p.Until, Parts: parts}
		}
		if p.Status != Wait {
			continue
		}
		if v.Status == Pass || !v.Until.IsZero() && (p.Until.IsZero() || p.Until.After(v.Until)) {
			v.Status, v.Reason, v.Until = Wait, p.Reason, p.Until
		}
	}
	return v
}

// Wake gives the earliest time at which something in a verdict may become another by
// itself; zero if none is known.
func (v Verdict) Wake() time.Time {
	at := v.Until
	for _, p := range v.Parts {
		if w := p.Wake(); !w.IsZero() && (at.IsZero() || w.Before(at)) {
			at = w
		}
	}
	return at
}
