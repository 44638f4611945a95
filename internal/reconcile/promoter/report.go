package promoter

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// ReportWithholding returns the report of a reason why only a person may merge.
func ReportWithholding(w publish.Withholding) status.Withheld {
	return status.Withheld{Cause: string(w.Cause), Reason: w.Reason, Acknowledge: w.ChangeID}
}

func (m *Promoter) reportChain(policy Policy, found chainState) {
	c := status.Chain{Inferred: policy.chain.Inferred, External: policy.chain.External, Head: policy.base.Head, Problems: found.problems, Checked: m.now}
	for i, d := range found.decisions {
		s := found.stages[i]
		stage := status.Stage{
			Environment: s.spec.Name, After: s.spec.After, Commit: s.stage.Commit, Since: s.stage.PromotedAt, Lanes: s.reportLanes(), Releases: reportReleases(found.releases, i), Waves: reportWaves(s), Advance: cmp.Or(s.environment.Advance, s.memory.waves.advance), Merged: s.stage.Merged || s.facts.HasFormer,
			Behind: found.history.CountNewer(s.stage.Commit), Deployed: s.facts.DeployedAt, Hold: s.stage.HoldReason, Frozen: FindFreeze(policy.base, s.spec.Name, m.now),
			Withheld: list.Convert(s.environment.Withheld, ReportWithholding), Proof: s.stage.Proof, Next: d,
			AsksNobody: !slices.ContainsFunc(slices.Concat(s.spec.Gates, s.spec.Proof), gate.AsksPeople), Groups: listGroups(s.memory.listed),
		}
		if !stage.Merged {
			stage.Running = s.origin.Platform
		}
		turns := m.findTurns(s)
		stage.Turns, stage.FirstCommit = list.Convert(turns.turns, reportTurn), turns.first
		stage.Edits, stage.RunningEdit = reportEdits(turns), turns.findEdit(s.origin.plane)
		m.options.Metrics.SetStage(stage, oldestWaiting(policy.base, found.history, stage.Commit))
		c.Stages = append(c.Stages, stage)
	}
	c.Unconnected = isUnconnected(found.stages)
	c.Commits = m.reportCommits(policy.base, found.history, c.Stages)
	m.options.Store.SetPromotions(c)
}

// ReportPast returns how far commits had been promoted at a time, from the control plane as src reads it of then, and from
// the commits of the base that merged outputs were rendered from, by environment: "" where nothing was merged, and none
// where that is not known. Git alone says it: what was verified, and what was to be promoted next, is not known.
func (m *Promoter) ReportPast(ctx context.Context, src *source.Source, at time.Time, merged map[string]string) (c status.Chain, err error) {
	base, err := src.Base(ctx)
	if err != nil {
		return c, err
	}
	chain, _ := model.NewChain(base.Progress, base.Environments, m.options.Settings.NextEnvironment)
	c = status.Chain{FromGit: true, Inferred: chain.Inferred, External: chain.External, Head: base.Head, Stages: []status.Stage{}, Checked: at}
	if chain.External || base.Repo == nil {
		return c, nil
	}
	then := New(m.options) // what is remembered is of now
	then.source, then.now = src, at
	then.described.paths = m.described.paths
	var stages []*stageState
	var has []string
	for _, spec := range chain.Stages {
		s := &stageState{spec: spec, base: base, memory: &memory{}}
		if err := then.runIsolated(ctx, "read the branch", s, func(ctx context.Context) error { return then.readBranch(ctx, s) }); err != nil {
			s.stage.StoppedReason = err.Error()
		}
		if s.stage.Commit == "" { // an environment that comes first need not have a record
			s.stage.Commit = merged[spec.Name]
		}
		if source.IsCommit(s.stage.Commit) {
			has = append(has, s.stage.Commit)
		}
		stages = append(stages, s)
	}
	slices.Sort(has)
	history, err := then.loadHistory(base, slices.Compact(has))
	if err != nil {
		return c, err
	}
	for _, s := range stages {
		has, known := merged[s.spec.Name]
		c.Stages = append(c.Stages, then.reportPastStage(s, history, !known || s.stage.Commit == has))
	}
	c.Commits = then.reportCommits(base, history, c.Stages)
	return c, nil
}

