package stackfiles_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// tornText is a stack of which cluster needs networking and database both; all plans but that of database are approved
// without a person if auto.
func tornText(auto, teardown, destroy bool) string {
	text := fmt.Sprintf("apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop-dev, namespace: zmart-config}\nspec:\n  teamName: shop\n  envName: dev\n  teardown: %t\n  components:\n", teardown)
	for _, c := range []struct{ name, needs string }{{"networking", ""}, {"cluster", "networking"}, {"database", "networking, cluster"}} {
		text += fmt.Sprintf("    - {name: %s, type: terraform, autoApprove: %t, destroy: %t, dependsOn: [%s], module: {source: \"https://github.com/x/y?ref=v1.0\"}}\n",
			c.name, auto && c.name != "database", destroy, c.needs)
	}
	return text
}

// tornWorld is a state of the control plane, the output and a cluster on which nothing keeps an order: each object of the
// output may be applied at any time, and each controller run.
type tornWorld struct {
	history []tree.Tree
	given   map[string]string // approvals, by component
	live    map[string]stackfiles.ComponentSummary
	made    map[string]bool // components that have resources
}

func (w tornWorld) clone() tornWorld {
	return tornWorld{slices.Clone(w.history), maps.Clone(w.given), maps.Clone(w.live), maps.Clone(w.made)}
}

func (w tornWorld) head() tree.Tree { return w.history[len(w.history)-1] }

func (w tornWorld) key() string {
	text := w.head().ID().String() + fmt.Sprint(w.made, slices.Sorted(maps.Keys(w.given)))
	for _, name := range slices.Sorted(maps.Keys(w.live)) {
		text += fmt.Sprint(name, w.live[name].Action, w.live[name].Approval)
	}
	return text
}

func summarizeComponents(t *testing.T, output tree.Tree) map[string]stackfiles.ComponentSummary {
	t.Helper()
	all, err := stackfiles.Summarize(output)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]stackfiles.ComponentSummary{}
	for _, s := range all {
		for _, c := range s.Components {
			found[c.Name] = c
		}
	}
	return found
}

// render has Fairlead propose the next output, and it is merged. It knows of the reports of the cluster, or has lost them.
func (w *tornWorld) render(t *testing.T, texts map[string]string, knows bool) {
	t.Helper()
	texts = maps.Clone(texts)
	for name, text := range w.given {
		texts[name+".yaml"] = text
	}
	texts["settings.yaml"] = settingsText
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: filesOf(t, texts)})
	rendered, more := output.Render(m, nil, output.Options{})
	previous := stackfiles.Previous{
		IsDestroyed: func(d stackfiles.Deleted) bool {
			now := summarizeComponents(t, w.head())
			return knows && !slices.ContainsFunc(slices.Collect(maps.Values(now)), func(c stackfiles.ComponentSummary) bool {
				return slices.Contains(d.Kustomizations, c.Object) && (w.made[c.Name] || w.live[c.Name].Action != c.Action || w.live[c.Name].Approval != c.Approval)
			})
		},
		Since: func(commit, folder string) (versions []tree.Tree, found bool) {
			for n := len(w.history) - 1; n >= 0; n-- {
				versions = append(versions, w.history[n].Sub(folder))
				if outputCommit(n) == commit {
					return versions, true
				}
			}
			return nil, false
		},
	}
	if len(w.history) > 0 {
		previous.Tree = w.head()
	}
	all, _, last, err := stackfiles.FollowPrevious(m, rendered, previous)
	if problems = append(append(problems, more...), last...); err != nil || problems.Stops() {
		t.Fatal(err, problems)
	}
	if len(w.history) > 0 { // a release is another story
		again, _, _, err := stackfiles.FollowPrevious(m, rendered, stackfiles.KnownPrevious(all))
		if err != nil || !tree.Equal(again, all) {
			t.Fatal("made again from itself, the output is another one", err)
		}
	}
	if len(w.history) > 0 {
		now := summarizeComponents(t, all)
		for name, c := range summarizeComponents(t, w.head()) {
			if c.Approval != "" && c.Approval != "auto" && now[name].Approval == c.Approval && now[name].Inputs != c.Inputs {
				t.Fatalf("%s: an approval outlives the plan that it was given for", name)
			}
		}
	}
	if len(w.history) == 0 || !tree.Equal(all, w.head()) {
		w.history = append(w.history, all)
	}
}

// TestDestructionOrder walks through every order in which people approve or do not, Fairlead renders, with all reports or
// without any as after a restart, and the cluster applies objects and carries out plans, as tofu-controller does: by an
// id that is of the commit alone. Nothing is destroyed while something that needs it has resources, although nothing
// on the cluster keeps an order; and all of it is destroyed in the end if all plans are approved.
func TestDestructionOrder(t *testing.T) {
	users := map[string][]string{"networking": {"cluster", "database"}, "cluster": {"database"}}
	for name, texts := range map[string]map[string]string{
		"teardown, auto": {"stack.yaml": tornText(true, true, false)},
		"teardown":       {"stack.yaml": tornText(false, true, false)},
		"destroy, auto":  {"stack.yaml": tornText(true, false, true)},
		"the file, auto": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first tornWorld
			auto := strings.HasSuffix(name, "auto")
			first.render(t, map[string]string{"stack.yaml": tornText(auto, false, false)}, true)
			first.live, first.given = summarizeComponents(t, first.head()), map[string]string{}
			first.made = map[string]bool{"networking": true, "cluster": true, "database": true}
			first.render(t, texts, true)
			if len(first.live) != 3 || len(first.history) != 2 {
				t.Fatal(first.live)
			}
			seen, next, destroyed := map[string]bool{}, []tornWorld{first}, false
			for len(next) > 0 {
				w := next[0]
				next = next[1:]
				if seen[w.key()] {
					continue
				}
				seen[w.key()] = true
				if !w.made["networking"] && !w.made["cluster"] && !w.made["database"] {
					destroyed = true
					continue
				}
				head := summarizeComponents(t, w.head())
				for _, knows := range []bool{true, false} {
					after := w.clone()
					after.render(t, texts, knows)
					next = append(next, after)
				}
				for component, c := range head {
					applied := w.clone()
					applied.live[component] = c
					next = append(next, applied)
					if isAuto := auto && component != "database"; !isAuto && w.given[component] == "" {
						approved := w.clone()
						approved.given[component] = fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanApproval\nmetadata: {name: %s}\nspec: {stack: shop/dev, component: %[1]s, plan: %s, inputs: %q, output: %q}\n",
							component, c.Plan, c.Inputs, outputCommit(len(w.history)-1))
						next = append(next, approved)
					}
					if live := w.live[component]; live.Action == stackfiles.Destroy && w.made[component] && (live.Approval == "auto" || live.Approval == live.Plan) {
						for _, user := range users[component] {
							if w.made[user] {
								t.Fatalf("%s is destroyed while %s has resources", component, user)
							}
						}
						ran := w.clone()
						ran.made[component] = false
						next = append(next, ran)
					}
				}
			}
			if !destroyed {
				t.Errorf("of %d states, none has all of it destroyed", len(seen))
			}
		})
	}
}
