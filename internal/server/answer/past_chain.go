package answer

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// PastOverview is the answer of /api/v1/overview about a time in the past: where commits were, as Git has it, and what
// clusters had reported.
type PastOverview struct {
	At string `json:"at"` // as it was asked
	// Head, Inferred and External are described at Overview.
	Head     *Commit `json:"head,omitempty"`
	Inferred string  `json:"inferred,omitempty"`
	External bool    `json:"external,omitempty"`
	// Needs are the environments that a person held: what else needed a person then is not known.
	Needs        []Need        `json:"needs"`
	Environments []Environment `json:"environments"`
	Lanes        []LaneRow     `json:"lanes"`
	// Timeline is as it is now, with the cursor at that time.
	Timeline    Timeline `json:"timeline"`
	Ledger      bool     `json:"ledger"`
	LedgerFails bool     `json:"ledgerFails,omitempty"`
}

// NoRuns reports whether what clusters ran is known of no environment.
func (p PastOverview) NoRuns() bool {
	return len(p.Environments) > 0 && !slices.ContainsFunc(p.Environments, func(e Environment) bool { return len(e.Ran) > 0 })
}

// PastOverview returns where commits were.
func (s Source) PastOverview() PastOverview {
	c, all := s.Snapshot.Chain, s.listEnvironments()
	past := PastOverview{
		At: s.At, Head: s.describeCommit(c.Head), Inferred: c.Inferred, External: c.External, Needs: []Need{}, Environments: all, Lanes: listLanes(s),
		Ledger: s.Ledger, LedgerFails: s.LedgerFails,
	}
	for _, e := range all {
		if e.isHeld() {
			past.Needs = append(past.Needs, Need{State: e.State, Environment: e.Name, Reason: e.Reason})
		}
	}
	return past
}

// WithChain returns the source with the chain of a time, as Git has it, and with the outputs of the environments that there
// were: those without a commit are not known.
func (s Source) WithChain(at string, chain status.Chain, outputs []history.Output) Source {
	var environments []status.Environment
	s.Clusters = nil
	for _, o := range outputs {
		e, _ := s.Snapshot.FindEnvironment(o.Environment)
		e = status.Environment{Name: o.Environment, Inputs: e.Inputs}
		if o.Commit != "" {
			e.Inputs = listInputs(o)
			s.Clusters = append(s.Clusters, fleetview.Overview{Standing: fleetview.Standing{Environment: o.Environment, Output: o.Commit, Base: o.Base}})
		}
		environments = append(environments, e)
	}
	s.At, s.Snapshot.Chain, s.Snapshot.Environments = at, chain, environments
	return s
}

func (s Source) describePast(name string, stage *status.Stage) Environment {
	shown, output := Environment{Name: name, Ran: fleetview.CountPastRuns(s.Then, name, "")}, ""
	i := slices.IndexFunc(s.Clusters, func(o fleetview.Overview) bool { return o.Environment == name })
	if i >= 0 {
		output = s.Clusters[i].Output
	}
	shown.State, shown.CommitState = findReported(shown.Ran, output)
	if stage == nil {
		if merged := s.findRunning(status.Stage{Environment: name}); merged != "" {
			shown.Commit, shown.Merged = s.describeCommit(merged), true
		}
		return shown
	}
	shown.Promoted, shown.After, shown.Commit, shown.Since, shown.Behind = true, stage.After, s.describeCommit(stage.Commit), stage.Since, stage.Behind
	shown.Hold, shown.Merged = stage.Hold, stage.Merged
	if runs := s.findRunning(*stage); stage.Commit != "" && runs != stage.Commit {
		shown.Runs = s.describeCommit(runs)
	}
	switch {
	case stage.State == status.StageStopped:
		shown.Reason = "what it was promoted to then is not known"
	case stage.Merged && output == "":
		shown.Reason = "whether its output was merged then is not known"
	}
	if stage.State == status.StageEmpty || stage.State == status.StageProposed {
		shown.CommitState = State{stage.State.Tone(), string(stage.State)}
		shown.State = shown.CommitState
	}
	switch {
	case stage.Hold != "":
		shown.State, shown.Reason = State{Stopped, string(status.StageHeld)}, stage.HeldThen
	case stage.Frozen != "":
		shown.State, shown.Reason = State{Stopped, string(status.StageFrozen)}, stage.Frozen
	}
	return shown
}

// findReported returns the most urgent state that clusters had reported, and that of an output, which is not known unless
// all of them had reported that. Those that were ready with another one say nothing of either.
func findReported(all []fleetview.PastRun, output string) (worst, of State) {
	unknown := State{Unknown, "unknown"}
	worst, of = unknown, unknown
	for i, run := range all {
		state := PhaseState(run.Phase)
		if i == 0 || CompareUrgency(state.Tone, worst.Tone) > 0 {
			worst = state
		}
	}
	hasOther := func(run fleetview.PastRun) bool { return output == "" || !strings.HasSuffix(run.Revision, output) }
	switch {
	case !slices.ContainsFunc(all, hasOther):
		of = worst
	case worst.Tone == Good:
		worst = unknown
	}
	return worst, of
}

// PhaseState returns the state of an object that is in a phase.
func PhaseState(phase string) State {
	tones := map[string]Tone{"ready": Good, "progressing": Busy, "failed": Bad, "suspended": Stopped, stackview.Waits: Waiting, stackview.Drifted: Bad}
	tone := tones[phase]
	if tone == "" {
		return State{Unknown, "unknown"}
	}
	return State{tone, phase}
}
