package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newEphemeral(a *app) *cobra.Command {
	cc := newCommandContext(a)
	c := &cobra.Command{
		Use:     "ephemeral",
		GroupID: groupPromotion,
		Short:   "Make, list, extend and remove environments that are there for a time",
		Long: `An ephemeral environment is a branch ephemeral/NAME of the control plane, made from the
branch of an environment: it is rendered as that one is, to a place of its own, until its
time is over. Then the daemon removes its output, and then the branch. Nothing is promoted
to it.

With --stack it has copies of stacks, whose names end in its own: they have a state of their
own. The daemon destroys them before it removes the output.`,
		Example: `  fairlead ephemeral create pr-7 --from dev --ttl 48h --selector size=small
  fairlead ephemeral list
  fairlead ephemeral extend pr-7 --ttl 24h
  fairlead ephemeral remove pr-7`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	ttl := time.Duration(0)
	extend := cc.newEphemeralChange("extend NAME", "Let one live longer", func(ctx context.Context, d *ephemeral.Client, name string) (ephemeral.Result, error) {
		return d.Extend(ctx, name, ttl)
	})
	addDurationFlag(extend.Flags(), &ttl, "ttl", 24*time.Hour, "how much `longer` than it would")
	remove := cc.newEphemeralChange("remove NAME", "End one now", func(ctx context.Context, d *ephemeral.Client, name string) (ephemeral.Result, error) {
		return d.Remove(ctx, name)
	})
	remove.SuggestFor = []string{"delete"}
	extend.ValidArgsFunction, remove.ValidArgsFunction = completeArguments(cc.completeEphemerals), completeArguments(cc.completeEphemerals)
	c.AddCommand(newEphemeralCreate(cc), newEphemeralList(cc), extend, remove)
	return c
}

func newEphemeralCreate(cc *commandContext) *cobra.Command {
	var made ephemeral.Creation
	types := ""
	c := cc.newEphemeralChange("create NAME", "Make an environment for a time from another one", func(ctx context.Context, d *ephemeral.Client, name string) (ephemeral.Result, error) {
		var err error
		made.ClusterTypes, err = parseSelector("--selector", types)
		if err != nil {
			return ephemeral.Result{}, err
		}
		if made.From == "" {
			return ephemeral.Result{}, usageErrorf("as in --from dev", "it is not known from which environment it is to be made")
		}
		made.Name = name
		return d.Create(ctx, made)
	})
	f := c.Flags()
	f.StringVar(&made.From, "from", "", "the `environment` that it is a copy of")
	addDurationFlag(f, &made.TTL, "ttl", 48*time.Hour, "how `long` it lives, at most 720h")
	f.StringVar(&types, "selector", "", "`labels` of the cluster types that it has, as in size=small,region!=eu (default: all)")
	f.BoolVar(&made.AllStacks, "stacks", false, "have a copy of every stack")
	f.StringArrayVar(&made.Stacks, "stack", nil, "a stack that it has a copy of: `TEAM/STACK` (repeatable; default: none)")
	f.UintVar(&made.MaxComponents, "max-components", 50, "the most `components` that its stacks may have in total; 0 for no limit")
	f.StringVar(&made.Base, "base", "", "the `commit` of the base that it has (default: that of --from now)")
	_ = c.RegisterFlagCompletionFunc("from", cc.completeNames)
	_ = c.RegisterFlagCompletionFunc("base", cc.completeCommits)
	return c
}

func (cc *commandContext) newEphemeralChange(use, short string, do func(context.Context, *ephemeral.Client, string) (ephemeral.Result, error)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			who, err := commitAuthor(c.Context(), cc.author)
			if err != nil {
				return err
			}
			d, err := cc.openEphemerals(c.Context(), who)
			if err != nil {
				return err
			}
			r, err := do(c.Context(), d, args[0])
			if refusal := (*problem.Refusal)(nil); errors.As(err, &refusal) && refusal.Kind == ephemeral.ErrMisuse {
				return usageErrorf(refusal.Advice, "%v", err)
			}
			if err != nil {
				return err
			}
			return cc.app.printValue(r, []string{r.Name}, func() string { return resultText(r) })
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&cc.author, "author", "", "whose commit it is: `\"Name <address>\"` (default: as Git is configured here)")
	cc.app.addDryRunFlag(c)
	cc.addControlPlaneFlags(c)
	cc.app.addOutputFlag(c)
	return c
}

