package promoter

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// loadEarlierProofs reads which earlier commits of environments were proven there, as far as the
// environments after them need it.
func (m *Promoter) loadEarlierProofs(ctx context.Context, all []*stageState, h promote.Line) {
	parallel.Each(m.options.Settings.Parallel, all, func(_ int, s *stageState) {
		err := m.runIsolated(ctx, "look at the past", s, func(ctx context.Context) error {
			for _, commit := range m.proofCandidates(all, s, h) {
				proven, err := m.wasProven(ctx, s, commit, h)
				if err != nil {
					return err
				}
				s.stage.Proven[commit] = proven
			}
			return nil
		})
		if err != nil {
			s.recordError(err)
			s.stage.PartialProven = true
		}
	})
}

// maxEarlierProofs bounds the earlier commits that one round reads.
const maxEarlierProofs = 50

// proofCandidates returns the commits older than this stage's and newer than its successors'.
func (m *Promoter) proofCandidates(all []*stageState, s *stageState, h promote.Line) []string {
	var some []string
	for _, after := range all {
		if !slices.Contains(after.spec.After, s.spec.Name) || !h.Contains(s.stage.Commit) || after.stage.StoppedReason != "" {
			continue
		}
		between := h.CommitsBetween(s.stage.Commit, after.stage.Commit)
		if n := len(between); n > maxEarlierProofs && after.spec.Queue.Policy == model.QueueEvery { // the oldest comes next
			between = between[n-maxEarlierProofs:]
		}
		for _, commit := range between[:min(maxEarlierProofs, len(between))] {
			if !slices.Contains(some, commit) {
				some = append(some, commit)
			}
		}
	}
	return some
}

// proofCache has the earlier commits that are known to be proven in an environment while its branch
// does not move. Others are not cached: a forge may show a status late.
type proofCache struct {
	head   string
	proven map[string]bool
}

func (m *Promoter) wasProven(ctx context.Context, s *stageState, commit string, h promote.Line) (bool, error) {
	if s.memory.proofs.head != s.branch.Head {
		s.memory.proofs = proofCache{s.branch.Head, map[string]bool{}}
	}
	if s.memory.proofs.proven[commit] {
		return true, nil
	}
	said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), commit)
	if err != nil || !isProofRecorded(said, s.spec.Name) {
		return false, err
	}
	if s.releases != nil {
		had, err := s.branch.ListPins(s.releases.Lane, maxRecords, maxVersions)
		if err != nil || !hadSince(had, commit, h) {
			return false, err
		}
		s.memory.proofs.proven[commit] = true
		return true, nil
	}
	versions, err := s.branch.Repo.FileVersions(s.branch.Head, s.branch.Record, maxRecords, maxVersions)
	if err != nil || !wasNotReverted(versions, commit, h) {
		return false, err
	}
	if reverted, err := wasLaneReverted(s, commit, h); err != nil || reverted {
		return false, err
	}
	s.memory.proofs.proven[commit] = true
	return true, nil
}

// wasLaneReverted reports whether an environment that had a commit got an older version of a lane since: then the commit is bad.
func wasLaneReverted(s *stageState, commit string, h promote.Line) (bool, error) {
	lanes := DefinedLanes(s.base)
	if lanes == nil && s.branch.Lanes == nil {
		return false, nil
	}
	if s.branch.Lanes != nil {
		lanes = &s.branch.Lanes.Lanes
	}
	had, err := s.branch.ListBases(maxRecords, maxVersions)
	if err != nil {
		return false, err
	}
	partition := lane.NewPartition(*lanes)
	for _, base := range had {
		if base.Platform == commit && len(base.Lanes) == 0 {
			return false, nil
		}
		for name, version := range base.Lanes {
			if !h.IsNewer(commit, version) {
				continue
			}
			changed, err := ReadChangedLanes(s.base, partition, commit, version)
			if err != nil || slices.Contains(changed, name) {
				return true, err
			}
		}
	}
	return false, nil
}

func isProofRecorded(said []gate.CommitStatus, environment string) bool {
	return slices.ContainsFunc(said, func(st gate.CommitStatus) bool {
		return st.Context == ProofContext(environment) && st.Outcome == forge.Success
	})
}

// maxVersions bounds how many earlier records are read.
const maxVersions = 50

// wasNotReverted reports whether an environment that had a commit was never rolled back behind it,
// by the versions of its record, newest first: a rollback means that the commit is bad, whatever was
// proven.
func wasNotReverted(versions [][]byte, commit string, h promote.Line) bool {
	var all []string
	for _, text := range versions {
		if had, err := promote.RecordedCommit(text); err == nil && had != "" {
			all = append(all, had)
		}
	}
	return hadSince(all, commit, h)
}

func hadSince(all []string, commit string, h promote.Line) bool {
	for _, had := range all {
		if had == commit || !h.IsNewer(had, commit) { // or had is of another line: that is not known
			return had == commit
		}
	}
	return false // that is longer ago than what we look at
}
