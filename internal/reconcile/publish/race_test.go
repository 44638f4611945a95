package publish_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestRace has a second publisher do all its work while the nth request of the first
// one to write is on its way.
func TestRace(t *testing.T) {
	t.Parallel()
	for name, branch := range map[string]string{"new branch": "new", "branch that is there": "main"} {
		for nth := 1; nth <= 6; nth++ {
			t.Run(fmt.Sprintf("%s %d", name, nth), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				what := w.simple("a")
				what.Branch = branch
				a, b := w.publisher(), w.publisher()
				a.Create, b.Create = true, true
				if _, err := b.Remote.Sync(context.Background()); err != nil {
					t.Fatal(err)
				}
				var requests atomic.Int64
				defer w.server.Inject("out", gittest.Fault{Service: "git-receive-pack", Before: func() {
					if requests.Add(1) != int64(nth) {
						return
					}
					if _, err := publish.Publish(context.Background(), optionsOf(b), what); err != nil {
						t.Errorf("the second one: %v", err)
					}
				}})()
				r := a.want(publish.Proposed, what)
				equal(t, "our branch", w.branch("fairlead/dev"), r.Commit)
				equal(t, "pull requests", w.states(), "open")
				if requests.Load() < int64(nth) && (branch == "new" || nth <= 4) {
					t.Errorf("there were only %d requests", requests.Load())
				}
			})
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []*publisher
	for range 4 {
		all = append(all, w.publisher())
	}
	for _, text := range []string{"a", "b"} {
		what := w.simple(text)
		var group sync.WaitGroup
		for _, p := range all {
			group.Go(func() {
				if r, err := p.try(what); err != nil || r.State != publish.Proposed {
					t.Errorf("it is %s, %v", r.State, err)
				}
			})
		}
		group.Wait()
		equal(t, "pull requests", w.states(), "open")
		equal(t, "commits", w.above(), "1")
	}
}

// TestPersonIsFaster has a person push to our branch between our look and our push.
func TestPersonIsFaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.want(publish.Proposed, w.simple("a"))
	var theirs string
	w.server.Inject("out", gittest.Fault{Service: "git-receive-pack", Method: "GET", Times: 1, Before: func() {
		theirs = w.commit("fairlead/dev", "extra", "x")
	}})
	p.want(publish.Edited, w.simple("b"))
	equal(t, "our branch", w.branch("fairlead/dev"), theirs)
}

// died is what a process that ends at a step panics with.
type died struct{ step string }

// TestKilled ends a publisher at each thing that it does, and has another one go on:
// the end is as if nothing had happened.
func TestKilled(t *testing.T) {
	t.Parallel()
	life := []string{"a", "b", "", "b"} // "" is what main has
	run := func(t *testing.T, kill int) (end map[string]string, steps []string) {
		w := newWorld(t)
		for _, text := range life {
			what := w.simple(text)
			if text == "" {
				what.Rendered = what.Rendered.Sub("nowhere")
			}
			what.Branch = "new"
			func() {
				defer func() {
					if r := recover(); r != nil {
						if _, ok := r.(died); !ok {
							panic(r)
						}
					}
				}()
				p := w.publisher()
				p.Create = true
				p.BeforeEffect = func(step string) {
					if steps = append(steps, step); len(steps) == kill {
						panic(died{step})
					}
				}
				if _, err := p.try(what); err != nil {
					t.Fatal(err)
				}
			}()
			p := w.publisher()
			p.Create = true
			if _, err := p.try(what); err != nil {
				t.Fatal(err)
			}
		}
		end = maps.Clone(w.refs())
		for ref := range end {
			if strings.HasPrefix(ref, "refs/fairlead/") {
				delete(end, ref)
			}
		}
		for _, p := range w.list() {
			end[fmt.Sprint(p.Number)] = fmt.Sprintf("%s %s\n%s\n%s", p.State, p.Title, p.Reason, p.Body)
		}
		return end, steps
	}
	want, steps := run(t, 0)
	t.Log(steps)
	for kill := range steps {
		t.Run(fmt.Sprintf("%d %s", kill+1, steps[kill]), func(t *testing.T) {
			t.Parallel()
			if got, _ := run(t, kill+1); !maps.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// lateForge calls before once, before it lists the open pull requests.
type lateForge struct {
	*counting
	before func()
}

func (f *lateForge) OpenPulls(ctx context.Context) ([]forge.Pull, error) {
	if before := f.before; before != nil {
		f.before = nil
		before()
	}
	return f.counting.OpenPulls(ctx)
}

// TestProposedMeanwhile: what was proposed was merged, and before the one that is behind asks
// the forge, another proposes newer inputs from the same branch. That proposal stays.
func TestProposedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ahead, behind := w.publisher(), w.publisher()
	ahead.want(publish.Proposed, w.simple("a"))
	w.merge()
	newer := w.proposal("2", map[string]string{"pier/gull-main/reconciler.yaml": "kind: Puller\nfrom: b\n"})
	if _, err := behind.Remote.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := behind.Options
	o.Forge = &lateForge{ahead.forge, func() { ahead.want(publish.Proposed, newer) }}
	older := w.simple("a")
	older.IsCurrent = func(context.Context) (bool, error) { return false, nil }
	r, err := publish.Publish(t.Context(), o, older)
	if err != nil || r.State != publish.InSync || !r.Again {
		t.Errorf("it is %+v, and the error is %v", r, err)
	}
	equal(t, "pull requests", w.states(), "merged open")
}

// TestAnotherIsNoticed: who finds a commit of Fairlead on our branch that it has not put there says so once. What was there
// when it began is of no other.
func TestAnotherIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	told := map[string][]string{}
	begin := func(name string) *publisher {
		p := w.publisher()
		p.Witness = &publish.Witness{Tell: func(_, commit string) { told[name] = append(told[name], commit) }}
		return p
	}
	one, two := begin("one"), begin("two")
	one.want(publish.Proposed, w.simple("a"))
	two.want(publish.Proposed, w.simple("a"))
	one.want(publish.Proposed, w.simple("a"))
	equal(t, "told before anything has moved", len(told), 0)
	one.want(publish.Proposed, w.simple("b"))
	two.want(publish.Proposed, w.simple("b"))
	second := w.branch("fairlead/dev")
	w.server.Inject("out", gittest.Fault{Service: "git-receive-pack", Method: "GET", Times: 1, Before: func() { two.want(publish.Proposed, w.simple("c")) }})
	one.want(publish.Proposed, w.simple("c")) // its push finds the same commit, and cannot know whose it is
	two.want(publish.Proposed, w.simple("d"))
	one.want(publish.Proposed, w.simple("d"))
	fourth := w.branch("fairlead/dev")
	two.want(publish.Proposed, w.simple("e"))
	one.want(publish.Proposed, w.simple("e"))
	if diff := cmp.Diff(map[string][]string{"one": {fourth}, "two": {second}}, told); diff != "" {
		t.Errorf("-want +told:\n%s", diff)
	}
	restarted := begin("restarted")
	restarted.want(publish.Proposed, w.simple("e"))
	restarted.want(publish.Proposed, w.simple("f"))
	equal(t, "told after a restart", len(told["restarted"]), 0)
}
