package promoter

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Policy is what a cycle has to respect because of promotions.
type Policy struct {
	// Merge is by environment who merges its output: a Promotion overrides the settings.
	Merge map[string]string
	// Withheld has by environment the reasons why only a person may merge its output.
	Withheld map[string][]publish.Withholding
	progress *model.Progress // of the base
	// WaitReasons has by environment why its output is not proposed: nothing was promoted to it
	// yet.
	WaitReasons map[string]string
	// NextChange is when Withheld changes without an event; zero for never.
	NextChange time.Time
}

// Limits returns the limits of an environment's output.
func (o Policy) Limits(environment string) model.Limits {
	if o.progress == nil {
		return model.DefaultLimits()
	}
	return o.progress.LimitsOf(environment)
}

// loadPromotion reads the base and the order of promotion in it, with problems.
func (m *Promoter) loadPromotion(ctx context.Context, src *source.Source) (source.Base, model.Chain, problem.List, error) {
	base, err := src.Base(ctx)
	if err != nil {
		return base, model.Chain{}, nil, err
	}
	chain, problems := model.NewChain(base.Progress, base.Environments, m.options.Settings.NextEnvironment)
	return base, chain, append(problems, base.Progress.Problems...), nil
}

// LoadPolicy returns the policy that the base sets now. While a written Promotion has problems,
// only people merge, and what was not promoted waits.
func (m *Promoter) LoadPolicy(ctx context.Context, src *source.Source) (Policy, error) {
	base, chain, problems, err := m.loadPromotion(ctx, src)
	if err != nil {
		return Policy{}, err
	}
	o := Policy{Merge: map[string]string{}, WaitReasons: map[string]string{}, Withheld: map[string][]publish.Withholding{}, progress: base.Progress}
	maps.Copy(o.Merge, m.options.Settings.Merge)
	m.withholdEnvironments(ctx, src, base, &o)
	written := len(base.Progress.Promotions) > 0 || base.Progress.Problems.Stops()
	if !written || chain.External || m.options.Settings.Promotion != managedPromotion {
		return o, nil
	}
	if problems.Stops() {
		for _, e := range base.Environments {
			o.Merge[e.Name] = "manual"
			m.addWaitReason(ctx, src, e.Name, "no commit was promoted to it yet, and what is written about promotion has problems", o)
		}
		return o, nil
	}
	for _, s := range chain.Stages {
		if s.Merge != "" {
			o.Merge[s.Name] = s.Merge
		}
		if len(s.After) > 0 {
			m.addWaitReason(ctx, src, s.Name, "no commit was promoted to it yet; it comes after "+strings.Join(s.After, ", "), o)
		}
	}
	return o, nil
}

// addWaitReason makes an environment wait that has no record. One whose branch cannot be read is
// stopped elsewhere.
func (m *Promoter) addWaitReason(ctx context.Context, src *source.Source, environment, why string, o Policy) {
	var branch source.Branch
	err := m.options.Barrier.Run("read the branch", environment, func() (err error) {
		branch, err = src.Branch(ctx, environment)
		return err
	})
	if panics.Is(err) {
		o.WaitReasons[environment] = err.Error()
	}
	if err == nil && branch.Repo != nil && branch.Commit == "" {
		o.WaitReasons[environment] = why
	}
}
