package loop_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestRounds: what Kalypso does from one round to the next, and where we do better.
// The files of each case are those that differ from the fleet that all share: those
// of 1/ at first, those of 2/ later. "between" says what a person does then.
func TestRounds(t *testing.T) {
	golden.Run(t, "testdata/rounds/*.txtar", func(t *testing.T, c *golden.Case) {
		w := newWorld(t, scaffold.Branches, "dev")
		w.server.Create("quay")
		shared, err := txtar.ParseFile("testdata/fleet.txtar")
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range shared.Files {
			files[f.Name] = string(f.Data)
		}
		d := w.begin(w.data)
		var told strings.Builder
		for round := 1; round <= 2; round++ {
			for name, e := range c.Tree(t, fmt.Sprint(round)).Walk() {
				files[name] = string(e.Data)
			}
			w.publish(files)
			d.cycle()
			fmt.Fprintf(&told, "=== round %d\n%s", round, d.tell())
			d.quiet("cp", "out", "quay")
			if round == 1 {
				w.between(strings.TrimSpace(c.Text("between")))
			}
		}
		c.Want(t, "told", told.String())
	})
}

// publish makes the branches of the control plane, and the workloads' repository,
// hold these files.
func (w *world) publish(files map[string]string) {
	w.Helper()
	for _, layer := range []struct{ folder, repo, branch string }{{"base", "cp", "main"}, {"env", "cp", "dev"}, {"workloads", "quay", "main"}} {
		people := w.server.Work(w, layer.repo)
		people.Switch(layer.branch)
		gittest.Git(w, people.Dir, "rm", "-rfq", "--ignore-unmatch", ".")
		base := ""
		if layer.folder == "env" {
			base = gittest.Git(w, w.server.Dir("cp"), "rev-parse", "main")
		}
		for name, text := range files {
			if path, ok := strings.CutPrefix(name, layer.folder+"/"); ok {
				people.Write(path, strings.NewReplacer("SERVER", strings.TrimSuffix(w.server.URL(""), "/.git"), "BASE", base).Replace(text))
			}
		}
		people.Commit("round")
		people.Push(layer.branch)
	}
}

// between does what a person does between two rounds.
func (w *world) between(what string) {
	w.Helper()
	switch what {
	case "merge":
		w.merge("dev")
	case "close":
		if err := w.plain("out").ClosePull(context.Background(), w.open("dev").Number, "not now"); err != nil {
			w.Fatal(err)
		}
	case "":
	default:
		w.Fatalf("nobody knows how to %s", what)
	}
}

// tell gives what people see of dev: its state, all pull requests and all issues.
func (d *daemon) tell() string {
	d.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "dev is %s\n", d.state("dev").State)
	pulls, err := d.plain("out").AllPulls()
	if err != nil {
		d.Fatal(err)
	}
	for _, p := range pulls {
		labels := ""
		if len(p.Labels) > 0 {
			labels = " (" + strings.Join(p.Labels, ", ") + ")"
		}
		fmt.Fprintf(&b, "pull request %d is %s: %s%s\n", p.Number, p.State, p.Title, labels)
		if p.State == forge.Open {
			for _, name := range strings.Fields(gittest.Git(d, d.server.Dir("out"), "diff", "--name-only", p.Base, p.Head)) {
				fmt.Fprintf(&b, "  %s\n", filepath.ToSlash(name))
			}
		}
	}
	for _, issue := range append(d.issues(d.sharedMark()), d.issues("dev")...) {
		state, rest, _ := strings.Cut(issue, " ")
		number, text, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&b, "issue %s is %s: %s", number, state, text)
	}
	return b.String()
}

// TestProgress: a cycle says what it does, and for how many environments that is done.
func TestProgress(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "stage", "prod")
	var mu sync.Mutex
	last := map[string]string{}
	var order []string
	d := w.begin(w.data, func(o *loop.Options) {
		o.Progress = func(what string, done, total int) {
			mu.Lock()
			defer mu.Unlock()
			if last[what] == "" {
				order = append(order, what)
			}
			last[what] = max(last[what], fmt.Sprintf("%d of %d", done, total)) // calls may overtake each other
		}
	})
	d.cycle()
	want := []string{"poll the repositories", "read the control plane", "render", "compare the outputs", "evaluate proof and gates"}
	if !slices.Equal(order, want) {
		t.Errorf("the cycle does %q, want %q", order, want)
	}
	for what, count := range map[string]string{"render": "3 of 3", "compare the outputs": "3 of 3", "read the control plane": "0 of 0"} {
		if last[what] != count {
			t.Errorf("%s ends with %s, want %s", what, last[what], count)
		}
	}
}
