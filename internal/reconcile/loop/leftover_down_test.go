package loop_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// restarts are how a daemon begins again after it was down.
var restarts = map[string]func(w *world) *daemon{
	"restarted": func(w *world) *daemon { return w.begin(w.data) },
	"data lost": func(w *world) *daemon { return w.begin(w.TempDir()) },
}

// openIssue reports whether an issue of an environment is open.
func (w *world) openIssue(environment string) bool {
	w.Helper()
	all, err := w.plain("out").Issues(w.Context(), "problems of "+environment)
	if err != nil {
		w.Fatal(err)
	}
	return slices.ContainsFunc(all, func(i forge.Issue) bool { return i.Open })
}

// TestIssueOfLeftEnvironment: an environment that left while no daemon ran, and that never had
// output, has its issue closed all the same, unless it belongs to others.
func TestIssueOfLeftEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		settings string
		remove   bool
		want     bool // the issue is open
	}{
		"it left":                             {"", true, false},
		"it is there":                         {"", false, true},
		"it left, and the settings list it":   {"environments: [dev, prod]\n", true, false},
		"it left, and belongs to others":      {"environments: [dev]\n", true, true},
		"it is there, and belongs to others":  {"environments: [dev]\n", false, true},
		"it is there, and the settings do so": {"environments: [dev, prod]\n", false, true},
	} {
		for how, begin := range restarts {
			t.Run(name+", "+how, func(t *testing.T) {
				w := newWorld(t, scaffold.Branches, "dev", "prod")
				w.breaks("prod")
				d := w.begin(w.data)
				d.cycle()
				d.Close()
				if refs := gittest.Refs(t, w.server.Dir("out")); !w.openIssue("prod") || refs["refs/heads/fairlead/prod"] != "" {
					t.Fatalf("there is no issue, or more than that: %v", refs)
				}
				w.more += test.settings
				if test.remove {
					w.remove("prod")
				}
				d = begin(w)
				for range 3 {
					d.cycle()
				}
				if open := w.openIssue("prod"); open != test.want {
					t.Errorf("the issue is open: %v; the log:\n%s", open, w.logs.String())
				}
			})
		}
	}
}

// TestRecordOfLeftEnvironment: the pull request that proposes a commit of the base for an
// environment that leaves is closed, and its branch goes, whether or not a daemon runs, and
// also while the Promotion has the name still; a commit of a person keeps the branch.
func TestRecordOfLeftEnvironment(t *testing.T) {
	none := func(*world) {}
	for name, test := range map[string]struct {
		before func(w *world)
		listed bool // by the Promotion, still
		down   bool
		kept   bool // the pull request, and so the branch
		branch bool // the branch only
	}{
		"running":                     {none, false, false, false, false},
		"daemon down":                 {none, false, true, false, false},
		"the Promotion lists it":      {none, true, true, false, false},
		"the settings list it":        {func(w *world) { w.more += "environments: [dev, stage]\n" }, false, true, false, false},
		"the settings do not list it": {func(w *world) { w.more += "environments: [dev]\n" }, false, true, true, true},
		"a person has committed": {func(w *world) {
			w.people.Pull(recordBranch)
			onRecord["a commit"].do(w)
			w.people.Push(recordBranch)
		}, false, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two("record: pull-request, gates: [approval: {}]"), "dev", "stage")
			w.changeNow(1)
			d := w.begin(w.data)
			d.settle("dev", "stage")
			if w.head("cp", recordBranch) == "" {
				t.Fatal("no record is proposed")
			}
			if test.down {
				d.Close()
			}
			test.before(w)
			w.remove("stage")
			if !test.listed {
				w.edit("main", promotionFile, "- {name: stage, after: [dev], merge: direct, proof: [], record: pull-request, gates: [approval: {}]}", "")
			}
			if test.down {
				d = w.begin(w.TempDir())
			}
			d.cycle()
			d.cycle()
			if _, there := gittest.Refs(t, w.server.Dir("cp"))["refs/heads/"+recordBranch]; there != test.branch {
				t.Errorf("the branch is there: %v; the log:\n%s", there, w.logs.String())
			}
			all, err := w.plain("cp").AllPulls()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range all {
				if open := p.State == forge.Open; p.Head == recordBranch && (open != test.kept || !open && !strings.Contains(p.Reason, "The environment stage is no longer in the control plane.")) {
					t.Errorf("the pull request is %s: %s", p.State, p.Reason)
				}
			}
		})
	}
}

