package lever

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// The actions on stacks, each with its own permission.
const (
	ApprovePlan = "approve-plan"
	Teardown    = "teardown"
)

// StackNames returns the actions on stacks.
func StackNames() []string { return []string{ApprovePlan, Teardown} }

// StackTarget is the stack part of a request.
type StackTarget struct {
	Stack, Component string // "team/environment", and the component of an approved plan
	// Inputs and Digest identify the plan that was read.
	Inputs, Digest string
	// Typed is the name that confirms a teardown.
	Typed string
}

func (q Request) isStack() bool { return slices.Contains(StackNames(), q.Lever) }

func (q Request) checkStack() (sentence, hint string) {
	switch {
	case strings.Count(q.Stack, "/") != 1:
		return "the request names no stack", "write stack=TEAM/STACK"
	case q.Lever == Teardown:
	case q.Component == "":
		return "the request names no component", "write component=COMPONENT"
	case q.Inputs == "":
		return "the request does not say which plan was read", "write inputs= and the annotation fairlead.io/inputs of its Terraform object"
	case q.Digest != "" && !model.IsPlanDigest(q.Digest):
		return "that is not the digest of a plan", "copy what fairlead stack plan --plans shows: sha256: and 64 hexadecimal digits"
	}
	return "", ""
}

func (q Request) checkTyped() error {
	if q.Lever != Teardown || q.Typed == q.Stack {
		return nil
	}
	return &problem.Refusal{Reason: "the name that was typed is not that of the stack", Advice: "type " + q.Stack, Kind: ErrMalformed}
}

func runStack(ctx context.Context, d *actions.Session, q Request) (actions.Result, error) {
	if q.Lever == Teardown {
		return d.TearDownStack(ctx, q.Environment, q.Stack, q.Reason)
	}
	return d.ApprovePlan(ctx, q.Environment, q.Stack, q.Component, actions.ReadPlan{Inputs: q.Inputs, Digest: q.Digest}, q.Reason)
}

func (o *Operator) findStack(q Request) (stackview.Known, bool) {
	all := o.options.Store.Snapshot().Stacks[q.Environment]
	i := slices.IndexFunc(all, func(k stackview.Known) bool { return k.Summary.Stack == q.Stack })
	if i < 0 {
		return stackview.Known{}, false
	}
	return all[i], true
}

// lacksDigest reports whether the digest of the read plan is needed, since it is
// compared with the applied plan.
func (o *Operator) lacksDigest(q Request) bool {
	k, _ := o.findStack(q)
	c, _ := k.FindComponent(q.Component)
	return q.Lever == ApprovePlan && q.Digest == "" && c.Compared
}

func askDigest(l *answer.Lever) {
	l.Asks = []answer.LeverField{{Name: "digest", Title: "Digest of the plan that you have read", Hint: "fairlead stack plan --plans shows it: sha256: and 64 hexadecimal digits", Required: true}}
}

func (o *Operator) findStackEffects(q Request) []string {
	k, known := o.findStack(q)
	if !known {
		return []string{"What is on clusters of it is not known: the stack was not rendered since Fairlead started."}
	}
	if q.Lever == ApprovePlan {
		return describeApproval(k, q)
	}
	if !k.Merged {
		return []string{"No cluster has the stack yet: nothing is destroyed."}
	}
	var all, waits []string
	order := list.Convert(k.Components, func(c stackfiles.ComponentSummary) string { return c.Name })
	if !k.Teardown { // components are in order of creation
		slices.Reverse(order)
	}
	order = slices.DeleteFunc(order, func(name string) bool { c, _ := k.FindComponent(name); return c.Protected })
	for _, name := range order {
		c, _ := k.FindComponent(name)
		if c.Plan != "" && c.Approval != "auto" {
			waits = append(waits, name)
		}
	}
	if len(order) > 0 {
		all = append(all, fmt.Sprintf("Clusters destroy %s, in this order: %s.", text.Count(len(order), "component"), strings.Join(order, ", ")))
	}
	if len(waits) > 0 {
		all = append(all, fmt.Sprintf("Before that, a person approves the plan to destroy %s.", text.Join(waits, " and ")))
	}
	return append(all, "The pull request of the output shows all of it, and nothing is destroyed before that is merged.")
}

func describeApproval(k stackview.Known, q Request) []string {
	c, _ := k.FindComponent(q.Component)
	what := map[stackfiles.Action]string{stackfiles.Destroy: "destroys the component", stackfiles.Apply: "makes the component, or changes it"}[c.Action]
	if what == "" {
		what = "does nothing while the component is suspended"
	}
	all := []string{fmt.Sprintf("tofu-controller applies the plan %s of %s: it %s.", c.Plan, q.Component, what)}
	var after []string
	for _, other := range k.Components {
		if slices.Contains(other.After, q.Component) {
			after = append(after, other.Name)
		}
	}
	if len(after) > 0 {
		all = append(all, fmt.Sprintf("%s may go on when it is ready.", text.Join(after, " and ")))
	}
	return all
}

func questionOfStack(q Request) string {
	if q.Lever == Teardown {
		return fmt.Sprintf("Tear down the stack %s in %s?", q.Stack, q.Environment)
	}
	return fmt.Sprintf("Approve the plan of %s of %s in %s?", q.Component, q.Stack, q.Environment)
}

func commandOfStack(q Request) []string {
	if q.Lever == Teardown {
		return []string{"fairlead", "stack", "teardown", q.Environment, text.QuoteShell(q.Stack)}
	}
	words := []string{"fairlead", "approve-plan", q.Environment, text.QuoteShell(q.Stack + "/" + q.Component), "--inputs", text.QuoteShell(q.Inputs)}
	if q.Digest != "" {
		words = append(words, "--digest", q.Digest)
	}
	return words
}
