package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// recordByPull is the policy of records that are written by pull request.
const recordByPull = "pull-request"

func (m *Promoter) applyDecision(ctx context.Context, s *stageState, d promote.Decision) error {
	switch {
	case s.branch.Repo == nil || s.stage.External:
		return nil
	case s.rejected != "":
		return rejectAdvance(ctx, m, s)
	case !m.mayWrite(ctx) && s.spec.Record == recordByPull:
		return m.checkProposal(ctx, s, d)
	case !m.mayWrite(ctx):
		return nil
	case s.spec.Record == recordByPull:
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
		return nil // another process was faster: the next cycle looks again
	}
	if err != nil {
		return fmt.Errorf("promote %s to %s: %w", text.ShortCommit(d.Candidate), s.spec.Name, err)
	}
	m.notePromoted(s, d)
	return nil
}

func (m *Promoter) notePromoted(s *stageState, d promote.Decision) {
	s.promoted = true
	m.options.Logger.Info("promoted", "environment", s.spec.Name, "commit", d.Candidate, "from", d.Current, "leftOut", len(d.Skipped))
	m.options.Metrics.RecordPromotion(s.spec.Name)
	m.options.OnPromoted(giturl.Normalize(m.options.Remotes.ReadLocation(s.branch.URL)))
}

func (m *Promoter) recordEdit(s *stageState, d promote.Decision) (publish.Options, publish.Edit, error) {
	remote := m.options.Remotes.RemoteOf(s.branch.URL)
	if remote == nil {
		return publish.Options{}, publish.Edit{}, fmt.Errorf("the repository %s is not known", giturl.Redact(s.branch.URL))
	}
	next, lanes := lane.Composition{Platform: d.Candidate}, model.Lanes{}
	if s.next != nil {
		next, lanes = *s.next, *s.written
	}
	files, err := s.branch.SetBase(next, lanes, m.options.Settings.ControlPlane.Repo, m.options.Settings.ControlPlane.Branch)
	o := publish.Options{Remote: remote.Remote, Author: m.options.Author, Sign: m.options.Sign, Write: true, BeforeEffect: m.options.BeforeEffect}
	return o, publish.Edit{
		Branch: s.branch.Name, Head: s.branch.Head, Files: files, When: m.readClock(),
		Message: recordMessage(s.spec, s.subjectOf, d, next, s.laneReport),
	}, err
}

func (m *Promoter) readClock() time.Time {
	if m.options.Now == nil {
		return m.now
	}
	return m.options.Now()
}

func (s *stageState) subjectOf(commit string) string {
	info, err := s.base.Repo.Commit(commit)
	if err != nil {
		return ""
	}
	return info.Subject()
}

// recordMessage returns the message of a record's commit: why the environment gets a commit, which
// others are skipped, and trailers for machines. A proposed commit has no reasons: they change while
// people review it, and approvals are of one commit.
func recordMessage(spec model.Stage, subjectOf func(commit string) string, d promote.Decision, next lane.Composition, lanes *lane.Report) string {
	var b strings.Builder
	var moving []lane.Decision
	if lanes != nil && d.State == promote.Promotes {
		moving = lanes.Moving()
	}
	fmt.Fprintf(&b, "Promote %s to %s\n\n", promotedText(d.Candidate, moving), spec.Name)
	for _, one := range moving {
		fmt.Fprintf(&b, "%s of lane %s: %s\n", text.ShortCommit(one.Candidate), one.Lane, subjectOf(one.Candidate))
	}
	subject := subjectOf(d.Candidate)
	switch {
	case len(moving) > 0:
		b.WriteByte('\n')
	case subject != "":
		fmt.Fprintf(&b, "%s\n\n", subject)
	}
	if spec.Record != recordByPull {
		for _, part := range d.Verdict.Parts {
			fmt.Fprintf(&b, "%s: %s\n", part.Gate, part.Reason)
		}
		if len(d.Skipped) > 0 {
			short := make([]string, len(d.Skipped))
			for i, commit := range d.Skipped {
				short[i] = text.ShortCommit(commit)
			}
			fmt.Fprintf(&b, "It supersedes the commits before it: %s\n", strings.Join(short, ", "))
		}
		b.WriteByte('\n')
	}
	if d.Unmerged && spec.Record != recordByPull {
		fmt.Fprintf(&b, "%s: %s\n", history.UnmergedTrailer, d.Current)
	}
	for _, one := range moving {
		fmt.Fprintf(&b, "%s: %s@%s\n", publish.LaneTrailer, one.Lane, one.Candidate)
	}
	fmt.Fprintf(&b, "Fairlead-Promoted: %s\n%s%s\n", next.Platform, recordTrailer, spec.Name)
	return b.String()
}

