package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

func newFreeze(a *app) *cobra.Command {
	cc := newCommandContext(a)
	var f actions.Freeze
	var from, to, except string
	remove := false
	c := &cobra.Command{
		Use:     "freeze NAME",
		GroupID: groupPromotion,
		Short:   "Keep the output of environments as it is for a time",
		Long: `Freeze writes an object of kind Freeze to the base. As long as it is in force nothing is
promoted, and Fairlead merges no change of the output of the environments, wherever it comes
from; with --scope promotion only promotions wait. With --waves pass a change whose first wave
is merged goes on through its waves. --except lets one commit of the base
pass, with a reason that stays on record; --remove ends it.

A time is as 2026-12-24, 2026-12-24T18:00:00+01:00, or 36h or 7d from now.`,
		Example: `  fairlead freeze outage --reason "payment is down"
  fairlead freeze q4 --environments prod --from 2026-12-20 --to 2027-01-04 --reason "the books"
  fairlead freeze q4 --except 4be1c2d --reason "the fix of the outage"
  fairlead freeze outage --remove`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: completeArguments(cc.completeFreezes),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			f.Name = args[0]
			if err := checkFreeze(cc, &f, from, to, except, remove); err != nil {
				return err
			}
			d, err := cc.openForEnvironments(ctx, f.Environments...)
			switch {
			case err != nil:
				return err
			case remove:
				return cc.finishAction(ctx)(d.EndFreeze(ctx, f.Name, cc.reason))
			case except != "":
				return cc.finishAction(ctx)(d.AddException(ctx, f.Name, except, cc.reason))
			}
			f.Reason = cc.reason
			return cc.finishAction(ctx)(d.Freeze(ctx, f))
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.Environments, "environments", nil, "`names` of the environments (default: all)")
	flags.StringVar(&from, "from", "", "`time` from which it is in force (default: now)")
	flags.StringVar(&to, "to", "", "`time` at which it ends (default: when it is removed)")
	flags.StringVar(&except, "except", "", "let a `commit` of the base pass a freeze that is there")
	flags.BoolVar(&remove, "remove", false, "end a freeze that is there")
	addScopeFlag(c, &f.Scope)
	flags.StringVar(&f.Waves, "waves", "", "`pass` lets the waves of a change pass whose first wave is merged (default: they wait)")
	_ = c.RegisterFlagCompletionFunc("waves", cobra.FixedCompletions([]cobra.Completion{passWaves}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("environments", cc.completeNames)
	_ = c.RegisterFlagCompletionFunc("except", cc.completeCommits)
	cc.addActionFlags(c, "; only --remove needs none")
	return c
}

const passWaves = "pass"

func checkFreeze(cc *commandContext, f *actions.Freeze, from, to, except string, remove bool) (err error) {
	begins := from != "" || to != "" || f.Environments != nil || f.Scope != "" || f.Waves != ""
	switch {
	case remove && except != "":
		return usageErrorf("", "--remove and --except exclude each other")
	case begins && (remove || except != ""):
		return usageErrorf("--from, --to, --environments, --scope and --waves are for a new one", "the freeze is there already")
	case !kubename.IsDNSLabel(f.Name):
		return usageErrorf("lower case letters, digits and hyphens, as in q4-2026", "%q cannot be the name of a freeze", f.Name)
	case except != "":
		return cc.requireReason("an exception")
	case remove:
		return nil
	}
	if err := cc.requireReason("a freeze"); err != nil {
		return err
	}
	if err := checkScope(f.Scope); err != nil {
		return err
	}
	if f.Waves != "" && f.Waves != passWaves {
		return usageErrorf("write --waves "+passWaves, "--waves %s is unknown", f.Waves)
	}
	f.From, err = parseNext("--from", from, cc.now())
	if err != nil {
		return err
	}
	f.To, err = parseNext("--to", to, cc.now())
	if err != nil {
		return err
	}
	if !f.To.IsZero() && (!f.To.After(f.From) || !f.To.After(cc.now())) {
		return usageErrorf("", "--to %s is over before the freeze begins", to)
	}
	return nil
}

// parseNext parses a future time in the machine's zone; "" is the zero time.
func parseNext(flag, value string, now time.Time) (time.Time, error) {
	t, ok := actions.ParseTime(value, now)
	if !ok {
		return t, usageErrorf(`as 2026-12-24, "tomorrow 18:00", 2026-12-24T18:00:00+01:00, 36h or 7d`, "%s %s is not a time", flag, value)
	}
	return t, nil
}
