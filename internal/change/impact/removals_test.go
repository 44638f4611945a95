package impact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// outputOf returns an output with assignments "cluster type/target", each with a namespace
// that is named as the target is, or as it is after "=". A cluster type alone has a README.
func outputOf(t *testing.T, assignments ...string) tree.Tree {
	t.Helper()
	files := map[string][]byte{}
	for _, a := range assignments {
		folder, namespace, ok := strings.Cut(a, "=")
		clusterType, target, assigned := strings.Cut(folder, "/")
		if files[clusterType+"/README.md"] = []byte("x"); !assigned {
			continue
		}
		if !ok {
			namespace = target
		}
		files[folder+"/namespace.yaml"] = fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", namespace)
		files[folder+"/reconciler.yaml"] = []byte("kind: Puller\n")
	}
	built, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// TestRemovalsOf: each row is a change, and what it takes away.
func TestRemovalsOf(t *testing.T) {
	workloads := func(target string) string {
		if workload, _, ok := strings.Cut(target, "-"); ok {
			return workload
		}
		return ""
	}
	share := func(removed, before int) Share { return Share{removed, before} }
	for _, test := range []struct {
		name      string
		old, new  []string
		says      string
		types     Share
		all       Share // assignments
		spaces    Share // namespaces
		workloads []string
		emptied   []string
	}{
		{name: "nothing", old: []string{"a/x-1"}, new: []string{"a/x-1"}},
		{name: "the first output", new: []string{"a/x-1", "b/x-1"}},
		{name: "additions", old: []string{"a/x-1"}, new: []string{"a/x-1", "a/y-1", "b/x-1"}},
		{name: "one of several", old: []string{"a/x-1", "b/x-1", "b/y-1"}, new: []string{"a/x-1", "b/y-1"}, says: "x-1 from b",
			types: share(0, 2), all: share(1, 3), spaces: share(1, 3)},
		{name: "the last of a workload", old: []string{"a/x-1", "a/y-1"}, new: []string{"a/y-1"}, says: "x-1 from a",
			types: share(0, 1), all: share(1, 2), spaces: share(1, 2), workloads: []string{"x"}},
		{name: "another target of the workload stays", old: []string{"a/x-1", "a/x-2"}, new: []string{"a/x-2"}, says: "x-1 from a",
			types: share(0, 1), all: share(1, 2), spaces: share(1, 2)},
		{name: "the last of a cluster type", old: []string{"a/x-1", "b/x-1"}, new: []string{"a/x-1", "b"}, says: "x-1 from b",
			types: share(1, 2), all: share(1, 2), spaces: share(1, 2), emptied: []string{"b"}},
		{name: "a cluster type", old: []string{"a/x-1", "b/x-1"}, new: []string{"a/x-1"}, says: "cluster type b with x-1",
			types: share(1, 2), all: share(1, 2), spaces: share(1, 2), emptied: []string{"b"}},
		{name: "a cluster type without assignments", old: []string{"a/x-1", "b"}, new: []string{"a/x-1"}, says: "cluster type b", types: share(1, 2), all: share(0, 1), spaces: share(0, 1)},
		{name: "a cluster type that is renamed", old: []string{"a/x-1", "b/x-1"}, new: []string{"a/x-1", "c/x-1"}, says: "cluster type b with x-1",
			types: share(1, 2), all: share(1, 2), spaces: share(1, 2), emptied: []string{"b"}},
		{name: "all", old: []string{"a/x-1", "b/x-1"}, new: []string{"a", "b"}, says: "x-1 from a and b",
			types: share(2, 2), all: share(2, 2), spaces: share(2, 2), workloads: []string{"x"}, emptied: []string{"a", "b"}},
		{name: "to nothing", old: []string{"a/x-1", "b/x-1"}, says: "cluster types a and b with x-1",
			types: share(2, 2), all: share(2, 2), spaces: share(2, 2), workloads: []string{"x"}, emptied: []string{"a", "b"}},
		{name: "many", old: []string{"a/v-1", "a/w-1", "a/x-1", "a/y-1", "a/z-1"}, new: []string{"a/z-1"}, says: "4 deployment targets from a",
			types: share(0, 1), all: share(4, 5), spaces: share(4, 5), workloads: []string{"v", "w", "x", "y"}},
		{name: "a target that nobody knows", old: []string{"a/x-1", "a/other"}, new: []string{"a/x-1"}, says: "other from a",
			types: share(0, 1), all: share(1, 2), spaces: share(1, 2), workloads: []string{"other"}},
		{name: "namespaces that are renamed", old: []string{"a/x-1=one", "b/x-1=one", "b/y-1"}, new: []string{"a/x-1=two", "b/x-1=two", "b/y-1"}, says: "the namespaces of 2 of 3 assignments",
			types: share(0, 2), all: share(0, 3), spaces: share(2, 3)},
		{name: "several things", old: []string{"a/x-1=one", "a/y-1", "b/y-1"}, new: []string{"a/x-1=two"}, says: "cluster type b with y-1; y-1 from a; the namespaces of 1 of 3 assignments",
			types: share(1, 2), all: share(2, 3), spaces: share(3, 3), workloads: []string{"y"}, emptied: []string{"b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opt := Options{Workload: workloads}
			old, new := outputOf(t, test.old...), outputOf(t, test.new...)
			got := RemovalsOf(old, new, Compare(old, new, opt), opt)
			want := []any{test.says, test.types, test.all, test.spaces, test.workloads, test.emptied, test.says == ""}
			if diff := cmp.Diff(want, []any{got.String(), got.ClusterTypes, got.Assignments, got.Namespaces, got.Workloads, got.Emptied, got.IsEmpty()}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRemovalsOfPeople: what lies beside the folders of cluster types is not counted, and
// neither is a file in one.
func TestRemovalsOfPeople(t *testing.T) {
	note := tree.FromEntries([]tree.Entry{tree.File("note", []byte("x"))})
	old := tree.FromEntries([]tree.Entry{tree.File("CODEOWNERS", []byte("x")), tree.Dir(".github", note), tree.Dir("a", note)})
	new := tree.FromEntries([]tree.Entry{tree.Dir("a", tree.FromEntries([]tree.Entry{tree.File("README.md", []byte("x"))}))})
	if got := RemovalsOf(old, new, Compare(old, new, Options{}), Options{}); !got.IsEmpty() || got.String() != "" {
		t.Errorf("it removes %+v: %s", got, got)
	}
}

// TestExceeds: a share is more than a percentage only where it is.
func TestExceeds(t *testing.T) {
	for _, test := range []struct {
		share   Share
		percent int
		want    bool
	}{
		{Share{}, 0, false}, {Share{1, 10}, 10, false}, {Share{2, 10}, 10, true}, {Share{1, 100_000}, 0, true}, {Share{10, 10}, 100, false},
	} {
		if got := test.share.Exceeds(test.percent); got != test.want {
			t.Errorf("%+v exceeds %d %%: %v", test.share, test.percent, got)
		}
	}
}

// TestComponentsRemoved: the components of stacks that are destroyed, or removed without that, count
// as removals, and those that were destroyed before do not.
func TestComponentsRemoved(t *testing.T) {
	for name, want := range map[string]string{
		"stack-changes":  "2 of 4: db and old of checkout/dev; 2 of 4 components, and the limit is 10%",
		"stack-teardown": "2 of 2: eks and network of checkout/dev; the last component of stack checkout/dev; 2 of 2 components, and the limit is 10%",
		"stack-removed":  "0 of 0: ",
		"stack-approved": "1 of 1: eks of checkout/dev; 1 of 1 components, and the limit is 10%",
	} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		old, new := treeOf(t, archive, "old/"), treeOf(t, archive, "new/")
		r := RemovalsOf(old, new, Compare(old, new, Options{}), Options{})
		got := fmt.Sprintf("%d of %d: %s", r.Components.Removed, r.Components.Before, strings.Join(append(nonEmpty(r.String()), r.Reasons(10, 0, false)...), "; "))
		if got != want || CountAssignments(old) != 0 || r.Assignments.Before != 0 || r.ClusterTypes.Before != 0 {
			t.Errorf("%s removes %s, want %s", name, got, want)
		}
	}
}

// TestTerraformRemoved: what Terraform destroys or makes again, without a plan that a person approves, waits
// for a person, however few it is, unless the environment allows the last of everything to go.
func TestTerraformRemoved(t *testing.T) {
	for name, want := range map[string]string{
		"tofu-removed": "4 deployment targets from cloud; what Terraform made of infra-net and k8s-eks: " +
			"Terraform destroys infrastructure as soon as clusters get this, without asking for approval of a plan, and all at the same time: to keep the order, remove shop-web, then k8s-eks, then infra-net",
		"tofu-settings": "what Terraform made of infra-bus; the state of infra-queue on cloud from where it is: " +
			"Terraform destroys infrastructure as soon as clusters get this, without asking for approval of a plan; Terraform makes again what is not in the new state, and no person approves its plan",
		"stack-moved-state": "the state of network of checkout/dev from where it is: Terraform makes again what is not in the new state, and no person approves its plan",
	} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		old, new := treeOf(t, archive, "old/"), treeOf(t, archive, "new/")
		r := RemovalsOf(old, new, Compare(old, new, Options{}), Options{})
		r.Workloads, r.Emptied = nil, nil // of other reasons
		if got := r.String() + ": " + strings.Join(r.Reasons(10, 10, false), "; "); got != want || r.IsEmpty() || len(r.Reasons(10, 10, true)) > 0 {
			t.Errorf("%s removes %s, want %s", name, got, want)
		}
	}
}

// TestStackNames: the name of a component cannot break out of the graph.
func TestStackNames(t *testing.T) {
	c := StackChange{Stack: "a/b", Components: []ComponentChange{{Name: "x\"]\n```\n@root", Change: ComponentAdded}}}
	report := Report{StackChanges: []StackChange{c}}
	if got := report.StacksMarkdown(1); strings.Count(got, "\n```") != 2 || strings.Contains(got, "@root\"") || strings.Count(c.terminalText(), "\n") != 1 {
		t.Errorf("the report is\n%s", got)
	}
}
