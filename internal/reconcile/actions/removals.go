package actions

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// changeName matches the names of changes that exceed limits, as pull requests of outputs show
// them.
var changeName = regexp.MustCompile(`^[0-9a-f]{40}$`)

// IsChangeName reports whether a text can be the name of a change that exceeds limits.
func IsChangeName(text string) bool { return changeName.MatchString(text) }

// FindRemovals returns why the output of an environment waits for an acknowledgement, of all reasons why only a
// person may merge it. It is an error if nothing waits for one, or another change than the one that is named;
// "" names none.
func FindRemovals(all []status.Withheld, environment, named string) (status.Withheld, error) {
	i := slices.IndexFunc(all, func(w status.Withheld) bool { return w.Acknowledge != "" })
	switch {
	case i < 0 && named != "":
		return status.Withheld{}, problem.Refusef("", "%s does not wait for an approval in %s, and no other removals do", named, environment)
	case i < 0:
		return status.Withheld{}, problem.Refusef("", "no removals wait for an approval in %s", environment)
	case named != "" && all[i].Acknowledge != named:
		return status.Withheld{}, problem.Refusef("", "%s does not wait for an approval in %s; what waits now is %s", named, environment, all[i].Acknowledge)
	}
	return all[i], nil
}

// Acknowledge writes a person's approval of one change of an environment's output that
// exceeds its limits. The pull request of the output names the change; any other change
// still waits.
func (d *Session) Acknowledge(ctx context.Context, environment, changeID, reason string) (Result, error) {
	if !IsChangeName(changeID) {
		return Result{}, problem.Refusef("copy the command from the pull request of the output", "%q is not the name of a change, which has 40 hexadecimal digits", changeID)
	}
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		what := changeID[:12]
		c := change{
			action: approveAction, environment: environment, reason: reason,
			title:   fmt.Sprintf("Approve removals %s in %s", what, environment),
			summary: fmt.Sprintf("%s approves the removals %s in %s: this change, and nothing else", d.options.Author.Email, what, environment),
		}
		if slices.ContainsFunc(v.branch.Progress.Approvals, func(a *model.Approval) bool { return a.Removals == changeID }) {
			c.summary = fmt.Sprintf("the removals %s in %s are approved already", what, environment)
			return c, nil
		}
		name := "removals-" + approvalName(changeID, d.options.Author.Email)
		text, err := model.EncodeObject("Approval", name, removalsSpec{changeID, reason})
		c.files = map[string][]byte{approvalFile(v.branch.Folder, name): text}
		return c, err
	})
}

type removalsSpec struct {
	Removals string `yaml:"removals"`
	Reason   string `yaml:"reason,omitempty"`
}
