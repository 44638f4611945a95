package clusterfiles_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestLastManifestDeleted: after the last manifest, the folder stays with an object that says so: what
// points to the folder goes on, and Flux removes the rest. With another manifest that object goes.
func TestLastManifestDeleted(t *testing.T) {
	golden.Run(t, "testdata/follow/file-deleted.txtar", func(t *testing.T, c *golden.Case) {
		const folder, none = clusterfiles.Folder, "clusters/kustomization.yaml\nclusters/none.yaml\n"
		layer := func(names ...string) model.Layer {
			entries := c.Tree(t, "before").Entries()
			kept := []tree.Entry{}
			for _, e := range entries {
				if e.Name == "settings.yaml" || len(names) > 0 {
					kept = append(kept, e)
				}
			}
			return model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries(kept)}
		}
		follow := func(previous tree.Tree, done bool, names ...string) (tree.Tree, int) {
			m, rendered := renderAll(t, layer(names...))
			now, waiting, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{
				Tree: previous, IsCarriedOut: func(clusterfiles.Carrier) bool { return done },
			})
			if problems.Stops() {
				t.Fatal(golden.Problems(problems))
			}
			return now, len(waiting)
		}
		if never, _ := follow(tree.Tree{}, false); clusterfiles.HasClusters(never) || !never.Sub(folder).IsEmpty() {
			t.Errorf("where there were no manifests is\n%s", describeDiff(tree.Tree{}, never.Sub(folder)))
		}
		before := publishFirst(t, layer("edge"))
		if kept, waiting := follow(before, false); kept.Sub(folder).ID() != before.Sub(folder).ID() || waiting != 1 {
			t.Errorf("before Claudie is done, it waits for %d, and changes are\n%s", waiting, describeDiff(kept, before))
		}
		last, waiting := follow(before, true)
		if got := describeDiff(tree.FromEntries(nil), tree.FromEntries([]tree.Entry{tree.Dir(folder, last.Sub(folder))})); got != none || waiting > 0 || !clusterfiles.HasClusters(last) {
			t.Errorf("it waits for %d, and the folder has\n%s", waiting, got)
		}
		checkObjects(t, last.Sub(folder))
		checkReached(t, last.Sub(folder))
		if r := impact.Compare(before, last, impact.Options{}); r.ClusterTypes > 0 {
			t.Errorf("the folder is a cluster type to the report: %+v", r)
		}
		for _, done := range []bool{false, true} {
			if again, _ := follow(last, done); again.ID() != last.ID() {
				t.Errorf("it does not stay:\n%s", describeDiff(last, again))
			}
		}
		if back, _ := follow(last, false, "edge"); back.Sub(folder).ID() != before.Sub(folder).ID() {
			t.Errorf("with a manifest again, there is\n%s", describeDiff(before, back)+describeDiff(back, before))
		}
	})
}
