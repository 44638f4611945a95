package promoter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

type waveProofs struct {
	advance, reached string // the id of the advance, and its last wave
	waves            []wave.Members
	verdicts         map[string]gate.Verdict
	progress         map[string]waveProgress
	deployedAt       map[string]time.Time // when the clusters of a wave began to run its folders
	proven           map[string]bool      // whether the proof of a wave passed once
	// failedTypes and failedClusters count failures that a budget was asked for.
	failedTypes, failedClusters int
}

type waveProgress struct {
	merged  time.Time
	summary rollout.Summary
}

func waveContext(environment, advance, name string) string {
	return path.Join("fairlead", environment, "wave", advance, name)
}

type waveEntry struct {
	advance, wave string
	verdict       gate.Verdict
}

// WaveEntry returns the verdict of the gates of a wave that is not merged; false if it is unknown.
func WaveEntry(m *Promoter, environment, advance, name string) (gate.Verdict, bool) {
	known := m.memoryOf(environment).waveEntry
	return known.verdict, known.advance == advance && known.wave == name && (known.verdict.ValidUntil.IsZero() || m.now.Before(known.verdict.ValidUntil))
}

func evaluateEntry(ctx context.Context, m *Promoter, s *stageState) {
	before := s.memory.waveEntry
	s.memory.waveEntry = waveEntry{}
	e := s.environment
	if e.AsksGates {
		name := e.Waves[e.NextWave].Name
		set, _ := gate.CompileWaveGates(findWave(s.spec, name)) // its problems stop the round
		f := gate.Facts{Now: m.now, Environment: s.spec.Name, Wave: name, Advance: e.Advance, Retries: wave.CountRetries(s.branch.Progress.Waves, e.Advance), Commit: s.stage.Commit, PromotedAt: s.stage.PromotedAt, OutputCommit: s.output.head}
		var err error
		f.Approvals, err = readTrustedWaveApprovals(m, s, e.Advance, name)
		if err != nil {
			s.recordError(err)
			return
		}
		m.answerNeeds(ctx, s, &set, &f)
		s.memory.waveEntry = waveEntry{e.Advance, name, set.Evaluate(f)}
	}
	now := s.memory.waveEntry
	s.wavesChanged = s.wavesChanged || before.advance != now.advance || before.wave != now.wave || before.verdict.Status != now.verdict.Status || !before.verdict.ValidUntil.Equal(now.verdict.ValidUntil)
}

func findWave(s model.Stage, name string) model.Wave {
	i := slices.IndexFunc(s.Waves, func(w model.Wave) bool { return w.Name == wave.BaseName(name) })
	if i < 0 {
		return model.Wave{Name: name, Pos: s.Pos, Budget: s.RestBudget}
	}
	return s.Waves[i]
}

func readWaveOrders(ctx context.Context, m *Promoter, environment string, o *Policy) {
	branch, err := o.source.Branch(ctx, environment)
	if err != nil || branch.Repo == nil { // the round reports it
		return
	}
	o.WaveDecisions[environment] = branch.Progress.Waves
	if p, stops := branch.Progress.Problems.FirstStopping(); stops {
		o.Paused[environment] = "its branch has a problem, and may decide about waves: " + p.String()
		return
	}
	holds, err := m.findHolds(o.base, branch, environment)
	if err != nil {
		o.Paused[environment] = "it is unknown whether it is paused: " + err.Error()
		return
	}
	for _, h := range holds {
		if h.scope == model.ScopeWaves {
			o.Paused[environment] = h.reason
		}
	}
}

// WaveVerdicts returns the verdicts on merged waves; nil if they are unknown.
func WaveVerdicts(m *Promoter, environment string, a *wave.Advance) map[string]gate.Verdict {
	known := m.memoryOf(environment).waves
	if known.advance != a.ID || known.reached != a.Wave {
		return nil
	}
	return known.verdicts
}

// DescribeWaves changes with the verdicts on waves.
func DescribeWaves(m *Promoter, environment string) string {
	known := m.memoryOf(environment)
	v, isKnown := WaveEntry(m, environment, known.waveEntry.advance, known.waveEntry.wave)
	return fmt.Sprintln(known.waves.describe(), known.waveEntry.advance, known.waveEntry.wave, v.Status, isKnown)
}

func (p waveProofs) describe() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.verdicts)) {
		v := p.verdicts[name]
		fmt.Fprintln(&b, p.advance, name, v.Status)
		if v.Status == gate.Fail {
			fmt.Fprintln(&b, v.Reason)
		}
	}
	return b.String()
}

