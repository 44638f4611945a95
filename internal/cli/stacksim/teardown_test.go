package stacksim

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// tutorialUsers are the components of the tutorial's stack that need another one, directly or not.
var tutorialUsers = map[string][]string{"networking": {"cluster", "database", "website"}, "cluster": {"website"}, "database": {"website"}, "website": nil}

// tornDown is the tutorial's stack, its output and the cluster that it is torn down on.
type tornDown struct {
	t       *testing.T
	files   map[string]string // of the control plane
	given   map[string]string // approvals, by component
	gives   map[string]bool   // components whose plans are approved once they wait
	history []version
	c       *cluster
	now     time.Time
	entries []agentapi.Entry // that the cluster has reported last
	isNew   *bool            // something was written since
	renders map[string]tree.Tree
	noOrder bool // the cluster knows nothing of dependsOn
}

type version struct {
	commit string
	tree   tree.Tree
}

func newTornDown(t *testing.T) *tornDown {
	w := &tornDown{t: t, files: map[string]string{}, given: map[string]string{}, now: noon, renders: map[string]tree.Tree{}}
	err := fs.WalkDir(os.DirFS("../demostack"), ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path.Join("../demostack", file))
		w.files[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.files["gitops.yaml"] = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: 'https://git.example.com/gitops', branch: dev, path: .}\n"
	w.c = newCluster(Options{Environment: "dev", Cluster: "one", Folder: t.TempDir(), Pace: time.Second, CancelsChecks: true})
	w.watch()
	return w
}

// watch sees that nothing is destroyed while something that needs it is there.
func (w *tornDown) watch() {
	isNew := true
	w.isNew = &isNew
	w.c.watch = func(o *object) {
		isNew = true
		component := path.Base(o.component())
		if t := w.c.terraforms[o.objectKey]; o.kind != "Terraform" || t != nil && (t.made != nil || t.applied == "") {
			return
		}
		for _, user := range tutorialUsers[component] {
			if w.has(user) {
				w.t.Fatalf("%s is destroyed while %s is there", component, user)
			}
		}
	}
}

// has reports whether a component has made something that is there.
func (w *tornDown) has(component string) bool {
	for _, t := range w.c.terraforms {
		if path.Base(t.component()) == component && t.made != nil {
			return true
		}
	}
	for _, r := range w.c.releases {
		if path.Base(r.component()) == component {
			return true
		}
	}
	return false
}

// clone returns a copy that goes on by itself.
func (w *tornDown) clone() *tornDown {
	other, c := *w, *w.c
	other.given, other.history, other.c = maps.Clone(w.given), slices.Clone(w.history), &c
	c.kustomizations, c.terraforms, c.sources, c.releases, c.secrets = copyAll(c.kustomizations), copyAll(c.terraforms), copyAll(c.sources), copyAll(c.releases), maps.Clone(c.secrets)
	for _, k := range c.kustomizations {
		k.owned = maps.Clone(k.owned)
	}
	other.watch()
	return &other
}

func copyAll[V any](all map[objectKey]*V) map[objectKey]*V {
	copies := map[objectKey]*V{}
	for key, v := range all {
		one := *v
		copies[key] = &one
	}
	return copies
}

// kill ends all controllers and starts them again: they know what the objects say, and look at all of them. What they did
// is not done, or it is done, and no object says so.
func (w *tornDown) kill(isDone bool) {
	for _, t := range w.c.terraforms {
		if t.work == applying && isDone {
			t.made = nil
			if !t.isDestroyPlan && !t.isLeaving {
				t.made = &t.want
			}
		}
		t.work, t.due, t.next, t.isLeaving = idle, time.Time{}, w.now, false
	}
	for _, k := range w.c.kustomizations {
		k.isChecking, k.next = false, w.now
	}
	for _, r := range w.c.releases {
		r.installing, r.isLeaving = tree.ID{}, false
	}
}

func (w *tornDown) head() version { return w.history[len(w.history)-1] }

