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

// Policy is what the control plane says about promotion now, and what a cycle has to respect because
// of it.
type Policy struct {
	// Merge is by environment who merges its output: a Promotion overrides the settings.
	Merge map[string]string
	// Withheld has by environment the reasons why only a person may merge its output.
	Withheld map[string][]publish.Withholding
	// WaitReasons has by environment why its output is not proposed: nothing was promoted to it
	// yet.
	WaitReasons map[string]string
	// NextChange is when Withheld changes without an event; zero for never.
	NextChange time.Time
	// Waves has the environments with waves, and Paused why no other wave is proposed.
	Waves         map[string]model.Stage
	Paused        map[string]string
	WaveDecisions map[string][]*model.WaveDecision

	source   *source.Source // that the rest was read from
	base     source.Base
	chain    model.Chain
	problems problem.List // of the order of promotion
}

// Limits returns the limits of an environment's output.
func (o Policy) Limits(environment string) model.Limits {
	if o.base.Progress == nil {
		return model.DefaultLimits()
	}
	return o.base.Progress.LimitsOf(environment)
}

// HasProblems reports whether what is written about the order of promotion has problems, so that it is
// not known.
func (o Policy) HasProblems() bool { return o.problems.Stops() }

func (o Policy) clusterKeys() []*model.ClusterKey {
	if o.base.Progress == nil {
		return nil
	}
	return o.base.Progress.Keys
}

// Rank returns where an environment comes in the order of promotion; one that is not promoted
// comes after all that are.
func (o Policy) Rank(environment string) int { return o.chain.Rank(environment) }

// LoadPolicy returns the policy that the base sets now. While a written Promotion has problems,
// only people merge, and what was not promoted waits.
func (m *Promoter) LoadPolicy(ctx context.Context, src *source.Source) (Policy, error) {
	base, err := src.Base(ctx)
	if err != nil {
		return Policy{}, err
	}
	o := Policy{Merge: map[string]string{}, WaitReasons: map[string]string{}, Withheld: map[string][]publish.Withholding{}, Waves: map[string]model.Stage{}, Paused: map[string]string{}, WaveDecisions: map[string][]*model.WaveDecision{}, source: src, base: base}
	o.chain, o.problems = model.NewChain(base.Progress, base.Environments, m.options.Settings.NextEnvironment)
	o.problems = append(o.problems, base.Progress.Problems...)
	maps.Copy(o.Merge, m.options.Settings.Merge)
	m.withholdEnvironments(ctx, &o)
	for _, s := range o.chain.Stages {
		switch {
		case len(s.Waves) == 0:
		case m.options.Settings.Promotion != managedPromotion:
			o.WaitReasons[s.Name] = "it has waves, and the settings do not say promotion: managed"
		case o.problems.Stops():
			o.WaitReasons[s.Name] = "it has waves, and what is written about promotion has problems"
		default:
			o.Waves[s.Name] = s
			readWaveOrders(ctx, m, s.Name, &o)
		}
	}
	if m.options.Settings.Promotion != managedPromotion {
		return o, nil
	}
	waits := o.applyChain()
	for _, e := range base.Environments {
		if why := waits[e.Name]; why != "" {
			m.addWaitReason(ctx, e.Name, why, o)
		}
	}
	return o, nil
}

// applyChain sets who merges the output of environments by what is written about promotion, and
// returns by environment why its output waits if nothing was promoted to it yet.
func (o *Policy) applyChain() map[string]string {
	waits := map[string]string{}
	written := len(o.base.Progress.Promotions) > 0 || o.base.Progress.Problems.Stops()
	switch {
	case !written || o.chain.External:
	case o.problems.Stops():
		for _, e := range o.base.Environments {
			o.Merge[e.Name] = "manual"
			waits[e.Name] = "no commit was promoted to it yet, and what is written about promotion has problems"
		}
	default:
		for _, s := range o.chain.Stages {
			if s.Merge != "" {
				o.Merge[s.Name] = s.Merge
			}
			if len(s.After) > 0 {
				waits[s.Name] = "no commit was promoted to it yet; it comes after " + strings.Join(s.After, ", ")
			}
		}
	}
	return waits
}

// addWaitReason makes an environment wait that has no record. One whose branch cannot be read is
// stopped elsewhere.
func (m *Promoter) addWaitReason(ctx context.Context, environment, why string, o Policy) {
	var branch source.Branch
	err := m.options.Barrier.Run("read the branch", environment, func() (err error) {
		branch, err = o.source.Branch(ctx, environment)
		return err
	})
	if panics.Is(err) {
		o.WaitReasons[environment] = err.Error()
	}
	if err == nil && branch.Repo != nil && branch.Commit == "" {
		o.WaitReasons[environment] = why
	}
}
