package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

// openStack opens the control plane for an action on a stack, given as [ENVIRONMENT] [TEAM/]STACK, or on a blueprint,
// which keeps the environment that is given. more are other environments of the action.
func openStack(ctx context.Context, cc *commandContext, args []string, more ...string) (d *actions.Session, environment, name string, err error) {
	name = args[len(args)-1]
	given := args[:len(args)-1]
	d, err = cc.openForEnvironments(ctx, append(given[:len(given):len(given)], more...)...)
	switch {
	case err != nil:
		return nil, "", "", err
	case len(given) > 0:
		return d, given[0], name, nil
	case strings.HasPrefix(name, stack.BlueprintPrefix):
		return d, "", name, nil
	}
	environment, name, err = d.FindStack(ctx, name)
	if err != nil {
		return nil, "", "", cc.explainActionError(err)
	}
	return d, environment, name, nil
}

// isNearBlueprint reports whether a copy would be of another team, which is called nearly as blueprints are.
func isNearBlueprint(from, to string) bool {
	team, _, named := strings.Cut(to, "/")
	own, _, _ := strings.Cut(from, "/")
	prefix := strings.TrimSuffix(stack.BlueprintPrefix, "/")
	return named && team != own && team != prefix && problem.FindNearest(team, []string{prefix}) != ""
}

func newStackClone(cc *commandContext) *cobra.Command {
	var set []string
	var into string
	c := &cobra.Command{
		Use:   "clone [ENVIRONMENT] [TEAM/]STACK [TEAM/]COPY",
		Short: "Copy a stack under another name, with some values set",
		Long: `Clone writes a copy of a stack to the branch of its environment, in a commit of yours: with
another name, and so with another state, other objects and another namespace. Files that the
stack names are copied too if they are in a folder that is called like it, or have its name;
others are shared. Without ENVIRONMENT it is the one that has the stack, and without a team the
copy belongs to that of the stack.

--into writes the copy to the branch of another environment, with all files and modules that
the stack names there, but for those that are there already. blueprint/NAME in the place of
STACK makes a stack of ENVIRONMENT that takes a blueprint of the base. The copy is refused if
its environment would have a problem with it: what it needs must be there, and its names and
its state must be its own. --dry-run prints what would be made.

blueprint/NAME in the place of COPY writes a blueprint that is made of the stack to the base, with
the files that the stack names. Once the environment has that commit, the same command has the
stack take the blueprint. Both are refused if what is rendered of the environment would change.

--set KEY=VALUE sets a value in the copy. A key is one of
  zlocals.NAME        a text that ${zlocals.NAME} stands for
  COMPONENT.VARIABLE  an input of a component
  autoApprove, description, workspace

What destroys the stack, or components of it, is left out of the copy, and so are approvals.`,
		Example: `  fairlead stack clone prod-blue prod-green --set zlocals.cidr=10.2.0.0/16
  fairlead stack clone prod checkout/prod-blue checkout/prod-green --set zlocals.cidr=10.2.0.0/16
  fairlead stack clone prod checkout/prod-blue checkout/prod-green --set eks.cluster_version=1.31 --pull-request
  fairlead stack clone stage checkout/stage checkout/prod-eu --into prod-eu --dry-run
  fairlead stack clone prod-eu blueprint/shop checkout/prod-eu --set queue.size=3
  fairlead stack clone dev checkout/dev blueprint/checkout --dry-run`,
		Args:              checkArguments(2, 3),
		ValidArgsFunction: completeArguments(cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			settings, err := parseStackSettings(set)
			if err != nil {
				return err
			}
			from, to := args[len(args)-2], args[len(args)-1]
			isBlueprint := strings.HasPrefix(from, stack.BlueprintPrefix)
			name, makesBlueprint := strings.CutPrefix(to, stack.BlueprintPrefix)
			switch {
			case makesBlueprint && (isBlueprint || into != "" || len(set) > 0):
				return usageErrorf("as in fairlead stack clone dev checkout/dev "+to, "a blueprint is made of a stack, as it is")
			case !makesBlueprint && isNearBlueprint(from, to):
				return usageErrorf("write "+stack.BlueprintPrefix+"NAME, or a team that the environment has", "%s would be a stack, and is nearly a blueprint", to)
			case isBlueprint && len(args) == 2:
				return usageErrorf("as in fairlead stack clone prod "+from+" checkout/prod", "name the environment that gets the copy of a blueprint")
			case isBlueprint && into != "":
				return usageErrorf("name the environment that gets the copy as the first one, and leave out --into", "a blueprint is of no environment")
			case isBlueprint && !strings.Contains(to, "/"):
				return usageErrorf("as in checkout/prod: the teamName and the envName", "a blueprint has no team that %q could belong to", to)
			}
			var others []string
			if into != "" {
				others = []string{into}
			}
			d, environment, from, err := openStack(c.Context(), cc, args[:len(args)-1], others...)
			if err != nil {
				return err
			}
			if makesBlueprint {
				return cc.finishAction(c.Context())(actions.MakeBlueprint(c.Context(), d, environment, from, name, cc.reason))
			}
			team, _, _ := strings.Cut(from, "/")
			if !strings.Contains(to, "/") {
				to = team + "/" + to
			}
			return cc.finishAction(c.Context())(d.CloneStack(c.Context(), environment, cmp.Or(into, environment), from, to, settings, cc.reason))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringArrayVar(&set, "set", nil, "a value of the copy: `KEY=VALUE` (repeatable)")
	c.Flags().StringVar(&into, "into", "", "the `environment` that gets the copy; that of the stack if it is left out")
	cc.addActionFlags(c, "")
	return c
}

func parseStackSettings(set []string) ([]stack.Setting, error) {
	var all []stack.Setting
	for _, text := range set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usageErrorf("as in --set zlocals.cidr=10.2.0.0/16", "--set %s has no value", text)
		}
		all = append(all, stack.Setting{Key: key, Value: value})
	}
	return all, nil
}

func newStackPin(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "pin [ENVIRONMENT] [TEAM/]STACK",
		Short: "Write the versions of modules that a stack names without",
		Long: `Pin writes a version into the source of each module in Git that a stack names without one, or at
a branch, so that its plans can be approved and every environment plans the same module. The
version is what the module has now: a tag as v1.4.2 if its commit has one, or else the commit.
Only the repositories' lists of references are read. The change is one commit of yours on the
branch of the environment; layout and comments of the file stay.

blueprint/NAME in the place of STACK pins the modules of a blueprint, in the base: the commit is
promoted, and with it the versions. Without ENVIRONMENT it is the one that has the stack. The
version of a module of a registry is written by hand.`,
		Example: `  fairlead stack pin dev checkout/dev --dry-run
  fairlead stack pin blueprint/shop --pull-request --reason "the modules of today"`,
		Args:              checkArguments(1, 2),
		ValidArgsFunction: completeArguments(cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			if name := args[len(args)-1]; len(args) == 2 && strings.HasPrefix(name, stack.BlueprintPrefix) {
				return usageErrorf("as in fairlead stack pin "+name, "a blueprint is of no environment")
			}
			d, environment, name, err := openStack(c.Context(), cc, args)
			if err != nil {
				return err
			}
			name = strings.TrimPrefix(name, stack.BlueprintPrefix)
			return cc.finishAction(c.Context())(actions.PinModules(c.Context(), d, environment, name, cc.reason))
		},
	}
	c.Flags().SortFlags = false
	cc.addActionFlags(c, "")
	return c
}
