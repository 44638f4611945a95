package loop_test

import (
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// desk is where a person makes ephemeral environments.
func (w *world) desk() *ephemeral.Client {
	w.Helper()
	d, err := ephemeral.Open(w.Context(), ephemeral.Options{
		ControlPlane: w.place, Mirrors: &repos.Mirrors{Dir: w.TempDir()}, Author: git.Signature{Name: "person", Email: "person@localhost"},
		Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// clone makes an ephemeral environment from dev.
func (w *world) clone(name string, ttl time.Duration) {
	w.Helper()
	if _, err := w.desk().Create(w.Context(), ephemeral.Creation{Name: name, From: "dev", TTL: ttl}); err != nil {
		w.Fatal(err)
	}
}

// below gives the files of a folder of a branch of the GitOps repository.
func (w *world) below(branch, folder string) map[string]string {
	w.Helper()
	found := map[string]string{}
	for file, text := range gittest.Files(w, w.server.Dir("out"), branch) {
		if rest, ok := strings.CutPrefix(file, folder+"/"); ok || folder == "" {
			if folder == "" {
				rest = file
			}
			found[rest] = text
		}
	}
	return found
}

// branches gives the branches of a repository and their commits.
func (w *world) branches(repo string) map[string]string {
	w.Helper()
	all := map[string]string{}
	for line := range strings.Lines(gittest.Git(w, w.server.Dir(repo), "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" {
			all[name] = id
		}
	}
	return all
}

// shapes are where outputs go: dev's, and that of an environment that is made from it.
var shapes = map[string]struct {
	layout         scaffold.Layout
	branch, folder func(name string) string
}{
	"branches": {scaffold.Branches, func(n string) string {
		if n != "dev" {
			n = "ephemeral/" + n
		}
		return n
	}, func(string) string { return "" }},
	"folders": {scaffold.Folders, func(string) string { return "main" }, func(n string) string { return "clusters/" + n }},
}

// TestEphemeral is the life of an ephemeral environment: made, rendered, extended, over,
// and gone without a trace.
func TestEphemeral(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shape.layout, "dev")
			d := w.begin(w.data)
			d.cycle()
			w.merge("dev")
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync})
			cp, out, dev := w.branches("cp"), w.branches("out"), w.below(shape.branch("dev"), shape.folder("dev"))

			w.clone("pr-7", 48*time.Hour)
			d.cycle()
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync, "pr-7": status.InSync})
			d.quiet("cp", "out")
			now := w.branches("cp")
			delete(now, "ephemeral/pr-7")
			if diff := cmp.Diff(cp, now); diff != "" {
				t.Errorf("other branches of the control plane have moved (-want +got):\n%s", diff)
			}
			copied := w.below(shape.branch("pr-7"), shape.folder("pr-7"))
			if diff := cmp.Diff(rendered(dev), rendered(copied)); diff != "" {
				t.Errorf("it is not what dev is (-dev +pr-7):\n%s", diff)
			}

			w.now = w.now.Add(42 * time.Hour)
			d.cycle()
			if got := fmt.Sprint(d.state("pr-7").Problems); !strings.Contains(got, "it ends at 2026-03-03T11:00:00Z") {
				t.Errorf("a day before the end nothing is said of it: %s", got)
			}
			d.quiet("cp", "out")
			if _, err := w.desk().Extend(t.Context(), "pr-7", 24*time.Hour); err != nil {
				t.Fatal(err)
			}
			d.cycle()
			if got := d.state("pr-7").Problems; len(got) != 0 {
				t.Errorf("it was extended, and still has %v", got)
			}
			w.now = w.now.Add(28 * time.Hour)
			d.cycle()
			d.cycle()
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync})
			d.quiet("cp", "out")
			if diff := cmp.Diff(cp, w.branches("cp")); diff != "" {
				t.Errorf("the control plane has changed (-want +got):\n%s", diff)
			}
			if shape.layout == scaffold.Branches {
				if diff := cmp.Diff(out, w.branches("out")); diff != "" {
					t.Errorf("the outputs have changed (-want +got):\n%s", diff)
				}
			}
			if left := w.branches("out"); left["fairlead/pr-7"] != "" || left["fairlead/change/ephemeral/pr-7"] != "" {
				t.Errorf("there are still branches of ours: %v", left)
			}
			if left := w.below(shape.branch("dev"), "clusters/pr-7"); len(left) > 0 {
				t.Errorf("there is still %v", left)
			}
			if diff := cmp.Diff(dev, w.below(shape.branch("dev"), shape.folder("dev"))); diff != "" {
				t.Errorf("dev has changed (-want +got):\n%s", diff)
			}
		})
	}
}

