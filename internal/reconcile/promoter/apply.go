package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// recordByPull is the policy of records that are written by pull request.
const recordByPull = "pull-request"

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

// applyDecision applies the decision for an environment.
func (m *Promoter) applyDecision(ctx context.Context, s *stageState, d promote.Decision) error {
	if !m.options.Settings.Write || s.branch.Repo == nil || s.environment == nil {
		return nil
	}
	if s.spec.Record == recordByPull {
		return m.applyByPullRequest(ctx, s, d)
	}
	if err := m.withdrawRecord(ctx, s, "Records of this environment are written directly now."); err != nil {
		return err
	}
	if d.State != promote.Promotes {
		return nil
	}
	o, edit, err := m.recordEdit(s, d)
	if err != nil {
		return err
	}
	_, err = publish.Apply(ctx, o, edit)
	if errors.Is(err, git.ErrStale) {
		return nil // somebody was faster: the next cycle looks again
	}
	if err != nil {
		return fmt.Errorf("promote %s to %s: %w", promote.ShortID(d.Candidate), s.spec.Name, err)
	}
	m.notePromoted(s, d)
	return nil
}

// notePromoted logs, counts and announces a promotion.
func (m *Promoter) notePromoted(s *stageState, d promote.Decision) {
	s.promoted = true
	m.options.Logger.Info("promoted", "environment", s.spec.Name, "commit", d.Candidate, "from", d.Current, "leftOut", len(d.Skipped))
	m.options.Metrics.RecordPromotion(s.spec.Name)
	m.options.OnPromoted(giturl.Normalize(m.options.Remotes.ReadLocation(s.branch.URL)))
}

// recordEdit returns the edit of the record for a decision.
func (m *Promoter) recordEdit(s *stageState, d promote.Decision) (publish.Options, publish.Edit, error) {
	remote := m.options.Remotes.RemoteOf(s.branch.URL)
	if remote == nil {
		return publish.Options{}, publish.Edit{}, fmt.Errorf("the repository %s is not known", giturl.Redact(s.branch.URL))
	}
	text, err := s.branch.WithCommit(d.Candidate, m.options.Settings.ControlPlane.Repo, m.options.Settings.ControlPlane.Branch)
	if err != nil {
		return publish.Options{}, publish.Edit{}, err
	}
	o := publish.Options{Remote: remote.Remote, Author: m.options.Author, Sign: m.options.Sign, Write: true, BeforeEffect: m.options.BeforeEffect}
	e := publish.Edit{
		Branch: s.branch.Name, Head: s.branch.Head, Files: map[string][]byte{s.branch.Record: text}, When: m.now,
		Message: recordMessage(s, d),
	}
	return o, e, nil
}

// recordMessage returns the message of a record's commit, with trailers for machines. A proposed
// commit has no reasons: they change while people review it, and approvals are of one commit.
func recordMessage(s *stageState, d promote.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Promote %s to %s\n\n", promote.ShortID(d.Candidate), s.spec.Name)
	if info, err := s.base.Repo.Commit(d.Candidate); err == nil {
		fmt.Fprintf(&b, "%s\n\n", info.Subject())
	}
	if s.spec.Record != recordByPull {
		b.WriteString(decisionReasons(d) + "\n")
	}
	fmt.Fprintf(&b, "Fairlead-Promoted: %s\n%s\n", d.Candidate, recordTrailer(s))
	return b.String()
}

// recordTrailer is the last line of the message of a record's commit.
func recordTrailer(s *stageState) string { return "Fairlead-Promotion: " + s.spec.Name }

// decisionReasons returns why an environment gets a commit, and which others are skipped, a line
// each.
func decisionReasons(d promote.Decision) string {
	var b strings.Builder
	for _, part := range d.Verdict.Parts {
		fmt.Fprintf(&b, "%s: %s\n", part.Gate, part.Reason)
	}
	if len(d.Skipped) > 0 {
		short := make([]string, len(d.Skipped))
		for i, commit := range d.Skipped {
			short[i] = promote.ShortID(commit)
		}
		fmt.Fprintf(&b, "It takes the place of what was proven before it: %s\n", strings.Join(short, ", "))
	}
	return b.String()
}

// recordBranch is our branch of the control plane that proposes a record.
func (m *Promoter) recordBranch(s *stageState) string {
	return m.options.Settings.Output.BranchPrefix + recordBranches + s.spec.Name
}

// recordBranches is what the names of those branches begin with, after the prefix of ours.
const recordBranches = "promotion/"

// recordMark is the mark of its pull request.
func recordMark(s *stageState) string { return "promotion of " + s.spec.Name }

// findRecordPull returns the open pull request that proposes a commit; nil if there is none. One
// that proposes another commit still has the approvals of that.
func (m *Promoter) findRecordPull(ctx context.Context, s *stageState, to string) (*gate.Pull, error) {
	head, proposed, err := m.readProposedRecord(s)
	if err != nil || head == "" || proposed != to {
		return nil, err
	}
	f, err := m.options.Remotes.RemoteOf(s.branch.URL).Forge()
	if err != nil {
		return nil, err
	}
	pulls, err := f.Pulls(ctx, m.recordBranch(s), s.branch.Name)
	if err != nil {
		return nil, err
	}
	for _, p := range pulls {
		if p.State == forge.Open && p.Commit == head {
			return &gate.Pull{Number: p.Number, URL: p.URL}, nil
		}
	}
	return nil, nil
}

