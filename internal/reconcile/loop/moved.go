package loop

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// provisioned is what an environment asked for of clusters when it was rendered last, and what its output
// had when that was read last.
type provisioned struct {
	written []*model.InputManifest
	to      *model.GitOpsRepo
	head    string // of the output branch, with which states were read
	from    model.RepoRef
	states  []provision.State
}

// noteProvisioned notes what environments ask for. One that cannot be read now asks for what it did before.
func (l *Loop) noteProvisioned(all []*environment) {
	for _, e := range all {
		if a := &e.attempt; !a.paused && a.err == nil && a.rendered.Model != nil {
			e.provisioned.written, e.provisioned.to = a.rendered.Model.Clusters.Manifests, a.rendered.Model.OutputRepo()
		}
	}
}

// findMoved finds clusters that were moved from one environment to another, whichever was read first: the
// one that they were moved to is stopped. The other one is stopped too, as it does not write them any more;
// that is found with its own output.
func (l *Loop) findMoved(ctx context.Context, all []*environment) {
	for _, e := range all {
		if e.attempt.paused || e.attempt.err != nil || len(e.provisioned.written) == 0 {
			continue
		}
		asked, ok := l.readProvisioned(ctx, e)
		if !ok || !asked.Adds() {
			continue
		}
		var others []provision.EnvironmentClusters
		for _, o := range all {
			if o == e {
				continue
			}
			if other, ok := l.readProvisioned(ctx, o); ok {
				others = append(others, other)
			}
		}
		e.attempt.claimed = append(e.attempt.claimed, asked.CheckMoved(others)...)
	}
}

// readProvisioned returns what an environment asks for, and what its output has; false if that cannot be
// read, which publishing reports.
func (l *Loop) readProvisioned(ctx context.Context, e *environment) (provision.EnvironmentClusters, bool) {
	states, err := l.readOutputStates(ctx, e)
	return provision.EnvironmentClusters{Environment: e.name, Written: e.provisioned.written, Output: states}, err == nil
}

// readOutputStates returns the clusters that the output of an environment has. They are read once for each
// commit of it.
func (l *Loop) readOutputStates(ctx context.Context, e *environment) ([]provision.State, error) {
	p := &e.provisioned
	if p.to == nil {
		return nil, nil
	}
	out, err := l.remotes.OpenOutput(ctx, l.remotes.ReadLocation(p.to.Repo))
	if err != nil || out.Mirror() == nil {
		return nil, err
	}
	head, err := out.Mirror().FindBranch(p.to.Branch)
	if err != nil || head == "" {
		return nil, err
	}
	if p.head == head && p.from == p.to.RepoRef {
		return p.states, nil
	}
	states, err := git.InspectTree(out.Mirror(), head, func(t tree.Tree) ([]provision.State, error) {
		return clusterfiles.ReadStates(t.Sub(publish.CleanFolder(p.to.Path))), nil
	})
	if err == nil {
		p.head, p.from, p.states = head, p.to.RepoRef, states
	}
	return states, err
}
