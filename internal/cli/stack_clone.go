package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

func newStackClone(cc *commandContext) *cobra.Command {
	var set []string
	c := &cobra.Command{
		Use:   "clone [ENVIRONMENT] [TEAM/]STACK [TEAM/]COPY",
		Short: "Copy a stack under another name, with some values set",
		Long: `Clone writes a copy of a stack to the branch of its environment, in a commit of yours: with
another name, and so with another state, other objects and another namespace. Files that the
stack names are copied too if they are in a folder that is called like it, or have its name;
others are shared. Without ENVIRONMENT it is the one that has the stack, and without a team the
copy belongs to that of the stack.

--set KEY=VALUE sets a value in the copy. A key is one of
  zlocals.NAME        a text that ${zlocals.NAME} stands for
  COMPONENT.VARIABLE  an input of a component
  autoApprove, description, workspace

What destroys the stack, or components of it, is left out of the copy, and so are approvals.`,
		Example: `  fairlead stack clone prod-blue prod-green --set zlocals.cidr=10.2.0.0/16
  fairlead stack clone prod checkout/prod-blue checkout/prod-green --set zlocals.cidr=10.2.0.0/16
  fairlead stack clone prod checkout/prod-blue checkout/prod-green --set eks.cluster_version=1.31 --pull-request
  fairlead stack clone dev checkout/dev checkout/dev-2 --dry-run`,
		Args:              checkArguments(2, 3),
		ValidArgsFunction: completeArguments(cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			settings, err := parseStackSettings(set)
			if err != nil {
				return err
			}
			d, err := cc.openForEnvironments(c.Context(), args[:len(args)-2]...)
			if err != nil {
				return err
			}
			environment, from, to := args[0], args[len(args)-2], args[len(args)-1]
			if len(args) == 2 {
				environment, from, err = d.FindStack(c.Context(), from)
			}
			if err != nil {
				return cc.explainActionError(err)
			}
			team, _, _ := strings.Cut(from, "/")
			if !strings.Contains(to, "/") {
				to = team + "/" + to
			}
			return cc.finishAction(c.Context())(d.CloneStack(c.Context(), environment, from, to, settings, cc.reason))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringArrayVar(&set, "set", nil, "a value of the copy: `KEY=VALUE` (repeatable)")
	cc.addActionFlags(c, "")
	return c
}

// parseStackSettings returns the values of --set.
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
