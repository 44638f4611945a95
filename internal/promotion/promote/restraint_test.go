package promote_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// rules are the decisions about outputs that are held, frozen or taken back. Mutants have
// others in their place.
type rules struct {
	restrains func(r promote.Restraint, has, output string) bool
	wentBack  func(were []string, newer func(a, b string) bool) bool
	// stays reports whether what holds an environment keeps promotions from it.
	stays func(held, takenBack bool) bool
}

var theRules = rules{promote.Restraint.Restrains, promote.IsReverted, func(held, takenBack bool) bool { return held || takenBack }}

// version is what the record named, and who wrote that.
type version struct {
	commit, by string // by: daemon, person or lever
	released   bool
}

// restraintOf is a hold or a freeze: of the output, or of promotions only. lets is the
// commit that may pass.
type restraintOf struct {
	on, promotions bool
	lets           string
}

// operator is a world of one environment whose output the daemon merges, and of people who
// hold, freeze, roll back and revert.
type operator struct {
	rules
	base     []string // newest first
	versions []version
	hold     restraintOf
	freeze   restraintOf
	own      int // commits of the environment's own branch
	outBase  string
	outOwn   int
	// back is for the referee: a person took the record back, and it is not over.
	back   bool
	broken []string
	log    []string
}

func (o *operator) failf(format string, args ...any) {
	o.broken = append(o.broken, fmt.Sprintf(format, args...))
}

func (o *operator) record() string {
	if len(o.versions) == 0 {
		return ""
	}
	return o.versions[0].commit
}

func (o *operator) write(commit, by string) {
	o.versions = append([]version{{commit: commit, by: by}}, o.versions...)
}

func (o *operator) newer(a, b string) bool {
	i, j := slices.Index(o.base, a), slices.Index(o.base, b)
	return i >= 0 && j >= 0 && i < j
}

// older gives a commit that is older than what the environment has.
func (o *operator) older(rng *rand.Rand) string {
	i := slices.Index(o.base, o.record())
	if o.record() == "" || i+1 >= len(o.base) {
		return ""
	}
	return o.base[i+1+rng.IntN(len(o.base)-i-1)]
}

var operatorEvents = strings.Fields("commit commit commit own own cycle cycle cycle cycle cycle hold hold-promotions release release freeze freeze-promotions thaw thaw except revert revert remove forward comment rollback rollback")

// do has something happen.
func (o *operator) do(kind string, rng *rand.Rand) {
	older := o.older(rng)
	switch kind {
	case "commit":
		o.base = append([]string{fmt.Sprintf("c%d", len(o.base)+1)}, o.base...)
	case "own":
		o.own++
	case "hold", "hold-promotions":
		o.hold = restraintOf{on: true, promotions: kind == "hold-promotions"}
	case "freeze", "freeze-promotions":
		o.freeze = restraintOf{on: true, promotions: kind == "freeze-promotions"}
	case "except":
		if o.freeze.on {
			o.freeze.lets = o.record()
		}
	case "thaw":
		o.freeze = restraintOf{}
	case "release":
		o.hold, o.back = restraintOf{}, false
		if len(o.versions) > 0 {
			o.versions[0].released = true
		}
	case "rollback":
		if older != "" {
			o.write(older, "lever")
			o.hold, o.back = restraintOf{on: true, lets: older}, false
		}
	case "revert":
		if older != "" && !o.hold.on {
			o.write(older, "person")
			o.back = true
		}
	case "remove":
		if o.record() != "" && !o.hold.on {
			o.write("", "person")
			o.back = true
		}
	case "forward":
		if o.record() != "" && o.newer(o.base[0], o.record()) {
			o.write(o.base[0], "person")
			o.back = false
		}
	case "comment": // the file is another one, and names the same
		if o.record() != "" && !o.versions[0].released && o.versions[0].by == "person" {
			o.write(o.record(), "person")
		}
	case "cycle":
		o.cycle()
	}
	o.log = append(o.log, fmt.Sprintf("%s: record %q back %v hold %+v freeze %+v own %d output %q %d", kind, o.record(), o.back, o.hold, o.freeze, o.own, o.outBase, o.outOwn))
}

