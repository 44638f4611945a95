package promoter

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// FindPins returns what an environment's branch has of a lane's releases; nil for nothing.
func FindPins(b source.Branch, lane string) *model.Release {
	i := slices.IndexFunc(b.Progress.Releases, func(r *model.Release) bool { return r.Lane == lane })
	if i < 0 {
		return nil
	}
	return b.Progress.Releases[i]
}

// decideReleases decides which release of a lane each environment gets next, as it is decided about commits of the base.
func decideReleases(ctx context.Context, m *Promoter, policy Policy, stages []*stageState, l *releaseLine) error {
	for _, of := range stages {
		s, err := newReleaseStage(m, of, l.Releases)
		if err != nil {
			return err
		}
		l.stages = append(l.stages, s)
	}
	skips := policy.base.Progress.Skips
	for _, s := range l.stages {
		if err := markIncomplete(l, s); err != nil {
			return err
		}
	}
	parallel.Each(m.options.Settings.Parallel, l.stages, func(i int, s *stageState) {
		if err := m.runIsolated(ctx, "look at the release", s, func(ctx context.Context) error { return evaluateRelease(ctx, m, policy, stages, i, s) }); err != nil {
			s.stopUnknown(err)
		}
	})
	line := l.withoutSkipped(skips, l.stages)
	m.loadEarlierProofs(ctx, l.stages, line)
	var err error
	l.decisions, err = decideLine(ctx, m, l.stages, line, l.Lane)
	for i := range l.decisions {
		d := &l.decisions[i]
		beginPins(l, l.stages[i], d)
		if why := describeUnavailable(ctx, m, policy.base, l, d); why != "" {
			d.State, d.Verdict = promote.Waiting, gate.Verdict{Gate: "available", Status: gate.Wait, Reason: why}
		}
	}
	return err
}

// FindDeviations returns the pins by which an environment has other versions than its release.
func FindDeviations(b source.Branch, r *model.Release) (found []*model.Pin) {
	for _, p := range b.Progress.Pins {
		if v, has := r.Versions[p.Name]; has && !v.IsHadAs(p.FeedVersion) {
			found = append(found, p)
		}
	}
	return found
}

// markIncomplete keeps a release from going on where it has not all of its versions, unless the environments after it have the same pins.
func markIncomplete(l *releaseLine, s *stageState) error {
	release := l.Find(s.stage.Commit)
	if release == nil {
		return nil
	}
	for _, p := range FindDeviations(s.branch, release) {
		isOther := func(after *stageState) bool {
			return slices.Contains(after.spec.After, s.spec.Name) && !slices.ContainsFunc(after.branch.Progress.Pins, func(o *model.Pin) bool {
				return o.Name == p.Name && o.Version == p.Version && o.Digest == p.Digest
			})
		}
		if !slices.ContainsFunc(l.stages, isOther) {
			continue
		}
		who, err := lastChangedBy(s.branch.Repo, s.branch.Head, p.Pos.File)
		if err != nil {
			return err
		}
		s.stage.Incomplete = fmt.Sprintf("%s is pinned to %s there by %s (until fairlead versions unpin %s %[1]s)", p.Name, p.Version, who, s.spec.Name)
		return nil
	}
	return nil
}

