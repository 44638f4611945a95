package promoter

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// loadEarlierProofs reads which earlier commits of environments were proven there, as far as the
// environments after them need it.
func (m *Mover) remember(ctx context.Context, all []*standing, h promote.History) {
	parallel.Each(m.options.Settings.Parallel, all, func(_ int, s *standing) {
		err := m.isolate("look at the past", s, func() error {
			for _, commit := range m.matters(all, s, h) {
				proven, err := m.wasProven(ctx, s, commit, h)
				if err != nil {
					return err
				}
				s.stage.Proven[commit] = proven
			}
			return nil
		})
		if err != nil {
			s.fail(err)
			s.stage.PartialProven = true
		}
	})
}

// maxEarlierProofs bounds the earlier commits that one round reads.
const maxRemembered = 50

// proofCandidates returns the commits older than this stage's and newer than its successors'.
func (m *Mover) matters(all []*standing, s *standing, h promote.History) []string {
	var some []string
	for _, after := range all {
		if !slices.Contains(after.spec.After, s.spec.Name) || !h.Contains(s.stage.Commit) || after.stage.StoppedReason != "" {
			continue
		}
		between := h.CommitsBetween(s.stage.Commit, after.stage.Commit)
		if n := len(between); n > maxRemembered && after.spec.Queue.Policy == model.QueueEvery { // the oldest comes next
			between = between[n-maxRemembered:]
		}
		for _, commit := range between[:min(maxRemembered, len(between))] {
			if !slices.Contains(some, commit) {
				some = append(some, commit)
			}
		}
	}
	return some
}

// proofCache has the earlier commits that are known to be proven in an environment while its branch
// does not move. Others are not cached: a forge may show a status late.
type memory struct {
	head   string
	proven map[string]bool
}

// wasProven reports whether a commit was proven in an environment that has a newer one now.
func (m *Mover) wasProven(ctx context.Context, s *standing, commit string, h promote.History) (bool, error) {
	m.mu.Lock()
	if m.proven[s.spec.Name].head != s.branch.Head {
		m.proven[s.spec.Name] = memory{s.branch.Head, map[string]bool{}}
	}
	remembered := m.proven[s.spec.Name].proven // of one stage, which one goroutine looks at
	m.mu.Unlock()
	if remembered[commit] {
		return true, nil
	}
	said, err := m.statements(ctx, m.options.Remotes.ControlPlane(), commit)
	if err != nil {
		return false, err
	}
	proven := slices.ContainsFunc(said, func(st gate.CommitStatus) bool {
		return st.Context == ProofContext(s.spec.Name) && st.Outcome == forge.Success
	})
	if proven {
		proven, err = stayed(s, commit, h)
		if err != nil {
			return false, err
		}
	}
	if proven {
		remembered[commit] = true
	}
	return proven, nil
}

// maxVersions bounds how many earlier records are read.
const maxVersions = 50

// wasNotReverted reports whether an environment that had a commit was never rolled back behind it:
// a rollback means that the commit is bad, whatever was proven.
func stayed(s *standing, commit string, h promote.History) (bool, error) {
	versions, err := s.branch.Repo.FileVersions(s.branch.Head, s.branch.Record, maxRecords, maxVersions)
	if err != nil {
		return false, err
	}
	for _, text := range versions { // newest first
		had, err := promote.RecordedCommit(text)
		if err != nil || had == "" {
			continue
		}
		if had == commit {
			return true, nil
		}
		if !h.IsNewer(had, commit) { // or of another line: nobody knows
			return false, nil
		}
	}
	return false, nil // that is longer ago than what we look at
}