// takenBack is what a cycle finds out about the record.
func (o *operator) takenBack() bool {
	if len(o.versions) == 0 || o.versions[0].by != "person" || o.versions[0].released {
		return false
	}
	var were []string
	for i, v := range o.versions {
		if v.commit != "" || i == 0 {
			were = append(were, v.commit)
		}
	}
	return o.wentBack(were, o.newer)
}

// cycle merges the output unless something restrains it, and then promotes.
func (o *operator) cycle() {
	has := o.record()
	if has == "" {
		has = o.base[0]
	}
	back := o.takenBack()
	var restraints []promote.Restraint
	if o.hold.on && !o.hold.promotions {
		restraints = append(restraints, promote.Restraint{AllowedCommit: o.hold.lets})
	}
	if back {
		restraints = append(restraints, promote.Restraint{AllowedCommit: o.record()})
	}
	if o.freeze.on && !o.freeze.promotions {
		r := promote.Restraint{}
		if o.freeze.lets == has {
			r.AllowedCommit = has
		}
		restraints = append(restraints, r)
	}
	restrained := slices.ContainsFunc(restraints, func(r promote.Restraint) bool { return o.restrains(r, has, o.outBase) })
	if changed := o.outBase != has || o.outOwn != o.own; changed && !restrained {
		o.checkMerge(has)
		o.outBase, o.outOwn = has, o.own
	}
	o.checkMerged(has)
	o.promote(back)
}

func (o *operator) promote(back bool) {
	s := promote.Stage{Name: "a", Queue: model.Queue{Policy: model.QueueLatest}, Position: promote.Position{Commit: o.record(), Merged: o.outBase == o.record(), Proof: gate.Verdict{Status: gate.Pass}}}
	if o.stays(o.hold.on, back) {
		s.HoldReason = "by a person"
	}
	enter := func(_, commit string) gate.Verdict {
		if o.freeze.on && o.freeze.lets != commit {
			return gate.Verdict{Gate: "freeze", Status: gate.Wait, Reason: "all is frozen"}
		}
		return gate.Verdict{Gate: "gates", Status: gate.Pass, Reason: "all gates passed"}
	}
	d := promote.DecideStages(promote.NewLine(o.base), []promote.Stage{s}, enter, time.Time{})[0]
	if d.State != promote.Promotes {
		return
	}
	switch {
	case o.hold.on:
		o.failf("promoted to %s though it is held", d.Candidate)
	case o.back:
		o.failf("promoted to %s though a person took the record back", d.Candidate)
	case o.freeze.on && o.freeze.lets != d.Candidate:
		o.failf("promoted to %s though it is frozen", d.Candidate)
	}
	o.write(d.Candidate, "daemon")
}

// checkMerge holds a merge of ours against the rules, from what people have done.
func (o *operator) checkMerge(has string) {
	brings := o.outBase != has
	switch {
	case o.hold.on && !o.hold.promotions && !(o.hold.lets == has && brings):
		o.failf("merged %s (own %d) though it is held", has, o.own)
	case o.freeze.on && !o.freeze.promotions && !(o.freeze.lets == has && brings):
		o.failf("merged %s (own %d) though it is frozen", has, o.own)
	case o.back && !(o.record() == has && brings):
		o.failf("merged %s (own %d) though a person took the record back", has, o.own)
	}
}

// checkMerged holds that nothing waits for no reason after a cycle: not where nobody holds
// it, and not where a rollback or a revert went.
func (o *operator) checkMerged(has string) {
	frozen := o.freeze.on && !o.freeze.promotions
	held := o.hold.on && !o.hold.promotions
	switch {
	case frozen:
	case !held && !o.back && (o.outBase != has || o.outOwn != o.own):
		o.failf("nothing holds it, and the output is of %q (own %d), not of %q (own %d)", o.outBase, o.outOwn, has, o.own)
	case held && o.hold.lets == has && o.outBase != has:
		o.failf("the rollback to %s was not merged", has)
	case !held && o.back && o.record() != "" && o.outBase != has:
		o.failf("the revert to %s was not merged", has)
	}
}