func (m *Promoter) reportPastStage(s *stageState, history promote.Line, merged bool) status.Stage {
	turns := m.findTurns(s)
	stage := status.Stage{
		Environment: s.spec.Name, After: s.spec.After, Commit: s.stage.Commit, Since: s.stage.PromotedAt, Lanes: s.reportLanes(), Merged: merged && s.stage.Commit != "",
		Behind: history.CountNewer(s.stage.Commit), Hold: s.stage.HoldReason, HeldThen: s.heldThen, Frozen: FindFreeze(s.base, s.spec.Name, m.now),
		Turns: list.Convert(turns.turns, reportTurn), FirstCommit: turns.first,
	}
	switch {
	case s.stage.Commit == "" && s.stage.StoppedReason != "":
		stage.State = status.StageStopped // what it had is not known
	case s.stage.Commit == "":
		stage.State = status.StageEmpty
	case !stage.Merged:
		stage.State = status.StageProposed
	default:
		stage.State = status.StagePromoted
	}
	return stage
}

func (s *stageState) reportLanes() []status.Lane {
	lanes := map[string]status.Lane{}
	for name, commit := range s.lanes {
		lanes[name] = status.Lane{Name: name, Commit: commit}
	}
	for name, reason := range s.laneHolds {
		lanes[name] = status.Lane{Name: name, Commit: s.lanes[name], Hold: reason}
	}
	if s.laneReport != nil {
		for _, d := range s.laneReport.Decisions {
			l := status.Lane{Name: d.Lane, Commit: s.lanes[d.Lane], Next: d.Candidate, Waiting: d.Waiting, Hold: s.laneHolds[d.Lane]}
			if d.State != lane.Moves {
				l.Reason = d.Explain()
			}
			lanes[d.Lane] = l
		}
	}
	states := map[gate.Status]status.StageState{gate.Pass: status.StageVerified, gate.Wait: status.StageRollingOut, gate.Fail: status.StageFailed}
	for name, v := range s.laneProofs {
		l := lanes[name]
		l.State = states[v.Status]
		if v.Status == gate.Fail {
			l.Failure = v.Reason
		}
		lanes[name] = l
	}
	var all []status.Lane
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		all = append(all, lanes[name])
	}
	return all
}

func reportWaves(s *stageState) (all []status.Wave) {
	known, e := s.memory.waves, s.environment
	waves := e.Waves
	if waves == nil {
		waves = known.waves
	}
	for i, members := range waves {
		w := status.Wave{Name: members.Name, ClusterTypes: members.Folders, State: status.StageWaiting, Clusters: e.countClusters(members.Folders)}
		isNext := e.Waves != nil && i == e.NextWave
		if entry := s.memory.waveEntry; isNext && entry.advance == e.Advance && entry.wave == w.Name {
			w.LacksApproval = entry.verdict.LacksApproval()
		}
		if v, merged := known.verdicts[w.Name]; merged {
			w.LacksApproval = w.LacksApproval || v.LacksApproval()
			p := known.progress[w.Name]
			w.Merged, w.Ready, w.Failed, w.Clusters = p.merged, p.summary.Ready, p.summary.Failed, max(w.Clusters, p.summary.Sources)
			switch v.Status {
			case gate.Pass:
				w.State = status.StageVerified
				if v.Gate == skippedProof {
					w.Reason = v.Reason
				}
			case gate.Fail:
				w.State, w.Reason = status.StageFailed, v.Reason
			default:
				w.State, w.Reason = status.StageRollingOut, v.Reason
			}
		} else if isNext {
			w.Reason = e.WaveWaits
		}
		if isNext && e.Pull != nil { // again, if people have edited a merged one
			w.State = status.StageProposed
		}
		all = append(all, w)
	}
	return all
}

func (e *Environment) countClusters(types []string) (n int) {
	counted := map[string]bool{}
	for _, t := range types {
		counted[t] = true
	}
	for _, t := range e.ClusterTypes {
		if counted[t.Name] {
			n += max(0, t.Clusters)
		}
	}
	return n
}

