package publish

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// onClusterTypes returns the files of a target on cluster types: its namespace, its values and
// what Flux reads.
func onClusterTypes(target string, values map[string]string, clusterTypes ...string) map[string]string {
	files := map[string]string{}
	for _, name := range clusterTypes {
		folder, config := name+"/"+target+"/", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: platform-config\ndata:\n"
		for _, key := range slices.Sorted(maps.Keys(values)) {
			config += "  " + key + ": \"" + values[key] + "\"\n"
		}
		files[folder+"namespace.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: prod-" + name + "-" + target + "\n"
		files[folder+"platform-config.yaml"] = config
		files[folder+"reconciler.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + target + "\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n        - name: web\n          image: web:1.0\n"
	}
	return files
}

func join(all ...map[string]string) map[string]string {
	files := map[string]string{}
	for _, one := range all {
		maps.Copy(files, one)
	}
	return files
}

// replaced returns files in which a text is another one.
func replaced(files map[string]string, old, new string) map[string]string {
	changed := map[string]string{}
	for file, text := range files {
		changed[file] = strings.ReplaceAll(text, old, new)
	}
	return changed
}

// typicalPull is a change as people make it: what the output holds before and after.
type typicalPull struct {
	old, new map[string]string
	merge    Merge
	back     bool // the base goes back to an older commit
	problems problem.List
}

func typicalPulls() map[string]typicalPull {
	quiet := map[string]string{"LOG_LEVEL": "info", "REGION": "west"}
	loud := map[string]string{"LOG_LEVEL": "debug", "REGION": "east", "TRACE": "on"}
	twelve := []string{"core-1", "core-2", "core-3", "core-4", "edge-1", "edge-2", "edge-3", "edge-4", "store-1", "store-2", "store-3", "store-4"}
	web := onClusterTypes("web-main", quiet, "cloud", "edge")
	both := join(web, onClusterTypes("shop-main", quiet, "cloud", "edge"))
	odd := map[string]string{"cloud/web-main/extra.yaml": "apiVersion: example.com/v1\nkind: Odd\nmetadata:\n  name: a\nspec:\n  x: 1\n"}
	var unused problem.List
	unused.Warnf(problem.Pos{Layer: "base", File: "configs/fleet.yaml", Line: 4}, "ConfigMap/fleet", "remove it", "no assignment reads this config")
	return map[string]typicalPull{
		"first-output":         {new: both},
		"values":               {old: onClusterTypes("checkout-main", quiet, twelve...), new: onClusterTypes("checkout-main", loud, twelve...), merge: Direct},
		"add-workload":         {old: web, new: both, merge: WhenGreen, problems: unused},
		"remove-workload":      {old: both, new: web, merge: Direct},
		"remove-cluster-type":  {old: join(both, onClusterTypes("web-main", quiet, "lab")), new: both},
		"image":                {old: both, new: replaced(both, "web:1.0", "web:1.1")},
		"image-and-values":     {old: web, new: join(replaced(onClusterTypes("web-main", loud, "cloud"), "web:1.0", "web:1.1"), onClusterTypes("web-main", loud, "edge"))},
		"rename-namespace":     {old: web, new: replaced(web, "prod-cloud-web-main", "prod-web")},
		"unknown":              {old: join(both, odd), new: join(both, replaced(odd, "x: 1", "x: 2"))},
		"roll-back":            {old: replaced(both, "web:1.0", "web:1.1"), new: both, merge: WhenGreen, back: true},
		"move-to-another-type": {old: join(web, onClusterTypes("shop-main", quiet, "cloud")), new: join(web, onClusterTypes("shop-main", quiet, "edge"))},
	}
}

// attempt returns the attempt that proposes the change, as far as its texts need it.
func (c typicalPull) attempt(t *testing.T) *attempt {
	t.Helper()
	in := inputs()
	in[1].Layer = "prod"
	limits := model.DefaultLimits()
	w := &attempt{p: Proposal{Environment: "prod", Inputs: in, Merge: c.merge, Problems: c.problems, Rendered: rendered(t, c.new), Limits: &limits, Workload: func(target string) string {
		name, _, _ := strings.Cut(target, "-")
		return name
	}}}
	w.next.before = rendered(t, c.old)
	w.report = impact.Compare(w.next.before, w.p.Rendered, impact.Options{Workload: w.p.Workload})
	if err := w.checkLimits(); err != nil {
		t.Fatal(err)
	}
	w.withheld = w.findWithholdings()
	ada, ben := git.Signature{Name: "Ada"}, git.Signature{Name: "Ben"}
	if c.old == nil {
		return w
	}
	newest, promoted := in[0].Commit, "Promote aaaaaaa to prod"
	if c.back {
		newest, promoted = strings.Repeat("1", 40), "Roll prod back to aaaaaaa"
	}
	w.changelog = []layerCommits{
		{input: in[0], before: strings.Repeat("1", 40), Commits: Commits{Back: c.back, All: []git.CommitInfo{
			{ID: newest, Message: "Raise what the fleet logs\n\nAs asked in #12.", Author: ada}, {ID: strings.Repeat("2", 40), Message: "Tidy up", Author: ben}}}},
		{input: in[1], before: strings.Repeat("3", 40), Commits: Commits{All: []git.CommitInfo{{ID: in[1].Commit, Message: promoted, Author: git.Signature{Name: "Fairlead"}}}}},
		{input: in[2]},
	}
	return w
}

// TestTypicalPulls: titles and texts as people see them, of the changes that they make most.
func TestTypicalPulls(t *testing.T) {
	cases := typicalPulls()
	golden.Run(t, "testdata/pulls/*.txtar", func(t *testing.T, c *golden.Case) {
		name := path.Base(t.Name())
		w := cases[name].attempt(t)
		delete(cases, name)
		if title := w.changeTitle(); len([]rune(title)) > maxTitle {
			t.Errorf("the title has more than %d characters: %q", maxTitle, title)
		}
		c.Want(t, "title", w.changeTitle()+"\n")
		c.Want(t, "body", w.pullBody())
	})
	for name := range cases {
		t.Errorf("there is no testdata/pulls/%s.txtar", name)
	}
}
