package promote_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// world is what promotion works on: a base, environments, people who do what they
// like, clusters, and a daemon that can forget everything but what is in Git and on
// the forge. What happens in it is told to a referee.
type world struct {
	now    time.Time
	base   []string // newest first
	made   int      // commits so far
	envs   []*env   // each behind those that it comes after
	frozen bool
	// faulty is a forge that fails often; healed is a world in which all goes well.
	faulty, healed bool
	// quick is a world in which outputs are merged and reported as ready at once, so
	// that a short history gets far.
	quick   bool
	referee *referee
	log     *strings.Builder // nil for none
}

// env is one environment: what Git, its clusters and the forge hold of it.
type env struct {
	name  string
	after []*env
	queue model.Queue
	soak  time.Duration
	// blind says that its proof is a check that does not look at the output.
	blind bool
	// asks says that somebody has to approve each commit.
	asks     bool
	approved map[string]bool

	record  string // the promoted commit, in Git
	since   time.Time
	hold    string // in Git, beside the record
	version int    // of the branch that holds both
	broken  string // why it is stopped; "" if it is not
	pinned  bool   // somebody keeps an older version of a part of what it has

	effects map[string]int // what a commit makes of the environment; no-ops make the same
	outputs
	running  int // what clusters have reported last, and how they are
	phase    gate.Status
	when     time.Time
	statuses map[string]gate.Status // of commits of the base, on the forge

	// touched says that somebody has written the record by hand, and the daemon has not
	// looked since: who writes twice before it looks hides what was between.
	touched bool
	pending *step // decided and not yet carried out: in the daemon's memory
	// stays is for the referee: what was seen of each commit here the last time that
	// it was here.
	stays map[string]*stay
}

type step struct {
	from, to string
	version  int
}

type event struct {
	kind string
	r    uint64 // whatever else the event needs
}

// kinds are the events, each as often as it should come.
var kinds = strings.Fields(strings.Repeat("commit ", 5) + strings.Repeat("merge ", 5) + strings.Repeat("report ", 6) + strings.Repeat("clock ", 4) +
	strings.Repeat("cycle ", 12) + "land land crash crash hold release release rollback rollback promote freeze thaw thaw approve approve approve pin pin unpin unpin removal removal acknowledge acknowledge push revert break mend mend edit")

func newWorld(rng *rand.Rand) *world {
	w := &world{now: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), faulty: rng.IntN(3) == 0, quick: rng.IntN(2) == 0}
	for i := range 1 + min(rng.IntN(6), rng.IntN(6)) {
		e := &env{name: string(rune('a' + i)), approved: map[string]bool{}, effects: map[string]int{}, statuses: map[string]gate.Status{}, stays: map[string]*stay{}}
		e.queue = []model.Queue{{Policy: model.QueueLatest}, {Policy: model.QueueLatest}, {Policy: model.QueueEvery}, {Policy: model.QueueEvery}, {Policy: model.QueueBatch, Every: time.Hour}, {Policy: model.QueuePinned}, {}}[rng.IntN(7)]
		e.soak = []time.Duration{0, 0, 0, 30 * time.Minute}[rng.IntN(4)]
		e.blind = rng.IntN(4) == 0
		e.asks = rng.IntN(5) == 0
		e.direct, e.removes = rng.IntN(2) == 0, map[int]bool{}
		for _, u := range w.envs {
			if near := u == w.envs[i-1]; rng.IntN(4) == 0 || near && rng.IntN(4) > 0 {
				e.after = append(e.after, u)
			}
		}
		w.envs = append(w.envs, e)
	}
	w.referee = &referee{world: w}
	for range 1 + rng.IntN(3) {
		w.commit(rng)
	}
	if rng.IntN(2) == 0 { // an old world: all have the first commit
		for _, e := range w.envs {
			c := w.base[len(w.base)-1]
			w.write(e, c)
			e.holds(e.effects[c])
			e.running, e.phase, e.when = e.output, gate.Pass, w.now.Add(-24*time.Hour)
		}
	}
	return w
}

func (w *world) say(format string, args ...any) {
	if w.log != nil {
		fmt.Fprintf(w.log, "%s  %s\n", w.now.Format("15:04"), fmt.Sprintf(format, args...))
	}
}

// commit adds a commit to the base, which may change nothing in some environments.
func (w *world) commit(rng *rand.Rand) {
	w.made++
	c := fmt.Sprintf("c%d", w.made)
	for _, e := range w.envs {
		e.effects[c] = w.made
		if len(w.base) > 0 && rng.IntN(4) == 0 {
			e.effects[c] = e.effects[w.base[0]]
		}
	}
	w.base = append([]string{c}, w.base...)
	w.say("commit %s", c)
}

// write gives an environment a commit.
func (w *world) write(e *env, commit string) {
	if e.record != commit { // what an environment has stays proven if it is given that again
		e.stays[commit] = &stay{}
	}
	e.record, e.since, e.version = commit, w.now, e.version+1
	if w.quick && w.merge(e) {
		e.running, e.phase, e.when = e.output, gate.Pass, w.now
	}
}

