package publish_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

const modulesBranch = "fairlead-modules-dev"

// withModules proposes files with the root modules among them.
func (w *world) withModules(files map[string]string) publish.Proposal {
	w.Helper()
	p := w.proposal("1", files)
	m := &model.Model{Environment: "dev", Stacks: model.Stacks{List: []*model.Stack{{}}, Settings: []*model.StackSettings{{}}}}
	modules, err := stackfiles.FindModules(m, p.Rendered)
	if err != nil {
		w.Fatal(err)
	}
	p.Modules = modules
	return p
}

func moduleFile(component string) string {
	return "team/checkout-team-environment/dev-environment-component/" + component + "/terraform/module.tf"
}

// TestModules: the branch of root modules leads to every commit that clusters were ever pinned to,
// and moves only when a root module changes.
func TestModules(t *testing.T) {
	w := newWorld(t)
	p := w.publisher()
	files := map[string]string{moduleFile("eks"): "module \"eks\" {}\n", moduleFile("networking"): "module \"networking\" {}\n", "environments/kustomization.yaml": "resources: []\n"}
	first := w.withModules(files)
	p.want(publish.Proposed, first)
	w.wantPins(first)
	begin := w.branch(modulesBranch)

	p.want(publish.Proposed, first)
	if now := w.branch(modulesBranch); now != begin {
		t.Errorf("the branch moved from %s to %s, and nothing had changed", begin, now)
	}

	files[moduleFile("eks")] = "module \"eks\" {\n  size = 2\n}\n"
	second := w.withModules(files)
	if first.Modules.Pins[1].ID() != second.Modules.Pins[1].ID() {
		t.Error("the pin of networking moved with eks")
	}
	p.want(publish.Proposed, second)
	w.wantPins(first, second)
	parents := strings.Fields(w.git("log", "-1", "--format=%P", "origin/"+modulesBranch))
	if diff := cmp.Diff([]string{begin, second.Modules.Pins[0].ID().String()}, parents); diff != "" {
		t.Errorf("parents of the second commit: -want +got:\n%s", diff)
	}

	delete(files, moduleFile("networking"))
	third := w.withModules(files)
	p.want(publish.Proposed, third)
	w.wantPins(first, second, third)
	if names := w.git("ls-tree", "-r", "--name-only", "origin/"+modulesBranch); strings.TrimSpace(names) != moduleFile("eks") {
		t.Errorf("the branch holds %q", names)
	}
}

// wantPins checks that a clone of the branch of root modules alone has the pins of all proposals,
// which is how Flux fetches a commit.
func (w *world) wantPins(proposals ...publish.Proposal) {
	w.Helper()
	w.git("fetch", "--quiet", "origin")
	for _, p := range proposals {
		for _, pin := range p.Modules.Pins {
			id := pin.ID().String()
			w.git("merge-base", "--is-ancestor", id, "origin/"+modulesBranch)
			if parents := strings.TrimSpace(w.git("log", "-1", "--format=%P%T", id)); parents != pin.Tree.ID().String() {
				w.Errorf("the pin %s of %s has the parents and the tree %s", id, pin.Folder, parents)
			}
		}
	}
}

// TestModulesOfOthers: a branch that has the name and is not ours is left alone, and nothing is
// proposed that would pin clusters to what is not there.
func TestModulesOfOthers(t *testing.T) {
	w := newWorld(t)
	w.person.Switch(modulesBranch)
	head := w.commit(modulesBranch, "a.txt", "of people\n")
	p := w.publisher()
	_, err := p.try(w.withModules(map[string]string{moduleFile("eks"): "module \"eks\" {}\n"}))
	if err == nil || !strings.Contains(err.Error(), "the branch fairlead-modules-dev is to hold the root modules of dev, and its last commit is not of them") {
		t.Errorf("the error is %v", err)
	}
	if now := w.branch(modulesBranch); now != head || w.branch("fairlead/dev") != "" {
		t.Errorf("the branch is at %s, and the proposal at %q", now, w.branch("fairlead/dev"))
	}
}

// TestModulesDryRun: without writing, no branch is made.
func TestModulesDryRun(t *testing.T) {
	w := newWorld(t)
	p := w.publisher()
	p.Write = false
	p.want(publish.DryRun, w.withModules(map[string]string{moduleFile("eks"): "module \"eks\" {}\n"}))
	if head := w.branch(modulesBranch); head != "" {
		t.Errorf("a branch was made: %s", head)
	}
}

// TestModulesKilled: a process that ends before either push is followed by one that comes to the
// same end.
func TestModulesKilled(t *testing.T) {
	var ends []string
	for _, last := range []string{"", "push the root modules", "push our branch"} {
		w := newWorld(t)
		what := w.withModules(map[string]string{moduleFile("eks"): "module \"eks\" {}\n"})
		if last != "" {
			killed := w.publisher()
			killed.BeforeEffect = func(effect string) {
				if effect == last {
					panic(effect)
				}
			}
			func() {
				defer func() {
					if got := recover(); got != last {
						t.Fatalf("it ended with %v, and not before %q", got, last)
					}
				}()
				_, _ = killed.try(what)
			}()
		}
		w.publisher().want(publish.Proposed, what)
		w.wantPins(what)
		ends = append(ends, w.branch(modulesBranch))
	}
	for _, end := range ends[1:] {
		if end != ends[0] {
			t.Errorf("killed, the branch ends at %s, and else at %s", end, ends[0])
		}
	}
}
