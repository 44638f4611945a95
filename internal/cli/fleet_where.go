package cli

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

const workloadArgument = `WORKLOAD is a deployment target, or an object as Kind/namespace/name, or the last part of that.`

func (f *fleetCommand) addPlaceFlags(c *cobra.Command) {
	c.Flags().SortFlags = false
	f.addEnvironmentFlag(c)
	c.Flags().StringVar(&f.clusterType, "type", "", "only the clusters of this cluster `type`")
	f.addClusterFlag(c)
}

func (f *fleetCommand) addClusterFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.cluster, "cluster", "", "only the cluster of this `name`")
	_ = c.RegisterFlagCompletionFunc("cluster", f.completeClusters)
}

func newFleetWhere(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	at := ""
	c := &cobra.Command{
		Use:   "where WORKLOAD",
		Short: "List the clusters that run a workload, and which version",
		Long: `Where lists what the objects of a workload report: the version that each cluster runs, since
when, and whether it is ready. With --at it lists what they reported at that time.
` + workloadArgument,
		Example: `  fairlead fleet where checkout-api
  fairlead fleet where checkout-api -e prod --at 2026-11-01`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			then, err := cc.parsePast("--at", at)
			if err != nil {
				return err
			}
			return f.printPlacements(c.Context(), "where", args[0], then)
		},
	}
	f.addPlaceFlags(c)
	c.Flags().StringVar(&at, "at", "", "what ran at a `time`: a date, a time such as \"yesterday 17:48\", or how long ago, as 36h or 7d")
	cc.addFleetFlags(c)
	return c
}

func newFleetHistory(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	c := &cobra.Command{
		Use:   "history WORKLOAD",
		Short: "List what a workload ran on each cluster, and when",
		Long: `History lists what the objects of a workload have reported, cluster by cluster, the oldest
first: each version from a time to a time, whether it was ready, and how it failed. What is
LATE began while nothing was heard of the cluster, and was told of afterwards. If the ledger
was lost, and a new one has begun, the last line says when.
` + workloadArgument,
		Example: `  fairlead fleet history checkout-api --cluster east-1
  fairlead fleet history checkout-api -e prod -o csv > history.csv`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.printPlacements(c.Context(), "history", args[0], time.Time{})
		},
	}
	f.addPlaceFlags(c)
	cc.addFleetFlags(c)
	return c
}

// parsePast parses a past time in the machine's zone; "" is the zero time. It notes the
// resolved time if date or zone were implicit.
func (cc *commandContext) parsePast(flag, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, ok := text.ParsePast(value, cc.now())
	switch {
	case !ok:
		return at, usageErrorf(`as 2026-11-20, "yesterday 17:48", 10:00, 2026-11-20T10:00:00+01:00, 36h or 7d`, "%s %s is not a time", flag, value)
	case at.After(cc.now()):
		return at, usageErrorf("the ledger knows the past: name a date, a time, or how long ago, as 36h or 7d", "%s %s is in the future", flag, value)
	}
	at = at.UTC()
	if _, err := time.Parse(time.RFC3339, value); err != nil && strings.Contains(value, ":") {
		fmt.Fprintf(cc.app.stderr, "fairlead: note: %s is %s\n", flag, at.Format(time.RFC3339))
	}
	return at, nil
}

func (f *fleetCommand) printPlacements(ctx context.Context, question, workload string, at time.Time) error {
	values := newValues("workload", workload, "environment", f.environment, "type", f.clusterType, "cluster", f.cluster)
	if !at.IsZero() {
		values.Set("at", at.UTC().Format(time.RFC3339))
	}
	return f.ask(ctx, func(of fleetAsker) error {
		all, err := askAll[fleetview.Placement](ctx, of, question, values)
		if err != nil {
			return err
		}
		l := newPlacementsListing(all, workload, question == "history", f.now())
		switch {
		case len(all) > 0:
		case !at.IsZero():
			l.empty = fmt.Sprintf("no report about %s at %s\n", display.SanitizeLine(workload), plaintext.FormatTime(at))
		default:
			err = noteAgents(ctx, of, &l, f.environment)
		}
		if err != nil {
			return err
		}
		return f.app.printListing(l)
	})
}

func newPlacementsListing(all []fleetview.Placement, workload string, history bool, now time.Time) listing {
	l := listing{value: all, empty: fmt.Sprintf("no report about %s\n", display.SanitizeLine(workload)), colour: standingColour, columns: []column{
		{key: "cluster"}, {key: "environment", wide: history}, {key: "version"}, {key: "phase"}, {key: "since"}, {key: "until", wide: !history}, {key: "message", fit: display.Wrap},
		{key: "clusterType", wide: true}, {key: "object", wide: true}, {key: "revision", wide: true}, {key: "attempted", wide: true},
	}}
	appVersion := column{key: "appVersion", wide: true}
	if history {
		someLate := slices.ContainsFunc(all, func(p fleetview.Placement) bool { return p.Late })
		l.columns = append(l.columns, column{key: "late", wide: !someLate}, appVersion, column{key: "lost", wide: true})
		l.below = noteLoss(all)
	} else {
		l.columns = append(l.columns, appVersion)
	}
	for _, p := range all {
		since, until := any(plaintext.NewAge(p.Since, now)), any(plaintext.NewAge(p.Until, now))
		if history {
			since, until = plaintext.FormatTime(p.Since), plaintext.FormatTime(p.Until)
		}
		row := []any{
			p.Cluster, p.Environment, versionCell{p.Version, p.Revision, p.App}, p.Phase, since, until, p.Message,
			p.Type, p.Object, plaintext.Revision(p.Revision), plaintext.Revision(p.Attempted),
		}
		if history {
			row = append(row, lateCell(p.Late), p.App, plaintext.FormatTime(p.Lost))
		} else {
			row = append(row, p.App)
		}
		l.rows = append(l.rows, row)
	}
	return l
}

// versionCell shows a version, or else the short revision, with the chart's application
// version.
type versionCell struct{ version, revision, app string }

// chartDigest is Flux's suffix of a registry chart's version.
var chartDigest = regexp.MustCompile(`\+[0-9a-f]{12}$`)

func (v versionCell) String() string {
	shown := v.ExactText()
	if v.app == "" {
		return shown
	}
	return chartDigest.ReplaceAllString(shown, "") + " (" + v.app + ")"
}

func (v versionCell) ExactText() string {
	return cmp.Or(v.version, plaintext.Revision(v.revision).String())
}

func noteLoss(all []fleetview.Placement) string {
	for _, p := range all {
		if !p.Lost.IsZero() {
			return "The ledger was lost at " + plaintext.FormatTime(p.Lost) + ": what was before may be missing.\n"
		}
	}
	return ""
}

func lateCell(late bool) string {
	if late {
		return "late"
	}
	return ""
}
