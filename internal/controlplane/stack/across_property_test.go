package stack

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// chainEnvironment is an environment of a random history: what is written, and what its output has.
type chainEnvironment struct {
	bucket  string
	written []string // paths of stacks that take one blueprint
	output  []State
}

func (e *chainEnvironment) claims(name string) Claims {
	c := Claims{Environment: name, Bucket: e.bucket, Named: e.output}
	for _, path := range e.written {
		s := &model.Stack{Object: model.Object{Kind: "Environment", Name: path, Pos: problem.Pos{Layer: name, File: path}}}
		s.TeamName.Text, s.EnvName.Text = "shop", path
		s.Components = []*model.StackComponent{{Name: model.Text{Text: "queue"}}}
		c.Written = append(c.Written, s)
		c.States = append(c.States, e.state(s.Path()))
	}
	for _, s := range e.output {
		c.Output = append(c.Output, s.Stack)
	}
	return c
}

func (e *chainEnvironment) state(stack string) State {
	return State{Stack: stack, Component: "queue", ID: "s3://" + e.bucket + "/" + stack}
}

// publish has the output be what is written, but for stacks that problems stop: they stay.
func (e *chainEnvironment) publish(stopped problem.List) {
	var next []State
	for _, s := range e.output {
		if stopped.StopsStack(s.Stack) {
			next = append(next, s)
		}
	}
	for _, path := range e.written {
		if s := e.state("shop/" + path); !stopped.StopsStack(s.Stack) {
			next = append(next, s)
		}
	}
	e.output = next
}

// edit changes what is written at random, as people do who copy, rename, delete and move stacks.
func (e *chainEnvironment) edit(r *rand.Rand) {
	switch name := fmt.Sprintf("e%d", r.IntN(4)); {
	case r.IntN(6) == 0:
		e.bucket = fmt.Sprintf("b%d", r.IntN(2))
	case slices.Contains(e.written, name):
		e.written = slices.DeleteFunc(slices.Clone(e.written), func(w string) bool { return w == name })
	default:
		e.written = append(slices.Clone(e.written), name)
	}
}

// TestNoSharedState: whatever people write in the environments of a chain, and whichever of them are rendered
// in a round before it is killed, no two outputs ever have one state.
func TestNoSharedState(t *testing.T) {
	histories, refused := 100_000, 0
	if testing.Short() {
		histories = 10_000
	}
	for seed := range histories {
		r := rand.New(rand.NewPCG(uint64(seed), 35))
		names := []string{"dev", "stage", "prod"}
		chain := map[string]*chainEnvironment{}
		for _, name := range names {
			chain[name] = &chainEnvironment{bucket: "b0"}
		}
		for range 8 {
			chain[names[r.IntN(len(names))]].edit(r)
			for _, name := range names[:1+r.IntN(len(names))] { // killed after that
				var all []Claims
				for _, other := range names {
					all = append(all, chain[other].claims(other))
				}
				stopped := CheckClaims(all)[name]
				refused += len(stopped)
				chain[name].publish(stopped)
			}
			owner := map[string]string{}
			for _, name := range names {
				for _, s := range chain[name].output {
					if other := owner[s.ID]; other != "" && other != name {
						t.Fatalf("seed %d: the outputs of %s and %s have the state %s", seed, other, name, s.ID)
					}
					owner[s.ID] = name
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no stack was refused: the histories have no conflict")
	}
}
