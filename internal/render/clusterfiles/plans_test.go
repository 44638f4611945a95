package clusterfiles_test

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// withoutPlans returns an output without the plans, which are made when the previous output is known.
func withoutPlans(t *testing.T, output tree.Tree) tree.Tree {
	t.Helper()
	var b tree.Builder
	for file, data := range output.All() {
		if path.Base(file) != provision.PlanFile {
			if err := b.Add(file, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Tree()
}

// checkPlans reports plans of an output that are not those which a pull request of it shows.
func checkPlans(t *testing.T, before, after tree.Tree) {
	t.Helper()
	shown := map[string]impact.ClusterChange{}
	for _, c := range impact.CompareClusters(before, after) {
		shown[c.Manifest] = c
	}
	for file, lock := range after.All() {
		if path.Base(file) != provision.LockFile {
			continue
		}
		name := path.Join(path.Dir(file), provision.PlanFile)
		e, there := after.Lookup(name)
		was, _ := before.Lookup(name)
		plan, err := provision.ParsePlan(e.Data)
		if !there || err != nil || !provision.IsPlanOf(e.Data, lock) {
			t.Errorf("%s leads not to the lock beside it: %v\n%s", name, err, e.Data)
		}
		lockWas, _ := before.Lookup(file)
		if provision.IsPlanOf(was.Data, lock) && !bytes.Equal(was.Data, e.Data) {
			t.Errorf("%s changes, and the lock does not:\n%s", name, cmp.Diff(string(was.Data), string(e.Data)))
		}
		if c := shown[plan.Manifest]; !bytes.Equal(lockWas.Data, lock) && (cmp.Diff(c.Steps, plan.Steps, cmpopts.EquateEmpty()) != "" || len(c.Steps) > 0 && cmp.Diff(c.Clouds, plan.Clouds, cmpopts.EquateEmpty()) != "") {
			t.Errorf("%s is not what the pull request shows:\n%s", name, cmp.Diff(c, plan))
		}
	}
}

// TestPlans shows the file of a plan; it stays byte for byte until the lock beside it changes, and one that
// somebody edits or deletes is written anew.
func TestPlans(t *testing.T) {
	golden.Run(t, "testdata/plans/*.txtar", func(t *testing.T, c *golden.Case) {
		const file = "clusters/claudie/fleet-edge/plan.yaml"
		env := func(replacements ...string) model.Layer {
			var entries []tree.Entry
			for _, e := range c.Tree(t, "env").Entries() {
				entries = append(entries, tree.File(e.Name, []byte(strings.NewReplacer(replacements...).Replace(string(e.Data)))))
			}
			return model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries(entries)}
		}
		follow := func(previous tree.Tree, replacements ...string) tree.Tree {
			m, rendered := renderAll(t, env(replacements...))
			now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{Tree: previous, IsCarriedOut: func(clusterfiles.Carrier) bool { return false }})
			if problems.Stops() {
				t.Fatal(golden.Problems(problems))
			}
			checkPlans(t, previous, now)
			return now
		}
		planOf := func(output tree.Tree) string {
			e, _ := output.Lookup(file)
			return string(e.Data)
		}
		first := follow(tree.Tree{})
		c.Want(t, "first", planOf(first))
		if again := follow(first); again.ID() != first.ID() {
			t.Errorf("it is not the same again:\n%s", describeDiff(first, again))
		}
		const other = "REGION: hel1"
		if now := follow(first, other, "REGION: fsn1"); planOf(now) != planOf(first) || now.ID() == first.ID() {
			t.Errorf("what does not change the clusters changes their plan: %s", cmp.Diff(planOf(first), planOf(now)))
		}
		grown := follow(first, "count: 2", "count: 4")
		c.Want(t, "grown", planOf(grown))
		if back := follow(grown); planOf(back) == planOf(first) || !strings.Contains(planOf(back), "remove-nodes") {
			t.Errorf("the way back has the plan %s", planOf(back))
		}
		for name, edit := range map[string]func(string) string{
			"deleted":          func(string) string { return "" },
			"another step":     func(s string) string { return strings.Replace(s, "create-network", "create-lb", 1) },
			"another comment":  func(s string) string { return "# mine\n" + s },
			"more":             func(s string) string { return s + "more: true\n" },
			"of another lock":  func(string) string { return planOf(grown) },
			"not YAML":         func(string) string { return "\x00{[" },
			"another digest":   func(s string) string { return strings.Replace(s, "digest: sha256:", "digest: sha256:0", 1) },
			"without its lock": func(s string) string { return s[:strings.Index(s, "to: ")] },
		} {
			var b tree.Builder
			for at, data := range first.All() {
				if at == file {
					data = []byte(edit(string(data)))
				}
				if at == file && name == "deleted" {
					continue
				}
				if err := b.Add(at, data); err != nil {
					t.Fatal(err)
				}
			}
			now := follow(b.Tree())
			c.Want(t, "anew", planOf(now))
			if withoutPlans(t, now).ID() != withoutPlans(t, first).ID() {
				t.Errorf("%s: more changes: %s", name, describeDiff(first, now))
			}
			if again := follow(now); again.ID() != now.ID() {
				t.Errorf("%s: it does not stay", name)
			}
		}
	})
}