// rendered gives the files of cluster types.
func rendered(files map[string]string) map[string]string {
	all := maps.Clone(files)
	maps.DeleteFunc(all, func(file, _ string) bool {
		return strings.HasPrefix(file, ".") || !strings.Contains(file, "/") || strings.HasPrefix(file, "flux-system/")
	})
	return all
}

// TestEphemeralKilled ends the daemon at every step of removing an environment. What is
// there in the end is the same.
func TestEphemeralKilled(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shape.layout, "dev")
			w.life(w.data)
			w.merge("dev")
			w.clone("pr-7", 48*time.Hour)
			w.more += "merge: {pr-7: manual}\n"
			w.life(w.data)
			if shape.layout == scaffold.Folders { // there is an output, and an open pull request as well
				w.merge("pr-7")
				w.edit("ephemeral/pr-7", "configs/environment.yaml", "LOG_LEVEL: debug", "LOG_LEVEL: trace")
				w.life(w.data)
			}
			w.more = strings.Replace(w.more, "merge: {pr-7: manual}\n", "", 1)
			w.now = w.now.Add(50 * time.Hour)
			before := w.save()
			finish := func() map[string]string {
				for range 4 {
					w.life(w.data)
				}
				all := w.branches("cp")
				for branch, head := range w.branches("out") {
					all["out "+branch] = gittest.Git(t, w.server.Dir("out"), "rev-parse", head+"^{tree}")
				}
				return all
			}
			want := finish()
			if want["ephemeral/pr-7"] != "" || want["out ephemeral/pr-7"] != "" || want["out fairlead/pr-7"] != "" {
				t.Fatalf("it is not gone: %v; the log:\n%s", want, w.logs.String())
			}
			steps := 0
			for step := 1; ; step++ {
				w.restore(before)
				at := w.diesAt(step, w.data)
				if at == "" {
					break
				}
				steps++
				if diff := cmp.Diff(want, finish()); diff != "" {
					t.Errorf("killed before %q (-want +got):\n%s", at, diff)
				}
			}
			if steps < 5 {
				t.Errorf("there were %d steps only", steps)
			}
		})
	}
}

// TestEphemeralRemovedByHand: who deletes the branch has the output removed as well.
func TestEphemeralRemovedByHand(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shape.layout, "dev")
			d := w.begin(w.data)
			w.clone("pr-7", 48*time.Hour)
			d.cycle()
			d.cycle()
			if len(w.below(shape.branch("pr-7"), shape.folder("pr-7"))) == 0 {
				t.Fatal("there is no output")
			}
			gittest.Git(t, w.server.Dir("cp"), "update-ref", "-d", "refs/heads/ephemeral/pr-7")
			d.cycle()
			d.cycle()
			d.cycle()
			left := w.branches("out")
			if left["ephemeral/pr-7"] != "" || left["fairlead/pr-7"] != "" || len(w.below(shape.branch("dev"), "clusters/pr-7")) > 0 {
				t.Errorf("there is still %v; the log:\n%s", left, w.logs.String())
			}
			d.quiet("cp", "out")
		})
	}
}

// TestEphemeralInTheWay: an ephemeral environment that is wrong stops itself, and no
// other one; and nothing is removed that is not its own.
func TestEphemeralInTheWay(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	d.cycle()
	w.merge("dev")
	w.clone("pr-7", 48*time.Hour)
	w.clone("pr-8", 48*time.Hour)
	w.edit("ephemeral/pr-7", "gitops-repo.yaml", "branch: ephemeral/pr-7", "branch: dev")
	w.edit("ephemeral/pr-8", ".fairlead/ephemeral.yaml", "from: dev", "from: elsewhere")
	people := w.people
	people.Pull("ephemeral/pr-7")
	gittest.Git(t, people.Dir, "push", "-q", "origin", "HEAD:refs/heads/ephemeral/dev", "HEAD:refs/heads/ephemeral/copied")
	dev := w.branches("out")["dev"]
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync, "pr-7": status.Problems, "pr-8": status.Problems, "copied": status.Problems})
	for name, want := range map[string]string{
		"pr-7":   "the output of an ephemeral environment goes beside that of dev, and nowhere else",
		"pr-8":   "there is no environment elsewhere that it could be made from",
		"copied": `its name is "pr-7", and that of its branch is "copied"`,
	} {
		if got := fmt.Sprint(d.state(name).Problems); !strings.Contains(got, want) {
			t.Errorf("%s has %s, want %q", name, got, want)
		}
	}
	if want := "there is an environment of this name at"; !strings.Contains(w.logs.String(), want) {
		t.Errorf("of the branch ephemeral/dev nothing is said:\n%s", w.logs.String())
	}
	w.now = w.now.Add(50 * time.Hour)
	for range 3 {
		d.cycle()
	}
	if now := w.branches("out")["dev"]; now != dev {
		t.Errorf("the output of dev was touched: %s, and was %s", now, dev)
	}
	if left := w.branches("cp"); left["ephemeral/pr-7"] != "" || left["ephemeral/pr-8"] == "" {
		t.Errorf("the branches are %v", left)
	}
}

