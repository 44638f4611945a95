package lane

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// filesOf reads "path=content path=content".
func filesOf(t *testing.T, text string) tree.Tree {
	t.Helper()
	files := map[string][]byte{}
	for word := range strings.FieldsSeq(text) {
		name, content, _ := strings.Cut(word, "=")
		files[name] = []byte(content)
	}
	all, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func describeFiles(files tree.Tree) string {
	var words []string
	for name, content := range files.All() {
		words = append(words, name+"="+string(content))
	}
	return strings.Join(words, " ")
}

var (
	each  = NewPartition(model.Lanes{Each: "workloads/*"})
	named = NewPartition(model.Lanes{Named: []model.Lane{
		{Name: "payments", Paths: []string{"workloads/checkout*", "workloads/billing/**"}},
		{Name: "search", Paths: []string{"teams/*/search.yaml"}},
	}})
)

func TestFindLane(t *testing.T) {
	for _, c := range []struct {
		partition Partition
		file      string
		want      string
	}{
		{each, "workloads/hello.yaml", "hello"},
		{each, "workloads/hello.yml", "hello"},
		{each, "workloads/hello/registration.yaml", "hello"},
		{each, "workloads/team.one/a/b.yaml", "team.one"},
		{each, "workloads/kustomization.yaml", Platform},
		{each, "workloads/README.md", Platform},
		{each, "workloads/.gitkeep", Platform},
		{each, "workloads/platform.yaml", Platform},
		{each, "workloads", Platform},
		{each, "workloads-old/hello.yaml", Platform},
		{each, "templates/hello.yaml", Platform},
		{named, "workloads/checkout.yaml", "payments"},
		{named, "workloads/checkout-eu/a/b.yaml", "payments"},
		{named, "workloads/billing", Platform},
		{named, "workloads/billing/a.yaml", "payments"},
		{named, "workloads/billing/deep/a.yaml", "payments"},
		{named, "teams/x/search.yaml", "search"},
		{named, "teams/x/y/search.yaml", Platform},
		{Partition{}, "workloads/hello.yaml", Platform},
	} {
		if got := c.partition.FindLane(c.file); got != c.want {
			t.Errorf("%s belongs to %s, want %s", c.file, got, c.want)
		}
	}
}

func TestChangedLanes(t *testing.T) {
	before := "t/x=1 workloads/a.yaml=1 workloads/b/one=1 workloads/kustomization.yaml=1 own/f=1"
	for _, c := range []struct{ after, want string }{
		{before, ""},
		{"t/x=1 workloads/a.yaml=2 workloads/b/one=1 workloads/kustomization.yaml=1 own/f=1", "a"},
		{"t/x=1 workloads/b/one=1 workloads/b/two=1 workloads/c.yaml=1 workloads/kustomization.yaml=1 own/f=1", "a b c"},
		{"t/x=2 workloads/a.yaml=1 workloads/b/one=2 workloads/kustomization.yaml=1 own/f=1", "b platform"},
		{"t/x=1 workloads/a.yaml=1 workloads/b/one=1 workloads/kustomization.yaml=2 own/f=1", "platform"},
		{"t/x=1 workloads/a.yaml=1 workloads/b/one=1 workloads/kustomization.yaml=1 own/f=2 own/g=1", ""},
		{"t/x=1", "a b platform"},
		{"t/x=1 workloads=1 own/f=1", "a b platform"},
	} {
		if got := strings.Join(each.ChangedLanes(filesOf(t, before), filesOf(t, c.after), []string{"own"}), " "); got != c.want {
			t.Errorf("%s changes %q, want %q", c.after, got, c.want)
		}
	}
	if got := named.ChangedLanes(filesOf(t, "a=1 own/f=1"), filesOf(t, "a=1 own/f=2 own/x/g=1"), []string{"own/f", "own/x"}); len(got) > 0 {
		t.Errorf("what is in some places changes %v", got)
	}
}

func TestCompose(t *testing.T) {
	platform := "t/x=1 workloads/a.yaml=1 workloads/b/one=1 workloads/kustomization.yaml=1"
	for _, c := range []struct {
		partition Partition
		lanes     map[string]string
		want      string
	}{
		{each, nil, platform},
		{each, map[string]string{"a": "t/x=2 workloads/a.yaml=2 workloads/b/one=2 workloads/kustomization.yaml=2"}, "t/x=1 workloads/a.yaml=2 workloads/b/one=1 workloads/kustomization.yaml=1"},
		{each, map[string]string{"a": "t/x=2"}, "t/x=1 workloads/b/one=1 workloads/kustomization.yaml=1"},
		{each, map[string]string{"b": "workloads/b/two=2 workloads/b.yaml=3"}, "t/x=1 workloads/a.yaml=1 workloads/b.yaml=3 workloads/b/two=2 workloads/kustomization.yaml=1"},
		{each, map[string]string{"c": "workloads/c.yaml=2", "a": "workloads/a.yaml=2"}, "t/x=1 workloads/a.yaml=2 workloads/b/one=1 workloads/c.yaml=2 workloads/kustomization.yaml=1"},
		{named, map[string]string{"search": "teams/x/search.yaml=1 teams/x/other=1"}, "t/x=1 teams/x/search.yaml=1 workloads/a.yaml=1 workloads/b/one=1 workloads/kustomization.yaml=1"},
	} {
		got, err := c.partition.Compose(filesOf(t, platform), lanesOf(t, c.lanes))
		if err != nil || describeFiles(got) != c.want {
			t.Errorf("%v composes %s (%v), want %s", c.lanes, describeFiles(got), err, c.want)
		}
	}
	if _, err := named.Compose(filesOf(t, "teams=1"), lanesOf(t, map[string]string{"search": "teams/x/search.yaml=1"})); err == nil {
		t.Error("a file of the platform is composed with a folder of a lane")
	}
	if got, err := named.Compose(filesOf(t, "teams=1"), lanesOf(t, map[string]string{"search": "teams/x/other=1"})); err != nil || describeFiles(got) != "teams=1" {
		t.Errorf("a file of the platform composes to %s, %v", describeFiles(got), err)
	}
}

func lanesOf(t *testing.T, texts map[string]string) map[string]tree.Tree {
	lanes := map[string]tree.Tree{}
	for lane, text := range texts {
		lanes[lane] = filesOf(t, text)
	}
	return lanes
}

// TestComposeProperties holds what is composed of random trees against the definition, file by file; with all lanes at one
// tree it is that tree; and what differs from the platform is of the lanes.
func TestComposeProperties(t *testing.T) {
	names := []string{"t/x", "workloads/a.yaml", "workloads/a/x", "workloads/b.yaml", "workloads/billing/x", "workloads/checkout.yaml", "workloads/README.md", "teams/x/search.yaml", "teams/x/y", "teams/z/search.yaml/q"}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		randomTree := func() tree.Tree {
			var words []string
			for _, name := range names {
				if random.IntN(3) > 0 {
					words = append(words, fmt.Sprintf("%s=%d", name, random.IntN(3)))
				}
			}
			return filesOf(t, strings.Join(words, " "))
		}
		p := []Partition{each, named}[random.IntN(2)]
		platform, lanes := randomTree(), map[string]tree.Tree{}
		for _, lane := range []string{"a", "b", "payments", "search", "billing"} {
			if random.IntN(2) == 0 {
				lanes[lane] = randomTree()
			}
		}
		composed, err := p.Compose(platform, lanes)
		if err != nil {
			t.Fatal(seed, err)
		}
		for _, name := range names {
			from := platform
			if own, moved := lanes[p.FindLane(name)]; moved {
				from = own
			}
			want, there := from.Lookup(name)
			got, is := composed.Lookup(name)
			if there != is || want.ID != got.ID {
				t.Fatalf("seed %d: %s is %q (%t), want %q (%t)", seed, name, got.Data, is, want.Data, there)
			}
		}
		for _, lane := range p.ChangedLanes(platform, composed, nil) {
			if _, moved := lanes[lane]; !moved {
				t.Fatalf("seed %d: lane %s changes, and did not move", seed, lane)
			}
		}
		head := randomTree()
		for _, lane := range p.ChangedLanes(platform, head, nil) {
			if lane != Platform {
				lanes[lane] = head
			}
		}
		maps := map[string]tree.Tree{}
		for lane := range lanes {
			maps[lane] = head
		}
		if all, err := p.Compose(head, maps); err != nil || !tree.Equal(all, head) {
			t.Fatalf("seed %d: with all lanes at the head, the base is %s, %v", seed, describeFiles(all), err)
		}
	}
}

