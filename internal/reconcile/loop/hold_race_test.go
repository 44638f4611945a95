package loop_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

// TestFreezeBeginsAndEnds: a freeze with times counts at its time, without news from any
// repository, and what waits is merged when it is over.
func TestFreezeBeginsAndEnds(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	at := func(after time.Duration) string { return d.now.Add(after).UTC().Format(time.RFC3339) }
	w.commitNow("main", "freeze", map[string]string{
		".fairlead/freezes/q4.yaml": own("Freeze", "q4", "{reason: the books, from: "+at(time.Hour)+", to: "+at(3*time.Hour)+"}"),
	})
	change := func(level string) string {
		t.Helper()
		before := w.head("out", "dev")
		w.commitNow("dev", "own change", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \""+level+"\"")})
		return before
	}
	before := change("1")
	d.pass(time.Minute)
	if w.head("out", "dev") == before {
		t.Fatalf("it has not begun, and nothing is merged: %+v", d.state("dev"))
	}
	d.pass(time.Hour)
	before = change("2")
	d.pass(time.Minute)
	wantHeld(t, w, d, before, []string{"freeze q4: the books (by a@example.com, until "})
	names[w.changeNow(2)] = "2"
	d.settle("dev", "stage")
	wantHeld(t, w, d, before, nil)
	d.now = d.now.Add(3 * time.Hour)
	if err := d.CycleOf(t.Context(), nil); err != nil { // nobody is asked, and nothing has moved
		t.Fatal(err)
	}
	if w.head("out", "dev") == before {
		t.Errorf("it is over, and nothing is merged: %+v", d.state("dev"))
	}
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
}

// TestHoldSinceThePoll: a hold that is pushed after the control plane was read, and before
// we merge, counts. What else is pushed then holds nothing.
func TestHoldSinceThePoll(t *testing.T) {
	for name, by := range map[string]struct {
		heldBy
		merged bool
	}{
		"hold":            {holds["hold"], false},
		"freeze":          {holds["freeze"], false},
		"another change":  {heldBy{"dev", "notes.md", "x", nil}, true},
		"change of main":  {heldBy{"main", "notes.md", "x", nil}, true},
		"hold of another": {heldBy{"stage", ".fairlead/hold.yaml", own("Hold", "hold", "{reason: x}"), nil}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
			w.changeNow(1)
			var late func()
			d := w.begin(w.data, func(o *loop.Options) {
				o.BeforeEffect = func(what string) {
					if what == "push our branch" && late != nil {
						push := late
						late = nil
						push()
					}
				}
			})
			d.settle("dev", "stage")
			before := w.head("out", "dev")
			w.commitNow("dev", "own change", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \"1\"")})
			late = func() { w.commitNow(by.branch, "meanwhile", map[string]string{by.file: by.text}) }
			d.pass(time.Minute)
			if merged := w.head("out", "dev") != before; merged != by.merged {
				t.Fatalf("it is merged: %v; %+v", merged, d.state("dev"))
			}
			d.pass(time.Minute)
			if by.merged {
				d.settle("dev", "stage")
				if e := d.state("dev"); e.State != status.InSync {
					t.Errorf("dev is %s: %s", e.State, e.Reason)
				}
				return
			}
			wantHeld(t, w, d, before, by.words)
		})
	}
}

// TestHoldBeforeRecord: a hold that is pushed after an environment's branch was read, and
// before its record's pull request is merged, counts.
func TestHoldBeforeRecord(t *testing.T) {
	h := newHub(t, two("record: pull-request, gates: [approval: {}]"), "dev", "stage")
	names := map[string]string{h.changeNow(1): "1"}
	h.looks(4, time.Minute)
	h.wantLine(names, "dev=1 stage=-")
	var late func()
	d := h.begin(h.data+"-again", func(o *loop.Options) {
		o.BeforeEffect = func(what string) {
			if what == "merge the pull request" && late != nil {
				push := late
				late = nil
				push()
			}
		}
	})
	h.fake.Review(githubCP, "bob", h.records(t)[0], "APPROVED")
	h.commitNow("dev", "own change", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \"1\"")})
	late = func() {
		h.commitNow("stage", "hold", map[string]string{".fairlead/hold.yaml": own("Hold", "hold", "{reason: the load test}")})
	}
	for range 4 {
		d.pass(time.Minute)
	}
	if late != nil {
		t.Fatal("nobody has pushed the hold")
	}
	h.wantLine(names, "dev=1 stage=-")
	d.wantNext("stage", promote.Held, "the load test")
}

// TestFreezeCancelsAutoMerge: what GitHub was to merge once nothing is missing, it does
// not merge in a freeze that begins meanwhile, nor after a hold.
// Neither does it merge what problems have stopped since.
func TestFreezeCancelsAutoMerge(t *testing.T) {
	broken := heldBy{branch: "dev", file: "broken.yaml", text: "kind: [\n", words: []string{"1 problem stops it"}}
	for name, by := range map[string]heldBy{"freeze": holds["freeze"], "hold": holds["hold"], "problem": broken} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, "    - {name: dev, merge: when-green, proof: []}\n", "dev")
			h.fake.Set(githubOut, githubfake.Settings{Required: []string{"ci/test"}})
			h.changeNow(1)
			h.looks(3, time.Minute)
			before := h.head(githubOut, "dev")
			if e := h.state("dev"); e.State != status.Proposed || !strings.Contains(e.Reason, "the forge merges it") {
				t.Fatalf("dev is %s: %s", e.State, e.Reason)
			}
			h.commitNow(by.branch, "hold", map[string]string{by.file: by.text})
			waiting := h.state("dev").Pull
			h.looks(2, time.Minute)
			pull := cmp.Or(h.state("dev").Pull, waiting)
			for range 2 {
				h.fake.Say(githubOut, "ci", pull.Head, githubfake.Status{Context: "ci/test", State: "success"})
			}
			h.looks(3, time.Minute)
			if now := h.head(githubOut, "dev"); now != before {
				t.Fatalf("GitHub has merged what is held: %+v", h.state("dev"))
			}
			for _, word := range by.words {
				if e := h.state("dev"); !strings.Contains(e.Reason, word) {
					t.Errorf("the reason is %q, want %q", e.Reason, word)
				}
			}
			h.commitNow(by.branch, "release", map[string]string{by.file: ""})
			h.looks(1, time.Minute)
			if pull := h.state("dev").Pull; pull != nil { // it proposes the commit of the release
				for range 2 { // the fake merges what waits when it is spoken to
					h.fake.Say(githubOut, "ci", pull.Head, githubfake.Status{Context: "ci/test", State: "success"})
				}
			}
			h.looks(1, time.Minute)
			if now := h.head(githubOut, "dev"); now == before {
				t.Errorf("it is released, green, and not merged: %+v", h.state("dev"))
			}
		})
	}
}