func promotedText(commit string, moving []lane.Decision) string {
	if len(moving) == 0 {
		return text.ShortCommit(commit)
	}
	what := fmt.Sprintf("%s of lane %s", text.ShortCommit(moving[0].Candidate), moving[0].Lane)
	if more := len(moving) - 1; more > 0 {
		what += " and " + text.Count(more, "more lane")
	}
	return what
}

// recordTrailer begins the last line of the message of a record's commit.
const recordTrailer = "Fairlead-Promotion: "

func (m *Promoter) recordBranch(s *stageState) string {
	return m.options.Settings.Output.BranchPrefix + recordBranches + s.spec.Name
}

// recordBranches is what the names of those branches begin with, after the prefix of ours.
const recordBranches = "promotion/"

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
	for _, p := range pulls {
		if p.State == forge.Open && p.Commit == head {
			return &gate.Pull{Number: p.Number, URL: p.URL}, err
		}
	}
	return nil, err
}

// readProposedRecord returns the head of the branch that proposes a record, and the commit
// of the base that the record there names; both are "" if there is no such branch.
func (m *Promoter) readProposedRecord(s *stageState) (head, proposed string, err error) {
	_, head, err = m.findRecordBranch(s)
	if err == nil && head != "" {
		proposed, err = s.branch.CommitAt(head)
	}
	return head, proposed, err
}

