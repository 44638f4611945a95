package loop_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// passMinutes runs a cycle each minute, and returns the lines that they log above the level of debugging.
func (d *daemon) passMinutes(n int) (lines []string) {
	d.Helper()
	said := len(d.logs.String())
	for range n {
		d.pass(time.Minute)
	}
	for line := range strings.Lines(d.logs.String()[said:]) {
		if !strings.Contains(line, "level=DEBUG") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// linesAbove returns those of some lines that are of a level, and have a text.
func linesAbove(lines []string, level, text string) (found []string) {
	for _, line := range lines {
		if strings.Contains(line, "level="+level) && strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// TestMistypedOutput: a mistake in where an environment's output goes, mended while the daemon runs,
// leaves nothing behind: nothing is to be removed from where nothing was ever written, the wrong
// repository is not asked any more, and the log is quiet. Meanwhile each failure is logged once.
func TestMistypedOutput(t *testing.T) {
	const had, isNew = "it had output", "it is new"
	for name, mistake := range map[string]func(w *world) (repo, branch string){
		"a repository that is not there":     func(w *world) (string, string) { return w.server.URL("ouch"), "dev" },
		"a repository that one may not read": func(w *world) (string, string) { return w.server.URL("closed"), "dev" },
		"a server that does not answer":      func(*world) (string, string) { return "http://127.0.0.1:1/out", "dev" },
		"a branch that is not there":         func(w *world) (string, string) { return w.server.URL("out"), "dve" },
		"a repository that is empty":         func(w *world) (string, string) { return w.server.URL("empty"), "dev" },
		"a repository of others":             func(w *world) (string, string) { return w.server.URL("others"), "main" },
	} {
		for _, began := range []string{had, isNew} {
			if began == isNew && !strings.HasSuffix(name, "that is not there") {
				continue
			}
			t.Run(name+", "+began, func(t *testing.T) {
				w := newWorld(t, scaffold.Branches, "dev", "prod")
				w.server.Create("empty")
				w.server.Create("closed")
				w.server.Inject("closed", gittest.Fault{Status: http.StatusForbidden})
				w.fillOthers()
				d := w.begin(w.data)
				if began == had {
					d.cycle()
					w.letIn("dev", "prod")
					d.cycle()
				}
				repo, branch := mistake(w)
				w.move(repo, branch, ".")
				lines := d.passMinutes(3)
				if s := d.state("dev"); s.Output.Repo == w.server.URL("out") && s.State == status.InSync {
					t.Fatalf("dev is %s: %s", s.State, s.Reason)
				}
				if twice := linesAbove(lines, "WARN", repo); len(twice) > 0 {
					t.Errorf("what stops dev is logged twice:\n%s", strings.Join(twice, "\n"))
				}
				w.move(w.server.URL("out"), "dev", ".")
				d.passMinutes(1)
				for _, line := range d.passMinutes(8) {
					t.Errorf("after it is mended, the log says %s", line)
				}
				if s := d.state("dev"); s.State != status.Proposed && s.State != status.InSync || len(s.Removals) > 0 {
					t.Errorf("dev is %s: %s; to be removed is %v", s.State, s.Reason, s.Removals)
				}
				if refs := gittest.Refs(t, w.server.Dir("others")); refs["refs/heads/fairlead/dev"] != "" {
					t.Errorf("others have %v", refs)
				}
				for _, r := range d.store.Snapshot().Remotes {
					if r.Error != "" {
						t.Errorf("%s is still asked: %s", r.URL, r.Error)
					}
				}
			})
		}
	}
}

// fillOthers makes a repository that others use.
func (w *world) fillOthers() {
	w.Helper()
	w.server.Create("others")
	work := w.server.Work(w, "others")
	work.Write("README.md", "ours\n")
	work.Commit("begin")
	work.Push("main")
}

// TestLeftRepositoryFails: output that an environment has left in a repository that cannot be
// read any more is one line of the status, with what a person has to do, and one warning; the
// removal is proposed when the repository answers again. If nothing was ever written there, there
// is nothing to say.
func TestLeftRepositoryFails(t *testing.T) {
	const gone, not, down, moves, leaves = "gone", "not allowed", "down", "it moves", "it leaves"
	const output, proposal, nothing = "output", "a proposal", "nothing"
	faults := map[string]gittest.Fault{gone: {Status: http.StatusNotFound}, not: {Status: http.StatusForbidden}, down: {Reset: true}}
	for _, c := range []struct{ fault, how, there string }{
		{gone, moves, output}, {not, moves, output}, {down, moves, output}, {gone, leaves, output}, {down, leaves, output},
		{gone, moves, proposal}, {not, leaves, proposal},
		{gone, moves, nothing}, {down, moves, nothing}, {not, leaves, nothing},
	} {
		t.Run(fmt.Sprintf("%s, %s, there is %s", c.fault, c.how, c.there), func(t *testing.T) {
			leave := func(w *world) { w.move(w.server.URL("out"), "dev", ".") }
			if c.how == leaves {
				leave = func(w *world) { w.remove("dev") }
			}
			leftRepositoryFails(t, faults[c.fault], leave, c.there)
		})
	}
}

func leftRepositoryFails(t *testing.T, fault gittest.Fault, leave func(w *world), there string) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.more += "merge: {dev: direct, prod: direct}\n"
	w.fillOthers()
	gittest.Git(t, w.server.Dir("out"), "push", "-q", w.server.Dir("others"), "dev")
	repo := w.server.URL("others")
	w.move(repo, map[string]string{"output": "dev", "a proposal": "main", "nothing": "none"}[there], ".")
	d := w.begin(w.data)
	d.cycle()
	want := map[string]status.State{"output": status.InSync, "a proposal": status.Proposed, "nothing": status.Problems}[there]
	if s := d.state("dev"); s.Output.Repo != repo || s.State != want {
		t.Fatalf("dev is %s in %s: %s", s.State, s.Output.Repo, s.Reason)
	}
	remove := w.server.Inject("others", fault)
	leave(w)
	lines := d.passMinutes(8)
	if said := linesAbove(lines, "WARN", ""); len(said) > 1 {
		t.Errorf("the log has\n%s", strings.Join(said, "\n"))
	}
	said := d.saysOf("dev", "Fairlead cannot read the repository of that output (fetch "+repo, "): restore its access, or restart Fairlead if the repository is gone for good")
	if want := there != "nothing"; want != (said == 1) {
		t.Errorf("the status has it %d times: %+v", said, d.store.Snapshot().Environments)
	}
	remove()
	d.passMinutes(8)
	refs := gittest.Refs(t, w.server.Dir("others"))
	if removals := refsUnder(refs, "refs/heads/fairlead/change/removal/dev-"); len(removals) > 0 != (there == "output") || refs["refs/heads/fairlead/dev"] != "" {
		t.Errorf("when it answers again, it has %v; the log:\n%s", refs, w.logs.String())
	}
}

// saysOf counts the sentences of the status, of what an environment has left, that have some parts.
func (d *daemon) saysOf(environment string, parts ...string) (n int) {
	for _, e := range d.store.Snapshot().Environments {
		if e.Name != environment {
			continue
		}
		sentences := []string{e.Reason}
		for _, r := range e.Removals {
			sentences = append(sentences, r.String())
		}
		for _, sentence := range sentences {
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(sentence, p) }) {
				n++
			}
		}
	}
	return n
}