// TestEphemeralSelection: it has those cluster types that were chosen, at the commit of
// the base that was asked for, and nobody promotes to it.
func TestEphemeralSelection(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more = "write: true\n"
	first := w.head("cp", "main")
	w.change(1)
	d := w.begin(w.data)
	d.cycle()
	_, err := w.desk().Create(t.Context(), ephemeral.Creation{
		Name: "pr-7", From: "dev", TTL: time.Hour * 48, Base: first[:10],
		ClusterTypes: model.Selector{Requirements: []model.Requirement{{Key: "location", Operator: model.In, Values: []string{"edge"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.cycle()
	d.cycle()
	if got := d.state("pr-7"); got.ClusterTypes != 1 || d.state("dev").ClusterTypes != 2 {
		t.Errorf("it has %d cluster types, and dev has %d", got.ClusterTypes, d.state("dev").ClusterTypes)
	}
	if got := w.record("ephemeral/pr-7"); got != first {
		t.Errorf("it has commit %s of the base, want %s", got, first)
	}
	for file := range w.below("ephemeral/pr-7", "") {
		if folder, _, _ := strings.Cut(path.Dir(file), "/"); folder != "." && folder != "edge" && !strings.HasPrefix(folder, ".") {
			t.Errorf("there is %s", file)
		}
	}
	if chain := d.store.Snapshot().Chain; len(chain.Stages) != 1 || len(chain.Problems) != 0 {
		t.Errorf("the chain is %+v", chain)
	}
}

// TestEphemeralAgain: one that is made again under its name is proposed, though the pull
// request of the first was closed; and who merges it is said by the settings.
func TestEphemeralAgain(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "merge: {pr-7: manual}\n"
	d := w.begin(w.data)
	for range 2 {
		w.clone("pr-7", time.Hour*48)
		d.cycle()
		if got := d.state("pr-7"); got.State != status.Proposed {
			t.Fatalf("it is %s: %s", got.State, got.Reason)
		}
		w.open("pr-7")
		w.now = w.now.Add(50 * time.Hour)
		d.cycle()
		d.cycle()
		if left := w.branches("out"); left["fairlead/pr-7"] != "" || left["ephemeral/pr-7"] != "" {
			t.Fatalf("there is still %v", left)
		}
	}
}

// TestEphemeralUntouched: while writing is off, or somebody has just extended it, nothing
// of an environment is removed, and its report says why.
func TestEphemeralUntouched(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.clone("pr-7", 48*time.Hour)
	w.life(w.data)
	w.now = w.now.Add(50 * time.Hour)
	w.more = strings.Replace(w.more, "write: true", "write: false", 1)
	d := w.begin(t.TempDir())
	d.cycle()
	if got := d.state("pr-7"); got.State != status.Waiting || !strings.Contains(got.Reason, "writing is off") {
		t.Errorf("it is %s: %s", got.State, got.Reason)
	}
	d.quiet("cp", "out")
	d.Close()
	if left := w.branches("out"); left["ephemeral/pr-7"] == "" || w.branches("cp")["ephemeral/pr-7"] == "" {
		t.Errorf("something was removed: %v", left)
	}
}

// TestEphemeralBesideOthers: what is in the place of its output already is not replaced,
// and not removed when its time is over.
func TestEphemeralBesideOthers(t *testing.T) {
	w := newWorld(t, scaffold.Folders, "dev")
	team := w.server.Work(t, "out")
	team.Pull("main")
	team.Write("clusters/pr-7/edge/hand.yaml", "written: by hand\n")
	team.Commit("a team's own")
	team.Push("main")
	d := w.begin(w.data)
	d.cycle()
	w.merge("dev")
	w.clone("pr-7", 48*time.Hour)
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync, "pr-7": status.Problems})
	if got := fmt.Sprint(d.state("pr-7").Problems); !strings.Contains(got, "there is something in the place of its output already, which is not its own") {
		t.Errorf("pr-7 has %s", got)
	}
	w.now = w.now.Add(50 * time.Hour)
	for range 3 {
		d.cycle()
	}
	want := map[string]string{"edge/hand.yaml": "written: by hand\n"}
	if got := w.below("main", "clusters/pr-7"); !maps.Equal(got, want) {
		t.Errorf("what was written by hand is %v", got)
	}
	if left := w.branches("cp"); left["ephemeral/pr-7"] != "" {
		t.Errorf("the branches are %v", left)
	}
}