// findRecordBranch returns the repository of an environment's branch, and the head of the branch
// there that proposes a record; "" if there is none.
func (m *Promoter) findRecordBranch(s *stageState) (*repos.Remote, string, error) {
	remote := m.options.Remotes.RemoteOf(s.branch.URL)
	if remote == nil || remote.Mirror() == nil {
		return nil, "", nil
	}
	head, err := remote.Mirror().Branch(m.recordBranch(s))
	if errors.Is(err, git.ErrNoRevision) {
		return remote, "", nil
	}
	return remote, head, err
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
		Mark: "promotion of " + s.spec.Name, Head: m.recordBranch(s), Base: s.branch.Name, Title: forge.FitTitle(fmt.Sprintf("Promote %s to %s", text.ShortCommit(d.Candidate), s.spec.Name)),
		Body: recordBody(s.spec.Name, s.subjectOf(d.Candidate), m.describeCommits(s, d), d),
	})
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("propose %s for %s: %w", text.ShortCommit(d.Candidate), s.spec.Name, err)
	}
	if pull.State == forge.Closed {
		s.declined = pull.Number
		return nil
	}
	if d.State == promote.Promotes && len(s.approvalGates()) == 0 && pull.State == forge.Open {
		s.proposed = pull.Number
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

// checkProposal finds what keeps a record from being merged that a daemon proposes: a commit of a person on its branch, or
// that nobody has merged it. It writes nothing.
func (m *Promoter) checkProposal(ctx context.Context, s *stageState, d promote.Decision) error {
	asksPeople := onlyApprovals(d.Verdict, s.approvalGates())
	if m.options.Remotes.RemoteOf(s.branch.URL) == nil || d.State != promote.Promotes && !asksPeople {
		return nil
	}
	o, edit, err := m.recordEdit(s, d)
	if err != nil {
		return err
	}
	if err := edit.CheckBranch(o, m.recordBranch(s)); err != nil {
		return fmt.Errorf("propose %s for %s: %w", text.ShortCommit(d.Candidate), s.spec.Name, err)
	}
	if len(s.approvalGates()) > 0 {
		return nil
	}
	pull, err := m.findRecordPull(ctx, s, d.Candidate)
	if pull != nil {
		s.proposed = pull.Number
	}
	return err
}

// stopsMerge reports whether a proposed record must not be merged, by the verdict on the next
// commit: everything is frozen, or that commit is the proposed one and no longer proven. newer
// reports whether it is a newer one.
func stopsMerge(v gate.Verdict, newer bool) bool {
	if v.Status != gate.Pass && (v.Kind == gate.KindFreeze || v.Kind == gate.KindAfter && !newer) {
		return true
	}
	return slices.ContainsFunc(v.Parts, func(part gate.Verdict) bool { return stopsMerge(part, newer) })
}

func (m *Promoter) withdrawRecord(ctx context.Context, s *stageState, reason string) error {
	remote, head, err := m.findRecordBranch(s)
	if err != nil || head == "" {
		return err
	}
	f, err := remote.Forge()
	if err != nil {
		return err
	}
	o := publish.Options{Remote: remote.Remote, Forge: f, Author: m.options.Author, BeforeEffect: m.options.BeforeEffect}
	return publish.Withdraw(ctx, o, m.recordBranch(s), s.branch.Name, recordTrailer+s.spec.Name, reason)
}

func (m *Promoter) describeCommits(s *stageState, d promote.Decision) string {
	if d.Current == "" {
		return ""
	}
	base := source.Commit{Layer: "base", Repo: m.options.Settings.ControlPlane.Repo, Commit: d.Candidate}
	return publish.CommitsText(base, d.Current, publish.ReadCommits(s.base.Repo, d.Current, d.Candidate))
}

func recordBody(environment, subject, commits string, d promote.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merging this promotes commit %s of the base to %s", forge.CodeSpan(d.Candidate), forge.CodeSpan(environment))
	if d.Current != "" {
		fmt.Fprintf(&b, ", which is at %s", forge.CodeSpan(d.Current))
	}
	b.WriteString(".\n\n")
	if subject != "" {
		fmt.Fprintf(&b, "> %s\n", forge.EscapeMarkdown(subject))
	}
	b.WriteString(commits)
	return b.String()
}

func (s *stageState) approvalGates() []string {
	var names []string
	for i, spec := range s.spec.Gates {
		if gate.AsksPeople(spec) {
			names = append(names, s.enterGates.Gates[i].Name())
		}
	}
	return names
}

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

func (m *Promoter) applyDecisions(ctx context.Context, base source.Base, stages []*stageState, decisions []promote.Decision) error {
	if err := m.checkUnchanged(ctx, base, stages, decisions); err != nil {
		return err
	}
	for i, s := range stages {
		if s.err != nil { // something that has to be on record may not be written yet
			continue
		}
		if err := m.runIsolated(ctx, "promote", s, func(ctx context.Context) error { return m.applyDecision(ctx, s, decisions[i]) }); err != nil {
			s.recordError(err)
		}
	}
	return nil
}

// errMoved is the error of a round in which the base or the branch of an environment has moved.
var errMoved = errors.New("the control plane has moved meanwhile")

// checkUnchanged fetches the control plane again before a promotion, so that a freeze on the base
// or a hold on an environment's branch is respected at once.
func (m *Promoter) checkUnchanged(ctx context.Context, base source.Base, all []*stageState, decisions []promote.Decision) error {
	type place struct {
		remote       *repos.Remote
		branch, head string
	}
	controlPlane := m.options.Remotes.ControlPlane()
	places := []place{{controlPlane, m.options.Settings.ControlPlane.Branch, base.Head}}
	for i, s := range all {
		if decisions[i].State == promote.Promotes {
			places = append(places, place{m.options.Remotes.RemoteOf(s.branch.URL), s.branch.Name, s.branch.Head})
		}
	}
	if len(places) == 1 || !m.options.Settings.Write || controlPlane == nil {
		return nil
	}
	asked := map[*repos.Remote]bool{}
	for _, p := range places {
		if p.remote == nil {
			continue
		}
		if !asked[p.remote] {
			if _, err := p.remote.Sync(ctx); err != nil {
				return fmt.Errorf("ask the control plane before a promotion: %w", err)
			}
			asked[p.remote] = true
		}
		if now, err := p.remote.Mirror().Branch(p.branch); err != nil {
			return err
		} else if now != p.head {
			return errMoved
		}
	}
	return nil
}
