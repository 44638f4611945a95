package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newVersions(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := &cobra.Command{
		Use:     "versions",
		GroupID: groupPromotion,
		Short:   "Show which versions of applications environments have",
		Long: `Versions shows for each Feed the newest version that there is, the newest release of its lane,
and what each environment has. An environment without a version follows the branch of the
workload's registration: what is pushed there reaches it at once.`,
		Example: `  fairlead versions
  fairlead versions adopt --pull-request
  fairlead versions cut checkout --set checkout=4be1c2d --reason "the last good one"
  fairlead versions pin prod checkout=4be1c2d --reason "the audit of Monday"
  fairlead versions skip checkout=4be1c2d --reason "it loses orders"`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := cc.openForEnvironments(c.Context())
			if err != nil {
				return err
			}
			all, err := actions.ListVersions(c.Context(), d)
			if err != nil {
				return err
			}
			names := list.Convert(all, func(v actions.FeedVersions) string { return v.Feed })
			return a.printValue(all, names, func() string { return formatVersions(all, a.stdout) })
		},
	}
	c.Flags().SortFlags = false
	cc.addControlPlaneFlags(c)
	a.addOutputFlag(c)
	for _, part := range []*cobra.Command{newVersionsAdopt(a), newVersionsCut(a), newVersionsPin(a), newVersionsUnpin(a), newVersionsSkip(a)} {
		part.GroupID = ""
		c.AddCommand(part)
	}
	return c
}

func formatVersions(all []actions.FeedVersions, to *display.Stream) string {
	if len(all) == 0 {
		return "There are no feeds: fairlead versions adopt writes them for what is registered.\n"
	}
	columns := []display.Column{{Heading: "FEED"}, {Heading: "LANE"}, {Heading: "NEWEST"}, {Heading: "RELEASE"}}
	for _, e := range all[0].Environments {
		columns = append(columns, display.Column{Heading: e.Environment})
	}
	rows := make([][]string, len(all))
	unread, pinned, skipped := "", "", ""
	for i, v := range all {
		rows[i] = []string{v.Feed, v.Lane, cmp.Or(v.Newest, "unknown"), cmp.Or(v.Release, "none")}
		for _, e := range v.Environments {
			has := "follows the branch"
			if e.Version != "" {
				has = strings.TrimSpace(e.Release + " " + e.Version)
			}
			if e.Pinned != "" {
				has += " (pinned)"
				pinned += display.SanitizeLine(fmt.Sprintf("%s is pinned in %s: %s (until fairlead versions unpin %[2]s %[1]s)", v.Feed, e.Environment, e.Pinned)) + "\n"
			}
			if e.Skipped != "" {
				has += " (skipped)"
				skipped += display.SanitizeLine(fmt.Sprintf("%s %s, which %s has, is skipped: %s", v.Feed, e.Version, e.Environment, e.Skipped)) + "\n"
			}
			rows[i] = append(rows[i], has)
		}
		if v.Unread != "" {
			unread += display.SanitizeLine(v.Feed+": "+v.Unread) + "\n"
		}
	}
	text := ""
	for _, line := range to.FormatRows(columns, rows) {
		text += line
	}
	return text + pinned + skipped + unread
}

func newVersionsAdopt(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := &cobra.Command{
		Use:   "adopt [REGISTRATION...]",
		Short: "Have the versions of all registered workloads promoted, or of some",
		Long: `Adopt writes a Feed for each WorkloadRegistration of the base that has none, or for those that
are named, into .fairlead/feeds. From then on each environment stays at the commit of the workload's
repository that it has, and a push reaches the first environment only: the others get it as they
get commits of the base. Each registration has to be in a lane of the Promotion.`,
		Example: `  fairlead versions adopt --dry-run
  fairlead versions adopt checkout --pull-request`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			d, err := cc.openForEnvironments(c.Context())
			if err != nil {
				return err
			}
			return cc.finishAction(c.Context())(actions.AdoptFeeds(c.Context(), d, args, cc.reason))
		},
	}
	cc.addActionFlags(c, "")
	return c
}

