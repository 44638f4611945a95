package promoter

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// runIsolated runs work for one environment, so that a panic in it is that environment's error.
func (m *Mover) isolate(work string, s *standing, do func() error) error {
	return m.options.Barrier.Run(work, s.spec.Name, do)
}

// evaluateStageIsolated is evaluateStage where a panic stops the environment, and no other.
func (m *Mover) standIsolated(ctx context.Context, s *standing, h promote.History) {
	err := m.isolate("look at the commit", s, func() error { m.stand(ctx, s, h); return nil })
	if err != nil {
		s.fail(err)
		s.stage.StoppedReason = "it cannot be found out: " + err.Error()
		s.stage.Proof = gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: s.stage.StoppedReason}
	}
}

// evaluateGatesIsolated is evaluateGates where a panic keeps the commit waiting.
func (m *Mover) enterIsolated(ctx context.Context, s *standing, to string) (v gate.Verdict) {
	err := m.isolate("ask the gates", s, func() error { v = m.enter(ctx, s, to); return nil })
	if err != nil {
		s.fail(err)
		v = gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: fmt.Sprintf("it cannot be found out: %v", err)}
	}
	return v
}
