package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newApprovePlan(a *app) *cobra.Command {
	cc := newCommandContext(a)
	var read actions.ReadPlan
	plansFile := ""
	c := &cobra.Command{
		Use:     "approve-plan ENVIRONMENT TEAM/STACK/COMPONENT",
		GroupID: groupPromotion,
		Short:   "Approve the plan of a component of a stack, or of a part of a cluster",
		Long: `Approve-plan writes an object of kind PlanApproval to the branch of an environment, in a
commit of yours, so that tofu-controller applies the plan that you have read. --inputs names
what that plan was made from: copy the annotation fairlead.io/inputs of the Terraform object
whose plan you have read. If the output has other inputs by now, the approval is refused.

With spec.plans.webhook in StackSettings, --digest names the plan itself: it is what
fairlead stack plan --plans shows. If the plan that tofu-controller makes before it applies
has another digest, it is not applied. --plans names a file with what tofu-controller keeps
of the plans; the digest is taken from it, and a pull request shows the plan to those who
review it. Without the webhook, tofu-controller plans again after the approval and applies
that under the same id, drift included.

A part of a cluster that tofu-controller makes is named clusters/NAMESPACE-MANIFEST/OBJECT, with
the name of its Terraform object.

When anything that the plan is made from changes, the approval does not count any more, and
the next one takes its place.`,
		Example: `  kubectl get terraform -n zmart-checkout-dev checkout-dev-eks -o yaml
  fairlead approve-plan dev checkout/dev/eks --inputs feaec16826997273
  fairlead approve-plan dev checkout/dev/eks --inputs feaec16826997273 --digest sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
  fairlead approve-plan dev clusters/fleet-edge/one-75urwc7-k8s --inputs 5d1c2b3a4f5e6d7c
  fairlead approve-plan prod checkout/prod/eks --inputs 0e567bf1a2b3c4d5 --pull-request --reason "read with Ana"`,
		Args:              checkArguments(2, 2),
		ValidArgsFunction: completeArguments(cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			last := strings.LastIndex(args[1], "/")
			if strings.Count(args[1], "/") != 2 {
				return usageErrorf("as in checkout/dev/eks: the teamName and the envName of the stack, and the component; or as in clusters/fleet-edge/one-75urwc7-k8s: the namespace and the name of the manifest, and the Terraform object", "%q is not the name of a component", args[1])
			}
			if read.Digest != "" && !model.IsPlanDigest(read.Digest) {
				return usageErrorf("copy what fairlead stack plan --plans shows: sha256: and 64 hexadecimal digits", "%q is not the digest of a plan", read.Digest)
			}
			var err error
			read.Plans, err = readPlans(plansFile, c.InOrStdin())
			if err != nil {
				return err
			}
			for name, plan := range read.Plans {
				plan.Text = display.SanitizeLines(plan.Text)
				read.Plans[name] = plan
			}
			d, err := cc.openForEphemeral(c.Context(), args[0])
			if err != nil {
				return err
			}
			if read.Inputs == "" {
				err := d.CheckApproval(c.Context(), args[0], args[1][:last], args[1][last+1:])
				if err != nil {
					return err
				}
				return usageErrorf("add --inputs with the annotation fairlead.io/inputs of the Terraform object whose plan you have read", "it is not known which plan you have read")
			}
			return cc.finishAction(c.Context())(d.ApprovePlan(c.Context(), args[0], args[1][:last], args[1][last+1:], read, cc.reason))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&read.Inputs, "inputs", "", "what the plan is made from: a `digest`")
	c.Flags().StringVar(&read.Digest, "digest", "", "the `digest` of the plan, where plans are compared before they are applied")
	c.Flags().StringVar(&plansFile, "plans", "", "`file` with the ConfigMaps and Secrets in which tofu-controller keeps plans, as kubectl prints them in YAML; - for standard input")
	cc.addActionFlags(c, "")
	return c
}

// approvalCommand returns the command that approves a plan of a component, as TEAM/STACK/COMPONENT, by the digest of
// what it is made from and, where plans are compared, its own; "" for none.
func approvalCommand(environment, component, inputs, digest string) string {
	command := fmt.Sprintf("fairlead approve-plan %s %s --inputs %s", text.QuoteShell(environment), text.QuoteShell(component), inputs)
	if digest != "" {
		command += " --digest " + digest
	}
	return command
}
