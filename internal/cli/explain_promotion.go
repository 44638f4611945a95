package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

func newExplainPromotion(a *app) *cobra.Command {
	e := &promotionExplainer{commandContext: newCommandContext(a)}
	c := &cobra.Command{
		Use:   "promotion ENVIRONMENT",
		Short: "Say why an environment has the commit that it has, and what it waits for",
		Long: `Explain promotion shows what is known of an environment: the commit that it has, the verdict
on it, and the verdict on the one that comes next, each as a tree of conditions with their
reasons, how long each may last, and when something in them may change by itself.

If the Promotion has lanes, parts of the base that are promoted by themselves, it also shows
what each of them waits for. A lane moves if that changes no objects of another lane, and makes
its own as they were verified in the environments before: both are found out by rendering.
With --lanes FOLDER/* it shows which commits would not have to wait for others if each file
and folder in FOLDER of the base were a lane. With --url a daemon finds that out.`,
		Example: `  fairlead explain promotion stage
  fairlead explain promotion prod --lanes 'workloads/*'`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: completeArguments(e.completeNames),
		RunE:              func(c *cobra.Command, args []string) error { return e.run(c.Context(), args[0]) },
	}
	e.addObserverFlags(c)
	addControlPlaneFlag(e.commandContext, c)
	c.Flags().StringVar(&e.lanes, "lanes", "", "also show what would change if each file and folder in a folder of the base were promoted by itself: `FOLDER/*`")
	return c
}

type promotionExplainer struct {
	*commandContext
	lanes string
}

// explainedStage is a stage, and what lanes could do in it.
type explainedStage struct {
	status.Stage
	Lanes *lane.Report `json:"lanes"`
}

func (e *promotionExplainer) run(ctx context.Context, environment string) error {
	var lanes *model.Lanes
	if e.lanes != "" {
		var reason string
		lanes, reason = model.NewLanes(e.lanes)
		if reason != "" {
			return usageErrorf("write a folder of the base and /*, as in --lanes 'workloads/*'", "--lanes: %s", reason)
		}
	}
	if err := refuseBothPlaces(e.commandContext); err != nil {
		return err
	}
	reader, err := e.newChainReader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close()
	chain, err := reader.Chain(ctx)
	switch {
	case err != nil:
		return err
	case chain.Problems.Stops():
		return newProblemsError(chain.Problems)
	}
	stage, ok := chain.FindStage(environment)
	if !ok {
		return newUnknownStageError(chain, environment)
	}
	var value any = stage
	said := ""
	report, err := e.explainLanes(ctx, reader, environment, lanes)
	if err != nil {
		return err
	}
	if report != nil {
		value, said = explainedStage{stage, report}, "\n"+plaintext.FormatLanes(*report, e.app.stdout)
	}
	return e.app.printValue(value, []string{stage.Environment}, func() string {
		text := plaintext.FormatStage(stage, e.now(), e.app.stdout) + formatReleases(stage) + said + plaintext.FormatHint(chain)
		return text + e.commandNote(strings.Contains(text, "fairlead "))
	})
}

// explainLanes returns what lanes may do in an environment; nil if there are none.
func (e *promotionExplainer) explainLanes(ctx context.Context, reader chainReader, environment string, lanes *model.Lanes) (*lane.Report, error) {
	if o, isObserver := reader.(observer); isObserver {
		report, err := o.loop.ExplainLanes(ctx, environment, lanes)
		if blocked := (*promoter.BlockedError)(nil); errors.As(err, &blocked) {
			err = newProblemsError(blocked.Problems)
		} else if refused := (*problem.Refusal)(nil); errors.As(err, &refused) {
			err = usageErrorf(refused.Advice, "%s", refused.Reason)
		}
		return report, err
	}
	var report lane.Report
	found, err := daemonClient{e.daemonURL}.askCycle(ctx, "api/v1/environments/"+url.PathEscape(environment)+"/lanes?each="+url.QueryEscape(e.lanes), &report)
	switch {
	case err != nil:
		return nil, err
	case found:
		return &report, nil
	case lanes != nil:
		return nil, problem.Refusef("update the daemon, or leave out --url: --config FILE reads with the settings", "the daemon at %s does not say what lanes would change: it is not a daemon of this version", e.daemonURL)
	}
	return nil, nil
}

func formatReleases(stage status.Stage) string {
	lines := plaintext.FormatReleases(stage)
	if lines == "" {
		return ""
	}
	return lines + "\n"
}
