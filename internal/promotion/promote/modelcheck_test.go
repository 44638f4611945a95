package promote_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// histories is how many the ordinary tests go through.
const histories = 100_000

// stay is what was seen of a commit in an environment, since it was given it last.
type stay struct {
	word gate.Status // the last; Pass only if it was merged
	gone bool        // the environment was seen behind it since
}

// referee watches a world, and knows the rules as properties of what happens.
type referee struct {
	world  *world
	broken []string // rules, with what broke them
}

func (r *referee) failf(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
	r.world.say("BROKEN: "+format, args...)
}

// observe notes what a cycle has seen.
func (r *referee) observe(readings []reading) {
	for i, e := range r.world.envs {
		at := slices.Index(r.world.base, e.record)
		if at < 0 {
			continue
		}
		for _, c := range r.world.base[:at] {
			if st := e.stays[c]; st != nil {
				st.gone = true
			}
		}
		if readings[i].readable && e.broken == "" {
			e.stays[e.record].word = e.proves(r.world.now)
		}
	}
}

// decided holds a step that the daemon is about to take against the rules.
func (r *referee) decided(e *env, d promote.Decision, readings []reading, all []promote.Decision) {
	w, i := r.world, e.name[0]-'a'
	from, to := slices.Index(w.base, d.Current), slices.Index(w.base, d.Candidate)
	switch {
	case d.Current != e.record:
		r.failf("%s: a step from %q, and it has %q", e.name, d.Current, e.record)
	case to < 0 || d.Current != "" && from < 0:
		r.failf("%s: a step from %q to %q, which are not both on the base", e.name, d.Current, d.Candidate)
	case d.Current != "" && to >= from:
		r.failf("%s: a step back, from %s to %s", e.name, d.Current, d.Candidate)
	case e.hold != "" || e.broken != "":
		r.failf("%s: a step though it is held (%s) or stopped (%s)", e.name, e.hold, e.broken)
	case w.enters(e, d.Candidate).Status != gate.Pass:
		r.failf("%s: a step to %s that the gates do not allow", e.name, d.Candidate)
	}
	for _, u := range e.after {
		st, there := u.stays[d.Candidate], readings[u.name[0]-'a']
		switch {
		case st == nil:
			r.failf("%s: a step to %s, which %s never had", e.name, d.Candidate, u.name)
		case st.word != gate.Pass:
			r.failf("%s: a step to %s, and the last word on it in %s was %q", e.name, d.Candidate, u.name, st.word)
		case st.gone:
			r.failf("%s: a step to %s, which %s went back behind", e.name, d.Candidate, u.name)
		case u.record == d.Candidate && u.waits():
			r.failf("%s: a step to %s, of which the output waits for a person in %s", e.name, d.Candidate, u.name)
		case u.record == d.Candidate && (!there.readable || u.broken != ""):
			r.failf("%s: a step to %s, of which %s says nothing now", e.name, d.Candidate, u.name)
		}
	}
	for _, a := range ancestors(e) {
		at := slices.Index(w.base, a.record)
		if a.record == "" || at > to {
			r.failf("%s: a step to %s, and %s before it has %q only", e.name, d.Candidate, a.name, a.record)
		}
		if other := all[a.name[0]-'a']; other.State == promote.Promotes && other.Candidate == d.Candidate {
			r.failf("%s: %s takes two steps at once, by %s", e.name, d.Candidate, a.name)
		}
	}
	r.patience(e, d, readings[i])
	r.queue(e, d, readings)
}

// patience: an environment is done with what it has, or is a first one, which follows the
// base unless each commit counts.
func (r *referee) patience(e *env, d promote.Decision, there reading) {
	v := e.judged(r.world.now)
	switch {
	case d.Current == "" || there.readable && v != gate.Wait:
	case e.merged() && (len(e.after) > 0 || e.queue.Policy == model.QueueEvery):
		r.failf("%s: a step away from %s, which is merged and not judged", e.name, d.Current)
	case e.queue.Policy == model.QueueEvery:
		r.failf("%s: a step away from %s, which was not merged", e.name, d.Current)
	}
}