func newReleaseStage(m *Promoter, of *stageState, l Releases) (*stageState, error) {
	known := of.memory.releases[l.Lane]
	if known == nil {
		known = &memory{}
	}
	if of.memory.releases == nil {
		of.memory.releases = map[string]*memory{}
	}
	of.memory.releases[l.Lane] = known
	s := &stageState{
		spec: of.spec, environment: of.environment, memory: known, base: of.base, branch: of.branch, output: of.output, origin: of.origin,
		enterGates: of.enterGates, running: of.running, soaking: of.soaking, stage: of.stage, releases: &l, laneHolds: of.laneHolds,
	}
	s.stage.Position = promote.Position{Proven: map[string]bool{}}
	if why := of.laneHolds[l.Lane]; why != "" {
		s.stage.HoldReason = strings.TrimPrefix(s.stage.HoldReason+"; "+why, "; ")
	}
	if s.stage.StoppedReason == "" {
		s.stage.StoppedReason = l.Stopped
	}
	if of.branch.Repo == nil {
		return s, nil
	}
	back, err := l.FindReversal(of.branch, s.spec.Name)
	if err != nil {
		return s, err
	}
	if back != nil {
		why := fmt.Sprintf("reverted by %s in %s (until fairlead release %s --lane %s)", back.Author, text.ShortCommit(back.Commit), s.spec.Name, text.QuoteShell(l.Lane))
		s.stage.HoldReason = strings.TrimPrefix(s.stage.HoldReason+"; "+why, "; ")
	}
	pins := FindPins(of.branch, l.Lane)
	if pins == nil {
		return s, nil
	}
	s.stage.Commit = pins.Commit
	if release := l.Find(pins.Commit); l.Stopped == "" && s.stage.StoppedReason == "" {
		repair := fmt.Sprintf("fairlead rollback %s --lane %s --to RELEASE --reason TEXT mends it", s.spec.Name, text.QuoteShell(l.Lane))
		switch {
		case release == nil:
			s.stage.StoppedReason = fmt.Sprintf("branch %s%s was rewritten and has no release %s any more; %s", source.ReleasesPrefix, l.Lane, pins.Name, repair)
		case !model.IsPinnedAs(release.Versions, pins.Versions):
			s.stage.StoppedReason = fmt.Sprintf("%s does not have the versions of %s; %s", pins.Pos.File, release.Name, repair)
		}
	}
	brought, err := of.branch.Repo.LastChangedBy(of.branch.Head, pins.Pos.File, maxRecords)
	if err != nil {
		return s, err
	}
	if same, err := of.branch.HasSamePins(brought.ID); err != nil || !same {
		if err == nil {
			brought, err = of.branch.Repo.LastChangedBy(of.branch.Head, path.Join(of.branch.Folder, model.PinnedFolder), maxRecords)
		}
		if err != nil {
			return s, err
		}
	}
	s.stage.PromotedAt, err = trustedTime(of.branch.Repo, brought, m.readClock())
	return s, err
}

func (e *Environment) hasPins(lane, release string) bool {
	return e.Releases[lane] == release
}