func resultText(r ephemeral.Result) string {
	said := r.Says
	if r.Commit != "" {
		said += " (commit " + text.ShortCommit(r.Commit) + " on " + r.Branch + ")"
	}
	return display.SanitizeLines(said) + "\n"
}

func (cc *commandContext) openEphemerals(ctx context.Context, who git.Signature) (*ephemeral.Client, error) {
	o, err := cc.actionOptions(who)
	if err != nil {
		return nil, err
	}
	d, err := ephemeral.Open(ctx, ephemeral.Options{
		ControlPlane: o.ControlPlane, BaseBranch: o.BaseBranch, Map: o.Map, Mirrors: o.Mirrors, Author: who, Now: cc.now,
	})
	return d, cc.withControlPlaneHint(err)
}

type ephemeralList struct {
	Environments []ephemeral.Item `json:"environments"`
	// Problems are those of branches that are not ephemeral environments.
	Problems problem.List `json:"problems,omitempty"`
}

func newEphemeralList(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List them, and when they end", Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := cc.openEphemerals(c.Context(), git.Signature{})
			if err != nil {
				return err
			}
			list := ephemeralList{}
			list.Environments, list.Problems, err = d.List(c.Context())
			if err == nil && len(list.Environments)+len(list.Problems) == 0 {
				err = checkControlPlane(c.Context(), d)
			}
			if err != nil {
				return err
			}
			if cc.daemonURL != "" {
				if err := (daemonClient{cc.daemonURL}).addStates(c.Context(), list.Environments); err != nil {
					return err
				}
			}
			return cc.app.printListing(newEphemeralListing(list, cc.now(), cc.daemonURL != ""))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&cc.daemonURL, "url", "", "also show what the daemon whose page is at this `URL` says of them")
	cc.addControlPlaneFlags(c)
	cc.app.addOutputFlag(c)
	return c
}

// checkControlPlane returns the usage error of a repository that is no control plane, such as a clone
// of the GitOps repository.
func checkControlPlane(ctx context.Context, d *ephemeral.Client) error {
	has, err := d.HasEnvironments(ctx)
	if err == nil && !has {
		return newNoControlPlaneError("the repository is no control plane: it has no objects of kind Environment in .environments")
	}
	return err
}

func newEphemeralListing(all ephemeralList, now time.Time, asked bool) listing {
	l := listing{value: all, empty: "there are no ephemeral environments\n", columns: []column{
		{key: "name"}, {key: "from"}, {key: "expires"}, {key: "left"},
		{key: "output", fit: display.Shorten}, {key: "state"},
	}}
	below := all.Problems
	unknown := false
	for _, e := range all.Environments {
		row := ephemeralRow(e, now)
		unknown = unknown || row[5] == ""
		l.rows = append(l.rows, row)
		below = append(below, e.Problems...)
	}
	switch {
	case unknown && asked:
		l.below = "state -: the daemon does not know of it yet\n"
	case unknown:
		l.below = "state -: a daemon knows it; --url URL asks one\n"
	}
	for _, p := range below {
		l.below += display.SanitizeLines(p.String()) + "\n"
	}
	return l
}

func ephemeralRow(e ephemeral.Item, now time.Time) []any {
	row := []any{e.Name, "", "", "", e.Output, e.State}
	if !e.Expires.IsZero() {
		row[1], row[2], row[3] = e.From, e.Expires.UTC().Format(time.RFC3339), "over"
		if e.Expires.After(now) {
			row[3] = display.FormatAge(e.Expires.Sub(now))
		}
	}
	if e.State == "" && e.Problems.Stops() {
		row[5] = "problems"
	}
	return row
}

func parseSelector(flag, text string) (model.Selector, error) {
	s, ok := model.ParseSelector(text)
	if !ok {
		return s, usageErrorf("as in size=small,region!=eu,edge,!old,zone in (a,b)", "%s %s cannot be read", flag, text)
	}
	return s, nil
}
