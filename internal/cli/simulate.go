package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
)

func newSimulate(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := &cobra.Command{
		Use:     "simulate COMMIT",
		GroupID: groupPromotion,
		Short:   "Say when a commit would get to each environment",
		Long: `Simulate says when a commit of the base would get to each environment, if all goes well
and today's gates stay as they are: a time where all ends are known, and otherwise for whom
or what it would wait. It looks itself, with the settings, and changes nothing.`,
		Example: `  fairlead simulate main`,
		Args:    checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			observer, err := cc.newObserver(c.Context())
			if errors.Is(err, errNoChainReader) {
				return usageErrorf("--config FILE says where they are", "it takes the settings to know when a commit gets somewhere")
			}
			if err != nil {
				return err
			}
			defer observer.Close()
			if _, err := observer.Chain(c.Context()); err != nil {
				return err
			}
			arrivals, err := observer.loop.Simulate(c.Context(), args[0])
			var broken *promoter.BlockedError
			if errors.As(err, &broken) {
				return newProblemsError(broken.Problems)
			}
			if err != nil {
				return err
			}
			names := list.Convert(arrivals, func(a promote.Arrival) string { return a.Environment })
			return cc.app.printValue(arrivals, names, func() string { return arrivalsText(arrivals, cc.now(), cc.app.stdout) })
		},
	}
	c.Flags().SortFlags = false
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	cc.app.addOutputFlag(c)
	return c
}

// arrivalsText returns a line for each arrival, with what it waits for below.
func arrivalsText(arrivals []promote.Arrival, now time.Time, to *display.Stream) string {
	var rows [][]string
	for _, a := range arrivals {
		rows = append(rows, []string{a.Environment, whenText(a, now), a.Reason})
	}
	lines := strings.SplitAfter(to.FormatTable([]display.Column{{Heading: "ENVIRONMENT"}, {Heading: "WHEN"}, {Heading: "WHY"}}, rows), "\n")
	var b strings.Builder
	b.WriteString(lines[0])
	for i, a := range arrivals {
		b.WriteString(lines[i+1])
		if len(a.WaitsFor) < 2 { // the reason is the same
			continue
		}
		for _, w := range a.WaitsFor {
			fmt.Fprintf(&b, "  waits for %s\n", display.SanitizeLine(w))
		}
	}
	return b.String()
}

func whenText(a promote.Arrival, now time.Time) string {
	switch a.State {
	case promote.ArrivalHas, promote.ArrivalReached:
		if a.Time.IsZero() {
			return "there"
		}
		return "there for " + display.FormatAge(now.Sub(a.Time))
	case promote.ArrivalExpected:
		if !a.Time.After(now) {
			return "now"
		}
		return fmt.Sprintf("%s, in %s", display.FormatMoment(a.Time), display.FormatAge(a.Time.Sub(now)))
	case promote.ArrivalNever:
		return "never"
	}
	return "not known"
}
