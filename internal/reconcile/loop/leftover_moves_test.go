package loop_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// once begins a loop that knows nothing, and runs it once, as serve --once does.
func (w *world) once() *daemon {
	w.Helper()
	d := w.begin(w.data)
	d.cycle()
	d.Close()
	return d
}

// openOf returns the open pull requests with a mark.
func (w *world) openOf(mark string) []forge.Pull {
	w.Helper()
	return slices.DeleteFunc(w.pullsOf(mark), func(p forge.Pull) bool { return p.State != forge.Open })
}

// folders returns the top folders of a branch of the output that have manifests.
func (w *world) folders(branch string) []string {
	w.Helper()
	var found []string
	for file := range gittest.Files(w, w.server.Dir("out"), branch) {
		top, _, below := strings.Cut(file, "/")
		if below && !strings.HasPrefix(top, ".") && !slices.Contains(found, top) {
			found = append(found, top)
		}
	}
	slices.Sort(found)
	return found
}

// TestMovedBetweenRootAndFolder: between the root of a branch and a folder of it the old output
// goes with the change, which keeps its pull request however often it is looked at, and says
// what it does. An environment that has left two places is no rival of its own.
func TestMovedBetweenRootAndFolder(t *testing.T) {
	w, d := settled(t, scaffold.Branches)
	d.Close()
	root, out := w.folders("dev"), w.server.URL("out")
	steps := []struct {
		folder, from string
		want         []string
	}{
		{"sub", "from the root of the branch to the folder sub", []string{"sub"}},
		{".", "from the folder sub to the root of the branch", root},
		{"sub/deeper", "from the root of the branch to the folder sub/deeper", []string{"sub"}},
	}
	for _, step := range steps {
		w.move(out, "dev", step.folder)
		w.once()
		first := w.openOf("dev")
		for range 3 {
			w.once()
		}
		now := w.openOf("dev")
		if len(first) != 1 || len(now) != 1 || first[0].Number != now[0].Number || first[0].Commit != now[0].Commit {
			t.Fatalf("%s: open was %+v, and is %+v; the log:\n%s", step.folder, first, now, w.logs.String())
		}
		if p := now[0]; !strings.Contains(p.Body, step.from) || strings.Contains(p.Body, "no change") || !strings.Contains(p.Title, "REMOVE its output from") {
			t.Errorf("%s: the pull request %q says\n%s", step.folder, p.Title, p.Body)
		}
		w.merge("dev")
		d := w.once()
		d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
		if got := w.folders("dev"); !slices.Equal(got, step.want) {
			t.Errorf("%s: the folders are %v, want %v", step.folder, got, step.want)
		}
	}
	// Two places are left before the first of them goes.
	w.move(out, "dev", "sub")
	w.once()
	w.move(out, "dev", ".")
	w.once()
	if d := w.once(); d.state("dev").State != status.Proposed || strings.Contains(w.logs.String(), "panic") {
		t.Errorf("dev is %s: %s", d.state("dev").State, d.state("dev").Reason)
	}
}

// TestLeftInTwoPlaces: an environment that has output in two places which it has left is
// looked at once, and is not in its own way.
func TestLeftInTwoPlaces(t *testing.T) {
	w, d := settled(t, scaffold.Branches)
	d.Close()
	dir, out := w.server.Dir("out"), w.server.URL("out")
	old := gittest.Git(t, dir, "rev-parse", "dev^{tree}")
	w.move(out, "dev", "sub")
	w.once()
	w.merge("dev")
	w.once()
	people := w.server.Work(t, "out") // somebody brings the old output back
	people.Switch("dev")
	people.Pull("dev")
	gittest.Git(t, people.Dir, "read-tree", "--reset", "-u", old)
	gittest.Git(t, people.Dir, "read-tree", "--prefix=sub/", gittest.Git(t, dir, "rev-parse", "dev:sub"))
	gittest.Git(t, people.Dir, "checkout-index", "-a", "-f")
	people.Commit("both")
	people.Push("dev")
	w.move(out, "dev", "sub/deeper")
	for range 2 {
		d = w.once()
	}
	if s := d.state("dev"); s.State != status.Proposed || strings.Contains(w.logs.String(), "panic") {
		t.Fatalf("dev is %s: %s %v; the log:\n%s", s.State, s.Reason, s.Problems, w.logs.String())
	}
	w.merge("dev")
	w.once().want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
}

// TestMovedBack: what removes the output of an environment from a place is withdrawn as soon as
// the output goes there again, and is proposed only once the new place has the output.
func TestMovedBack(t *testing.T) {
	for name, restarted := range map[string]bool{"running": false, "restarted": true} {
		for how, leave := range map[string]func(w *world, merge func()){
			"not yet merged": func(w *world, _ func()) { w.move(w.server.URL("out"), "other", ".") },
			"merged":         func(w *world, merge func()) { w.move(w.server.URL("out"), "other", "."); merge() },
			"gone":           func(w *world, _ func()) { w.remove("dev") },
		} {
			t.Run(how+", "+name, func(t *testing.T) {
				w, d := settled(t, scaffold.Branches)
				d.Close()
				w.more += "output: {create: true}\n"
				d = w.begin(w.data)
				cycle := func() {
					if restarted {
						d.Close()
						d = w.begin(w.data)
					}
					d.cycle()
				}
				cycle()
				file := gittest.Show(t, w.people.Dir, "main", ".environments/dev.yaml")
				leave(w, func() { cycle(); w.merge("dev"); cycle() })
				cycle()
				cycle()
				want := 1
				if how == "not yet merged" {
					want = 0 // the old place is all that clusters have
				}
				if open := w.openOf("removal of dev"); len(open) != want {
					t.Fatalf("of the removal are open %+v; the log:\n%s", open, w.logs.String())
				}
				if how == "gone" {
					w.people.Pull("main")
					w.people.Write(".environments/dev.yaml", file)
					w.people.Commit("dev is back")
					w.people.Push("main")
				} else {
					w.move(w.server.URL("out"), "dev", ".")
				}
				cycle()
				for _, p := range w.openOf("removal of dev") {
					if p.Base == "dev" {
						t.Errorf("pull request %d is open still: %s", p.Number, p.Title)
					}
				}
				d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
				d.Close()
			})
		}
	}
}
