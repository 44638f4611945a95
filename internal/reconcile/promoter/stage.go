package promoter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// stageState is what one round knows of an environment's promotion.
type stageState struct {
	spec        model.Stage
	environment Environment // as the cycle has left it; zero if another system decides about it
	memory      *memory
	base        source.Base
	branch      source.Branch
	stage       promote.Stage
	lanes       map[string]string // the commits of lanes that are not at that of the stage; nil if there are none
	laneHolds   map[string]string // reasons by lane
	heldThen    string            // why it is held, as stage.HoldReason, without how that ends
	facts       gate.Facts        // of the commit that it has
	countsFrom  time.Time         // the time from which statuses are about the output that it has since without a break
	output      outputLocation    // of the GitOps repository
	// origin is of the output that the output branch holds; zero if it holds none, or that is not known.
	origin outputOrigin
	err    error // why something could not be found out
	// promoted reports whether we promoted a commit in this round, and unmerged that its pull
	// request could not be merged yet.
	promoted, unmerged bool
	// declined is the pull request of its record that was closed, and proposed the one that people merge; 0 for none.
	declined, proposed int

	// waveTypes are the cluster types of the wave whose proof is evaluated; nil for all.
	waveTypes []string
	// waveCommit is the commit of the output that released it.
	waveCommit string
	// silentBefore is the time since which clusters of the wave must have reported to count; zero for any.
	silentBefore time.Time
	// wavesChanged reports whether a verdict on a wave has changed.
	wavesChanged bool
	// rejected is the id of the advance that is to be taken back; "" for none.
	rejected string

	laneProofs map[string]gate.Verdict // of its lanes, where it has failed as a whole
	decider    *laneDecider            // nil if there are no lanes
	laneReport *lane.Report            // what its lanes may do; nil if it moves as a whole
	releases   *Releases               // those of the lane that it is the stage of; nil for the base
	next       *lane.Composition       // what it gets if its lanes move by themselves; nil if it moves as a whole
	written    *model.Lanes            // of the Promotion, if next is not nil

	enterGates, running, soaking gate.Set
	candidate                    candidateCommits // of the commit that was asked about last
	stages                       []*stageState    // all of the round
}

type outputLocation struct {
	remote               *repos.Remote
	branch, folder, head string
}

// compileGates compiles the gates of a stage. A proof always includes the merge of the output;
// where none is written, the clusters must run the commit. limit is that of the settings; nil for none.
func (s *stageState) compileGates(limit *cost.Limit) problem.List {
	spec := s.spec
	if spec.Proof == nil {
		spec.Proof = []model.GateSpec{model.NewGateSpec("rollout", spec.Pos)}
	}
	if !slices.ContainsFunc(spec.Proof, func(g model.GateSpec) bool { return g.Kind == "merged" }) {
		spec.Proof = append([]model.GateSpec{model.NewGateSpec("merged", spec.Pos)}, spec.Proof...)
	}
	var proof gate.Set
	var problems problem.List
	s.enterGates, proof, problems = gate.CompileStage(spec)
	if limit != nil {
		proof.Gates = append(proof.Gates, gate.NewCostLimit(*limit))
	}
	s.running, s.soaking = proof.SplitSoak()
	return problems
}

func (s *stageState) recordError(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *stageState) stopUnknown(err error) {
	s.recordError(err)
	s.stage.StoppedReason = "it cannot be found out: " + err.Error()
	s.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: s.stage.StoppedReason}
}