func evaluateWaves(ctx context.Context, m *Promoter, s *stageState) (bool, error) {
	before := s.memory.waves
	s.memory.waves = waveProofs{}
	defer func() {
		s.wavesChanged = before.describe() != s.memory.waves.describe()
		evaluateEntry(ctx, m, s)
	}()
	if len(s.spec.Waves) == 0 || s.output.remote == nil || s.output.head == "" {
		return false, nil
	}
	written, err := git.InspectTree(s.output.remote.Mirror(), s.output.head, func(t tree.Tree) (*publish.Written, error) {
		return m.options.Records.ReadWritten(t.Sub(publish.CleanFolder(s.output.folder)), s.spec.Name)
	})
	if err != nil || written == nil || written.Advance == nil { // publishing reports an unreadable record
		return false, nil
	}
	base, _ := written.Input(publish.BaseLayer)
	isReplaced := !s.composition().Equal(lane.Composition{Platform: base.Commit, Lanes: base.Lanes}) // by another advance
	a := written.Advance
	now := waveProofs{
		advance: a.ID, reached: a.Wave, waves: a.Waves, verdicts: map[string]gate.Verdict{}, progress: map[string]waveProgress{},
		deployedAt: map[string]time.Time{}, proven: map[string]bool{},
	}
	if before.advance == a.ID {
		now.deployedAt, now.proven = before.deployedAt, before.proven
	}
	reached := a.Reached()
	for i, one := range reached {
		now.proven[one.Name] = now.proven[one.Name] || i < len(reached)-1 // the next one followed it
		v, err := evaluateWave(ctx, m, s, a, one, &now)
		if err != nil {
			return !isReplaced, err
		}
		skipped := wave.FindDecision(s.branch.Progress.Waves, model.SkipWave, a.ID, one.Name)
		if skipped != nil && v.Status != gate.Pass {
			who, err := lastChangedBy(s.branch.Repo, s.branch.Head, skipped.Pos.File)
			if err != nil {
				return !isReplaced, err
			}
			v = gate.Verdict{Gate: skippedProof, Status: gate.Pass, Reason: fmt.Sprintf("skipped: %s (by %s)", cmp.Or(skipped.Reason, noReason), who)}
		}
		now.verdicts[one.Name] = v
	}
	s.memory.waves = now
	if isReplaced {
		return false, nil
	}
	s.stage.Merged, s.stage.InWaves, s.stage.Proof = true, true, combineWaves(a, now)
	if s.stage.Proof.Status == gate.Fail && s.spec.Advance.GoesBack && wave.FindDecision(s.branch.Progress.Waves, model.RejectAdvance, a.ID, "") == nil {
		s.rejected = a.ID
	}
	return true, nil
}

// WaveDecisionFile is the file of a decision, below the folder of an environment.
func WaveDecisionFile(folder, name string) string {
	return path.Join(folder, source.OwnFolder, "waves", name+".yaml")
}

func rejectAdvance(ctx context.Context, m *Promoter, s *stageState) error {
	remote := m.options.Remotes.RemoteOf(s.branch.URL)
	if remote == nil || !m.mayWrite(ctx) {
		return nil
	}
	d := model.WaveDecision{Object: model.Object{Name: "reject-" + s.rejected}, Action: model.RejectAdvance, Advance: s.rejected, Reason: s.stage.Proof.Reason}
	content, err := model.EncodeWaveDecision(d)
	if err != nil {
		return err
	}
	_, err = publish.Apply(ctx, publish.Options{Remote: remote.Remote, Author: m.options.Author, Sign: m.options.Sign, Write: true, BeforeEffect: m.options.BeforeEffect}, publish.Edit{
		Branch: s.branch.Name, Head: s.branch.Head, Files: map[string][]byte{WaveDecisionFile(s.branch.Folder, d.Name): content}, When: m.readClock(),
		Message: fmt.Sprintf("Take %s back to before advance %s\n\n%s\n\nFairlead-Action: %s\n", s.spec.Name, s.rejected, forge.OneLine(d.Reason, maxReason), history.WavesBackAction),
	})
	if errors.Is(err, git.ErrStale) {
		return nil // the next cycle looks again
	}
	s.promoted = err == nil
	return err
}

const maxReason = 1000

// skippedProof is the gate of a verdict that people have decided.
const skippedProof = "skipped"

