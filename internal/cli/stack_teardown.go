package cli

import "github.com/spf13/cobra"

func newStackTeardown(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "teardown [ENVIRONMENT] [TEAM/]STACK",
		Short: "Tear a stack down: destroy all of its components",
		Long: `Teardown writes teardown: true into the file of a stack, in a commit of yours on the branch of
its environment; the rest of the file stays as it is. Approvals of its plans are removed with it:
they do not count any more. When the change of the output is merged, clusters destroy the components, those first that others do not need, and plans to destroy wait
for approval as others do. What is protected stays.

Without ENVIRONMENT it is the one that has the stack. Remove the file of the stack when it is
destroyed. To destroy one component, write destroy: true into it.`,
		Example: `  fairlead stack teardown checkout/old
  fairlead stack teardown prod checkout/old --reason "moved to checkout/new" --pull-request
  fairlead stack teardown dev checkout/old --dry-run`,
		Args:              checkArguments(1, 2),
		ValidArgsFunction: completeArguments(cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			d, environment, name, err := openStack(c.Context(), cc, args)
			if err != nil {
				return err
			}
			return cc.finishAction(c.Context())(d.TearDownStack(c.Context(), environment, name, cc.reason))
		},
	}
	c.Flags().SortFlags = false
	cc.addActionFlags(c, "")
	return c
}
