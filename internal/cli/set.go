package cli

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/controlplane/edit"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

func newSet(a *app) *cobra.Command {
	e := newEditCommand(a)
	c := &cobra.Command{
		Use:     "set KIND/NAME PATH=VALUE...",
		GroupID: groupMain,
		Short:   "Set values of an object of the control plane",
		Long: `Set changes values of an object of the control plane, or removes them: a label, a value, a branch,
a tag. A PATH is one of
  labels.KEY, annotations.KEY   a label or an annotation
  KEY                           a value of a config
  manifests.KEY                 what a deployment target deploys
  a.b, a[NAME].b                a field below spec; [NAME] is an item of a list by its name or index
PATH- removes it. The kinds are those of fairlead create, and all others that fairlead schema lists.
A deployment target of a workload is target/WORKLOAD/NAME, and -e says which environment it is for.` + editHelp,
		Example: `  fairlead set -e dev cluster-type/cloud labels.size=large
  fairlead set config/10-fleet LOG_LEVEL=info DEBUG-
  fairlead set -e prod target/cart/api manifests.tag=v1.5.0
  fairlead set Promotion/fleet environments[prod].queue=latest --pull-request`,
		Args:              checkArguments(2, maxSettings+1),
		ValidArgsFunction: completeArguments(e.completeObject),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := e.findObject(args[0])
			if err != nil {
				return err
			}
			var settings []edit.Setting
			for _, arg := range args[1:] {
				s, err := edit.ParseSetting(arg)
				if err != nil {
					return err
				}
				settings = append(settings, s)
			}
			return e.runEdit(c.Context(), func(d *actions.Session) (actions.Result, error) {
				return d.SetValues(c.Context(), o, settings, e.reason)
			}, o.Branch())
		},
	}
	e.addEditFlags(c, "`name` of the environment: its branch, or the environment of a deployment target (default: the base)")
	return c
}

// maxSettings bounds the values that one command sets.
const maxSettings = 100

func newDelete(a *app) *cobra.Command {
	e := newEditCommand(a)
	c := &cobra.Command{
		Use:     "delete KIND/NAME",
		GroupID: groupMain,
		Short:   "Delete an object of the control plane",
		Long: `Delete removes an object from the control plane, and its file if nothing else is in it. What is
removed with it downstream, such as the assignments of a policy, is printed before anything is
merged: the pull request of the output removes it. An environment is taken out of the order of
promotion too; its branch stays, as the record of what ran there.` + editHelp,
		Example: `  fairlead delete policy/everything-at-the-edge -e dev
  fairlead delete target/cart/api -e prod --dry-run
  fairlead delete environment/qa --pull-request`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: completeArguments(e.completeObject),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := e.findObject(args[0])
			if err != nil {
				return err
			}
			return e.runEdit(c.Context(), func(d *actions.Session) (actions.Result, error) { return d.DeleteObject(c.Context(), o, e.reason) }, o.Branch())
		},
	}
	e.addEditFlags(c, "`name` of the environment: its branch, or the environment of a deployment target (default: the base)")
	return c
}