func (m *Promoter) readBranch(ctx context.Context, s *stageState) error {
	var err error
	s.branch, err = m.source.Branch(ctx, s.spec.Name)
	if err != nil {
		return err
	}
	if s.branch.Repo == nil {
		s.stage.StoppedReason = fmt.Sprintf("its branch %s cannot be read", s.branch.Name)
		return nil
	}
	if p, stops := s.branch.Progress.Problems.FirstStopping(); stops {
		s.stage.Commit, s.stage.StoppedReason = s.branch.Commit, p.String()+"; "+DescribeRepair(s.branch, p.Pos.File)
		return nil
	}
	holds, err := m.findHolds(s.base, s.branch, s.spec.Name)
	if err != nil {
		return err
	}
	holds = slices.DeleteFunc(holds, func(h hold) bool { return h.scope == model.ScopeWaves })
	reasons, then := make([]string, len(holds)), make([]string, len(holds))
	for i, h := range holds {
		reasons[i], then[i] = h.reason, h.then
	}
	s.laneHolds, err = findLaneHolds(s.branch, s.spec.Name)
	if err != nil {
		return err
	}
	if !s.movesByLanes() {
		for _, name := range slices.Sorted(maps.Keys(s.laneHolds)) {
			if s.base.HasFeeds(name) { // its releases are held, and the others go on
				continue
			}
			why := fmt.Sprintf("lane %s is held, and %s moves as a whole: %s", name, s.spec.Name, s.laneHolds[name])
			reasons, then = append(reasons, why), append(then, why)
		}
	}
	s.stage.HoldReason, s.heldThen = strings.Join(reasons, "; "), strings.Join(then, "; ")
	if s.branch.Commit == "" {
		return nil
	}
	if !source.IsCommit(s.branch.Commit) {
		s.stage.Commit = s.branch.Commit
		s.stage.StoppedReason = fmt.Sprintf("%s names %q, which is not the id of a commit; fairlead rollback %s --reason TEXT mends it", s.branch.Record, s.branch.Commit, s.spec.Name)
		return nil
	}
	commit, err := s.base.Repo.Resolve(s.branch.Commit)
	if errors.Is(err, git.ErrNoRevision) {
		s.stage.Commit = s.branch.Commit
		missing, err := findMissing(s.base, s.branch, s.spec.Name)
		s.stage.StoppedReason = missing.String()
		return err
	}
	if err != nil {
		return err
	}
	s.stage.Commit, s.lanes = commit, readLanes(s.base, s.branch)
	s.stage.PromotedAt, err = m.findPromotedAt(s.branch)
	return err
}

func readLanes(base source.Base, b source.Branch) map[string]string {
	if len(ListedLanes(b)) == 0 {
		return nil
	}
	return resolveLanes(base, ListedLanes(b))
}

// ListedLanes returns the commits of lanes that an environment's branch lists, as they are written; nil for none.
func ListedLanes(b source.Branch) map[string]string {
	if b.Lanes == nil {
		return nil
	}
	return b.Lanes.Commits
}

// ResolveBase returns a base with the ids of its commits, as far as the base has them.
func ResolveBase(base source.Base, c lane.Composition) lane.Composition {
	return lane.Composition{Platform: resolveOrKeep(base, c.Platform), Lanes: resolveLanes(base, c.Lanes)}
}

func resolveLanes(base source.Base, commits map[string]string) map[string]string {
	lanes := map[string]string{}
	for name, commit := range commits {
		lanes[name] = resolveOrKeep(base, commit)
	}
	return lanes
}

func (m *Promoter) findPromotedAt(b source.Branch) (latest time.Time, err error) {
	files := []string{b.Record}
	if b.Lanes != nil {
		files = append(files, b.Lanes.Pos.File)
	}
	for _, file := range files {
		brought, err := b.Repo.LastChangedBy(b.Head, file, maxRecords)
		if err != nil {
			return time.Time{}, err
		}
		at, err := trustedTime(b.Repo, brought, m.readClock())
		if err != nil {
			return time.Time{}, err
		}
		if at.After(latest) {
			latest = at
		}
	}
	return latest, nil
}

func (s *stageState) composition() lane.Composition {
	return lane.Composition{Platform: s.stage.Commit, Lanes: s.lanes}
}

func (m *Promoter) evaluateExternalStage(ctx context.Context, s *stageState) error {
	said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), s.stage.Commit)
	if err != nil {
		return err
	}
	s.stage.Merged = true // who has not merged it has not proven it
	s.stage.Proof.Reason = fmt.Sprintf("%s, and no status says that it is verified", promote.ExternalReason)
	for _, st := range said {
		if st.Context == ProofContext(s.spec.Name) && st.Outcome == forge.Success && !st.Time.Before(s.stage.PromotedAt) {
			s.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Pass, Reason: fmt.Sprintf("%s is verified, according to %s", text.ShortCommit(s.stage.Commit), st.Context)}
		}
	}
	return nil
}

// HoldFile is where fairlead hold writes, below the folder of an environment.
func HoldFile(folder string) string { return path.Join(folder, source.OwnFolder, "hold.yaml") }

// LaneHoldFile is where fairlead hold --lane writes.
func LaneHoldFile(folder, lane string) string {
	return path.Join(folder, source.OwnFolder, "holds", "lane-"+lane+".yaml")
}