// FindFreeze returns which freeze of the base covers an environment at a time, whatever it would get: a commit that
// may pass leaves all others frozen. "" is none.
func FindFreeze(base source.Base, environment string, now time.Time) string {
	if base.Progress == nil { // it could not be read
		return ""
	}
	v := gate.EvaluateFreezes(gate.Facts{Now: now, Environment: environment, Freezes: base.Progress.Freezes})
	if v.Status == gate.Pass {
		return ""
	}
	return v.Reason
}

func listGroups(listed []*model.ListedCluster) map[string]string {
	var groups map[string]string
	for _, c := range listed {
		if c.Group == "" {
			continue
		}
		if groups == nil {
			groups = map[string]string{}
		}
		groups[c.Name] = c.Group
	}
	return groups
}

func reportTurn(e history.Entry) status.Turn {
	return status.Turn{Commit: e.To, From: e.From, RolledBack: e.Action == history.RollbackAction, When: e.Time, Who: e.Who, Reason: e.Reason, Forced: e.Forced, Unmerged: e.Unmerged}
}

func (m *Promoter) isLeftOut(policy Policy, s *stageState, commit string) bool {
	stage := status.Stage{Turns: list.Convert(m.findTurns(s).turns, reportTurn)}
	return stage.LeftOut(commit, func(older string) bool {
		contains, err := policy.base.Repo.Contains(commit, older)
		return err == nil && contains
	})
}

func oldestWaiting(base source.Base, history promote.Line, has string) time.Time {
	oldest := history.OldestNewer(has)
	if has == "" || oldest == "" {
		return time.Time{}
	}
	info, err := base.Repo.Commit(oldest)
	if err != nil { // the round has read it, and a figure is no reason to stop
		return time.Time{}
	}
	return info.When
}

// isUnconnected reports whether an environment waits for the reports of clusters, and no cluster has
// reported to any. An environment whose reports could not all be read may have some.
func isUnconnected(stages []*stageState) bool {
	unconnected := false
	for _, s := range stages {
		clusters, asked := s.running.CountClusters(s.facts)
		if clusters > 0 || s.err != nil {
			return false
		}
		unconnected = unconnected || asked
	}
	return unconnected
}

func (m *Promoter) logProblems(problems problem.List) {
	p, stops := problems.FirstStopping()
	if !stops {
		m.loggedProblem = ""
		return
	}
	if p.String() != m.loggedProblem {
		m.options.Logger.Warn("nothing is promoted until this is fixed", "problem", p.String(), "hint", p.Hint)
	}
	m.loggedProblem = p.String()
}

func (m *Promoter) logError(s *stageState) {
	text := ""
	if s.err != nil {
		text = s.err.Error()
	}
	if text != "" && text != s.memory.loggedError {
		m.options.Logger.Warn("an environment's promotion could not be looked at, or done", "environment", s.spec.Name, "error", s.err)
	}
	s.memory.loggedError = text
}

const (
	// maxDescribed bounds the commits of the base that are described to people, and maxOlder those of
	// them that all environments have already.
	maxDescribed, maxOlder = 100, 20
	// maxSubject and maxAuthor bound what is shown of a commit.
	maxSubject, maxAuthor = 200, 100
)

type describedCommits struct {
	key     string
	commits []status.Commit
	paths   map[string]changedPaths // of commits, by id
}

type changedPaths struct {
	listed []string
	more   int
}

const maxPaths = 200

func (d describedCommits) findPaths(repo *git.Repository, info git.CommitInfo) changedPaths {
	known, found := d.paths[info.ID]
	if found {
		return known
	}
	commits := append([]string{info.ID}, info.Parents[:min(1, len(info.Parents))]...)
	paths, err := git.InspectTrees(repo, commits, func(t []tree.Tree) (c changedPaths, err error) {
		before := tree.Tree{}
		if len(t) > 1 {
			before = t[1]
		}
		for change := range tree.Diff(before, t[0]) {
			if len(c.listed) < maxPaths {
				c.listed = append(c.listed, change.Path)
			} else {
				c.more++
			}
		}
		return c, nil
	})
	if err != nil {
		return changedPaths{}
	}
	return paths
}

