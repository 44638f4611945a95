package lane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// worldOf returns a world whose base has had some commits, c0 first, and in which dev has the last one and stage the first.
func worldOf(t *testing.T, commits ...string) *world {
	w := &world{t: t, base: map[string]tree.Tree{}, proofs: map[string]gate.Verdict{}}
	var line []string
	for i, files := range commits {
		commit := fmt.Sprintf("c%d", i)
		w.base[commit], line = filesOf(t, files), append([]string{commit}, line...)
	}
	var err error
	w.history, err = NewHistory(promote.NewLine(line), func(commit, before string) ([]string, error) {
		return partition.ChangedLanes(w.base[before], w.base[commit], nil), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pass := gate.Verdict{Status: gate.Pass}
	w.dev = promote.Stage{Name: "dev", Position: promote.Position{Commit: line[0], Merged: true, Proof: pass, Proven: map[string]bool{"c0": true}}}
	w.stage = promote.Stage{Name: "stage", After: []string{"dev"}, Position: promote.Position{Commit: "c0", Merged: true, Proof: pass}}
	return w
}

func describeDecisions(r Report) string {
	var all []string
	for _, d := range r.Decisions {
		text := d.Lane + " " + string(d.State) + " " + d.Current + ">" + d.Candidate
		if len(d.With) > 0 {
			text += " with " + strings.Join(d.With, ",")
		}
		if d.Reason.Kind != "" {
			text += " " + strings.Join(strings.Fields(fmt.Sprint(d.Reason.Kind, " ", d.Reason.Commit, " ", d.Reason.Lane, " ", d.Reason.Environment, " ", d.Reason.Folder)), " ")
		}
		all = append(all, text)
	}
	moves := 0
	for _, c := range r.Commits {
		if c.Moves {
			moves++
		}
	}
	return strings.Join(append(all, fmt.Sprintf("%d of %d", moves, len(r.Commits))), "; ")
}

// TestDecide has the sequences of changes for which lanes exist.
func TestDecide(t *testing.T) {
	start := "t/all=0 w/a.yaml=0 w/b.yaml=0"
	fails, waits := gate.Verdict{Status: gate.Fail, Reason: "a is broken"}, gate.Verdict{Status: gate.Wait}
	devFails := func(w *world) { w.dev.Proof = fails }
	reported := func(lanes ...string) func(*world) {
		return func(w *world) {
			devFails(w)
			for _, lane := range lanes {
				w.proofs[lane] = gate.Verdict{Status: gate.Pass}
			}
			w.proofs["a"] = fails
		}
	}
	for _, c := range []struct {
		name    string
		commits []string
		change  func(*world)
		want    string
	}{
		{"nothing is newer", []string{start}, nil, "0 of 0"},
		{"all is verified", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0", "t/all=0 w/a.yaml=1 w/b.yaml=1"}, nil, "a moves c0>c1; b moves c0>c2; 2 of 2"},
		{"one fails, and the other's objects are ready", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0", "t/all=0 w/a.yaml=1 w/b.yaml=1"}, reported("b"),
			"a waits c0>c1 not-proven; b moves c0>c2; 1 of 2"},
		{"it fails, and no objects are reported", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0", "t/all=0 w/a.yaml=1 w/b.yaml=1"}, devFails,
			"a independent c0>c1 not-reported c1 dev; b independent c0>c2 not-reported c2 dev; 0 of 2"},
		{"one was verified before the other broke", []string{start, "t/all=0 w/a.yaml=0 w/b.yaml=1", "t/all=0 w/a.yaml=1 w/b.yaml=1"}, func(w *world) { devFails(w); w.dev.Proven["c1"] = true; w.proofs["a"] = fails },
			"a waits c0>c2 not-proven; b moves c0>c1; 1 of 2"},
		{"and was mended", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0", "t/all=0 w/a.yaml=1 w/b.yaml=1", "t/all=0 w/a.yaml=2 w/b.yaml=1"}, nil, "a moves c0>c3; b moves c0>c2; 3 of 3"},
		{"a joint commit", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=1"}, reported("b"), "a waits c0>c1 not-proven; b waits c0>c1 joint c1 a; 0 of 1"},
		{"a joint commit that is verified", []string{start, "t/all=1 w/a.yaml=1 w/b.yaml=0"}, nil, "a moves c0>c1 with platform; platform moves c0>c1 with a; 1 of 1"},
		{"nobody overtakes a joint commit", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=1", "t/all=0 w/a.yaml=1 w/b.yaml=2"}, reported("b"), "a waits c0>c1 not-proven; b waits c0>c2 joint c1 a; 0 of 2"},
		{"a template that breaks one, and does not touch the other", []string{start, "t/all=0 t/a=1 w/a.yaml=0 w/b.yaml=0", "t/all=0 t/a=1 w/a.yaml=0 w/b.yaml=1"}, func(w *world) { reported("b")(w); w.proofs[Platform] = fails },
			"b moves c0>c2; platform waits c0>c1 not-proven; 1 of 2"},
		{"a template that touches it too", []string{start, "t/all=1 w/a.yaml=0 w/b.yaml=0", "t/all=1 w/a.yaml=0 w/b.yaml=1"}, func(w *world) { reported("b")(w); w.proofs[Platform] = waits },
			"b waits c0>c2 context c2 platform dev ct/b; platform waits c0>c1 not-proven; 0 of 2"},
		{"it goes with the template", []string{start, "t/all=1 w/a.yaml=0 w/b.yaml=0", "t/all=1 w/a.yaml=0 w/b.yaml=1"}, nil, "b moves c0>c2 with platform; platform moves c0>c1 with b; 2 of 2"},
		{"a new lane", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0", "t/all=0 w/a.yaml=1 w/b.yaml=0 w/c.yaml=0"}, reported("c"), "a waits c0>c1 not-proven; c moves c0>c2; 1 of 2"},
		{"a removed lane", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0", "t/all=0 w/a.yaml=1"}, reported("b"), "a waits c0>c1 not-proven; b moves c0>c2; 1 of 2"},
		{"one is read by the other, which waits", []string{"t/all=0 w/a.yaml=0+b w/b.yaml=0", "t/all=0 w/a.yaml=1+b w/b.yaml=0", "t/all=0 w/a.yaml=1+b w/b.yaml=1"}, reported("b"),
			"a waits c0>c1 not-proven; b waits c0>c2 shared a ct/a; 0 of 2"},
		{"held", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0"}, func(w *world) { w.stage.HoldReason = "an incident" }, "a waits c0>c1 not-proven; 0 of 1"},
		{"stage has no commit", []string{start, "t/all=0 w/a.yaml=1 w/b.yaml=0"}, func(w *world) { w.stage.Commit = "" }, "0 of 0"},
		{"dev cannot be rendered", []string{start, "t/all=0 w/a.yaml=bad w/b.yaml=0"}, func(w *world) { devFails(w); w.dev.Merged = false }, "a waits c0>c1 not-proven; 0 of 1"},
	} {
		w := worldOf(t, c.commits...)
		if c.change != nil {
			c.change(w)
		}
		r := w.decide()
		if got := describeDecisions(r); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if broken := w.checkDecisions(r); len(broken) > 0 {
			t.Errorf("%s: %v", c.name, broken)
		}
	}
}

// TestSideCommit: a commit that a merge brought has the versions of the commits that it contains.
func TestSideCommit(t *testing.T) {
	line := promote.NewLine([]string{"c2", "c1", "c0"}, promote.SideCommit{Commit: "side", Newer: 1, Older: 2})
	h, err := NewHistory(line, func(commit, _ string) ([]string, error) {
		return []string{map[string]string{"c1": "a", "c2": "b"}[commit]}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ lane, commit, want string }{{"a", "side", "c0"}, {"b", "side", "c0"}, {"a", "c2", "c1"}, {"b", "c2", "c2"}, {"a", "unknown", ""}} {
		if got := h.Version(c.lane, c.commit); got != c.want {
			t.Errorf("%s has version %q of lane %s, want %q", c.commit, got, c.lane, c.want)
		}
	}
}

// TestSimulateArrivals: a lane whose objects are ready gets to stage though the whole failed in dev, one that failed does not, and one
// that is held waits.
func TestSimulateArrivals(t *testing.T) {
	w := worldOf(t, "t/all=0 w/a.yaml=0 w/b.yaml=0", "t/all=0 w/a.yaml=1 w/b.yaml=0", "t/all=0 w/a.yaml=1 w/b.yaml=1")
	w.dev.Proof = gate.Verdict{Status: gate.Fail, Reason: "a is broken"}
	w.proofs["a"], w.proofs["b"] = w.dev.Proof, gate.Verdict{Status: gate.Pass}
	passing := func(_, _ string, from time.Time) gate.Forecast { return gate.Forecast{Time: from} }
	for _, c := range []struct {
		lane, version, hold string
		want                promote.ArrivalState
	}{{"a", "c1", "", promote.ArrivalNever}, {"b", "c2", "", promote.ArrivalExpected}, {"b", "c2", "a sale", promote.ArrivalWaits}} {
		in := w.input()
		in.Now, in.Stages[1].Held = time.Unix(1, 0), map[string]string{"b": c.hold}
		if a := SimulateArrivals(in, c.lane, c.version, passing, passing)[1]; a.State != c.want {
			t.Errorf("%s: %+v, want %s", c.lane, a, c.want)
		}
	}
}
