package loop

import (
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// promotionFacts returns what promotions are decided from, by environment.
func (l *Loop) promotionFacts() map[string]promoter.Environment {
	all := make(map[string]promoter.Environment, len(l.environments))
	for name, e := range l.environments {
		all[name] = e.promotionFacts()
	}
	return all
}

// promotionFacts returns what the environment's promotions are decided from.
func (e *environment) promotionFacts() promoter.Environment {
	r := e.report
	f := promoter.Environment{
		Repo: r.Output.Repo, Branch: r.Output.Branch, Folder: r.Output.Folder, Head: r.Output.Head,
		InSync: r.State == status.InSync, JustMerged: r.Output.Commit != "",
		ExceededLimit: r.ExceededLimit(), Withheld: r.Withheld,
	}
	for _, in := range r.Inputs {
		if in.Layer == "base" {
			f.BaseCommit = in.Commit
			break
		}
	}
	if r.State == status.Problems {
		f.RenderFailure, f.Problems = r.Reason, r.Problems
	}
	if r.Pull != nil && r.State == status.Proposed {
		f.Pull = &gate.Pull{Number: r.Pull.Number, URL: r.Pull.URL}
	}
	return f
}
