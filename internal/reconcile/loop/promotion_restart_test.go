package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// journey is a chain with all that people do on it. look runs a cycle some time later.
// Nothing in it depends on how long the daemon has lived.
func journey(w *world, look func(after time.Duration)) {
	var commits []string
	level := func(n int) {
		commits = append(commits, w.changeNow(n))
		look(time.Minute)
		look(time.Minute)
	}
	looks := func(times int, after time.Duration) {
		for range times {
			look(after)
		}
	}
	level(1)
	w.says("dev", "kustomization/dev/1", forge.Success, "ready")
	looks(3, time.Minute)
	w.says("stage", "kustomization/stage/1", forge.Success, "ready")
	looks(2, time.Minute)
	looks(2, time.Hour) // it soaks
	w.commitNow("prod", "approve", map[string]string{"yes.yaml": own("Approval", "a", "{commit: \""+commits[0]+"\"}")})
	looks(3, time.Minute)
	w.wantLine(map[string]string{commits[0]: "1"}, "dev=1 stage=1 prod=1")

	level(2)
	w.says("dev", "kustomization/dev/1", forge.Failure, "it is broken")
	looks(2, time.Minute)
	level(3)
	w.says("dev", "kustomization/dev/1", forge.Success, "ready")
	looks(3, time.Minute)
	w.says("stage", "kustomization/stage/1", forge.Success, "ready")
	looks(1, time.Minute)
	w.commitNow("stage", "roll back", map[string]string{"base-repo.yaml": recordText(w, commits[0]), "hold.yaml": own("Hold", "hold", "{reason: 3 is slow}")})
	looks(2, time.Minute)
	w.says("stage", "kustomization/stage/1", forge.Success, "ready")
	looks(2, 2*time.Hour)
	w.wantLine(map[string]string{commits[0]: "1", commits[2]: "3"}, "dev=3 stage=1 prod=1")
	w.wantTold(commits[1], "dev environment: failure Failed to deploy: kustomization/dev failed: it is broken")
	w.wantTold(commits[2], "dev environment: success Deployed\nstage environment: success Deployed")
}

// journeyWorld is where a journey is made.
func journeyWorld(t *testing.T) *world {
	t.Helper()
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, merge: direct}
    - {name: stage, after: [dev], merge: direct, proof: [rollout, soak: 90m]}
    - {name: prod, after: [stage], merge: direct, proof: [], gates: [approval: {by: [a@example.com]}]}
