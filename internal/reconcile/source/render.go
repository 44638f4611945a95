package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/templates"
)

// maxProblems bounds what is said of an environment: as many problems that stop it, and as
// many warnings.
const maxProblems = 2000

// Rendered is what an environment's output should be.
type Rendered struct {
	Environment string
	Model       *model.Model
	Tree        tree.Tree // empty if a problem stops the environment; without the stacks that one stops
	Commits     []Commit
	Problems    problem.List
	// FollowUps are what was left out of Problems: something could not be read, and they may follow from that.
	FollowUps problem.List
	// Stopped are the stacks that something beside these commits stops, as [Rendered.StopStacks] says.
	Stopped []string
	// NotRead are the repositories with templates and modules of clusters that were not read.
	NotRead []NotRead
}

// NotRead is a repository that was not read: it is on a server that Fairlead was not told of, and nothing maps it.
type NotRead struct {
	URL   string
	Holds string // "templates" or "modules"
}

// UnreachableError is the error of repositories that cannot be reached.
type UnreachableError struct {
	err error
	// Beside is what was found without them: Rendered has a problem for each of them too, and
	// others. It is false if they are all that keeps the environment from being rendered.
	Beside bool
}

// Error returns why they cannot be reached.
func (u *UnreachableError) Error() string { return u.err.Error() }

// Unwrap returns the errors of the repositories.
func (u *UnreachableError) Unwrap() error { return u.err }

// Render reads and renders an environment at some revisions. The cache is that of
// the environment; nil for none. With an [UnreachableError] it returns the problems that were found
// without those repositories, and no tree.
func (s *Source) Render(ctx context.Context, env string, at Revisions, cache *output.Cache) (Rendered, error) {
	read, err := s.readInput(ctx, env, at)
	if err != nil {
		return Rendered{}, fmt.Errorf("read environment %s: %w", env, err)
	}
	r, err := s.renderInput(ctx, read, cache)
	if err != nil || read.failures == nil {
		return r, err
	}
	beside := r.Problems.Stops()
	r.Problems, r.Tree = append(r.Problems, read.unreachable...).Sorted().Capped(maxProblems), tree.Tree{}
	return r, &UnreachableError{fmt.Errorf("read environment %s: %w", env, errors.Join(read.failures...)), beside}
}

func (s *Source) renderInput(ctx context.Context, from *reading, cache *output.Cache) (Rendered, error) {
	env, read, problems := from.env, from.newInput(), from.problems
	if limit := s.options.RenderTimeout; limit > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("render environment %s: timed out after %s; the setting renderTimeout allows more", env, limit))
		defer cancel()
		ctx = limited
	}
	m, more := s.parseInput(read)
	r := Rendered{Environment: env, Model: m, Commits: read.Commits, NotRead: slices.Compact(from.notRead)}
	if !hasLayers(read.Layers) || from.lacksBase {
		for _, l := range read.Layers {
			problems = append(problems, s.options.Parser.Scan(read.parsedName(), l).Problems...)
		}
		r.Problems = problems.Sorted().Capped(maxProblems)
		return r, ctx.Err()
	}
	stopped := problems.StopsEnvironment() || from.failures != nil || m.Broken // something could not be read
	collisions, err := s.findCollisions(ctx, m)
	if err != nil {
		return Rendered{}, err
	}
	problems = append(append(problems, collisions...), more...)
	if s.options.EnvironmentDir == "" {
		names, err := s.EnvironmentNames(ctx)
		if err != nil {
			return Rendered{}, err
		}
		if len(names) > 0 && !s.HasUnread() {
			problems = append(problems, m.CheckEnvironments(names)...)
		}
	}
	if read.Ephemeral != nil {
		m, more = s.selectParts(m, read.Ephemeral, from.at.Ending)
		r.Model, problems = m, append(problems, more...)
	}
	files, more := output.Render(m, cache, output.Options{Canceled: func() bool { return ctx.Err() != nil }, Templates: s.options.Rendering, Kept: from.at.Kept})
	if stopped { // some of the model is missing, and may be what is not there
		follows := func(p problem.Problem) bool { return p.Warning || p.OfAbsence }
		r.FollowUps = slices.DeleteFunc(slices.Clone(more), func(p problem.Problem) bool { return !follows(p) })
		more = slices.DeleteFunc(slices.Clone(more), follows)
	}
	r.Problems = problems.WithFollowUps(more).Sorted().Capped(maxProblems)
	if !r.Problems.StopsEnvironment() {
		r.Tree = files
	}
	return r, context.Cause(ctx)
}

// hasLayers reports whether the base and the environment could be read. Without one
// of them nearly everything is missing, and a problem for each would only hide the cause.
func hasLayers(layers []model.Layer) bool {
	var base, env bool
	for _, l := range layers {
		base, env = base || l.Kind == model.Base, env || l.Kind == model.Env
	}
	return base && env
}

// LoadModel reads an environment at some revisions, and does not render it. The model is nil
// if the problems stop the environment.
func (s *Source) LoadModel(ctx context.Context, env string, at Revisions) (*model.Model, problem.List, error) {
	read, problems, err := s.ReadAt(ctx, env, at)
	if err != nil {
		return nil, nil, err
	}
	if problems.StopsEnvironment() || !hasLayers(read.Layers) {
		return nil, problems, nil
	}
	m, more := s.parseInput(read)
	problems = append(problems, more...)
	if problems.StopsEnvironment() {
		return nil, problems.Sorted(), nil
	}
	if read.Ephemeral != nil {
		m, more = s.selectParts(m, read.Ephemeral, at.Ending)
		problems = append(problems, more...)
	}
	return m, problems.Sorted(), nil
}

func (s *Source) parseInput(read Input) (*model.Model, problem.List) {
	builtIn := model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()}
	return s.options.Parser.Parse(read.parsedName(), append(read.Layers, builtIn)...)
}