// reportCommits returns what people know commits of the base by: the newest that are promoted, some older
// ones, those between them that change nothing that is rendered, and those that environments have or get. One that
// cannot be read is left out: the round has read those that matter, and this is no reason to stop.
func (m *Promoter) reportCommits(base source.Base, history promote.Line, stages []status.Stage) []status.Commit {
	if base.Repo == nil {
		return nil
	}
	ids := history.Commits()
	ids = slices.Clone(ids[:min(len(ids), maxDescribed)])
	named := []string{base.Head}
	for _, s := range stages {
		named = append(named, s.Commit, s.Next.Candidate)
		for _, l := range s.Lanes {
			named = append(named, l.Commit, l.Next)
		}
	}
	key := strings.Join(append(named, ids...), " ")
	if m.described.key == key {
		return m.described.commits
	}
	ids = append(ids, m.findOlder(base, ids)...)
	line := len(ids)
	unrendered := m.findUnrendered(base, ids)
	for _, c := range unrendered {
		ids = append(ids, c.id)
	}
	for _, id := range named {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	var all []status.Commit
	paths := map[string]changedPaths{}
	for i, id := range ids {
		info, err := base.Repo.Commit(id)
		if err != nil {
			continue
		}
		c := DescribeCommit(info)
		c.Lanes = findLanes(m, base, info)
		paths[id] = m.described.findPaths(base.Repo, info)
		c.Paths, c.MorePaths = paths[id].listed, paths[id].more
		switch {
		case i >= line+len(unrendered):
			c.Beside = positionBeside(history, id)
		case i >= line:
			newer := unrendered[i-line].newer
			c.Beside, c.Unrendered = &status.Position{Newer: newer, Older: newer}, true
		}
		all = append(all, c)
	}
	m.described = describedCommits{key, all, paths}
	return all
}

func findLanes(m *Promoter, base source.Base, info git.CommitInfo) []string {
	lanes := DefinedLanes(base)
	if lanes == nil || len(info.Parents) == 0 {
		return nil
	}
	of := laneDecider{promoter: m, base: base, partition: lane.NewPartition(*lanes)}
	changed, err := of.changedLanes(info.ID, info.Parents[0])
	if err != nil {
		return nil
	}
	return changed
}

func positionBeside(history promote.Line, id string) *status.Position {
	newer, older, known := history.Position(id)
	if !known { // it is not on the branch
		return &status.Position{Newer: -1, Older: math.MaxInt}
	}
	return &status.Position{Newer: newer, Older: older}
}

func reportReleases(lines []*releaseLine, i int) (all []status.Release) {
	for _, l := range lines {
		s, d := l.stages[i], l.decisions[i]
		r := status.Release{Lane: l.Lane, Commit: s.stage.Commit, Versions: []string{}, Since: s.stage.PromotedAt, Hold: s.laneHolds[l.Lane], Verdict: d.Verdict}
		has := l.Find(s.stage.Commit)
		if has != nil {
			running := *has
			running.Versions = maps.Clone(has.Versions)
			for _, p := range FindDeviations(s.branch, has) {
				running.Versions[p.Name] = model.FeedVersion{Version: p.Version + " (pinned)"}
			}
			r.Name, r.Versions = has.Name, running.DescribeChange(nil)
		}
		switch proof := s.stage.Proof.Status; {
		case d.State == promote.Stopped:
			r.State = status.StageStopped
		case s.stage.Commit == "":
			r.State = status.StageEmpty
		case proof == gate.Fail:
			r.State, r.Failure = status.StageFailed, s.stage.Proof.Reason
		case !s.stage.Merged:
			r.State = status.StageProposed
		case proof == gate.Pass:
			r.State = status.StageVerified
		default:
			r.State = status.StageRollingOut
		}
		if next := l.Find(d.Candidate); next != nil {
			r.Next, r.NextCommit, r.Change = next.Name, d.Candidate, next.DescribeChange(has)
		}
		all = append(all, r)
	}
	return all
}

func reportEdits(t cachedTurns) (all []status.Commit) {
	for i, info := range t.edits {
		c := DescribeCommit(info)
		c.Paths, c.MorePaths = t.paths[i].listed, t.paths[i].more
		all = append(all, c)
	}
	return all
}

// DescribeCommit returns what people know a commit by.
func DescribeCommit(info git.CommitInfo) status.Commit {
	return status.Commit{
		ID: info.ID, Subject: text.Limit(text.CleanLine(info.Subject()), maxSubject), Author: text.Limit(text.CleanLine(info.Author.Name), maxAuthor), When: info.When,
	}
}
