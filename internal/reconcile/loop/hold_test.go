package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// heldBy is something that keeps the output of dev as it is: a file, on a branch.
type heldBy struct {
	branch, file, text string
	words              []string // that the status says
}

// holds are ways to hold dev's output, and what cannot be read and may be one; the tests
// of source have more of those.
var holds = map[string]heldBy{
	"hold":             {"dev", ".fairlead/hold.yaml", own("Hold", "hold", "{reason: the load test}"), []string{"held: the load test (by a@example.com, until fairlead release dev)"}},
	"empty reason":     {"dev", ".fairlead/hold.yaml", own("Hold", "hold", `{reason: ""}`), []string{"held: no reason is given (by a@example.com"}},
	"freeze":           {"main", ".fairlead/freezes/q4.yaml", own("Freeze", "q4", "{reason: the books, environments: [dev]}"), []string{"freeze q4: the books (by a@example.com, until fairlead freeze q4 --remove)"}},
	"hold.json":        {"dev", ".fairlead/hold.json", `{"kind": "Hold"}`, []string{"hold.json: it is not read"}},
	"freeze of nobody": {"main", ".fairlead/freezes/q4.yaml", own("Freeze", "q4", "{reason: x, environments: [dve]}"), []string{`there is no environment "dve" to freeze`}},
}

// TestHeldOutput: what holds or freezes an environment keeps every change of its output
// from being merged by us. The pull request says what waits and why, and so does the
// status. When it is over, merging goes on in the next cycle.
func TestHeldOutput(t *testing.T) {
	for name, by := range holds {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
			names := map[string]string{w.changeNow(1): "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.wantLine(names, "dev=1 stage=1")
			d.want(map[string]status.State{"dev": status.InSync, "stage": status.InSync})
			before := w.head("out", "dev")

			text := by.text
			if text == "" {
				text = "\n"
			}
			w.commitNow(by.branch, "hold", map[string]string{by.file: text})
			held := w.commitNow("dev", "own change", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \"1\"")})
			d.pass(time.Minute)
			wantHeld(t, w, d, before, by.words)
			var said string
			for _, s := range w.statuses(held) {
				if s.Context == "fairlead/dev" {
					said = string(s.Outcome) + " " + s.Description
				}
			}
			if !strings.HasPrefix(said, string(forge.Pending)+" ") {
				t.Errorf("the status of the commit is %q", said)
			}
			w.commitNow("dev", "another", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \"2\"")})
			names[w.changeNow(2)] = "2"
			again := w.begin(w.data + "-again") // a process that remembers nothing
			again.pass(time.Minute)
			wantHeld(t, w, again, before, by.words)
			again.settle("dev", "stage")
			wantHeld(t, w, again, before, by.words)

			w.commitNow(by.branch, "release", map[string]string{by.file: ""})
			again.pass(time.Minute)
			if w.head("out", "dev") == before {
				t.Errorf("one cycle after it was released, nothing is merged: %+v", again.state("dev"))
			}
			again.settle("dev", "stage")
			w.wantLine(names, "dev=2 stage=2")
			again.want(map[string]status.State{"dev": status.InSync, "stage": status.InSync})
		})
	}
}

// ownConfig is a config of the platform with some data.
func ownConfig(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", labels: {platform-config: \"true\"}}\ndata: {" + data + "}\n"
}

// statuses gives what was said of a commit of the control plane.
func (w *world) statuses(commit string) []forge.CommitStatus {
	w.Helper()
	f := w.plain("cp")
	all, err := f.Statuses(w.Context(), commit)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// wantHeld checks that the output of dev is as it was, that the pull request is open and
// says why, and that the report does.
func wantHeld(t *testing.T, w *world, d *daemon, before string, words []string) {
	t.Helper()
	if now := w.head("out", "dev"); now != before {
		t.Fatalf("the output of dev has moved from %s to %s: %s", before, now, gittest.Git(t, w.server.Dir("out"), "log", "--oneline", "dev"))
	}
	e := d.state("dev")
	if e.State != status.Proposed || e.Pull == nil || len(e.Withheld) == 0 {
		t.Fatalf("dev is %s (%s), withheld %v; the log:\n%s", e.State, e.Reason, e.Withheld, w.logs.String())
	}
	pull := w.open("dev")
	for _, word := range words {
		if !strings.Contains(e.Reason, word) {
			t.Errorf("the reason is %q, want %q", e.Reason, word)
		}
		if !strings.Contains(pull.Body, forge.EscapeMarkdown(word)) {
			t.Errorf("the pull request says\n%s\nwant %q", pull.Body, word)
		}
	}
}

// TestHeldPromotions: a hold or freeze of promotions only is what it was: changes of the
// environment's own branch go on.
func TestHeldPromotions(t *testing.T) {
	for name, by := range map[string]heldBy{
		"hold":   {"stage", ".fairlead/hold.yaml", own("Hold", "hold", "{reason: the load test, scope: promotion}"), nil},
		"freeze": {"main", ".fairlead/freezes/q4.yaml", own("Freeze", "q4", "{reason: the load test, scope: promotion, environments: [stage]}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
			names := map[string]string{w.changeNow(1): "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.commitNow(by.branch, "hold", map[string]string{by.file: by.text})
			before := w.head("out", "stage")
			w.commitNow("stage", "own change", map[string]string{"configs/own.yaml": ownConfig("own", "OWN: \"1\"")})
			names[w.changeNow(2)] = "2"
			d.settle("dev", "stage")
			w.wantLine(names, "dev=2 stage=1")
			if e := d.state("stage"); e.State != status.InSync || w.head("out", "stage") == before {
				t.Errorf("stage is %s: %s", e.State, e.Reason)
			}
			if frozen := d.stage("stage").Frozen; (name == "freeze") != strings.HasPrefix(frozen, "freeze q4: the load test") || d.stage("dev").Frozen != "" {
				t.Errorf("stage is frozen by %q, dev by %q", frozen, d.stage("dev").Frozen)
			}
			if next := d.stage("stage").Next; !strings.Contains(reasons(next), "the load test") || next.State == promote.Promotes {
				t.Errorf("stage is %s: %s", next.State, reasons(next))
			}
		})
	}
}