// DescribeRepair returns what to do about an unreadable file of an environment's branch, with the
// commit that last changed it.
func DescribeRepair(b source.Branch, file string) string {
	if file == HoldFile(b.Folder) {
		return "fairlead release removes it"
	}
	if path.Dir(file) == path.Dir(LaneHoldFile(b.Folder, "")) {
		return "fairlead release --lane removes it"
	}
	brought, err := b.Repo.LastChangedBy(b.Head, file, maxRecords)
	if err != nil || len(brought.Parents) == 0 {
		return fmt.Sprintf("mend %s on branch %s, and push that", file, b.Name)
	}
	return fmt.Sprintf("mend %s on branch %s, and push that; git revert %s there takes back the commit that it came with", file, b.Name, text.ShortCommit(brought.ID))
}

// maxRecords bounds how far back a branch is searched for the last change of a file.
const maxRecords = 500

func (m *Promoter) evaluateStage(ctx context.Context, s *stageState, h promote.Line) error {
	s.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: "it has no commit"}
	if s.stage.StoppedReason != "" {
		s.stage.Proof.Reason = "its promotion is stopped"
		return nil
	}
	if s.stage.Commit == "" || !h.Contains(s.stage.Commit) {
		return nil
	}
	if s.stage.External {
		return m.evaluateExternalStage(ctx, s)
	}
	if err := m.readStageFacts(ctx, s); err != nil {
		return err
	}
	inWaves, err := evaluateWaves(ctx, m, s)
	if err != nil {
		return err
	}
	e := s.environment
	switch isRendered := e.base().Equal(s.composition()); {
	case isRendered && e.RenderFailure != "":
		s.stage.Proof = gate.CombineVerdicts("proof", []gate.Verdict{e.renderVerdict()})
	case isRendered && e.Rejected != "":
		s.stage.Proof = gate.CombineVerdicts("proof", []gate.Verdict{{Gate: "waves", Status: gate.Fail, Reason: e.Rejected}})
	case !inWaves:
		m.evaluateProof(ctx, s)
	}
	if s.err != nil { // what is not known takes nothing back
		return nil
	}
	if err := m.reportPromotion(ctx, s); err != nil {
		s.recordError(err)
	}
	return nil
}

// evaluateProof evaluates the gates of the proof. Soaking begins when all others have passed.
func (m *Promoter) evaluateProof(ctx context.Context, s *stageState) {
	m.answerNeeds(ctx, s, &s.running, &s.facts)
	running := s.running.Evaluate(s.facts)
	s.stage.Merged, s.stage.HasFormer = !s.facts.MergedAt.IsZero(), s.facts.HasFormer
	if running.Status != gate.Pass {
		s.facts.DeployedAt = time.Time{}
	} else if s.facts.DeployedAt.IsZero() {
		s.facts.DeployedAt = m.now
	}
	soaking := s.soaking.Evaluate(s.facts)
	s.stage.Proof = gate.CombineVerdicts("proof", append(slices.Clone(running.Parts), soaking.Parts...))
	if s.stage.Proof.Status == gate.Pass {
		s.stage.Proof.Reason = fmt.Sprintf("%s is verified", text.ShortCommit(s.stage.Commit))
	}
}

func (m *Promoter) readStageFacts(ctx context.Context, s *stageState) error {
	f := &s.facts
	*f = gate.Facts{Now: m.now, Environment: s.spec.Name, Commit: s.stage.Commit, PromotedAt: s.stage.PromotedAt, Freezes: s.base.Progress.Freezes}
	said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), s.stage.Commit)
	if err != nil {
		return err
	}
	said = s.memory.reported.correctTimes(said, s.stage.Commit, s.stage.PromotedAt)
	f.BaseStatuses, s.countsFrom = said, s.stage.PromotedAt
	if err := m.findOutput(s); err != nil {
		return err
	}
	f.DeployedAt = deployedSince(said, DeployContext(s.spec.Name), s.countsFrom)
	if len(s.lanes) > 0 {
		said, err = m.readStatuses(ctx, m.options.Remotes.ControlPlane(), s.stage.Floor)
		context := laneContext(s.spec.Name, allLanes)
		if len(s.soaking.Gates) == 0 { // that is not recorded
			context = DeployContext(s.spec.Name)
		}
		f.DeployedAt = deployedSince(said, context, s.stage.PromotedAt)
	}
	if err != nil {
		return err
	}
	f.Approvals, err = readTrustedApprovals(m, s, s.stage.Commit, "")
	return err
}

// deployedSince returns since when the clusters run a commit that was promoted at a time, by its
// statuses: older ones belong to an earlier promotion. Zero if they do not.
func deployedSince(said []gate.CommitStatus, context string, given time.Time) time.Time {
	for _, st := range said {
		if st.Context == context && st.Outcome == forge.Success && !st.Time.Before(given) {
			return st.Time
		}
	}
	return time.Time{}
}