func combineWaves(a *wave.Advance, p waveProofs) gate.Verdict {
	reached := a.Reached()
	parts := make([]gate.Verdict, 0, len(reached))
	for i, one := range reached {
		v := p.verdicts[one.Name]
		v.Gate, v.Reason = "wave "+one.Name, fmt.Sprintf("wave %s (%d of %d): %s", one.Name, i+1, len(a.Waves), v.Reason)
		parts = append(parts, v)
	}
	all := gate.CombineVerdicts("proof", parts)
	if all.Status == gate.Pass {
		next := min(len(reached), len(a.Waves)-1)
		all.Status, all.Reason = gate.Wait, fmt.Sprintf("wave %s (%d of %d) is not merged yet", a.Waves[next].Name, next+1, len(a.Waves))
	}
	return all
}

func evaluateWave(ctx context.Context, m *Promoter, s *stageState, a *wave.Advance, one wave.Members, p *waveProofs) (gate.Verdict, error) {
	spec := findWave(s.spec, one.Name)
	set, _ := gate.CompileWave(spec) // its problems stop the round
	running, soaking := set.SplitSoak()
	if next := a.Follower(one.Name); wave.BaseName(next) == spec.Name && next != spec.Name { // of the same wave
		soaking.Gates = nil
	}
	mirror := s.output.remote.Mirror()
	types, err := git.InspectTree(mirror, s.output.head, func(t tree.Tree) ([]string, error) { // clusters of a removed type prove nothing
		now := t.Sub(publish.CleanFolder(s.output.folder))
		return slices.DeleteFunc(slices.Clone(one.Folders), func(folder string) bool { return now.Sub(folder).ID() == (tree.Tree{}).ID() }), nil
	})
	if err != nil {
		return gate.Verdict{}, err
	}
	merged, err := mirror.LastChangedBy(s.output.head, path.Join(s.output.folder, append(slices.Clone(types), one.Folders...)[0]), maxRecords)
	if err != nil {
		return gate.Verdict{}, err
	}
	said, err := m.readStatuses(ctx, s.output.remote, merged.ID)
	if err != nil {
		return gate.Verdict{}, err
	}
	context := waveContext(s.spec.Name, a.ID, one.Name)
	if p.deployedAt[one.Name].IsZero() {
		p.deployedAt[one.Name] = deployedSince(said, context+"/deployed", time.Time{})
	}
	p.proven[one.Name] = p.proven[one.Name] || !deployedSince(said, context, time.Time{}).IsZero()
	f := gate.Facts{
		Now: m.now, Environment: s.spec.Name, Wave: one.Name, Advance: a.ID, Retries: wave.CountRetries(s.branch.Progress.Waves, a.ID), Commit: s.stage.Commit, PromotedAt: s.stage.PromotedAt, Freezes: s.base.Progress.Freezes,
		OutputCommit: s.output.head, MergedAt: gate.EarlierTime(merged.When, m.now),
	}
	f.Approvals, err = readTrustedWaveApprovals(m, s, a.ID, one.Name)
	if err != nil {
		return gate.Verdict{}, err
	}
	part := *s
	part.waveTypes, part.waveCommit, f.WaveTypes = types, merged.ID, types
	if away := s.spec.Advance.Away; away > 0 {
		part.silentBefore = f.MergedAt.Add(-away)
	}
	m.answerNeeds(ctx, &part, &running, &f)
	if part.err != nil {
		s.recordError(part.err)
	}
	if f.Reports == nil {
		m.readReports(&part, &f)
	}
	p.progress[one.Name] = waveProgress{f.MergedAt, rollout.Summarize(f.Reports, rollout.Rule{}, f.MergedAt, m.now)}
	v := running.Evaluate(f)
	if v.Status == gate.Fail && spec.Budget != nil {
		v = applyBudget(&part, waveBudget{*spec.Budget, a, running, v, f}, p)
	}
	isDeployed := v.Status == gate.Pass
	switch {
	case !isDeployed && !p.proven[one.Name]:
		p.deployedAt[one.Name] = time.Time{}
	case isDeployed && p.deployedAt[one.Name].IsZero():
		p.deployedAt[one.Name] = m.now
	}
	f.DeployedAt = p.deployedAt[one.Name]
	if !p.proven[one.Name] {
		v = gate.CombineVerdicts(set.Name, append(slices.Clone(v.Parts), soaking.Evaluate(f).Parts...))
	} else if v.Status != gate.Fail {
		v.Status, v.Reason = gate.Pass, "its proof has passed"
	}
	p.proven[one.Name] = p.proven[one.Name] || v.Status == gate.Pass
	return v, reportWave(ctx, m, s, merged.ID, context, said, v.Status, isDeployed, len(soaking.Gates) > 0)
}

type waveBudget struct {
	budget  model.Budget
	advance *wave.Advance
	running gate.Set
	verdict gate.Verdict // of all cluster types of the wave
	facts   gate.Facts
}

