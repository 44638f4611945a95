package source

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// EphemeralBranches is what the names of the branches of ephemeral environments begin
// with, in the control plane; the rest is the name of the environment.
const EphemeralBranches = "ephemeral/"

// EphemeralFile describes the environment of such a branch. It is in the root of the branch:
// where the environment's folder is, is known only from what it names.
const EphemeralFile = OwnFolder + "/ephemeral.yaml"

// LongestLife is how long an ephemeral environment may live, from when its end was
// written: what is wanted for longer is an environment, and has a chain and reviewers.
const LongestLife = 30 * 24 * time.Hour

// Ephemeral is an environment that is there for a time: a branch of the control plane,
// rendered as the environment that it was made from.
type Ephemeral struct {
	Name, Branch string
	Head         string    // of the branch
	Since        time.Time // its end was written, or it was made
	// From is the environment that it is a copy of, Spec what it says of itself; nil if
	// the problems say why not.
	From     *model.Environment
	Spec     *model.Ephemeral
	Problems problem.List // at the branch
}

// Settled reports whether all that must be known of it is known.
func (e *Ephemeral) Settled() bool { return !e.Problems.Stops() }

func (e *Ephemeral) asEnvironment() *model.Environment {
	c := *e.From
	c.Object = model.Object{Kind: "Environment", Name: e.Name, Pos: e.Spec.Pos}
	c.ControlPlane.Branch, c.ControlPlane.Commit = e.Branch, ""
	return &c
}

// ephemerals are those of the control plane, once they were read.
type ephemerals struct {
	found    []*Ephemeral
	problems problem.List
}

// Ephemerals returns the ephemeral environments, sorted by name, and what is wrong with
// branches that should be one and cannot be given a name. They are no part of
// [Source.Environments]: who makes a branch does not change what all others see.
func (s *Source) Ephemerals(ctx context.Context) ([]*Ephemeral, problem.List, error) {
	lasting, _, err := s.Environments(ctx)
	if err != nil {
		return nil, nil, err
	}
	if s.controlPlane == nil {
		return nil, nil, nil
	}
	read, err := loadOnce(&s.mu, &s.ephemerals, func() (*ephemerals, error) { return s.readEphemerals(ctx, lasting) })
	if err != nil {
		return nil, nil, err
	}
	return read.found, read.problems, nil
}

func (s *Source) readEphemerals(ctx context.Context, lasting []*model.Environment) (*ephemerals, error) {
	branches, err := s.ephemeralBranches()
	if err != nil {
		return nil, err
	}
	all := &ephemerals{}
	for _, branch := range branches {
		name := strings.TrimPrefix(branch, EphemeralBranches)
		pos := problem.Pos{Layer: branch, File: EphemeralFile}
		taken := slices.IndexFunc(lasting, func(e *model.Environment) bool { return e.Name == name })
		if !kubename.IsDNSLabel(name) {
			all.problems.Addf(pos, "Ephemeral/"+name, "lower case letters, digits and hyphens, at most 63; rename the branch", "%q cannot be the name of an environment", name)
			continue
		}
		if taken >= 0 {
			all.problems.Addf(pos, "Ephemeral/"+name, "rename or remove the branch", "there is an environment of this name at %s", lasting[taken].Pos)
			continue
		}
		e := &Ephemeral{Name: name, Branch: branch}
		err := s.options.Barrier.Run("read", name, func() error { return s.readEphemeral(ctx, e, lasting) })
		if panics.Is(err) {
			e.Problems.Addf(pos, "Ephemeral/"+name, "report it with the stack in the log", "%v", err)
			err = nil
		}
		if err != nil {
			return nil, err
		}
		if err := gitname.CheckEnvironment(name); err != nil {
			e.Problems.Addf(problem.Pos{Layer: name, File: EphemeralFile}, "Ephemeral/"+name, "rename the branch", "%v", err)
		}
		all.found = append(all.found, e)
	}
	return all, nil
}