// runOperator gives the rules that a history breaks.
func runOperator(seed uint64, r rules) (broken, log []string) {
	rng := rand.New(rand.NewPCG(seed, 5))
	o := &operator{rules: r, base: []string{"c1"}}
	for range 5 + rng.IntN(26) {
		if o.do(operatorEvents[rng.IntN(len(operatorEvents))], rng); len(o.broken) > 0 {
			return o.broken, o.log
		}
	}
	o.do("release", rng)
	o.do("thaw", rng)
	for range 3 {
		o.do("cycle", rng)
	}
	if o.record() != o.base[0] || o.outBase != o.base[0] || o.outOwn != o.own {
		o.failf("all is released, and it has %q of %q, with the output of %q (own %d of %d)", o.record(), o.base[0], o.outBase, o.outOwn, o.own)
	}
	return o.broken, o.log
}

// TestRestraintHistories holds the rules of holds, freezes, rollbacks and reverts in random
// histories.
func TestRestraintHistories(t *testing.T) {
	count := uint64(histories)
	if testing.Short() {
		count /= 10
	}
	for seed := range count {
		if broken, log := runOperator(seed, theRules); len(broken) > 0 {
			t.Fatalf("seed %d:\n%s\n%s", seed, strings.Join(broken, "\n"), strings.Join(log, "\n"))
		}
	}
}

// restraintMutants are mistakes that the histories must find, each soon.
var restraintMutants = map[string]func(r *rules){
	"a hold holds nothing": func(r *rules) {
		r.restrains = func(promote.Restraint, string, string) bool { return false }
	},
	"a rollback is held by its own hold": func(r *rules) {
		r.restrains = func(promote.Restraint, string, string) bool { return true }
	},
	"what is let through once is let through for good": func(r *rules) {
		r.restrains = func(q promote.Restraint, has, _ string) bool { return q.AllowedCommit == "" || q.AllowedCommit != has }
	},
	"a hold with a commit lets every commit through": func(r *rules) {
		r.restrains = func(q promote.Restraint, has, output string) bool { return q.AllowedCommit == "" || has == output }
	},
	"a revert is nothing": func(r *rules) {
		r.wentBack = func([]string, func(a, b string) bool) bool { return false }
	},
	"every edit is a revert": func(r *rules) {
		r.wentBack = func(were []string, _ func(a, b string) bool) bool { return len(were) > 1 }
	},
	"a revert is seen in its own commit only": func(r *rules) {
		r.wentBack = func(were []string, newer func(a, b string) bool) bool {
			return promote.IsReverted(were[:min(2, len(were))], newer)
		}
	},
	"a record that was removed was not taken back": func(r *rules) {
		r.wentBack = func(were []string, newer func(a, b string) bool) bool {
			return were[0] != "" && promote.IsReverted(were, newer)
		}
	},
	"a revert of long ago counts": func(r *rules) {
		r.wentBack = func(were []string, newer func(a, b string) bool) bool {
			return slices.ContainsFunc(were, func(c string) bool { return newer(c, were[0]) })
		}
	},
	"a hold keeps no promotion away": func(r *rules) { r.stays = func(_, back bool) bool { return back } },
	"a revert keeps no promotion away": func(r *rules) {
		r.stays = func(held, _ bool) bool { return held }
	},
}

// TestRestraintMutants: the rules catch mistakes, so that they hold something.
func TestRestraintMutants(t *testing.T) {
	const enough = 2000
	for name, mutate := range restraintMutants {
		t.Run(name, func(t *testing.T) {
			mutant := theRules
			mutate(&mutant)
			for seed := range uint64(enough) {
				if broken, _ := runOperator(seed, mutant); len(broken) > 0 {
					return
				}
			}
			t.Errorf("no rule is broken in %d histories", enough)
		})
	}
}