// queue: the right one of all commits that could have come.
func (r *referee) queue(e *env, d promote.Decision, readings []reading) {
	w := r.world
	from, to := slices.Index(w.base, d.Current), slices.Index(w.base, d.Candidate)
	if d.Current == "" {
		from = len(w.base)
	}
	each := e.queue.Policy == model.QueueEvery && d.Current != ""
	for i, c := range w.base[:from] {
		passed := each && i > to || !each && i < to
		if passed && r.could(e, c, readings, each) {
			r.failf("%s: a step to %s under the queue %q, and %s was there", e.name, d.Candidate, e.queue.Policy, c)
		}
	}
	switch {
	case e.queue.Policy == model.QueuePinned:
		r.failf("%s: a step to %s, and it is pinned", e.name, d.Candidate)
	case e.queue.Policy == model.QueueBatch && d.Current != "" && w.now.Before(e.since.Add(e.queue.Every)):
		r.failf("%s: a step to %s before the time of the batch", e.name, d.Candidate)
	}
}

// could reports whether a commit was proven everywhere before an environment: on
// record, or as it is to be seen now. What a cycle could not read it does not know;
// strict is that it has to find out.
func (r *referee) could(e *env, commit string, readings []reading, strict bool) bool {
	for _, a := range ancestors(e) {
		if at := slices.Index(r.world.base, a.record); a.record == "" || at > slices.Index(r.world.base, commit) {
			return false
		}
	}
	for _, u := range e.after {
		there := readings[u.name[0]-'a']
		if u.record == commit {
			if !there.readable || u.broken != "" || u.proves(r.world.now) != gate.Pass {
				return false
			}
			continue
		}
		known := strict || there.stage.Proven[commit]
		if !slices.Contains(r.world.base, u.record) || u.statuses[commit] != gate.Pass || !known {
			return false
		}
	}
	return true
}

func ancestors(e *env) []*env {
	var all []*env
	for _, u := range e.after {
		all = append(append(all, u), ancestors(u)...)
	}
	return all
}

// compare holds decisions against the oracle, and against what all verdicts promise.
func (r *referee) compare(stages []promote.Stage, decisions []promote.Decision, answers map[string]gate.Status) {
	o := oracle{r.world.base, stages, r.world.now}
	for i, d := range decisions {
		got, want := answer{d.State, d.Candidate, d.Skipped}, o.answer(stages[i], answers[stages[i].Name])
		if got.State != want.State || got.To != want.To || !slices.Equal(got.Drops, want.Drops) {
			r.failf("%s: Next says %v, the oracle %v", d.Environment, got, want)
		}
		if (d.State == promote.Promotes) != (d.Verdict.Status == gate.Pass && d.Candidate != "") {
			r.failf("%s: it %s, and the verdict is %s", d.Environment, d.State, d.Verdict.Status)
		}
		r.readable(d.Verdict)
	}
}

// readable holds that every verdict has a reason, and no sentence was cut.
func (r *referee) readable(v gate.Verdict) {
	if v.Reason == "" && v.Gate != "health" || strings.HasSuffix(v.Reason, ".") || strings.HasSuffix(v.Reason, ": ") || v.Gate == "" && v.Status != "" {
		r.failf("the reason %q of %q is not fit for people", v.Reason, v.Gate)
	}
	for _, p := range v.Parts {
		r.readable(p)
	}
}