func TestCheck(t *testing.T) {
	of := &model.Object{Kind: "Promotion", Name: "fleet"}
	for _, c := range []struct {
		name      string
		partition Partition
		files     string
		template  string // its file
		want      []string
	}{
		{"sound", each, "workloads/a.yaml=1", "templates/t.yaml", nil},
		{"nothing matches", each, "t/x=1", "", []string{"warning workloads/*"}},
		{"a template", each, "workloads/a.yaml=1", "workloads/a.yaml", []string{"error a"}},
		{"sound, with names", named, "workloads/checkout.yaml=1 workloads/billing/a=1 teams/x/search.yaml=1", "", nil},
		{"one that matches nothing", named, "workloads/checkout.yaml=1 teams/x/search.yaml=1", "", []string{"warning workloads/billing/**"}},
		{"two have one file", NewPartition(model.Lanes{Named: []model.Lane{{Name: "one", Paths: []string{"w/a*"}}, {Name: "two", Paths: []string{"w/*b.yaml"}}}}), "w/ab.yaml=1 w/acb.yaml=1", "", []string{"error w/ab.yaml"}},
		{"one has a file in the folder of another", NewPartition(model.Lanes{Named: []model.Lane{{Name: "one", Paths: []string{"w/a"}}, {Name: "two", Paths: []string{"w/a/x"}}}}), "w/a/x=1", "", []string{"error w/a/x"}},
		{"one has two patterns for a file", NewPartition(model.Lanes{Named: []model.Lane{{Name: "one", Paths: []string{"w/a", "w/a/x"}}}}), "w/a/x=1", "", nil},
	} {
		var templates []*model.Template
		if c.template != "" {
			templates = []*model.Template{{Object: model.Object{Kind: "Template", Name: "t", Pos: problem.Pos{Layer: "base", File: c.template}}}}
		}
		found := c.partition.Check(filesOf(t, c.files), templates, of)
		ok := len(found) == len(c.want)
		for i := range c.want {
			level, about, _ := strings.Cut(c.want[i], " ")
			ok = ok && found[i].Warning == (level == "warning") && strings.Contains(found[i].Summary, about)
		}
		if !ok {
			t.Errorf("%s: %v, want %v", c.name, found, c.want)
		}
	}
	var many []model.Lane
	for i := range 100 {
		many = append(many, model.Lane{Name: fmt.Sprint(i), Paths: []string{"w/*"}})
	}
	if found := NewPartition(model.Lanes{Named: many}).Check(filesOf(t, "w/a=1"), nil, of); len(found) == 0 || len(found) > 2*maxProblems {
		t.Errorf("100 lanes with one file have %d problems", len(found))
	}
}