// evaluateRelease judges the release that an environment has. It is merged if the output branch holds what was rendered with it.
func evaluateRelease(ctx context.Context, m *Promoter, policy Policy, stages []*stageState, i int, s *stageState) error {
	of, e, lane := stages[i], s.environment, s.releases.Lane
	s.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: "it has no release"}
	switch {
	case s.stage.StoppedReason != "":
		s.stage.Proof.Reason = "its promotion is stopped"
		return nil
	case s.stage.Commit == "":
		return nil
	case s.stage.External:
		return m.evaluateExternalStage(ctx, s)
	}
	f := &s.facts
	*f = gate.Facts{Now: m.now, Environment: s.spec.Name, Commit: s.stage.Commit, PromotedAt: s.stage.PromotedAt, Freezes: s.base.Progress.Freezes}
	said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), s.stage.Commit)
	if err != nil {
		return err
	}
	f.BaseStatuses, s.countsFrom = s.memory.reported.correctTimes(said, s.stage.Commit, s.stage.PromotedAt), s.stage.PromotedAt
	f.DeployedAt = deployedSince(f.BaseStatuses, DeployContext(s.spec.Name), s.countsFrom)
	f.Approvals, err = readTrustedApprovals(m, s, s.stage.Commit, lane)
	if err != nil {
		return err
	}
	merged, err := s.holdsRelease()
	if err != nil {
		return err
	}
	if merged {
		brought, err := s.output.remote.Mirror().LastChangedBy(s.output.head, path.Join(s.output.folder, publish.RecordFile), maxRecords)
		if err != nil {
			return err
		}
		f.OutputCommit, f.MergedAt = s.output.head, gate.EarlierTime(brought.When, m.now)
		if s.stage.PromotedAt.After(brought.When) { // it changed nothing
			f.MergedAt, s.countsFrom = s.stage.PromotedAt, brought.When
		}
	}
	switch {
	case e.RenderFailure != "" && e.hasPins(lane, s.stage.Commit) && s.breaksEnvironment():
		s.stage.Proof = gate.CombineVerdicts("proof", []gate.Verdict{e.renderVerdict()})
	default:
		m.evaluateProof(ctx, s)
		err = judgeReleaseAlone(ctx, m, policy, stages, of, s)
	}
	if err != nil || s.err != nil {
		return err
	}
	if s.stage.Proof.Status == gate.Pass {
		s.stage.Proof.Reason = s.releases.Name(s.stage.Commit) + " is verified"
	}
	if reason := s.releases.describeSkipped(s.stage.Commit, s.base.Progress.Skips); reason != "" {
		s.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Fail, Reason: reason}
	}
	reported := *s
	if s.stage.Incomplete != "" && s.stage.Proof.Status == gate.Pass { // others must not take it for proven later
		reported.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: s.stage.Incomplete}
	}
	if err := m.reportPromotion(ctx, &reported); err != nil {
		s.recordError(err)
	}
	return nil
}

func (s *stageState) holdsRelease() (bool, error) {
	e, lane := s.environment, s.releases.Lane
	rendered := e.hasPins(lane, s.stage.Commit)
	switch {
	case s.output.head == "" || rendered && publish.ExceededLimit(e.Withheld) != "":
		return false, nil
	case rendered && e.InSync && !e.JustMerged && s.output.holdsSameOutput(e.Head):
		return true, nil
	case s.origin.plane == "":
		return false, nil
	}
	pins, err := s.branch.PinsAt(s.origin.plane, lane)
	if errors.Is(err, git.ErrNoRevision) {
		return false, nil
	}
	if err != nil || pins == nil || pins.Commit != s.stage.Commit {
		return false, err
	}
	return s.branch.HasSamePins(s.origin.plane)
}

func (s *stageState) breaksEnvironment() bool {
	release := s.releases.Find(s.stage.Commit)
	stops := false
	for _, p := range s.environment.Problems {
		if p.Warning {
			continue
		}
		stops = true
		mine := false
		for _, v := range release.Versions {
			mine = mine || v.Registration == p.Pos.Layer
		}
		if !mine {
			return false
		}
	}
	return stops
}

// judgeReleaseAlone passes a release whose own objects are verified where the environment as a whole is not.
func judgeReleaseAlone(ctx context.Context, m *Promoter, policy Policy, stages []*stageState, of, s *stageState) error {
	lanes := policy.lanes()
	if lanes == nil || s.stage.Proof.Status == gate.Pass || s.facts.MergedAt.IsZero() {
		return nil
	}
	alone := *of
	alone.facts, alone.err = s.facts, nil
	e, err := m.newLaneDecider(*lanes, stages, promote.NewLine(nil))
	if err != nil {
		return err
	}
	p := laneProof{decider: e, stage: &alone, lane: s.releases.Lane, objects: e.findObjects(ctx, &alone)}
	f, known := p.selectFacts(s.facts)
	if !known {
		return nil
	}
	running := s.running.Evaluate(f)
	f.DeployedAt = time.Time{}
	if running.Status == gate.Pass {
		f.DeployedAt = deployedSince(f.BaseStatuses, DeployContext(s.spec.Name), s.countsFrom)
		if f.DeployedAt.IsZero() {
			f.DeployedAt = m.now
		}
	}
	s.facts.DeployedAt = f.DeployedAt
	s.stage.Proof = gate.CombineVerdicts("proof", slices.Concat(running.Parts, s.soaking.Evaluate(f).Parts))
	return nil
}

