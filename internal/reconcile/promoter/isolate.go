package promoter

import (
	"context"
	"fmt"

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

// evaluateGatesIsolated is evaluateGates where a panic keeps the commit waiting.
func (m *Promoter) evaluateGatesIsolated(ctx context.Context, s *stageState, to string) (v gate.Verdict) {
	err := m.runIsolated("ask the gates", s, func() error { v = m.evaluateGates(ctx, s, to); return nil })
	if err != nil {
		s.recordError(err)
		v = gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: fmt.Sprintf("it cannot be found out: %v", err)}
	}
	return v
}
