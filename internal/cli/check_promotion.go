package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type checkedChain struct {
	// Inferred describes what the order was inferred from; "" if a Promotion declares it.
	Inferred string         `json:"inferred,omitempty"`
	External bool           `json:"external,omitempty"`
	Stages   []checkedStage `json:"stages"`
}

type checkedStage struct {
	Environment string   `json:"environment"`
	After       []string `json:"after,omitempty"`
	Queue       string   `json:"queue"`
	Gates       []string `json:"gates,omitempty"`
	Proof       []string `json:"proof,omitempty"`
	// Waves have all cluster types of the environment; a change goes to those whose output changes.
	Waves []wave.Members `json:"waves,omitempty"`
}

func (k *checkCommand) checkChain(ctx context.Context, names []string, models []*model.Model, all problemSet) (checkedChain, error) {
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
		queue := s.Queue.Policy
		if queue == model.QueueBatch {
			queue += fmt.Sprintf(" %s", s.Queue.Every)
		}
		stage := checkedStage{Environment: s.Name, After: s.After, Queue: queue, Gates: gateNames(gates), Proof: gateNames(proof)}
		if i := slices.IndexFunc(models, func(m *model.Model) bool { return m.Environment == s.Name }); i >= 0 && len(s.Waves) > 0 {
			types := wave.FindTypes(models[i])
			wrong := wave.CheckWaves(s.Name, s.Waves, types, len(models[i].Stacks.List) > 0 || len(models[i].Clusters.Manifests) > 0)
			all.addNew(s.Name, k.applyStrict(wrong))
			if !wrong.Stops() {
				stage.Waves = wave.Partition(s.Name, "", s.Waves, types)
			}
		}
		report.Stages = append(report.Stages, stage)
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

func (k *checkCommand) progressProblems(ctx context.Context, name string) (problem.List, error) {
	read, _, err := k.input.source.ReadAt(ctx, name, source.Revisions{})
	var problems problem.List
	for _, l := range read.Layers {
		if l.Kind == model.Env {
			progress := k.input.parser.Progress(name, l)
			_, twice := progress.ListClusters()
			problems = append(problems, slices.Concat(progress.Problems, twice)...)
		}
	}
	if err != nil || k.input.options.EnvironmentRevision != "" { // the revision may fix what the branch has now
		return problems, err
	}
	branch, err := k.input.source.Branch(ctx, name)
	if err != nil {
		return problems, err
	}
	problems = append(problems, branch.Progress.Problems...)
	if k.input.options.Base != "" || k.input.options.BaseDir != "" { // another base than the one that was promoted from
		return problems, nil
	}
	base, err := k.input.source.Base(ctx)
	if err != nil {
		return problems, err
	}
	if lost := promoter.FindLoss(base, branch, name); lost != (promoter.Loss{}) {
		problems = append(problems, problem.Problem{Pos: problem.Pos{Layer: name, File: branch.Record}, Subject: "BaseRepo", Summary: lost.Reason, Hint: lost.Advice})
	}
	return problems, nil
}

func gateNames(set gate.Set) []string {
	var names []string
	for _, g := range set.Gates {
		names = append(names, g.Name())
	}
	return names
}

func (c checkedChain) orderText() string {
	if c.External {
		return "promotion: others promote commits\n"
	}
	if len(c.Stages) == 0 || len(c.Stages) == 1 && c.Inferred != "" {
		return ""
	}
	var parts, last []string
	for _, s := range c.Stages {
		part := s.Environment
		if !slices.Equal(s.After, last) { // it does not come after the one before it
			part += " (after " + cmp.Or(text.Join(s.After, " and "), "none") + ")"
		}
		parts, last = append(parts, part), []string{s.Environment}
	}
	line := "promotion: " + strings.Join(parts, " → ")
	if c.Inferred != "" {
		line += ", by " + c.Inferred
	}
	lines := display.SanitizeLine(line) + "\n"
	for _, s := range c.Stages {
		if len(s.Waves) > 0 {
			lines += display.SanitizeLine(s.describeWaves()) + "\n"
		}
	}
	return lines
}

func (s checkedStage) describeWaves() string {
	total := 0
	sizes := list.Convert(s.Waves, func(m wave.Members) string {
		total += len(m.Folders)
		return fmt.Sprintf("%s %d", m.Name, len(m.Folders))
	})
	return fmt.Sprintf("waves of %s: %s; %s in all", s.Environment, strings.Join(sizes, ", "), text.Count(total, "cluster type"))
}