// ephemeralBranches returns the branches, sorted: also those that only the remote of a
// clone has.
func (s *Source) ephemeralBranches() ([]string, error) {
	found := map[string]bool{}
	for _, prefix := range []string{"refs/heads/", "refs/remotes/origin/"} {
		refs, err := s.controlPlane.Refs(prefix + EphemeralBranches)
		if err != nil {
			return nil, err
		}
		for ref := range refs {
			found[strings.TrimPrefix(ref, prefix)] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// maxEphemeral bounds how many commits of an ephemeral environment's branch are looked at.
const maxEphemeral = 1000

func (s *Source) readEphemeral(ctx context.Context, e *Ephemeral, lasting []*model.Environment) error {
	var err error
	e.Head, err = s.controlPlane.Branch(e.Branch)
	if err != nil {
		return err
	}
	file, ok, err := s.controlPlane.FindEntry(e.Head, EphemeralFile)
	if err != nil {
		return err
	}
	pos, subject := problem.Pos{Layer: e.Name, File: EphemeralFile}, "Ephemeral/"+e.Name
	if !ok || file.Mode == tree.ModeSymlink || file.IsDir() {
		e.Problems.Addf(pos, subject, "fairlead ephemeral create makes one; or remove the branch", "the branch %s has no %s", e.Branch, EphemeralFile)
		return nil
	}
	only := tree.FromEntries([]tree.Entry{tree.File(path.Base(EphemeralFile), file.Data)})
	said := s.options.Parser.Progress(e.Name, model.Layer{Kind: model.Env, Name: e.Name, Files: only, Prefix: OwnFolder})
	e.Problems = slices.Clone(said.Problems)
	if len(said.Ephemerals) != 1 {
		if !e.Problems.Stops() {
			e.Problems.Addf(pos, subject, "fairlead schema Ephemeral shows how it is written", "the file should hold one object of kind Ephemeral")
		}
		return nil
	}
	brought, err := s.controlPlane.LastChangedBy(e.Head, EphemeralFile, maxEphemeral)
	if err != nil {
		return err
	}
	e.Since, e.Spec = brought.When, said.Ephemerals[0]
	return s.checkEphemeral(ctx, e, lasting)
}

func (s *Source) checkEphemeral(ctx context.Context, e *Ephemeral, lasting []*model.Environment) error {
	pos, subject := e.Spec.Pos, "Ephemeral/"+e.Name
	if e.Spec.Name != e.Name {
		e.Problems.Addf(pos, subject, "a copy of a branch goes to the output of the other one; fairlead ephemeral create makes one that does not",
			"its name is %q, and that of its branch is %q", e.Spec.Name, e.Name)
	}
	if life := e.Spec.Expires.Sub(e.Since); life > LongestLife {
		e.Problems.Addf(pos, subject, "fairlead ephemeral extend, when it is time; or make it an environment", "it would live for %d days, and %d are the limit",
			int(life.Hours()/24), int(LongestLife.Hours()/24))
	}
	i := slices.IndexFunc(lasting, func(l *model.Environment) bool { return l.Name == e.Spec.From })
	if i < 0 {
		names := make([]string, len(lasting))
		for i, l := range lasting {
			names[i] = l.Name
		}
		e.Problems.Addf(pos, subject, problem.DidYouMean(e.Spec.From, names), "there is no environment %s that it could be made from", e.Spec.From)
		return nil
	}
	own, err := s.InControlPlane(ctx, lasting[i])
	if err != nil {
		return err
	}
	if !own {
		e.Problems.Addf(pos, subject, "", "the branch of environment %s is in another repository than the control plane", e.Spec.From)
		return nil
	}
	e.From = lasting[i]
	return nil
}

// InControlPlane reports whether the branch of an environment is in the repository that
// has the base.
func (s *Source) InControlPlane(ctx context.Context, e *model.Environment) (bool, error) {
	repo, err := s.repositories.openRepository(ctx, e.ControlPlane.Repo, true)
	if err != nil && ctx.Err() != nil {
		return false, err
	}
	return err == nil && repo == s.controlPlane, nil
}

// Ephemeral returns an ephemeral environment by its name; nil if there is none.
func (s *Source) Ephemeral(ctx context.Context, name string) (*Ephemeral, error) {
	if s.options.EnvironmentDir != "" {
		return nil, nil
	}
	all, _, err := s.Ephemerals(ctx)
	i := slices.IndexFunc(all, func(e *Ephemeral) bool { return e.Name == name })
	if err != nil || i < 0 {
		return nil, err
	}
	return all[i], nil
}

// OutputOf returns where the output of an environment goes, read from its branch alone; nil if
// the branch does not name it.
func (s *Source) OutputOf(ctx context.Context, environment string) (*model.GitOpsRepo, error) {
	r := &reading{source: s, env: environment}
	if err := r.readEnvironment(ctx); err != nil {
		return nil, err
	}
	m, _ := s.options.Parser.Parse(r.newInput().parsedName(), r.layers...)
	switch {
	case len(m.GitOpsRepos) > 0:
		return m.GitOpsRepos[0], nil
	case r.layers == nil && r.problems.Stops():
		return nil, fmt.Errorf("it is not known where the output of %s goes: %s", environment, r.problems.Sorted()[0])
	}
	return nil, nil
}

func (i Input) parsedName() string {
	if i.Ephemeral != nil && i.Ephemeral.From != nil {
		return i.Ephemeral.From.Name
	}
	return i.Environment
}

// selectionKey is a model, and what chooses some of its cluster types and stacks.
type selectionKey struct {
	model  *model.Model
	spec   *model.Ephemeral
	ending bool
}

// selectParts returns a model with those cluster types and stacks only that were chosen: the same one,
// as long as it is made of the same.
func (s *Source) selectParts(m *model.Model, e *Ephemeral, ending bool) (*model.Model, problem.List) {
	key := selectionKey{m, e.Spec, ending}
	s.mu.Lock()
	defer s.mu.Unlock()
	narrowed, ok := s.selected.Find(key)
	if !ok {
		narrowed = e.selectParts(m, ending)
		s.selected.Put(key, narrowed)
	}
	var problems problem.List
	if len(narrowed.ClusterTypes) == 0 && len(m.ClusterTypes) > 0 {
		problems.Addf(e.Spec.Pos, "Ephemeral/"+e.Name, "mend spec.clusterTypes", "none of the %d cluster types of %s is %s", len(m.ClusterTypes), e.From.Name, e.Spec.ClusterTypes)
	}
	return narrowed, append(problems, e.CheckStacks(m)...)
}

func (e *Ephemeral) selectParts(m *model.Model, ending bool) *model.Model {
	c := *m
	c.Stacks, c.Clusters = e.copyStacks(m.Stacks, ending), model.Clusters{} // two environments must not provision one cluster
	c.ClusterTypes = slices.DeleteFunc(slices.Clone(m.ClusterTypes), func(t *model.ClusterType) bool { return !e.Spec.ClusterTypes.Matches(t.Labels) })
	c.Decisions = list.Convert(m.Decisions, func(d *model.Decision) *model.Decision { return d.Narrow(&c) })
	return &c
}