`, "dev", "stage", "prod")
	w.more += "parallel: 1\n"
	return w
}

// TestPromotionForgets: a daemon that begins with nothing after every cycle comes to
// the same end as one that lives on.
func TestPromotionForgets(t *testing.T) {
	w := journeyWorld(t)
	before := w.save()
	d := w.begin(w.data)
	journey(w, d.pass)
	want := w.outcome()
	d.Close()

	w.restore(before)
	w.now = start
	journey(w, func(after time.Duration) {
		d := w.begin(t.TempDir())
		defer d.Close()
		d.pass(after)
	})
	w.wantOutcome("a new daemon each time", want)
}

// turns are situations in which a look at the promotions has something to do.
var turns = map[string]struct {
	chain  string
	before func(w *world, first string)
	want   string // a step that there is
}{
	"proven":   {two(""), func(w *world, _ string) { w.life(w.data) }, "commit to stage"},
	"proposed": {two("record: pull-request"), func(w *world, _ string) { w.life(w.data) }, "open the pull request"},
	"approved": {two("record: pull-request, gates: [approval]"), func(w *world, first string) {
		for range 3 {
			w.life(w.data)
		}
		w.commitNow("stage", "approve", map[string]string{"yes.yaml": own("Approval", "a", "{commit: \""+first+"\"}")})
	}, "merge the pull request of the record"},
	"set back": {two(""), func(w *world, first string) {
		for range 3 {
			w.life(w.data)
		}
		w.changeNow(2)
		for range 3 {
			w.life(w.data)
		}
		w.commitNow("stage", "roll back", map[string]string{"base-repo.yaml": recordText(w, first), "hold.yaml": own("Hold", "hold", "{reason: 2 is bad}")})
	}, "open the pull request"},
}

// turn makes a world in which a look has something to do.
func turn(t *testing.T, chain string, before func(*world, string)) *world {
	t.Helper()
	w := fleetOf(t, scaffold.Branches, chain, "dev", "stage")
	w.more += "parallel: 1\n"
	before(w, w.changeNow(1))
	w.now = w.now.Add(time.Hour)
	return w
}

// lives runs daemons at this very time, until there is nothing left to do.
func (w *world) lives(data string, more ...func(*loop.Options)) {
	w.Helper()
	for range 3 {
		d := w.begin(data, more...)
		d.pass(0)
		d.Close()
	}
}

// TestPromotionKilledAtEveryStep: whenever the process dies, the next one comes to the
// same end.
func TestPromotionKilledAtEveryStep(t *testing.T) {
	for name, test := range turns {
		t.Run(name, func(t *testing.T) {
			w := turn(t, test.chain, test.before)
			before := w.save()
			var mu sync.Mutex
			var undisturbed []string
			w.lives(w.data, func(o *loop.Options) {
				o.BeforeEffect = func(step string) {
					mu.Lock()
					defer mu.Unlock()
					undisturbed = append(undisturbed, step)
				}
			})
			if !strings.Contains(strings.Join(undisturbed, "\n"), test.want) {
				t.Errorf("the steps were %q, without %q", undisturbed, test.want)
			}
			want := w.outcome()
			w.lives(w.data)
			w.wantOutcome("more cycles", want)

			var steps []string
			for {
				w.restore(before)
				step := w.diesAt(len(steps)+1, w.data)
				if step == "" {
					break
				}
				steps = append(steps, step)
				if strings.HasPrefix(step, "ask ") {
					continue // nothing was done since the last one
				}
				if len(steps)%2 == 0 {
					w.lives(w.data)
				} else {
					w.lives(t.TempDir())
				}
				w.wantOutcome(fmt.Sprintf("killed at step %d (%s)", len(steps), step), want)
			}
		})
	}
}

// promoted gives what matters of promotions and does not depend on the time: the records
// with their commits' messages, what is said of the commits of the base, and pull requests.
func (w *world) promoted() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, branch := range []string{"dev", "stage"} {
		all[branch] = gittest.Show(w, w.server.Dir("cp"), branch, "base-repo.yaml") + gittest.Git(w, w.server.Dir("cp"), "log", "--format=%s", branch)
	}
	for line := range strings.Lines(gittest.Git(w, w.server.Dir("cp"), "rev-list", "main")) {
		commit := strings.TrimSpace(line)
		all[commit] = w.told(commit)
	}
	for _, repo := range []string{"cp", "out"} {
		pulls, err := w.plain(repo).AllPulls()
		if err != nil {
			w.Fatal(err)
		}
		var lines []string
		for _, p := range pulls {
			lines = append(lines, fmt.Sprintf("%s to %s: %s, %s", p.Head, p.Base, p.Title, p.State))
		}
		slices.Sort(lines)
		all[repo] = strings.Join(lines, "\n")
	}
	return all
}

// TestTwoPromote: two daemons that look at the same time are no more than one.
func TestTwoPromote(t *testing.T) {
	for name, test := range turns {
		t.Run(name, func(t *testing.T) {
			w := turn(t, test.chain, test.before)
			before := w.save()
			w.lives(w.data)
			want := w.promoted()
			w.restore(before)

			one, two := w.begin(w.data), w.begin(t.TempDir())
			for range 5 {
				w.now = w.now.Add(time.Minute)
				var both sync.WaitGroup
				for _, d := range []*daemon{one, two} {
					both.Go(func() {
						if err := d.Cycle(context.Background()); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
			if diff := cmp.Diff(want, w.promoted()); diff != "" {
				t.Errorf("two daemons (-one +two):\n%s\nthe log:\n%s", diff, w.logs.String())
			}
		})
	}
}