// readProposedRecord returns the head of the branch that proposes a record, and the commit
// of the base that the record there names; both are "" if there is no such branch.
func (m *Promoter) readProposedRecord(s *stageState) (head, proposed string, err error) {
	remote := m.options.Remotes.RemoteOf(s.branch.URL)
	if remote == nil || remote.Mirror() == nil {
		return "", "", nil
	}
	head, err = remote.Mirror().Branch(m.recordBranch(s))
	if errors.Is(err, git.ErrNoRevision) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	proposed, err = s.branch.CommitAt(head)
	return head, proposed, err
}

// applyByPullRequest proposes the decision as a pull request. It opens the pull request when only
// approvals are missing. Fairlead merges it where approvals are required, and people do elsewhere.
func (m *Promoter) applyByPullRequest(ctx context.Context, s *stageState, d promote.Decision) error {
	_, proposed, err := m.readProposedRecord(s)
	if err != nil {
		return err
	}
	// Until a newer commit is proven in turn, the one that is proposed may be merged: it was
	// proven, and to close its pull request would take its reviews away.
	newer := proposed != "" && proposed != d.Candidate
	switch {
	case d.State == promote.Promotes || onlyApprovals(d.Verdict, s.approvalGates()):
	case d.State != promote.Waiting || stopsMerge(d.Verdict, newer):
		return m.withdrawRecord(ctx, s, "The commit is not to be promoted as things are: it is held, frozen, no longer proven, or there already.")
	default: // it may be so again in a moment, and approvals would be lost
		return nil
	}
	o, edit, err := m.recordEdit(s, d)
	if err != nil {
		return err
	}
	o.Forge, err = m.options.Remotes.RemoteOf(s.branch.URL).Forge()
	if err != nil {
		return err
	}
	info, err := s.base.Repo.Commit(d.Candidate)
	if err != nil {
		return err
	}
	edit.When = info.When
	if s.branch.When.After(edit.When) {
		edit.When = s.branch.When
	}
	if _, reviewed := o.Forge.(forge.ApprovalReader); reviewed { // a push would take the reviews away
		edit.Independent = source.OwnFolder
	}
	pull, err := edit.Propose(ctx, o, forge.Proposal{
		Mark: recordMark(s), Head: m.recordBranch(s), Base: s.branch.Name, Title: forge.FitTitle(fmt.Sprintf("Promote %s to %s", promote.ShortID(d.Candidate), s.spec.Name)),
		Body: recordBody(s, d),
	})
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("propose %s for %s: %w", promote.ShortID(d.Candidate), s.spec.Name, err)
	}
	if pull.State == forge.Closed {
		s.declined = pull.Number
		return nil
	}
	merger, ok := o.Forge.(forge.Merger)
	if d.State != promote.Promotes || len(s.approvalGates()) == 0 || !ok || pull.State != forge.Open {
		return nil
	}
	m.options.BeforeEffect("merge the pull request of the record")
	switch err := merger.MergePull(ctx, pull.Number, pull.Commit); {
	case errors.Is(err, forge.ErrMoved), errors.Is(err, forge.ErrNotReady):
		s.unmerged = true
		return nil
	case err != nil:
		return err
	}
	m.notePromoted(s, d)
	return nil
}

// stopsMerge reports whether a proposed record must not be merged, by the verdict on the next
// commit: everything is frozen, or that commit is the proposed one and no longer proven. newer
// reports whether it is a newer one.
func stopsMerge(v gate.Verdict, newer bool) bool {
	name, _, _ := strings.Cut(v.Gate, " ")
	if v.Status != gate.Pass && (name == "freeze" || name == "after" && !newer) {
		return true
	}
	return slices.ContainsFunc(v.Parts, func(part gate.Verdict) bool { return stopsMerge(part, newer) })
}

// withdrawRecord closes a proposal that is no longer wanted.
func (m *Promoter) withdrawRecord(ctx context.Context, s *stageState, reason string) error {
	remote := m.options.Remotes.RemoteOf(s.branch.URL)
	if remote == nil || remote.Mirror() == nil {
		return nil
	}
	if _, err := remote.Mirror().Branch(m.recordBranch(s)); errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	f, err := remote.Forge()
	if err != nil {
		return err
	}
	o := publish.Options{Remote: remote.Remote, Forge: f, Author: m.options.Author, BeforeEffect: m.options.BeforeEffect}
	return publish.Withdraw(ctx, o, m.recordBranch(s), s.branch.Name, recordTrailer(s), reason)
}

func recordBody(s *stageState, d promote.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merging this gives %s commit %s of the base", forge.CodeSpan(s.spec.Name), forge.CodeSpan(d.Candidate))
	if d.Current != "" {
		fmt.Fprintf(&b, ", which has %s now", forge.CodeSpan(d.Current))
	}
	b.WriteString(".\n\n")
	if info, err := s.base.Repo.Commit(d.Candidate); err == nil {
		fmt.Fprintf(&b, "> %s\n", forge.EscapeMarkdown(info.Subject()))
	}
	return b.String()
}

// approvalGates returns the names of the gates that wait for approvals.
func (s *stageState) approvalGates() []string {
	var names []string
	for i, spec := range s.spec.Gates {
		if spec.Kind == "approval" {
			names = append(names, s.enterGates.Gates[i].Name())
		}
	}
	return names
}

// onlyApprovals reports whether nothing but approvals is missing.
func onlyApprovals(v gate.Verdict, names []string) bool {
	if v.Status != gate.Wait || len(names) == 0 {
		return false
	}
	for _, part := range v.Parts {
		switch {
		case part.Status == gate.Pass, slices.Contains(names, part.Gate):
		case part.Gate == "gates" && onlyApprovals(part, names):
		default:
			return false
		}
	}
	return true
}
