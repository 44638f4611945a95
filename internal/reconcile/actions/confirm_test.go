package actions_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestCompareCommits: a commit is compared with what clusters have, and not with what another one is rendered to.
func TestCompareCommits(t *testing.T) {
	w := newWorld(t)
	out := w.server.Create("out")
	deployed := w.server.Work(t, "out")
	deployed.Switch("stage")
	deployed.Write("fleet/cloud/shop-web/reconciler.yaml", "kind: Puller\n")
	deployed.Write("fleet/notes.txt", "of people\n")
	deployed.Commit("merged once")
	deployed.Push()
	for env, branch := range map[string]string{"stage": "stage", "dev": "new"} {
		w.work.Switch(env)
		w.work.Write("gitops.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: "+env+"}\nspec: {repo: "+out+", branch: "+branch+", path: fleet}\n")
		w.work.Commit("its output")
		w.work.Push()
	}
	d := w.open(w.options())
	for env, want := range map[string]string{"stage": "REMOVE cluster type cloud with shop-web; update the promoted commit", "dev": "no change"} {
		report, err := d.CompareCommits(t.Context(), env, w.base[0], source.Revisions{Base: w.base[1]})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(report.Text(), "\n"); got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}
