package source

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// FollowOutput returns what becomes of the environment when clusters have a previous output of it: stacks
// that this one has and that have no file any more are torn down, and those that a problem stops are in
// the output as they were. It is what the daemon publishes, apart from what only it knows: no
// teardown counts as complete, and an approval that the previous output does not have counts.
func (r Rendered) FollowOutput(previous tree.Tree) (Rendered, error) {
	if r.Model == nil || r.Problems.StopsEnvironment() {
		return r, nil
	}
	all, _, problems, err := stackfiles.FollowPrevious(r.Model, r.Tree, stackfiles.KnownPrevious(previous))
	if err != nil {
		return r, fmt.Errorf("compare environment %s with its previous output: %w", r.Environment, err)
	}
	r.Problems = append(append(r.Problems[:0:0], r.Problems...), problems...).Sorted().Capped(maxProblems)
	r.Tree = all
	if r.Problems.StopsEnvironment() {
		r.Tree = tree.Tree{}
	}
	return r, nil
}

// StopStacks returns the environment with problems of some of its stacks, which stop these: they are not in
// its tree any more.
func (r Rendered) StopStacks(found problem.List) (Rendered, error) {
	if len(found) == 0 {
		return r, nil
	}
	r.Problems = append(append(r.Problems[:0:0], r.Problems...), found...).Sorted()
	if r.Problems.StopsEnvironment() {
		return r, nil
	}
	r.Stopped = list.Convert(found.StoppedStacks(), func(p problem.Problem) string { return p.Stack })
	var err error
	r.Tree, err = stackfiles.KeepStopped(r.Tree, tree.Tree{}, found.StopsStack)
	return r, err
}
