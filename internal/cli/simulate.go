package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

func newSimulate(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := &cobra.Command{
		Use:     "simulate COMMIT|RELEASE",
		GroupID: groupPromotion,
		Short:   "Predict when a commit reaches each environment",
		Long: `Simulate predicts when a commit of the base reaches each environment, if everything succeeds
and the gates do not change: a time where all of them have a known end, and otherwise what
it waits for. It does so too for a release of a lane, by its name. It changes nothing. With --url
it asks a daemon, which answers from its last cycle; otherwise it reads the repositories and their
forges with the settings. If lanes bring all that the commit changes before the whole commit arrives, it names them.`,
		Example: `  fairlead simulate main
  fairlead simulate checkout-42
  fairlead simulate 4be1c2d --url http://fairlead.example.com:8080`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: completeArguments(cc.completeCommits),
		RunE: func(c *cobra.Command, args []string) error {
			arrivals, err := cc.simulate(c.Context(), args[0])
			if err != nil {
				return err
			}
			names := list.Convert(arrivals, func(a promote.Arrival) string { return a.Environment })
			return cc.app.printValue(arrivals, names, func() string { return plaintext.FormatArrivals(arrivals, cc.now(), cc.app.stdout) })
		},
	}
	cc.addObserverFlags(c)
	addControlPlaneFlag(cc, c)
	return c
}

func (cc *commandContext) simulate(ctx context.Context, revision string) ([]promote.Arrival, error) {
	if err := refuseBothPlaces(cc); err != nil {
		return nil, err
	}
	if cc.daemonURL != "" {
		return daemonClient{cc.daemonURL}.simulate(ctx, revision)
	}
	observer, err := cc.newObserver(ctx)
	if err != nil {
		return nil, err
	}
	defer observer.Close()
	if _, err := observer.Chain(ctx); err != nil {
		return nil, err
	}
	arrivals, err := observer.loop.Simulate(ctx, revision)
	var blocked *promoter.BlockedError
	var unknown *promoter.UnknownCommitError
	switch {
	case errors.As(err, &blocked):
		err = newProblemsError(blocked.Problems)
	case errors.As(err, &unknown):
		err = usageErrorf(unknown.Hint(), "%v", unknown)
	}
	return arrivals, err
}

func (d daemonClient) simulate(ctx context.Context, revision string) (arrivals []promote.Arrival, err error) {
	found, err := d.askCycle(ctx, "api/v1/simulate?commit="+url.QueryEscape(revision), &arrivals)
	if err == nil && !found {
		err = problem.Refusef("update the daemon, or simulate with its settings: --config FILE", "the daemon at %s has no simulation: it is not a daemon of this version", d.pageURL())
	}
	return arrivals, err
}

func (d daemonClient) askCycle(ctx context.Context, path string, into any) (found bool, err error) {
	address := d.pageURL() + path
	var refused struct {
		Error, Hint string
		Problems    problem.List
	}
	code, err := d.fetch(ctx, address, func(code int) any {
		switch code {
		case http.StatusOK:
			return into
		case http.StatusBadRequest, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return &refused
		}
		return nil
	})
	switch {
	case err != nil || code == http.StatusOK:
	case code == http.StatusBadRequest:
		err = usageErrorf(refused.Hint, "%s", refused.Error)
	case code == http.StatusConflict:
		err = newProblemsError(refused.Problems)
	case refused.Error != "":
		err = problem.Refusef(refused.Hint, "the daemon does not answer now: %s", refused.Error)
	case code != http.StatusNotFound:
		err = d.newAnswerError(address, code)
	}
	return code == http.StatusOK, err
}
