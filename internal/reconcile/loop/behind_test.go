package loop_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestBehindAnotherDaemon: a daemon that has read an input before it changed, and the GitOps
// repository after another daemon proposed what came of the change, leaves that proposal
// alone. One whose commit was taken back is withdrawn.
func TestBehindAnotherDaemon(t *testing.T) {
	for name, change := range map[string]func(w *world, team *gittest.Work){
		"environment": func(w *world, _ *gittest.Work) {
			w.edit("dev", "configs/environment.yaml", "LOG_LEVEL: debug", "LOG_LEVEL: warning")
		},
		"base": func(w *world, _ *gittest.Work) {
			w.people.Pull("main")
			w.people.Write("configs/late.yaml", ownConfig("late", "LATE: \"1\""))
			w.people.Commit("change the base")
			w.people.Push("main")
		},
		"workload": func(_ *world, team *gittest.Work) {
			team.Write("deploy/till.yaml", strings.Replace(workload, "v1}", "v2}", 1))
			team.Commit("release v2")
			team.Push()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			w.register(w.server.Create("till"), "main")
			team := w.server.Work(t, "till")
			team.Write("deploy/till.yaml", workload)
			team.Commit("begin")
			team.Push()
			ahead := w.begin(w.data)
			ahead.cycle()
			w.merge("dev")
			ahead.cycle()
			ahead.want(map[string]status.State{"dev": status.InSync})
			before := map[string]map[string]string{"cp": gittest.Refs(t, w.server.Dir("cp")), "till": gittest.Refs(t, w.server.Dir("till"))}

			changed := false
			behind := w.begin(t.TempDir(), func(o *loop.Options) {
				o.BeforeEffect = func(what string) {
					if what == "ask "+w.server.URL("out") && !changed {
						changed = true
						change(w, team)
						if err := ahead.Cycle(t.Context()); err != nil {
							t.Error(err)
						}
						ahead.want(map[string]status.State{"dev": status.Proposed})
					}
				}
			})
			behind.cycle()
			if !changed {
				t.Fatal("nothing was changed meanwhile")
			}
			proposed := w.open("dev").Number
			behind.cycle()
			behind.want(map[string]status.State{"dev": status.Proposed})
			if again := w.open("dev").Number; again != proposed {
				t.Errorf("pull request %d is open, and was %d", again, proposed)
			}

			for repo, refs := range before { // what was proposed is of a commit that is gone
				for ref, id := range refs {
					gittest.Git(t, w.server.Dir(repo), "update-ref", ref, id)
				}
			}
			behind.cycle()
			behind.want(map[string]status.State{"dev": status.InSync})
			if refs := gittest.Refs(t, w.server.Dir("out")); refs["refs/heads/fairlead/dev"] != "" {
				t.Error("the proposal of a commit that is gone is still there")
			}
			behind.quiet("cp", "out", "till")
		})
	}
}