// settle lets all go well from now on, and holds that all environments get to the
// newest commit, but those that wait for a person. What has failed goes on failing
// until something newer comes.
func (r *referee) settle() {
	w := r.world
	w.healed, w.frozen = true, false
	failed := map[*env]string{}
	for _, e := range w.envs {
		e.hold, e.broken, e.pinned, e.version = "", "", false, e.version+1
		if e.health(w.now).Status == gate.Fail && e.record != w.base[0] {
			failed[e] = e.record
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10 + 3*len(w.base) + len(w.envs) {
		w.cycle(rng)
		done := true
		for _, e := range w.envs {
			done = done && (e.record == w.base[0] || !r.free(e))
			e.holds(e.effects[e.record])
			if (e.running != e.output || e.phase != gate.Pass) && (e.record == "" || e.record != failed[e]) {
				e.running, e.phase, e.when = e.output, gate.Pass, w.now
			}
		}
		if done || len(r.broken) > 0 {
			return
		}
		w.now = w.now.Add(2 * time.Hour)
	}
	for _, e := range w.envs {
		if e.record != w.base[0] && r.free(e) {
			r.failf("%s: all gates passed, and it stays at %q", e.name, e.record)
		}
	}
}

// free reports whether nothing that only people can mend is in the way.
func (r *referee) free(e *env) bool {
	for _, u := range append(ancestors(e), e) {
		pinned := u.queue.Policy == model.QueuePinned && u.record != r.world.base[0]
		if pinned || u.record != "" && !slices.Contains(r.world.base, u.record) {
			return false
		}
	}
	return true
}

// history is a world and what happens in it.
type history struct {
	seed   uint64
	events []event
}

func newHistory(seed uint64) history {
	rng := rand.New(rand.NewPCG(seed, 2))
	h := history{seed: seed, events: make([]event, 5+rng.IntN(36))}
	for i := range h.events {
		h.events[i] = event{kinds[rng.IntN(len(kinds))], rng.Uint64()}
	}
	return h
}

// run gives the rules that a history breaks, and what has happened in it if it is
// wanted.
func (h history) run(log *strings.Builder) []string {
	w := newWorld(rand.New(rand.NewPCG(h.seed, 3)))
	w.log = log
	if log != nil {
		for _, e := range w.envs {
			w.say("environment %s after %v, queue %v, soak %s, has %q", e.name, names(e.after), e.queue, e.soak, e.record)
		}
	}
	for _, ev := range h.events {
		if w.do(ev); len(w.referee.broken) > 0 {
			return w.referee.broken
		}
	}
	if h.seed%8 == 0 {
		w.referee.settle()
	}
	return w.referee.broken
}

func names(envs []*env) []string {
	var all []string
	for _, e := range envs {
		all = append(all, e.name)
	}
	return all
}

// shrink leaves out events for as long as a rule is broken.
func (h history) shrink() history {
	for again := true; again; {
		again = false
		for i := range h.events {
			less := history{h.seed, slices.Delete(slices.Clone(h.events), i, i+1)}
			if len(less.run(nil)) > 0 {
				h, again = less, true
				break
			}
		}
	}
	return h
}

// TestHistories holds the rules of promotion in random histories. PROMOTE_SEED repeats
// a run, and PROMOTE_HISTORIES sets how many there are.
func TestHistories(t *testing.T) {
	seed, count := rand.Uint64()>>16, uint64(histories)
	if testing.Short() {
		count /= 10
	}
	for name, into := range map[string]*uint64{"PROMOTE_SEED": &seed, "PROMOTE_HISTORIES": &count} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			*into = n
		}
	}
	t.Logf("PROMOTE_SEED=%d", seed)
	for i := range count {
		h := newHistory(seed + i)
		if len(h.run(nil)) == 0 {
			continue
		}
		h = h.shrink()
		var log strings.Builder
		broken := h.run(&log)
		t.Fatalf("PROMOTE_SEED=%d PROMOTE_HISTORIES=1 repeats this:\n%s\n%s", h.seed, strings.Join(broken, "\n"), log.String())
	}
}

// Next depends on neither the order of stages nor what was asked before.
func TestNextIsAFunction(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 4))
		w := newWorld(rng)
		var stages []promote.Stage
		for _, e := range w.envs {
			stages = append(stages, w.read(e, rng).stage)
		}
		enter := func(e, c string) gate.Verdict { return w.enters(w.env(e), c) }
		h := promote.NewLine(w.base)
		first := promote.DecideStages(h, stages, enter, w.now)
		slices.Reverse(stages)
		again := promote.DecideStages(h, stages, enter, w.now)
		slices.Reverse(again)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("seed %d, -first +again:\n%s", seed, diff)
		}
	}
}
