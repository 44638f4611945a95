package promote_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// outputs is what a world knows of an environment's output, and of who merges it.
type outputs struct {
	direct  bool // the daemon merges it
	output  int  // what the output branch holds
	brought int  // how often a merge has changed that, and the record beside it
	removes map[int]bool
	// files are the names of changes that approvals on the environment's branch have.
	files []string
	// said is what people have acknowledged, for the referee.
	said []moment
}

// moment is a change as a person sees it.
type moment struct{ brought, from, to int }

// holds has the output branch hold something, by a merge.
func (o *outputs) holds(output int) {
	if output != o.output {
		o.output, o.brought = output, o.brought+1
	}
}

// proposed is the change of an environment's output that its commit makes.
func (e *env) proposed() promote.OutputChange {
	to := e.effects[e.record]
	return promote.OutputChange{
		Environment: e.name, PreviousCommit: fmt.Sprint(e.brought), Before: fmt.Sprint(e.output), After: fmt.Sprint(to),
		Exceeds: e.removes[to] && e.output != 0 && e.output != to,
	}
}

// waits reports whether an environment's output waits for a person.
func (e *env) waits() bool { return e.record != "" && e.proposed().Exceeds && !e.merged() }

// merge is the daemon merging an output, if it may.
func (w *world) merge(e *env) bool {
	c := e.proposed()
	if e.merged() || e.record == "" || !c.MayMerge(e.files...) {
		return e.merged()
	}
	if now := (moment{e.brought, e.output, e.effects[e.record]}); c.Exceeds && !slices.Contains(e.said, now) {
		w.referee.failf("%s: the daemon merges a removal, %+v, that nobody has acknowledged", e.name, now)
	}
	e.holds(e.effects[e.record])
	return true
}

// remove is a commit of the base, or of a workload, that removes much of an environment.
func (w *world) remove(e *env, rng *rand.Rand) {
	if e.record == "" || rng.IntN(2) == 0 {
		w.commit(rng)
		e.effects[w.base[0]] = w.made
	} else {
		w.made++
		e.effects[e.record] = w.made
	}
	e.removes[w.made] = true
	w.say("%d removes much of %s", w.made, e.name)
}

// acknowledge is a person who acknowledges what is proposed, or copies what was
// acknowledged elsewhere.
func (w *world) acknowledge(e *env, rng *rand.Rand) {
	if other := w.envs[rng.IntN(len(w.envs))]; other != e && rng.IntN(3) == 0 {
		e.files = append(e.files, other.files...)
		w.say("%s has the acknowledgements of %s", e.name, other.name)
		return
	}
	now := moment{e.brought, e.output, e.effects[e.record]}
	e.files, e.said = append(e.files, e.proposed().ID()), append(e.said, now)
	w.say("%s: %+v is acknowledged", e.name, now)
}

// TestChangeID: each of its parts tells a change from another one.
func TestChangeID(t *testing.T) {
	c := promote.OutputChange{Environment: "dev", Folder: "clusters", PreviousCommit: "1", Before: "2", After: "3"}
	known := map[string]bool{c.ID(): true}
	for i, edit := range []func(c *promote.OutputChange){
		func(c *promote.OutputChange) { c.Environment = "prod" }, func(c *promote.OutputChange) { c.Folder = "" }, func(c *promote.OutputChange) { c.PreviousCommit = "" },
		func(c *promote.OutputChange) { c.Before = "3" }, func(c *promote.OutputChange) { c.After = "2" },
		func(c *promote.OutputChange) { c.Environment, c.Folder = "devc", "lusters" },
	} {
		other := c
		if edit(&other); known[other.ID()] || len(other.ID()) != 40 {
			t.Errorf("change %d is called %s", i, other.ID())
		}
		known[other.ID()] = true
	}
	if c.Exceeds = true; c.MayMerge() || c.MayMerge("", c.ID()[:39]) || !c.MayMerge("x", c.ID()) {
		t.Error("it is not its name that lets it be merged")
	}
}