// TestEphemeralLeftWhileDown: an ephemeral environment whose branch is deleted while no daemon
// runs has its pull request and its issue closed, and the branch of the proposal goes. The
// removal of the output that it has is proposed; a person merges it.
func TestEphemeralLeftWhileDown(t *testing.T) {
	for name, before := range map[string]func(w *world, d *daemon){
		"in sync": func(w *world, d *daemon) { d.cycle() },
		"a change proposed": func(w *world, d *daemon) {
			w.edit("ephemeral/pr-7", "cluster-types/cloud.yaml", "metadata:", "metadata:\n  annotations: {a: b}")
			w.more += "merge: {pr-7: manual}\n"
			d.Settings().Merge = map[string]string{"pr-7": "manual"}
			w.change(7)
			d.cycle()
			if len(w.openOf("pr-7")) == 0 {
				w.Fatalf("nothing is proposed; the log:\n%s", w.logs.String())
			}
		},
		"problems": func(w *world, d *daemon) {
			d.cycle()
			w.breaks("ephemeral/pr-7")
			d.cycle()
			if !w.openIssue("pr-7") {
				w.Fatalf("there is no issue; the log:\n%s", w.logs.String())
			}
		},
	} {
		for shape, at := range shapes {
			t.Run(name+", "+shape, func(t *testing.T) {
				w := newWorld(t, at.layout, "dev")
				d := w.begin(w.data)
				d.cycle()
				w.merge("dev")
				w.clone("pr-7", 480*time.Hour)
				d.cycle()
				before(w, d)
				d.Close()
				gittest.Git(t, w.server.Dir("cp"), "update-ref", "-d", "refs/heads/ephemeral/pr-7")
				d = w.begin(w.TempDir())
				for range 3 {
					d.cycle()
					w.letIn("dev")
				}
				kept := w.below(at.branch("dev"), at.folder("dev"))
				if refs := w.branches("out"); refs["fairlead/pr-7"] != "" || w.openIssue("pr-7") || len(w.openOf("pr-7")) > 0 {
					t.Errorf("there is still %v, open are %+v; the log:\n%s", refs, w.openOf("pr-7"), w.logs.String())
				}
				pulls := w.openOf("removal of pr-7")
				if len(pulls) != 1 || pulls[0].Base != at.branch("pr-7") {
					t.Fatalf("of the removal are open %+v; the log:\n%s", pulls, w.logs.String())
				}
				if err := w.plain("out").MergePull(t.Context(), pulls[0].Number, pulls[0].Commit); err != nil {
					t.Fatal(err)
				}
				d.cycle()
				d.cycle()
				for file := range w.below(at.branch("pr-7"), at.folder("pr-7")) {
					if strings.HasSuffix(file, ".yaml") {
						t.Errorf("%s is still there", file)
					}
				}
				if now := w.below(at.branch("dev"), at.folder("dev")); len(now) != len(kept) {
					t.Errorf("dev has %d files, and had %d", len(now), len(kept))
				}
				d.want(map[string]status.State{"dev": status.InSync})
			})
		}
	}
}

// TestMovedWhileUnreadable: of an environment that cannot be read in the first round after a
// restart, what it has left is found once it can be.
func TestMovedWhileUnreadable(t *testing.T) {
	for how, begin := range restarts {
		t.Run(how, func(t *testing.T) {
			w, d := settled(t, scaffold.Branches)
			d.Close()
			w.more += "output: {create: true}\n"
			unreadableOf(w, "dev")
			d = begin(w)
			d.cycle()
			if s := d.state("dev"); s.State != status.Problems {
				t.Fatalf("dev is %s", s.State)
			}
			w.move(w.server.URL("out"), "other", ".")
			for range 2 {
				d.cycle()
				w.letIn("dev")
			}
			d.cycle()
			d.cycle()
			if open := w.openOf("removal of dev"); len(open) != 1 || open[0].Base != "dev" {
				t.Errorf("of the removal are open %+v; the log:\n%s", open, w.logs.String())
			}
			d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
		})
	}
}
