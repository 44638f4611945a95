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

// pullsOf returns the pull requests of the GitOps repository with a mark, newest first.
func (w *world) pullsOf(mark string) []forge.Pull {
	w.Helper()
	all, err := w.plain("out").AllPulls()
	if err != nil {
		w.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p forge.Pull) bool { return p.Mark != mark })
}

// remove has a person remove an environment from the control plane.
func (w *world) remove(environment string) {
	w.Helper()
	w.people.Pull("main")
	w.people.Remove(".environments/" + environment + ".yaml")
	w.people.Commit(environment + " is gone")
	w.people.Push("main")
}

// breaks has a person make a mistake on an environment's branch.
func (w *world) breaks(environment string) {
	w.Helper()
	w.edit(environment, "cluster-types/cloud.yaml", "kind: ClusterType", "kind: ClusterTypo")
}

// TestEnvironmentLeaves: an environment that is removed from the control plane, in whatever state
// and whether or not a daemon runs: its pull request, its branch and its issue go, and the
// removal of its output is proposed, which only a person merges.
func TestEnvironmentLeaves(t *testing.T) {
	restart := func(w *world, d *daemon, leave func()) *daemon {
		d.Close()
		leave()
		return w.begin(w.data)
	}
	anew := func(w *world, d *daemon, leave func()) *daemon {
		d.Close()
		leave()
		return w.begin(w.TempDir())
	}
	running := func(_ *world, d *daemon, leave func()) *daemon {
		leave()
		return d
	}
	for name, test := range map[string]struct {
		before func(w *world, d *daemon) // what is so when it leaves
		how    func(w *world, d *daemon, leave func()) *daemon
	}{
		"in sync":                                            {nil, running},
		"in sync, daemon down":                               {nil, restart},
		"in sync, data lost":                                 {nil, anew},
		"a change proposed":                                  {proposed, running},
		"a change proposed, daemon down":                     {proposed, restart},
		"a change proposed, data lost":                       {proposed, anew},
		"problems":                                           {inProblems, running},
		"problems, daemon down":                              {inProblems, restart},
		"problems and a change proposed":                     {proposedInProblems, running},
		"both, and the daemon down":                          {proposedInProblems, anew},
		"its branch is gone as well":                         {nil, func(w *world, d *daemon, leave func()) *daemon { leave(); w.people.Push(":prod"); return d }},
		"nothing can be read of its output":                  {unreadable, running},
		"the settings list it":                               {listed, running},
		"the settings list it, daemon down":                  {listed, restart},
		"the settings list it, a change proposed, data lost": {func(w *world, d *daemon) { listed(w, d); proposed(w, d) }, anew},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev", "prod")
			w.more += "merge: {dev: direct, prod: direct}\n"
			d := w.begin(w.data)
			d.cycle()
			w.letIn("dev", "prod")
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
			kept := gittest.Files(t, w.server.Dir("out"), "dev")
			w.now = w.now.Add(1)
			if test.before != nil {
				test.before(w, d)
			}
			before := w.head("out", "prod")
			d = test.how(w, d, func() { w.remove("prod") })
			for range 4 {
				d.cycle()
			}
			if refs := gittest.Refs(t, w.server.Dir("out")); refs["refs/heads/fairlead/prod"] != "" || refs["refs/heads/prod"] != before {
				t.Errorf("the references are %v", refs)
			}
			for _, p := range w.pullsOf("prod") {
				if p.State == forge.Open {
					t.Errorf("pull request %d is open: %s", p.Number, p.Title)
				}
			}
			w.wantNoIssue("prod")
			pulls := w.pullsOf("removal of prod")
			if len(pulls) != 1 || pulls[0].State != forge.Open || !slices.Equal(pulls[0].Labels, []string{"removals"}) || !strings.HasPrefix(pulls[0].Body, "**This removes the whole output of `prod`**") {
				t.Fatalf("of the removal there is %+v; the log:\n%s", pulls, w.logs.String())
			}
			if e := d.state("prod"); e.State != status.Waiting || !strings.Contains(e.Reason, "it is no longer in the control plane: pull request") {
				t.Errorf("prod is %s: %s", e.State, e.Reason)
			}
			f := w.plain("out")
			if err := f.MergePull(t.Context(), pulls[0].Number, pulls[0].Commit); err != nil {
				t.Fatal(err)
			}
			d.cycle()
			d.cycle()
			for file := range gittest.Files(t, w.server.Dir("out"), "prod") {
				if strings.HasSuffix(file, ".yaml") {
					t.Errorf("%s is still there", file)
				}
			}
			if refs := gittest.Refs(t, w.server.Dir("out")); len(refsUnder(refs, "refs/heads/fairlead/")) > 0 {
				t.Errorf("the references are %v", refs)
			}
			d.want(map[string]status.State{"dev": status.InSync})
			if now := gittest.Files(t, w.server.Dir("out"), "dev"); len(now) != len(kept) {
				t.Errorf("dev has %d files, and had %d", len(now), len(kept))
			}
			d.quiet("cp", "out")
		})
	}
}

func refsUnder(refs map[string]string, prefix string) []string {
	var found []string
	for ref := range refs {
		if strings.HasPrefix(ref, prefix) {
			found = append(found, ref)
		}
	}
	return found
}

// letIn merges what is proposed for environments and not merged yet, as a person does.
func (w *world) letIn(environments ...string) {
	w.Helper()
	for _, e := range environments {
		for _, p := range w.pullsOf(e) {
			if p.State == forge.Open {
				w.merge(e)
			}
		}
	}
}

func listed(w *world, d *daemon) {
	w.more += "environments: [dev, prod]\n"
	d.Settings().Environments = []string{"dev", "prod"}
}

func proposed(w *world, d *daemon) {
	w.more = strings.Replace(w.more, "prod: direct", "prod: manual", 1)
	d.Settings().Merge["prod"] = "manual"
	w.change(7)
	d.cycle()
	w.open("prod")
}

func inProblems(w *world, d *daemon) {
	w.breaks("prod")
	d.cycle()
	if s := d.state("prod"); s.State != status.Problems {
		w.Fatalf("prod is %s", s.State)
	}
}

func proposedInProblems(w *world, d *daemon) {
	proposed(w, d)
	inProblems(w, d)
}

func unreadable(w *world, d *daemon) {
	unreadableOf(w, "prod")
	d.cycle()
}

// unreadableOf breaks the file that says where the output of an environment goes.
func unreadableOf(w *world, environment string) {
	w.people.Pull(environment)
	for _, file := range strings.Fields(gittest.Git(w, w.server.Dir("cp"), "grep", "-l", "kind: GitOpsRepo", environment)) {
		w.people.Write(strings.TrimPrefix(file, environment+":"), "{")
	}
	w.people.Commit("a mistake")
	w.people.Push(environment)
}

// wantNoIssue checks that no issue of an environment is open.
func (w *world) wantNoIssue(environment string) {
	w.Helper()
	all, err := w.plain("out").Issues(w.Context(), "problems of "+environment)
	if err != nil {
		w.Fatal(err)
	}
	for _, i := range all {
		if i.Open {
			w.Errorf("the issue %q is open", i.Title)
		}
	}
}
