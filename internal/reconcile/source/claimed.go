package source

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Claimant is an environment that is compared with others.
type Claimant struct {
	Environment string
	Model       *model.Model // nil if it was never read
	stacks      stack.Claims
}

// NewClaimant returns an environment with what its files have that no other environment can have.
func NewClaimant(environment string, m *model.Model) Claimant {
	return Claimant{environment, m, rootmodule.NewClaims(m)}
}

// HasStacks reports whether the environment has files of stacks.
func (c Claimant) HasStacks() bool { return len(c.stacks.Written) > 0 }

// SharesState reports whether two stacks of the environment have one state.
func (c Claimant) SharesState() bool {
	return slices.ContainsFunc(c.stacks.States, func(s stack.State) bool {
		return slices.ContainsFunc(c.stacks.States, func(o stack.State) bool { return o.ID == s.ID && o.Stack != s.Stack })
	})
}

// NamedStates returns the states that stacks of an output name.
func NamedStates(stacks []stackfiles.Summary) []stack.State {
	var all []stack.State
	for _, s := range stacks {
		for _, c := range s.Components {
			if c.StateID != "" {
				all = append(all, stack.State{Stack: s.Stack, Component: c.Name, ID: c.StateID})
			}
		}
	}
	return all
}

// OutputClaims is what the output of an environment has that no other one can have.
type OutputClaims struct {
	Clusters map[string]bool // manifests by their paths, machines and DNS names
	Stacks   []stackfiles.Summary
}

// AddManifest adds a manifest of clusters that the output has.
func (c *OutputClaims) AddManifest(s provision.State) {
	if c.Clusters == nil {
		c.Clusters = map[string]bool{}
	}
	for _, name := range s.ListOwned() {
		c.Clusters[name] = true
	}
}

// ReadClaims returns what an output has that no other one can have.
func ReadClaims(output tree.Tree) (OutputClaims, error) {
	var c OutputClaims
	for _, s := range clusterfiles.ReadStates(output) {
		c.AddManifest(s)
	}
	var err error
	c.Stacks, err = stackfiles.Summarize(output)
	return c, err
}

// CheckClaims reports what two environments have and only one can have: machines, DNS names and manifests of
// clusters, the names of bound ones, stacks, and the states of their components. outputs is what the outputs
// of environments have, as far as that is known: an environment whose output has something keeps it, and of
// several, or none, the first one. The problems are by the name of the environment that does not keep what it
// has.
func CheckClaims(all []Claimant, outputs map[string]OutputClaims) map[string]problem.List {
	var models []*model.Model
	var stacks []stack.Claims
	for _, c := range all {
		if c.Model != nil {
			models = append(models, c.Model)
		}
		c.stacks.Environment = c.Environment
		of := outputs[c.Environment].Stacks
		c.stacks.Output = list.Convert(of, func(s stackfiles.Summary) string { return s.Stack })
		c.stacks.Named = NamedStates(of)
		stacks = append(stacks, c.stacks)
	}
	found := clusters.CheckEnvironments(models, func(environment, name string) bool { return outputs[environment].Clusters[name] })
	claimed := stack.CheckClaims(stacks)
	for _, c := range all {
		if problems := claimed[c.Environment]; len(problems) > 0 {
			found[c.Environment] = slices.Concat(found[c.Environment], problems, stack.CheckReaders(c.Model, problems))
		}
	}
	return found
}

// FindClaimed returns what an environment has that one of the others has too, as [CheckClaims] reports it, as
// far as that is not so of before; nil for an environment that had nothing. The others are read as the change
// leaves them: with its base, or as they are.
func (s *Source) FindClaimed(ctx context.Context, before, m *model.Model, others []string, base string) (problem.List, error) {
	if before == nil {
		before = &model.Model{Environment: m.Environment}
	}
	now, earlier := NewClaimant(m.Environment, m), NewClaimant(m.Environment, before)
	if len(m.Clusters.Manifests) == 0 && !now.stacks.Adds(earlier.stacks) {
		return nil, nil
	}
	var all []Claimant
	var problems problem.List
	for _, name := range others {
		if name == m.Environment {
			continue
		}
		read, _, err := s.ReadAt(ctx, name, Revisions{Base: base}) // what is wrong with it is reported elsewhere
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			problems.Warnf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "", "whether environment %s has the same machines, DNS names and stacks is not known: %v", name, err)
		}
		if err == nil && hasLayers(read.Layers) {
			other, _ := s.parseInput(read)
			if read.Ephemeral != nil {
				other, _ = s.selectParts(other, read.Ephemeral, false)
			}
			all = append(all, NewClaimant(name, other))
		}
	}
	found := func(c Claimant) problem.List { return CheckClaims(append(slices.Clip(all), c), nil)[m.Environment] }
	return append(problems, withoutEarlier(found(now), found(earlier))...), nil
}

// withoutEarlier returns the problems that are not among earlier ones; lines may have moved.
func withoutEarlier(all, earlier problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool {
		return slices.ContainsFunc(earlier, func(e problem.Problem) bool { return e.Subject == p.Subject && e.Summary == p.Summary })
	})
}
