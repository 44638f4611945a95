package actions

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// RebalanceOptions say what [Rebalance] decides anew.
type RebalanceOptions struct {
	Environment string
	Policies    []string // all that Fairlead decides if there is none
	AtMost      int      // moves, those that gain most; or schedule.NoLimit
	Reason      string
}

// Rebalance decides policies from nothing, and writes what was chosen.
func Rebalance(ctx context.Context, d *Session, o RebalanceOptions) (Result, error) {
	return d.perform(ctx, o.Environment, func(v snapshot) (change, error) {
		c := change{action: rebalanceAction, environment: o.Environment, part: "decisions", title: "Choose cluster types in " + o.Environment + " anew", reason: o.Reason}
		m, problems, err := d.source.LoadModel(ctx, o.Environment, source.Revisions{})
		if err != nil {
			return c, err
		}
		if m == nil {
			return c, refuseUnread(o.Environment, problems)
		}
		moved, err := schedule.Rebalance(m, o.Policies, o.AtMost)
		if err != nil {
			return c, err
		}
		c.files, err = moved.After.DecisionFiles(v.branch.Folder, m)
		if err != nil {
			return c, err
		}
		c.summary = moved.Summary()
		if moves := strings.TrimSpace(schedule.DescribeChanges(moved.Changes)); moves != "" {
			c.moves = strings.Split(moves, "\n")
			c.notes, c.shown = slices.Clone(c.moves), moves+"\n\n"
		}
		return examineEdit(ctx, d, v, c, c.summary)
	})
}

// ForgetDecision removes the decision of a policy, whether it can be read or not. The policy is decided from nothing then.
func ForgetDecision(ctx context.Context, d *Session, environment, policy, reason string) (Result, error) {
	if err := kubename.Check(policy); err != nil {
		return Result{}, problem.Refusef("", "%v", err)
	}
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		c := change{action: forgetAction, environment: environment, name: policy, part: model.DecisionKind + "/" + policy, title: "Forget the decision of " + policy + " in " + environment, reason: reason}
		repo, head, folder := v.place()
		if repo == nil {
			return c, problem.Refusef("", "the environment %s is a folder, in which nothing is committed", environment)
		}
		file := path.Join(folder, model.DecisionFolder, policy+".yaml")
		written, there, err := repo.FindEntry(head, file)
		switch {
		case err != nil:
			return c, err
		case !there:
			return c, problem.Refusef("fairlead schedule show lists what was chosen; what is committed here only is not read", "the branch %s has no file %s", v.branch.Name, file)
		case !model.HoldsDecision(written.Data):
			return c, problem.Refusef("git revert takes back what broke it", "%s does not hold a %s", file, model.DecisionKind)
		}
		c.files = map[string][]byte{file: nil}
		c.summary = "the decision of " + policy + " is forgotten in " + environment
		return examineEdit(ctx, d, v, c, "")
	})
}
