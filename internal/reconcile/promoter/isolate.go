package promoter

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// runIsolated runs work for one environment, so that a panic in it is that environment's error.
func (m *Promoter) runIsolated(work string, s *stageState, do func() error) error {
	return m.options.Barrier.Run(work, s.spec.Name, do)
}

// evaluateStageIsolated is evaluateStage where a panic stops the environment, and no other.
func (m *Promoter) evaluateStageIsolated(ctx context.Context, s *stageState, h promote.History) {
	err := m.runIsolated("look at the commit", s, func() error { m.evaluateStage(ctx, s, h); return nil })
	if err != nil {
		s.recordError(err)
		s.stage.StoppedReason = "it cannot be found out: " + err.Error()
		s.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: s.stage.StoppedReason}
	}
}