func newVersionsCut(a *app) *cobra.Command {
	cc := newCommandContext(a)
	var set []string
	c := &cobra.Command{
		Use:   "cut LANE",
		Short: "Make a release of a lane now",
		Long: `Cut makes a release of a lane, a commit on branch releases/LANE of the control plane, from the
newest versions of its feeds, or from those of --set. Fairlead makes releases by itself; by hand
they can have older versions, and those of a branch that was rewritten.`,
		Example: `  fairlead versions cut checkout --reason "the branch was rewritten"
  fairlead versions cut checkout --set checkout=4be1c2d --reason "the last good one"`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cc.requireReason("a release by hand"); err != nil {
				return err
			}
			cut := actions.Cut{Lane: args[0], Reason: cc.reason, Versions: map[string]string{}}
			for _, given := range set {
				feed, revision, err := parseVersion(given)
				if err != nil {
					return err
				}
				cut.Versions[feed] = revision
			}
			d, err := cc.openForEnvironments(c.Context())
			if err != nil {
				return err
			}
			return cc.finishAction(c.Context())(actions.CutRelease(c.Context(), d, cut))
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "take another version of a feed: `FEED=REVISION`")
	addCommitFlags(cc, c, "")
	return c
}

func parseVersion(given string) (feed, revision string, err error) {
	feed, revision, found := strings.Cut(given, "=")
	if !found || feed == "" || revision == "" {
		err = usageErrorf("write FEED=REVISION", "%q names no version of a feed", given)
	}
	return feed, revision, err
}

func newVersionsPin(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := &cobra.Command{
		Use:   "pin ENVIRONMENT FEED=REVISION",
		Short: "Keep a version in an environment, whatever releases it gets",
		Long: `Pin writes an object of kind Pin to the branch of an environment. The environment has that
version until fairlead versions unpin, and the other versions of the releases that it gets.
REVISION is one of the feed's repository, or the name of a release that has the version. A
release that an environment has with a pinned version goes no further than there, unless the
environments after it have the same pin.`,
		Example: `  fairlead versions pin prod checkout=4be1c2d --reason "the audit of Monday"
  fairlead versions pin prod checkout=checkout-41 --reason "the audit of Monday" --pull-request`,
		Args:              checkArguments(2, 2),
		ValidArgsFunction: completeArguments(cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			feed, revision, err := parseVersion(args[1])
			if err != nil {
				return err
			}
			return runVersionsAction(c.Context(), cc, "a pin", args[:1], func(d *actions.Session) (actions.Result, error) {
				return actions.PinVersion(c.Context(), d, args[0], feed, revision, cc.reason)
			})
		},
	}
	cc.addActionFlags(c, "")
	return c
}

func newVersionsUnpin(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := &cobra.Command{
		Use:   "unpin ENVIRONMENT FEED",
		Short: "Let an environment have the version of its release again",
		Long: `Unpin removes what fairlead versions pin has written: the environment then has the version of
its release.`,
		Example:           `  fairlead versions unpin prod checkout`,
		Args:              checkArguments(2, 2),
		ValidArgsFunction: completeArguments(cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			return runVersionsAction(c.Context(), cc, "", args[:1], func(d *actions.Session) (actions.Result, error) {
				return actions.UnpinVersion(c.Context(), d, args[0], args[1], cc.reason)
			})
		},
	}
	cc.addActionFlags(c, "")
	return c
}

func newVersionsSkip(a *app) *cobra.Command {
	cc := newCommandContext(a)
	undo := false
	c := &cobra.Command{
		Use:   "skip FEED=REVISION",
		Short: "Never release a version, and promote no release that has it",
		Long: `Skip writes an object of kind Skip to the base. The version is not released again, and no
environment gets a release that has it. An environment that has one keeps it: fairlead rollback
takes it back. REVISION is one of the feed's repository, or the name of a release that has the
version.`,
		Example: `  fairlead versions skip checkout=checkout-42 --reason "it loses orders"
  fairlead versions skip checkout=4be1c2d --undo --reason "it was the database"`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			feed, revision, err := parseVersion(args[0])
			if err != nil {
				return err
			}
			what := map[bool]string{false: "a skip"}[undo]
			return runVersionsAction(c.Context(), cc, what, nil, func(d *actions.Session) (actions.Result, error) {
				return actions.SkipVersion(c.Context(), d, feed, revision, cc.reason, undo)
			})
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "let it be released and promoted again")
	cc.addActionFlags(c, "")
	return c
}

// runVersionsAction performs an action on environments that exist; what needs a reason is named.
func runVersionsAction(ctx context.Context, cc *commandContext, what string, environments []string, perform func(*actions.Session) (actions.Result, error)) error {
	if what != "" {
		if err := cc.requireReason(what); err != nil {
			return err
		}
	}
	d, err := cc.openForEnvironments(ctx, environments...)
	if err != nil {
		return err
	}
	return cc.finishAction(ctx)(perform(d))
}