// applyBudget returns the verdict on the cluster types of a wave that did not fail, if the budget allows the
// failures of all waves so far.
func applyBudget(part *stageState, b waveBudget, p *waveProofs) gate.Verdict {
	reports := map[string][]rollout.Report{}
	for _, r := range b.facts.Reports {
		reports[r.ClusterType] = append(reports[r.ClusterType], r)
	}
	judge := func(types []string) gate.Verdict {
		b.facts.WaveTypes, b.facts.Reports = types, nil
		for _, t := range types {
			b.facts.Reports = append(b.facts.Reports, reports[t]...)
		}
		return b.running.Evaluate(b.facts)
	}
	var rest, failed []string
	clusters := 0
	for _, t := range part.waveTypes {
		if judge([]string{t}).Status != gate.Fail {
			rest = append(rest, t)
			continue
		}
		failed = append(failed, t)
		clusters += b.running.CountFailed(b.facts)
	}
	p.failedTypes, p.failedClusters = p.failedTypes+len(failed), p.failedClusters+clusters
	types, all := 0, 0
	for _, w := range b.advance.Waves {
		types, all = types+len(w.Folders), all+part.environment.countClusters(w.Folders)
	}
	spent := gate.Verdict{Gate: "budget", Status: gate.Pass, Reason: fmt.Sprintf("%s failed: %s", text.Count(len(failed), "cluster type"), strings.Join(failed, ", "))}
	v := b.verdict
	switch {
	case b.budget.ClusterTypes.IsExceeded(p.failedTypes, types) || b.budget.Clusters.IsExceeded(p.failedClusters, all):
		spent.Status = gate.Fail
	case len(rest) == 0:
		v.Parts = nil
	default:
		v = judge(rest)
	}
	return gate.CombineVerdicts(b.verdict.Gate, append(slices.Clone(v.Parts), spent))
}

// maxWaveCommits bounds how many commits of an output are asked for statuses of a wave.
const maxWaveCommits = 100

func readWaveStatuses(ctx context.Context, m *Promoter, s *stageState, f *gate.Facts) error {
	f.WaveStatuses, f.PreviousStatuses = nil, nil
	isBefore := false
	commits, err := s.output.remote.Mirror().FirstParents(s.output.head, maxWaveCommits, func(commit string) bool {
		stops := isBefore
		isBefore = isBefore || commit == s.waveCommit
		return stops
	})
	for i := 0; i < len(commits) && err == nil; i++ {
		var said []gate.CommitStatus
		said, err = m.readStatuses(ctx, s.output.remote, commits[i])
		if i > 0 && commits[i-1] == s.waveCommit {
			f.PreviousStatuses = said
			break
		}
		for _, one := range said {
			if !slices.ContainsFunc(f.WaveStatuses, func(newer gate.CommitStatus) bool { return newer.Context == one.Context }) {
				f.WaveStatuses = append(f.WaveStatuses, one)
			}
		}
	}
	return err
}

// reportWave records for other processes whether a proof passed, and since when clusters run a wave.
func reportWave(ctx context.Context, m *Promoter, s *stageState, commit, context string, said []gate.CommitStatus, status gate.Status, isDeployed, soaks bool) error {
	if !m.mayWrite(ctx) || s.err != nil {
		return nil
	}
	var wanted []forge.Status
	deployed := promotedStatus
	if isDeployed {
		deployed = deployedStatus
	}
	deployed.Context = context + "/deployed"
	if soaks {
		wanted = append(wanted, deployed)
	}
	proof := forge.Status{Context: context, Outcome: forge.Pending, Description: "To be verified"}
	switch status {
	case gate.Pass:
		proof.Outcome, proof.Description = forge.Success, "Verified"
	case gate.Fail:
		proof.Outcome, proof.Description = forge.Failure, "Failed"
	}
	wanted = append(wanted, proof)
	for _, want := range wanted {
		isSet := slices.ContainsFunc(said, func(st gate.CommitStatus) bool { return st.Context == want.Context && st.Outcome == want.Outcome })
		isFirst := want.Outcome == forge.Pending && !slices.ContainsFunc(said, func(st gate.CommitStatus) bool { return st.Context == want.Context })
		if isSet || isFirst { // what nobody recorded needs no status yet
			continue
		}
		s.memory.published.ForgetStatus(s.environment.Repo, commit, want.Context)
		if err := m.options.Remotes.SetCommitStatus(ctx, &s.memory.published, s.environment.Repo, commit, want); err != nil {
			return err
		}
	}
	return nil
}