// beginPins lets an environment without a release begin with the newest one that changes nothing there, so that no version gets
// past the chain while lanes are introduced.
func beginPins(l *releaseLine, s *stageState, d *promote.Decision) {
	isFree := s.stage.StoppedReason == "" && s.stage.HoldReason == "" && !s.stage.External && s.branch.Repo != nil
	if s.spec.Record == recordByPull && isFree && d.State != promote.Current {
		reason := fmt.Sprintf("people record what %s gets: fairlead promote %s --lane %s --pull-request proposes it", s.spec.Name, s.spec.Name, l.Lane)
		d.State, d.Verdict = promote.Waiting, gate.Verdict{Gate: s.spec.Name, Status: gate.Wait, Reason: reason, Parts: []gate.Verdict{d.Verdict}}
		return
	}
	if !isFree || s.stage.Commit != "" || gate.EvaluateFreezes(gate.Facts{Now: s.facts.Now, Environment: s.spec.Name, Freezes: s.base.Progress.Freezes}).Status != gate.Pass {
		return
	}
	for _, commit := range l.Line.Commits() {
		release := l.Find(commit)
		if release == nil || l.describeSkipped(commit, s.base.Progress.Skips) != "" || !s.environment.hasVersions(*release, s.branch.Progress.Pins) {
			continue
		}
		d.State, d.Candidate, d.Skipped = promote.Promotes, commit, nil
		d.Verdict = gate.Verdict{Gate: s.spec.Name, Status: gate.Pass, Reason: fmt.Sprintf("%s has the versions of %s", s.spec.Name, release.Name)}
		d.Verdict.Parts = []gate.Verdict{{Gate: "begin", Status: gate.Pass, Reason: d.Verdict.Reason}}
		return
	}
}

func (e *Environment) hasVersions(r model.Release, pins []*model.Pin) bool {
	for _, v := range r.Versions {
		if !v.IsRead() { // what it sets was not set before
			return false
		}
		has, isRead := e.Workloads[v.Registration]
		isPinned := slices.ContainsFunc(pins, func(p *model.Pin) bool { return p.Registration == v.Registration })
		if isRead && !isPinned && has != v.Commit {
			return false
		}
	}
	return e.Workloads != nil && len(r.Versions) > 0
}

// applyReleases writes the releases that environments get: one commit for all lanes of an environment.
func applyReleases(ctx context.Context, m *Promoter, policy Policy, stages []*stageState, lines []*releaseLine) error {
	if !isWriting(m) {
		return nil
	}
	var moving []*stageState
	var decisions []promote.Decision
	for _, l := range lines {
		for i, s := range l.stages {
			if l.decisions[i].State == promote.Promotes && s.err == nil && !stages[i].promoted {
				moving, decisions = append(moving, s), append(decisions, l.decisions[i])
			}
		}
	}
	if len(moving) == 0 {
		return nil
	}
	if err := m.checkUnchanged(ctx, policy.base, moving, decisions); err != nil {
		return err
	}
	for _, of := range stages {
		var parts []*stageState
		var decided []promote.Decision
		for i, s := range moving {
			if s.spec.Name == of.spec.Name {
				parts, decided = append(parts, s), append(decided, decisions[i])
			}
		}
		if len(parts) == 0 {
			continue
		}
		if err := m.runIsolated(ctx, "promote releases", of, func(ctx context.Context) error { return writePins(ctx, m, policy.base, parts, decided) }); err != nil {
			for _, s := range parts {
				s.recordError(err)
			}
		}
	}
	return nil
}

