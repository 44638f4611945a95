package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// checkedChain is the report on the order of promotion.
type checkedChain struct {
	// Inferred describes what the order was inferred from; "" if a Promotion declares it.
	Inferred string         `json:"inferred,omitempty"`
	External bool           `json:"external,omitempty"`
	Stages   []checkedStage `json:"stages"`
}

// checkedStage is an environment in the order of promotion. Gates and proof are the
// names of gates.
type checkedStage struct {
	Environment string   `json:"environment"`
	After       []string `json:"after,omitempty"`
	Queue       string   `json:"queue"`
	Gates       []string `json:"gates,omitempty"`
	Proof       []string `json:"proof,omitempty"`
}

// checkChain reads the order of promotion from the base, and adds the problems with it, in the
// base and on the environments' own branches, to all.
func (k *checkCommand) checkChain(ctx context.Context, names []string, all problemSet) (checkedChain, error) {
	base, err := k.input.source.Base(ctx)
	if err != nil {
		return checkedChain{}, err
	}
	chain, problems := model.NewChain(base.Progress, base.Environments, nil)
	if chain.Inferred != "" { // nothing that is written is wrong, and the settings may name the order
		for i, p := range problems {
			problems[i].Warning = !strings.HasPrefix(p.Subject, "Freeze/") // a Freeze is written
		}
	}
	problems = append(problems, base.Progress.Problems...)
	report := checkedChain{Inferred: chain.Inferred, External: chain.External, Stages: []checkedStage{}}
	for _, s := range chain.Stages {
		gates, proof, wrong := gate.CompileStage(s)
		problems = append(problems, wrong...)
		report.Stages = append(report.Stages, checkedStage{s.Name, s.After, queueText(s.Queue), gateNames(gates), gateNames(proof)})
	}
	all.addNew("", k.applyStrict(problems.Sorted()))
	for _, name := range names {
		own, err := k.progressProblems(ctx, name)
		if err != nil {
			return report, err
		}
		all.addNew(name, k.applyStrict(own))
	}
	return report, nil
}

// progressProblems returns the problems of the promotion objects on an environment's branch.
func (k *checkCommand) progressProblems(ctx context.Context, name string) (problem.List, error) {
	read, _, err := k.input.source.ReadAt(ctx, name, source.Revisions{})
	var problems problem.List
	for _, l := range read.Layers {
		if l.Kind == model.Env {
			problems = append(problems, k.input.parser.Progress(name, l).Problems...)
		}
	}
	if err != nil || k.input.options.EnvironmentRevision != "" { // the revision may fix what the branch has now
		return problems, err
	}
	branch, err := k.input.source.Branch(ctx, name)
	if err != nil {
		return problems, err
	}
	return append(problems, branch.Progress.Problems...), nil
}

func queueText(q model.Queue) string {
	if q.Policy == model.Batch {
		return fmt.Sprintf("%s %s", q.Policy, q.Every)
	}
	return q.Policy
}

func gateNames(set gate.Set) []string {
	var names []string
	for _, g := range set.Gates {
		names = append(names, g.Name())
	}
	return names
}

// orderText returns the order as a line; "" if there is nothing to show.
func (c checkedChain) orderText() string {
	if c.External {
		return "promotion: others promote commits\n"
	}
	if len(c.Stages) == 0 || len(c.Stages) == 1 && c.Inferred != "" {
		return ""
	}
	var parts []string
	for i, s := range c.Stages {
		straight := i == 0 && len(s.After) == 0 || i > 0 && len(s.After) == 1 && s.After[0] == c.Stages[i-1].Environment
		switch {
		case straight:
			parts = append(parts, s.Environment)
		case len(s.After) == 0:
			parts = append(parts, s.Environment+" (after none)")
		default:
			parts = append(parts, s.Environment+" (after "+display.Enumerate(s.After, "and")+")")
		}
	}
	text := "promotion: " + strings.Join(parts, " → ")
	if c.Inferred != "" {
		text += ", by " + c.Inferred
	}
	return display.SanitizeLine(text) + "\n"
}