func (m *Promoter) findOutput(s *stageState) error {
	e := s.environment
	if e.Repo == "" {
		return nil
	}
	s.output = m.findLocation(e)
	if s.output.remote == nil || s.output.remote.Mirror() == nil {
		return nil
	}
	repo := s.output.remote.Mirror()
	head, err := repo.Branch(s.output.branch)
	if errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	if err != nil {
		return err
	}
	s.output.head = head
	s.facts.Pull, s.facts.Declined = e.Pull, e.Declined
	isRendered := e.base().Equal(s.composition())
	s.origin, err = findOutputOrigin(m.options.Records, repo, head, s.output.folder, s.spec.Name)
	if err != nil {
		return err
	}
	holds := s.origin.Platform != "" && s.origin.Equal(s.composition())
	if exceeded := publish.ExceededLimit(e.Withheld); exceeded != "" && isRendered {
		s.facts.Withheld, s.facts.HasFormer = exceeded, holds
		return nil // whatever the record says: what the commit makes now is not there
	}
	// A commit that changes nothing here has no record of its own: then it counts that what was
	// rendered was compared with what is there. What was merged just now was not, yet.
	compared := e.InSync && !e.JustMerged && isRendered
	if !holds && !(compared && s.output.holdsSameOutput(e.Head)) { // a person may have reverted it
		return nil
	}
	brought, err := repo.LastChangedBy(head, path.Join(s.output.folder, publish.RecordFile), maxRecords)
	if err != nil {
		return err
	}
	s.facts.OutputCommit, s.facts.MergedAt = head, gate.EarlierTime(brought.When, m.now)
	if s.stage.PromotedAt.After(brought.When) { // it changed nothing, so that it was there from the beginning
		s.facts.MergedAt, s.countsFrom = s.stage.PromotedAt, brought.When
	}
	return nil
}

// readStatuses returns the statuses of a commit; none where the forge has none. One round reads
// them once: several environments may have the same commit.
func (m *Promoter) readStatuses(ctx context.Context, r *repos.Remote, commit string) ([]gate.CommitStatus, error) {
	if r == nil {
		return nil, nil
	}
	key := outputLocation{remote: r, head: commit}
	m.mu.Lock()
	read := m.statuses[key]
	if read == nil {
		read = sync.OnceValues(func() ([]gate.CommitStatus, error) { return fetchStatuses(ctx, r, commit) })
		m.statuses[key] = read
	}
	m.mu.Unlock()
	said, err := read()
	return slices.Clone(said), err
}

func fetchStatuses(ctx context.Context, r *repos.Remote, commit string) ([]gate.CommitStatus, error) {
	f, err := r.Forge()
	reader, ok := f.(forge.StatusReader)
	if err != nil || !ok {
		return nil, err
	}
	said, err := reader.Statuses(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("read the statuses of %s: %w", commit, err)
	}
	return said, nil
}

// ReadApprovals returns the approvals of a commit that are files of the environment's branch: for the
// whole commit, and those for a lane only. The approver is the author of the commit that last changed
// the file. keys are those of people.
func ReadApprovals(b source.Branch, commit, lane string, keys sign.Keys) ([]gate.Approval, error) {
	return readApprovalFiles(b, keys, func(a *model.Approval) bool {
		return isAbbreviation(a.Commit, commit) && a.Wave == "" && (a.Lane == "" || a.Lane == lane)
	})
}

// ReadWaveApprovals returns the approvals of a wave, or of the one that it is a part of.
func ReadWaveApprovals(b source.Branch, advance, name string, keys sign.Keys) ([]gate.Approval, error) {
	return readApprovalFiles(b, keys, func(a *model.Approval) bool {
		return a.Commit == advance && (a.Wave == name || a.Wave == wave.BaseName(name))
	})
}

func readApprovalFiles(b source.Branch, keys sign.Keys, counts func(*model.Approval) bool) ([]gate.Approval, error) {
	var all []gate.Approval
	for _, a := range b.Progress.Approvals {
		if !counts(a) {
			continue
		}
		brought, err := b.Repo.LastChangedBy(b.Head, a.Pos.File, maxRecords)
		if err != nil {
			return nil, err
		}
		p := ReadPerson(brought, keys)
		all = append(all, gate.Approval{
			Approver: brought.Author.Email, Time: brought.When, Location: a.Pos.File, Commit: brought.ID, Login: p.Login, Actor: p.Actor, Keys: p.Keys, Claims: p.Claims,
		})
	}
	return all, nil
}