// isDestroyed reports whether the cluster has reported Kustomizations as ready at the head of the output, and nothing of
// their Terraform objects as there, as the daemon asks.
func (w *tornDown) isDestroyed(d stackfiles.Deleted) bool {
	var commits []string
	for _, v := range w.history {
		if tree.Equal(v.tree.Sub(d.Folder()), w.head().tree.Sub(d.Folder())) {
			commits = append(commits, v.commit)
		}
	}
	ready, remaining := map[string]bool{}, map[string]bool{}
	for _, e := range w.entries {
		isReady := e.Phase == ledger.Ready.String()
		ready[e.ObjectName()] = isReady && slices.Contains(commits, e.Revision[strings.LastIndex(e.Revision, ":")+1:])
		remaining[e.ObjectName()] = !isReady || !e.Plan.Destroys
	}
	return !slices.ContainsFunc(d.Kustomizations, func(name string) bool {
		return !ready["Kustomization/"+d.Namespace+"/"+name] || remaining["Terraform/"+d.Namespace+"/"+name]
	})
}

// render has Fairlead write the next output. What was rendered of the same is not rendered again.
func (w *tornDown) render() {
	w.t.Helper()
	key := fmt.Sprint(w.files["stacks/shop.yaml"], w.given)
	previous := stackfiles.Previous{Since: func(commit, folder string) (versions []tree.Tree, found bool) {
		for _, v := range slices.Backward(w.history) {
			versions = append(versions, v.tree.Sub(folder))
			if v.commit == commit {
				return versions, true
			}
		}
		return nil, false
	}}
	if len(w.history) > 0 {
		previous.Tree = w.head().tree
		key += previous.Tree.ID().String() + fmt.Sprint(len(w.history))
		for _, k := range sortValues(w.c.kustomizations) {
			key += fmt.Sprint(k, w.isDestroyed(stackfiles.Deleted{Team: "shop", Env: "dev", Namespace: k.namespace, Kustomizations: []string{k.name}}))
		}
	}
	all, known := w.renders[key]
	if !known {
		all = w.follow(previous)
		w.renders[key] = all
	}
	if len(w.history) == 0 || !tree.Equal(all, w.head().tree) {
		w.history = append(w.history, version{strings.Repeat("0", 36) + fmt.Sprintf("%04x", len(w.history)), all})
	}
}

func (w *tornDown) follow(previous stackfiles.Previous) tree.Tree {
	w.t.Helper()
	var b tree.Builder
	for file, text := range w.files {
		if err := b.Add(file, []byte(text)); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, text := range w.given {
		if err := b.Add(".fairlead/plans/"+name+".yaml", []byte(text)); err != nil {
			w.t.Fatal(err)
		}
	}
	previous.IsDestroyed = w.isDestroyed
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: b.Tree()})
	rendered, more := output.Render(m, nil, output.Options{})
	all, _, last, err := stackfiles.FollowPrevious(m, rendered, previous)
	if problems = append(append(problems, more...), last...); err != nil || problems.Stops() {
		w.t.Fatal(err, problems)
	}
	return all
}

// approve approves the plans of some components, once they wait.
func (w *tornDown) approve() {
	w.t.Helper()
	s, _, err := stackfiles.SummarizeStack(w.head().tree, "shop", "dev")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range s.Components {
		t := w.c.terraforms[objectKey{"Terraform", s.Namespace, c.Object}]
		if t == nil || t.pending == "" || t.approves(t.pending) || t.spec.Destroy != t.isDestroyPlan || w.given[c.Name] != "" || !w.gives[c.Name] || t.notes["fairlead.io/inputs"] != c.Inputs {
			continue
		}
		w.given[c.Name] = fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanApproval\nmetadata: {name: %s}\nspec: {stack: shop/dev, component: %[1]s, plan: %s, inputs: %q, output: %q}\n",
			c.Name, t.pending, c.Inputs, w.head().commit)
	}
}

