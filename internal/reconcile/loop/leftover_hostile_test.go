package loop_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestHostileEnvironmentKeepsNobodyElse: what is wrong with one environment, or with one branch,
// concerns no other one, also for a daemon that has lost its data folder: prod gets its change,
// and what qa has left is proposed to be removed.
func TestHostileEnvironmentKeepsNobodyElse(t *testing.T) {
	const mark = "removal of qa"
	const elsewhere = "it has left as well, and its branch is on a server that fails"
	hostile := func(repo, branch string) func(w *world) {
		return func(w *world) { w.pushHostileTree(repo, branch) }
	}
	path := func(path string) func(w *world) {
		return func(w *world) { w.move(w.server.URL("out"), "dev", path) }
	}
	for name, attack := range map[string]func(w *world){
		"nothing":                                func(*world) {},
		"a hostile tree on its branch":           hostile("cp", "dev"),
		"a hostile tree in its output":           hostile("out", "dev"),
		"a hostile tree on a new branch":         hostile("out", "a-new-one"),
		"a hostile tree among the proposals":     hostile("out", "fairlead/dev"),
		"a hostile tree in the base, mended":     func(w *world) { w.pushHostileTree("cp", "main"); w.mend("cp", "main") },
		"a hostile tree on its branch, mended":   func(w *world) { w.pushHostileTree("cp", "dev"); w.mend("cp", "dev") },
		"the control plane as output, a hostile": func(w *world) { w.move(w.server.URL("cp"), "main", "."); w.pushHostileTree("cp", "a-new-one") },
		"the path .":                             path("."),
		"the path ../../..":                      path("../../.."),
		"the path .git":                          path(".git"),
		elsewhere: func(w *world) {
			w.remove("dev")
			w.server.Inject("own", gittest.Fault{Status: http.StatusInternalServerError})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev", "prod", "qa")
			w.more += "merge: {dev: direct, prod: direct, qa: direct}\n"
			if name == elsewhere {
				w.ownRepository("dev", "own")
			}
			d := w.begin(w.data)
			d.cycle()
			w.letIn("dev", "prod", "qa")
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync, "qa": status.InSync})
			d.Close()

			w.remove("qa")
			attack(w)
			w.edit("prod", "cluster-types/cloud.yaml", "labels:", "labels:\n    new: label")
			want := w.head("cp", "prod")
			d = w.begin(t.TempDir())
			for range 2 {
				d.cycle()
			}
			s := d.state("prod")
			if i := s.Inputs; s.State != status.InSync || !strings.Contains(fmt.Sprint(i), want) {
				t.Errorf("prod is %s of %v: %s", s.State, i, s.Reason)
			}
			if pulls := w.pullsOf(mark); len(pulls) != 1 || pulls[0].State != forge.Open {
				t.Errorf("of the removal of qa there is %v; the log:\n%s", pulls, w.logs.String())
			}
		})
	}
}

// TestHostileBaseIsPassed: a commit of the base whose tree cannot be read stops no promotion of
// the commits after it.
func TestHostileBaseIsPassed(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n", "dev")
	d := w.begin(w.data)
	d.cycle()
	w.pushHostileTree("cp", "main")
	w.mend("cp", "main")
	want := w.change(7)
	d.cycle()
	d.cycle()
	w.wantRecords(map[string]string{"dev": want})
}

// ownRepository has an environment's branch be in a repository of its own.
func (w *world) ownRepository(environment, repo string) {
	w.Helper()
	w.server.Create(repo)
	gittest.Git(w, w.server.Dir("cp"), "push", "-q", w.server.Dir(repo), environment)
	w.edit("main", ".environments/"+environment+".yaml", w.server.URL("cp"), w.server.URL(repo))
}

// pushHostileTree pushes to a branch, which it makes if need be, a commit whose tree names a
// submodule ".": Git itself would not write it.
func (w *world) pushHostileTree(repo, branch string) {
	w.Helper()
	dir := w.server.Dir(repo)
	parent := gittest.Refs(w, dir)["refs/heads/"+branch]
	if parent == "" {
		parent = gittest.Refs(w, dir)["refs/heads/prod"]
	}
	write := exec.CommandContext(w.Context(), "git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	write.Dir, write.Stdin = dir, strings.NewReader("160000 .\x00"+strings.Repeat("1", 20))
	tree, err := write.Output()
	if err != nil {
		w.Fatal(err)
	}
	w.commitTree(repo, branch, parent, strings.TrimSpace(string(tree)))
}

// mend has a branch hold what it held before the last commit.
func (w *world) mend(repo, branch string) {
	w.Helper()
	w.commitTree(repo, branch, "refs/heads/"+branch, "refs/heads/"+branch+"^^{tree}")
}

// commitTree commits a tree, whatever it holds.
func (w *world) commitTree(repo, branch, parent, tree string) {
	w.Helper()
	dir := w.server.Dir(repo)
	commit := gittest.Git(w, dir, "-c", "user.name=a", "-c", "user.email=a@git.example", "commit-tree", "-p", parent, "-m", "A tree", gittest.Git(w, dir, "rev-parse", tree))
	gittest.Git(w, dir, "update-ref", "refs/heads/"+branch, commit)
}
