package promoter

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// DeployContext is the context of the status in which Kalypso reports how far a commit of the base
// has got in an environment (specs: Kalypso, 14).
func DeployContext(environment string) string { return environment + " environment" }

// ProofContext is the context of the status that records a proof after the environment got another
// commit.
func ProofContext(environment string) string { return "fairlead/" + environment + "/proof" }

// The statuses of Kalypso's workflows.
var (
	promotedStatus  = forge.Status{Outcome: forge.Pending, Description: "Promoted"}
	deployingStatus = forge.Status{Outcome: forge.Pending, Description: "Deploying"}
	deployedStatus  = forge.Status{Outcome: forge.Success, Description: "Deployed"}
	failedStatus    = forge.Status{Outcome: forge.Failure, Description: "Failed to deploy"}
)

// reportPromotion reports on the commit of the base how far it has been promoted.
func (m *Promoter) reportPromotion(ctx context.Context, s *stageState) error {
	if !m.options.Settings.Write {
		return nil
	}
	said := promotedStatus
	switch {
	case s.stage.Proof.Status == gate.Fail:
		said = failedStatus
	case !s.facts.DeployedAt.IsZero():
		said = deployedStatus
	case s.stage.Merged:
		said = deployingStatus
	}
	said.Context = DeployContext(s.spec.Name)
	if err := m.ensureStatus(ctx, s, said); err != nil {
		return err
	}
	return m.reportProof(ctx, s)
}

// reportProof records or revokes the proof as a commit status: the last one counts when the
// environment has another commit.
func (m *Promoter) reportProof(ctx context.Context, s *stageState) error {
	said := forge.Status{Context: ProofContext(s.spec.Name), Outcome: forge.Success, Description: "Proven in " + s.spec.Name}
	remembered := slices.ContainsFunc(s.facts.BaseStatuses, func(st gate.CommitStatus) bool {
		return st.Context == said.Context && st.Outcome == forge.Success
	})
	switch status := s.stage.Proof.Status; {
	case status != gate.Pass && !remembered:
		return nil
	case status == gate.Fail:
		said.Outcome, said.Description = forge.Failure, "It has failed in "+s.spec.Name+" since"
	case status != gate.Pass:
		said.Outcome, said.Description = forge.Pending, "It is to be proven anew in "+s.spec.Name
	}
	return m.ensureStatus(ctx, s, said)
}

// ensureStatus sets a status of the current commit if it differs. A status that was set before the
// promotion belongs to an earlier one.
func (m *Promoter) ensureStatus(ctx context.Context, s *stageState, want forge.Status) error {
	i := slices.IndexFunc(s.facts.BaseStatuses, func(st gate.CommitStatus) bool { return st.Context == want.Context })
	if i >= 0 {
		is := s.facts.BaseStatuses[i]
		same := is.Outcome == want.Outcome && is.Description == want.Description
		if same && !is.Time.Before(s.stage.PromotedAt) {
			return nil
		}
		s.published.ForgetStatus(m.options.Settings.ControlPlane.Repo, s.stage.Commit, want.Context)
		if same && want.Outcome != forge.Pending { // a status that is set again may keep its time
			begun := promotedStatus
			begun.Context = want.Context
			if err := m.setStatus(ctx, s, begun); err != nil {
				return err
			}
		}
	}
	return m.setStatus(ctx, s, want)
}

// setStatus sets a status of the current commit.
func (m *Promoter) setStatus(ctx context.Context, s *stageState, want forge.Status) error {
	return m.options.Remotes.SetCommitStatus(ctx, s.published, m.options.Settings.ControlPlane.Repo, s.stage.Commit, want)
}
