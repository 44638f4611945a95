package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// arrow separates two environments.
const arrow = "→"

// replaceArrows replaces "->", which can be typed, by an arrow: cobra would take it for a flag.
func replaceArrows(args []string) []string {
	if !slices.Contains(args, "promote") {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "->" {
			args[i] = arrow
		}
	}
	return args
}

type promotionArguments struct{ from, environment, commit string }

// parsePromotionArguments parses [FROM [→]] ENVIRONMENT [COMMIT]. An argument that could be an environment
// or a commit is an environment if there is one of that name.
func parsePromotionArguments(args, names []string) (promotionArguments, error) {
	if slices.Contains(args, "-") {
		return promotionArguments{}, usageErrorf(`write →, or "->" in quotation marks`, "the shell has taken -> for a redirection")
	}
	i := slices.Index(args, arrow)
	rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == arrow })
	from := i == 1
	malformed := i > 1 || i == 0 || len(rest) < len(args)-1 || len(rest) == 0 || from && len(rest) < 2
	from = from || len(rest) == 3 || len(rest) == 2 && slices.Contains(names, rest[0]) && slices.Contains(names, rest[1])
	w := promotionArguments{}
	if from && !malformed {
		w.from, rest = rest[0], rest[1:]
	}
	if malformed || len(rest) > 2 {
		return promotionArguments{}, usageErrorf("as in fairlead promote dev → stage", "%s cannot be understood", strings.Join(args, " "))
	}
	w.environment, w.commit = rest[0], strings.Join(rest[1:], "")
	if w.from != "" {
		return w, checkEnvironments(names, w.from, w.environment)
	}
	return w, checkEnvironments(names, w.environment)
}

// readChain returns the state of the stages; nil if it is not known.
func (cc *commandContext) readChain(ctx context.Context) (*status.Chain, error) {
	if cc.controlPlaneFlag != "" && cc.daemonURL == "" { // what is merged needs the settings, with access to the forge
		return nil, nil
	}
	who, err := cc.newChainReader(ctx)
	if errors.Is(err, errNoChainReader) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer who.Close()
	chain, err := who.Chain(ctx)
	return &chain, err
}

func newPromote(a *app) *cobra.Command {
	cc := newCommandContext(a)
	force, lane := false, ""
	c := &cobra.Command{
		Use:     "promote [FROM [→]] ENVIRONMENT [COMMIT]",
		GroupID: groupPromotion,
		Short:   "Give an environment another commit of the base",
		Long: `Promote writes a commit of the base into the record of an environment, base-repo.yaml on
its branch, in one commit of yours: the commit that is named, or else the one that FROM
has, or else the one that the environment waits for.

It is refused if the commit is not on the base's branch, is older than what the
environment has, is not verified in what the environment comes after, or is kept out by a
hold, a freeze or a gate of the environment. --force overrides holds, freezes, gates and a
missing verification; what was against it stays on record, and so does the reason. With
--lane only that lane gets its files of the commit.

With settings, promote finds out itself what is verified; with --url it asks a daemon.`,
		Example: `  fairlead promote dev → stage                  what dev has and has verified
  fairlead promote stage 4be1c2d --pull-request
  fairlead promote stage 4be1c2d --force --reason "the fix of the outage"`,
		Args:              checkArguments(1, 4),
		ValidArgsFunction: completeArguments(cc.completeNames, cc.completeEither, cc.completeEither, cc.completeCommits),
		RunE: func(c *cobra.Command, args []string) error {
			if force && cc.reason == "" {
				return cc.requireReason("--force")
			}
			d, err := cc.openForEnvironments(c.Context())
			if err != nil {
				return err
			}
			names, err := d.Environments(c.Context())
			if err != nil {
				return err
			}
			w, err := parsePromotionArguments(args, names)
			if err != nil {
				return err
			}
			p := actions.Promotion{Environment: w.environment, Lane: lane, From: w.from, Commit: w.commit, Reason: cc.reason, Force: force}
			p.Report, err = cc.readChain(c.Context())
			if err != nil && !force {
				return err
			}
			return cc.finishAction(c.Context())(d.Promote(c.Context(), p))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().BoolVar(&force, "force", false, "do it against a hold, a freeze, a gate or a missing proof")
	addLaneFlag(c, &lane)
	cc.addURLFlag(c)
	cc.addActionFlags(c, "; --force needs one")
	cc.addCopyFlags(c)
	return c
}
