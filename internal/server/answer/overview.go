package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Overview is the answer of /api/v1/overview: what needs a person, and where commits are.
type Overview struct {
	Ready bool `json:"ready"`
	// Head is the newest commit of the base.
	Head *Commit `json:"head,omitempty"`
	// Inferred is what the order was inferred from; "" if it is written.
	Inferred string `json:"inferred,omitempty"`
	// External reports that another system promotes commits.
	External bool `json:"external,omitempty"`
	// Hint is how to connect a cluster, where that is what all wait for, and which pull requests are to wait for others.
	Hint         string        `json:"hint,omitempty"`
	Needs        []Need        `json:"needs"`
	Environments []Environment `json:"environments"`
	Lanes        []LaneRow     `json:"lanes"` // that differ, wait or are held
	Releases     []LaneRow     `json:"releases,omitempty"`
	// Timeline is what environments had, over time, and what they get.
	Timeline Timeline `json:"timeline"`
	// Ledger reports whether clusters can report, and LedgerFails whether they cannot be asked about now.
	Ledger      bool `json:"ledger"`
	LedgerFails bool `json:"ledgerFails,omitempty"`
	// Refused is how many reports of clusters were refused in the last 24 hours.
	Refused int `json:"refusedReports,omitempty"`
}

// Need is what stays as it is until a person acts.
type Need struct {
	State State `json:"state"`
	// Environment is the one that it is about; "" for all of them.
	Environment string       `json:"environment,omitempty"`
	Reason      string       `json:"reason"`
	Pull        *status.Pull `json:"pull,omitempty"`
	// Levers are the operator actions by which a person may end it.
	Levers []string `json:"levers,omitempty"`
	// Stack is the one of the environment that it is about; "" if it is about none. Component is the one whose
	// plan waits for approval, made from Inputs; "" if there is no such one, or several.
	Stack     string `json:"stack,omitempty"`
	Component string `json:"component,omitempty"`
	Inputs    string `json:"inputs,omitempty"`
	// Wave is the one that waits for an approval, of the advance Advance; "" if it is about none.
	Wave    string `json:"wave,omitempty"`
	Advance string `json:"advance,omitempty"`
}

// Overview returns what needs a person, and where commits are.
func (s Source) Overview() Overview {
	c, all := s.Snapshot.Chain, s.listEnvironments()
	return Overview{
		Ready: len(s.Reasons) == 0, Head: s.describeCommit(c.Head), Inferred: c.Inferred, External: c.External, Hint: strings.Join(c.Hints(), " "), Needs: s.findNeeds(all),
		Environments: all, Lanes: listLanes(s), Releases: listReleases(s), Timeline: s.Timeline(time.Time{}), Ledger: s.Ledger, LedgerFails: s.LedgerFails, Refused: s.Refused,
	}
}

// Needs returns what needs a person, the most urgent first. A hold is among it: it lasts until a person releases
// it, and whoever looks is perhaps not the one who holds. A freeze that keeps nothing is not.
func (s Source) Needs() []Need { return s.findNeeds(s.listEnvironments()) }

func (s Source) findNeeds(all []Environment) []Need {
	needs := []Need{}
	for _, reason := range s.Reasons {
		needs = append(needs, Need{State: failing, Reason: reason})
	}
	first, stops := s.Snapshot.Chain.Problems.FirstStopping()
	if stops {
		needs = append(needs, Need{State: failing, Reason: "nothing is promoted until this is fixed: " + first.String()})
	}
	for _, u := range s.Overdue {
		needs = append(needs, Need{State: failing, Environment: u.Environment, Reason: s.Snapshot.OverdueReason(u)})
	}
	for _, stage := range s.Snapshot.Chain.Stages {
		if why := stage.Next.Error; why != "" {
			needs = append(needs, Need{State: failing, Environment: stage.Environment, Reason: "no commit is promoted: " + why})
		}
	}
	for _, tone := range []Tone{Bad, Stopped, Waiting} {
		for _, e := range all {
			stage, _ := s.Snapshot.Chain.FindStage(e.Name)
			if s.isNeed(e, stage, tone) {
				needs = append(needs, Need{State: needState(e.State, tone), Environment: e.Name, Reason: e.Reason, Pull: e.Pull, Levers: s.findHelpfulLevers(e, stage)})
			}
		}
		needs = append(needs, s.stackNeeds(tone)...)
	}
	for _, stage := range s.Snapshot.Chain.Stages {
		for _, w := range stage.Waves {
			if w.LacksApproval {
				needs = append(needs, Need{State: State{Waiting, "waits"}, Environment: stage.Environment, Reason: cmp.Or(w.Reason, "wave "+w.Name+" waits for an approval"), Levers: []string{"approve"}, Wave: w.Name, Advance: stage.Advance})
			}
		}
		for _, l := range stage.Lanes {
			if l.Hold != "" && stage.Hold == "" { // where that holds the whole environment, it is a need that says so
				needs = append(needs, Need{State: State{Stopped, string(status.StageHeld)}, Environment: stage.Environment, Reason: fmt.Sprintf("lane %s is held: %s", l.Name, l.Hold)})
			}
		}
	}
	for _, r := range s.Snapshot.Remotes {
		stops := func(e status.Environment) bool { return slices.Contains(e.Unreachable, r.URL) } // which is a need that says so
		if r.Error != "" && !slices.Contains(s.Snapshot.Unreachable, r.URL) && !slices.ContainsFunc(s.Snapshot.Environments, stops) {
			needs = append(needs, Need{State: failing, Reason: r.URL + ": " + r.Error})
		}
	}
	needs = append(needs, s.expiryNeeds()...)
	return needs
}

// isNeed reports whether an environment needs a person, among what asks for as much as tone says.
func (s Source) isNeed(e Environment, stage status.Stage, tone Tone) bool {
	report, _ := s.Snapshot.FindEnvironment(e.Name)
	isUrgent := e.State.Tone == Bad || e.State.Tone == Stopped && (!e.isFrozen() || stage.WaitsForFreeze())
	if tone != Waiting {
		return isUrgent && e.State.Tone == tone
	}
	return !isUrgent && (report.IsForPerson() || waitsForApproval(stage))
}

var failing = State{Bad, "fails"}

// needState returns the state that is shown with what an environment needs: its own, or that it waits.
func needState(own State, tone Tone) State {
	if tone == Waiting && own.Tone != Waiting {
		return State{Waiting, "waits"}
	}
	return own
}

func waitsForApproval(s status.Stage) bool {
	return s.Next.State == promote.Waiting && s.Next.Verdict.LacksApproval()
}
