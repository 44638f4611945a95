package loop

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
)

// ExplainLanes returns what lanes could do in an environment, from what the last cycle has found. It writes nothing, and
// waits as [Loop.Simulate] does.
func (l *Loop) ExplainLanes(ctx context.Context, environment string, lanes *model.Lanes) (report *lane.Report, err error) {
	err = l.askPromoter(ctx, func() error {
		report, err = l.promoter.ExplainLanes(ctx, l.orders, l.promotionFacts(), environment, lanes)
		return err
	})
	return report, err
}