// step has everybody do what is due.
func (w *tornDown) step() {
	w.t.Helper()
	if *w.isNew {
		state, err := w.c.readState(w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		w.entries, *w.isNew = state.Entries(), false
		w.render()
		w.approve()
		w.render()
	}
	read := func(commit, _ string) (module, error) { return module{digest: commit}, nil }
	applied := w.head().tree
	if w.noOrder {
		applied = w.withoutOrder(applied)
	}
	if err := w.c.reconcile(w.head().commit, applied, w.now, read); err != nil {
		w.t.Fatal(err)
	}
	w.now = w.now.Add(5 * time.Second)
}

// dependsOn matches what orders the Kustomizations.
var dependsOn = regexp.MustCompile(`(?m)^  dependsOn:\n(    - name: .*\n)+`)

// withoutOrder returns an output in which no Kustomization depends on another one.
func (w *tornDown) withoutOrder(all tree.Tree) tree.Tree {
	w.t.Helper()
	key := "without order " + all.ID().String()
	if _, known := w.renders[key]; !known {
		var b tree.Builder
		for file, data := range all.All() {
			if err := b.Add(file, dependsOn.ReplaceAll(data, nil)); err != nil {
				w.t.Fatal(err)
			}
		}
		w.renders[key] = b.Tree()
	}
	return w.renders[key]
}

// quiet is how many steps have no change when everything waits for something: longer than a retry takes.
const quiet = 15

// run does all steps that are left, and returns what is there in the end.
func (w *tornDown) run() (left []string) {
	w.t.Helper()
	before, n := "", 0
	for range 500 {
		w.step()
		now := w.describe()
		if n++; now != before {
			before, n = now, 0
		}
		if n < quiet {
			continue
		}
		for component := range tutorialUsers {
			if w.has(component) {
				left = append(left, component)
			}
		}
		slices.Sort(left)
		return left
	}
	w.t.Fatal("it does not end")
	return nil
}

// TestTeardown tears the tutorial's stack down on the cluster that behaves as recorded, with every subset of approvals
// given or withheld, and all controllers killed at each step. Nothing is destroyed while something that needs it is there,
// and in the end there is what there is without kills. The same holds on a cluster that keeps no order, where nothing but
// the approvals that Fairlead withholds is left.
func TestTeardown(t *testing.T) {
	made := newTornDown(t)
	made.gives = map[string]bool{"cluster": true, "database": true}
	if left := made.run(); !slices.Equal(left, []string{"cluster", "database", "networking", "website"}) {
		t.Fatalf("the stack is not made: %v", left)
	}
	tutorial := made.files["stacks/shop.yaml"]
	tornDown := strings.Replace(tutorial, "teardown: false", "teardown: true", 1)
	for _, test := range []struct {
		name, text  string
		gives, left []string
	}{
		{"nothing is approved", tornDown, nil, []string{"cluster", "database", "networking"}},
		{"cluster is approved", tornDown, []string{"cluster"}, []string{"database", "networking"}},
		{"database is approved", tornDown, []string{"database"}, []string{"cluster", "networking"}},
		{"both are approved", tornDown, []string{"cluster", "database"}, nil},
		{"nobody is asked", strings.ReplaceAll(tornDown, "      type: terraform\n      dependsOn", "      autoApprove: true\n      type: terraform\n      dependsOn"), nil, nil},
		{"the file is gone, and both are approved", "", []string{"cluster", "database"}, nil},
		{"the file is gone, and database is approved", "", []string{"database"}, []string{"cluster", "networking"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := made.clone()
			w.t, w.gives, w.given = t, map[string]bool{}, map[string]string{}
			w.files = maps.Clone(w.files)
			w.files["stacks/shop.yaml"] = test.text
			if test.text == "" {
				delete(w.files, "stacks/shop.yaml")
			}
			for _, component := range test.gives {
				w.gives[component] = true
			}
			loose := w.clone()
			loose.noOrder = true
			if diff := cmp.Diff(test.left, loose.run()); diff != "" {
				t.Fatalf("left in the end, on a cluster that keeps no order (-want +got):\n%s", diff)
			}
			whole := w.clone()
			if diff := cmp.Diff(test.left, whole.run()); diff != "" {
				t.Fatalf("left in the end (-want +got):\n%s", diff)
			}
			kills, before, n := 0, "", 0
			for n < quiet {
				w.step()
				now := w.describe()
				if n++; now == before {
					continue
				}
				before, n = now, 0
				for _, isDone := range []bool{false, true} {
					killed := w.clone()
					killed.kill(isDone)
					kills++
					if diff := cmp.Diff(test.left, killed.run()); diff != "" {
						t.Fatalf("killed, left in the end (-want +got):\n%s", diff)
					}
					if !tree.Equal(killed.head().tree, whole.head().tree) {
						t.Fatal("killed, the output is another one in the end")
					}
				}
			}
			if kills < 10 {
				t.Errorf("killed %d times", kills)
			}
		})
	}
}

// describe returns what the controllers do.
func (w *tornDown) describe() string {
	text := w.head().commit
	for _, k := range sortValues(w.c.kustomizations) {
		text += fmt.Sprint(k, k.ready.reason, k.isChecking, k.applied)
	}
	for _, t := range sortValues(w.c.terraforms) {
		text += fmt.Sprint(t, t.ready.reason, t.work, t.pending, t.made != nil)
	}
	return text
}