func TestOwners(t *testing.T) {
	at := func(layer, file string) model.Object {
		return model.Object{Name: file, Pos: problem.Pos{Layer: layer, File: file}}
	}
	named := func(name string, o model.Object) model.Object { o.Name = name; return o }
	o := each.NewOwners(&model.Model{
		ClusterTypes:  []*model.ClusterType{{Object: named("large", at("dev", "large.yaml"))}},
		Registrations: []*model.Registration{{Object: named("hello", at("base", "workloads/hello-registration.yaml"))}, {Object: named("dev-only", at("dev", "workloads/x.yaml"))}},
		Targets: []*model.Target{
			{Object: named("web", at("hello", "targets.yaml")), Team: true},
			{Object: named("shop", at("base", "workloads/shop/target.yaml"))},
			{Object: named("shared", at("base", "shared/target.yaml"))},
			{Object: named("own", at("dev-only", "targets.yaml")), Team: true},
			{Object: named("hello", at("dev", "workloads/hello.yaml"))},
		},
		Stacks: model.Stacks{List: []*model.Stack{
			{Object: named("taken", at("dev", "a.yaml")), Blueprint: &model.Blueprint{Name: "taken", Pos: at("base", "workloads/shop/blueprint.yaml").Pos}}, {Object: named("plain", at("dev", "b.yaml"))},
		}},
	}, func(s *model.Stack) []string { return []string{"stacks/team/" + s.Name} })
	for file, want := range map[string]string{
		"stacks/team/taken/queue/a.yaml": "shop", "stacks/team/plain/queue/a.yaml": Platform, "stacks/team/taken": Platform, "stacks/kustomization.yaml": Platform,
		"large/web/reconciler.yaml": "hello-registration", "large/shop/a/b.yaml": "shop", "large/shared/a.yaml": Platform, "large/own/a.yaml": Platform,
		"large/hello/a.yaml": Platform, "large/unknown/a.yaml": Platform, "small/web/a.yaml": Platform, "large/web": Platform, "web": Platform,
	} {
		if got := o.Find(file); got != want {
			t.Errorf("%s belongs to %s, want %s", file, got, want)
		}
	}
}