func (w *world) do(ev event) {
	rng := rand.New(rand.NewPCG(ev.r, 1))
	e := w.envs[rng.IntN(len(w.envs))]
	switch ev.kind {
	case "commit":
		w.commit(rng)
	case "push":
		w.forcePush(rng)
	case "clock":
		w.now = w.now.Add([]time.Duration{time.Minute, 20 * time.Minute, time.Hour}[rng.IntN(3)])
	case "cycle":
		w.cycle(rng)
	case "land":
		w.land(e)
	case "removal":
		w.remove(e, rng)
	case "acknowledge":
		w.acknowledge(e, rng)
	case "crash":
		w.say("the daemon crashes")
		for _, e := range w.envs {
			e.pending = nil
		}
	case "freeze", "thaw":
		w.frozen = ev.kind == "freeze"
		w.say("%s", ev.kind)
	case "merge", "revert", "report", "approve":
		w.runs(ev.kind, e, rng)
	default:
		w.lever(ev.kind, e, rng)
	}
}

// runs is what people and clusters do with the output of an environment.
func (w *world) runs(kind string, e *env, rng *rand.Rand) {
	switch kind {
	case "merge":
		e.holds(e.effects[e.record])
	case "revert":
		e.output = max(0, e.output-1) // by hand, so that the record of the output stays
	case "approve":
		if len(w.base) > 0 {
			e.approved[w.base[rng.IntN(min(3, len(w.base)))]] = true
		}
	case "report":
		e.running, e.phase, e.when = e.output, []gate.Status{gate.Pass, gate.Pass, gate.Pass, gate.Fail, gate.Wait}[rng.IntN(5)], w.now
		if rng.IntN(6) == 0 { // of an old revision
			e.running = max(0, e.output-1)
		}
	}
	w.say("%s %s: output %d, clusters %s with %d", kind, e.name, e.output, e.phase, e.running)
}

// lever is what people do by hand, in Git.
func (w *world) lever(kind string, e *env, rng *rand.Rand) {
	older := 0
	if i := slices.Index(w.base, e.record); i >= 0 {
		older = i + 1
	}
	record := e.record
	switch {
	case e.touched && slices.Contains([]string{"rollback", "promote", "edit"}, kind):
		return
	case kind == "hold":
		e.hold, e.version = "somebody said so", e.version+1
	case kind == "release":
		e.hold, e.version = "", e.version+1
	case kind == "rollback" && e.record != "" && older < len(w.base):
		e.hold = "rolled back"
		w.writeByHand(e, w.base[older+rng.IntN(len(w.base)-older)])
	case kind == "promote" && len(w.base) > 0 && rng.IntN(2) == 0:
		w.writeByHand(e, w.base[rng.IntN(len(w.base))])
	case kind == "edit" && rng.IntN(4) == 0:
		w.writeByHand(e, "unknown")
	case kind == "break" && rng.IntN(2) == 0:
		e.broken = "the template t has a mistake"
	case kind == "mend":
		e.broken = ""
	case kind == "pin", kind == "unpin":
		e.pinned, e.version = kind == "pin", e.version+1
	}
	e.touched = e.touched || e.record != record
	w.say("%s %s: has %q, hold %q, broken %q", kind, e.name, e.record, e.hold, e.broken)
}

// writeByHand gives an environment a commit as a person does, who does not wait until the
// daemon has said what it saw of the one before: of that counts what is on record.
func (w *world) writeByHand(e *env, commit string) {
	if st := e.stays[e.record]; st != nil {
		st.word = e.statuses[e.record]
	}
	w.write(e, commit)
}

// forcePush takes commits away from the base, and puts others there.
func (w *world) forcePush(rng *rand.Rand) {
	if rng.IntN(3) > 0 {
		return
	}
	w.base = w.base[min(len(w.base)-1, 1+rng.IntN(2)):]
	w.say("force-push: the base begins with %s", w.base[0])
	for range rng.IntN(3) {
		w.commit(rng)
	}
}

// merged reports whether the output branch holds what the promoted commit makes.
func (e *env) merged() bool { return e.record != "" && e.output == e.effects[e.record] }

// judged is the word on what an environment has, as it truly is: that it passes counts
// once it is merged.
func (e *env) judged(now time.Time) gate.Status {
	v := e.health(now).Status
	if v == gate.Pass && !e.merged() {
		return gate.Wait
	}
	return v
}

// proves is the word on what an environment has that counts for others: not if it has not all of it.
func (e *env) proves(now time.Time) gate.Status {
	v := e.judged(now)
	if v == gate.Pass && e.pinned {
		return gate.Wait
	}
	return v
}

// health is the verdict of the proof of an environment.
func (e *env) health(now time.Time) gate.Verdict {
	v := gate.Verdict{Gate: "health", Status: gate.Wait, Reason: "no cluster has reported it"}
	switch end := e.when.Add(e.soak); {
	case !e.blind && (!e.merged() || e.running != e.output):
	case e.phase != gate.Pass:
		v.Status, v.Reason = e.phase, "a cluster says so"
	case now.Before(end):
		v.Reason, v.ValidUntil = "it soaks", end
	default:
		v.Status, v.Reason = gate.Pass, "all clusters are ready"
	}
	return v
}

// enters is the verdict of the gates of an environment.
func (w *world) enters(e *env, commit string) gate.Verdict {
	switch {
	case w.frozen:
		return gate.Verdict{Gate: "freeze", Status: gate.Wait, Reason: "all is frozen"}
	case e.asks && !e.approved[commit] && !w.healed:
		return gate.Verdict{Gate: "approval", Status: gate.Wait, Reason: "nobody has approved it"}
	}
	return gate.Verdict{Gate: "gates", Status: gate.Pass, Reason: "all gates passed"}
}