func writePins(ctx context.Context, m *Promoter, base source.Base, parts []*stageState, decisions []promote.Decision) error {
	if !m.mayWrite(ctx) {
		return nil
	}
	s := parts[0]
	remote := m.options.Remotes.RemoteOf(s.branch.URL)
	edit := publish.Edit{Branch: s.branch.Name, Head: s.branch.Head, Files: map[string][]byte{}, When: m.readClock()}
	var title, about, trailers []string
	for i, part := range parts {
		d, lane := decisions[i], part.releases.Lane
		release := part.releases.Find(d.Candidate)
		complete, missing, err := source.CompleteRelease(ctx, m.source, base.Feeds, s.spec.Name, *release)
		if err != nil {
			return err
		}
		if missing != "" { // it was there when this was decided
			return fmt.Errorf("promote %s to %s: %s", release.Name, s.spec.Name, missing)
		}
		file, content, err := NewPins(part.branch, complete, d.Candidate)
		if err != nil {
			return err
		}
		edit.Files[file] = content
		title = append(title, release.Name)
		about = append(about, release.DescribeChange(FindPins(part.branch, lane))...)
		for _, v := range d.Verdict.Parts {
			about = append(about, v.Gate+": "+v.Reason)
		}
		trailers = append(trailers, fmt.Sprintf("%s: %s@%s", publish.LaneTrailer, lane, d.Candidate))
	}
	edit.Message = fmt.Sprintf("Promote %s to %s\n\n%s\n\n%s\n%s%s\n", joinSome(title), s.spec.Name, strings.Join(about, "\n"), strings.Join(trailers, "\n"), recordTrailer, s.spec.Name)
	o := publish.Options{Remote: remote.Remote, Author: m.options.Author, Sign: m.options.Sign, Write: true, BeforeEffect: m.options.BeforeEffect}
	_, err := publish.Apply(ctx, o, edit)
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("promote %s to %s: %w", joinSome(title), s.spec.Name, err)
	}
	for i, part := range parts {
		m.notePromoted(part, decisions[i])
	}
	return nil
}

// maxTitled bounds the releases in a title.
const maxTitled = 3

func joinSome(names []string) string {
	if more := len(names) - maxTitled; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxTitled], ", "), more)
	}
	return strings.Join(names, ", ")
}

// NewPins returns the file of an environment's branch by which it has a release, and what that says.
func NewPins(b source.Branch, release model.Release, commit string) (file string, content []byte, err error) {
	release.Commit = commit
	content, err = model.EncodeRelease(release)
	return model.PinsFile(b.Folder, release.Lane), content, err
}

// ReleaseCommit is what a release's commit says.
type ReleaseCommit struct {
	Release model.Release
	When    time.Time
	Message string
}

// NewReleaseMessage returns the message of a release that nobody made by hand.
func NewReleaseMessage(next model.Release, last *model.Release) string {
	return fmt.Sprintf("Release %s\n\n%s\n\n%s: %s\n", next.Name, strings.Join(next.DescribeChange(last), "\n"), publish.LaneTrailer, next.Lane)
}

// Write commits a release to the lane's branch, and returns the commit. The error is git.ErrStale if the branch has moved.
func (r Releases) Write(ctx context.Context, o publish.Options, c ReleaseCommit) (string, error) {
	content, err := model.EncodeRelease(c.Release)
	if err != nil {
		return "", err
	}
	t, err := tree.FromFiles(map[string][]byte{source.ReleaseFile: content})
	if err != nil {
		return "", err
	}
	commit := git.Commit{Tree: t, Author: o.Author, Committer: o.Through, Sign: o.Sign, When: c.When, Message: c.Message}
	if r.head != "" {
		commit.Parents = []string{r.head}
	}
	branch := source.ReleasesPrefix + r.Lane
	o.Announce("commit to " + branch)
	pack, err := o.Remote.Write(ctx, commit)
	if err != nil {
		return "", err
	}
	id := pack.Commits[0]
	return id, o.Remote.Push(ctx, pack, git.RefUpdate{Ref: "refs/heads/" + branch, Old: r.head, New: id})
}
