package output_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

var small = fleet.Size{Workloads: 6, ClusterTypes: 6, Configs: 24, Reach: 3}

// TestSameInputSameTree renders one fleet a hundred times: on one processor and on
// two, with its files listed in any order.
func TestSameInputSameTree(t *testing.T) {
	f := fleet.New(small)
	random := rand.New(rand.NewPCG(3, 4))
	var want tree.ID
	for run := range 100 {
		procs := runtime.GOMAXPROCS(1 + run%2)
		layers := f.Layers()
		for i := range layers {
			layers[i].Files = shuffled(t, layers[i].Files, random)
		}
		random.Shuffle(len(layers), func(i, j int) { layers[i], layers[j] = layers[j], layers[i] })
		m, problems := model.Parse(fleet.Environment, layers...)
		got, more := output.Render(m, nil, output.Options{})
		runtime.GOMAXPROCS(procs)
		if problems.Stops() || more.Stops() {
			t.Fatal(problems, more)
		}
		if run == 0 {
			want = got.ID()
		}
		if got.ID() != want {
			t.Fatalf("run %d gives %s, the first gave %s", run, got.ID(), want)
		}
	}
}

// shuffled builds the same tree from its files in another order, in folders of
// other names: folders of a control plane mean nothing.
func shuffled(t *testing.T, files tree.Tree, random *rand.Rand) tree.Tree {
	t.Helper()
	type file struct {
		path string
		data []byte
	}
	var list []file
	for path, data := range files.All() {
		list = append(list, file{path, data})
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var b tree.Builder
	for i, f := range list {
		if err := b.Add(fmt.Sprintf("%d/%d.yaml", random.IntN(5), i), f.data); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// TestCacheRendersWhatChanged: a change of one workload renders its assignments, and a config that nothing reads renders none.
func TestCacheRendersWhatChanged(t *testing.T) {
	f, parser, cache := fleet.New(fleet.Size{Workloads: 20, ClusterTypes: 10, Configs: 24}), model.NewParser(), &output.Cache{}
	for _, step := range []struct {
		what string
		edit func()
		want int64
	}{
		{"the first run", func() {}, 200},
		{"another branch of a workload", func() { f.SetBranch(7, "release") }, 10},
		{"a config that nothing reads", func() { f.SetIdle("value") }, 0},
		{"nothing", func() {}, 0},
	} {
		step.edit()
		before := cache.Rendered()
		render(t, parser, f, cache)
		if got := cache.Rendered() - before; got != step.want {
			t.Errorf("%s: %d assignments are rendered, want %d", step.what, got, step.want)
		}
	}
}

// TestCacheChangesNothing makes random edits of random fleets, and compares the
// tree that a cache gives with that of a full render: 10,000 edits, most of them of
// small fleets.
func TestCacheChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	fleets := []struct{ fleets, edits, workloads, clusterTypes, configs int }{{100, 98, 2, 3, 5}, {4, 50, 15, 10, 50}}
	if testing.Short() {
		fleets[0].fleets, fleets[1].fleets = 5, 1
	}
	for _, f := range fleets {
		for range f.fleets {
			editAtRandom(t, random, f.edits, fleet.Size{
				Workloads: 1 + random.IntN(f.workloads), ClusterTypes: 1 + random.IntN(f.clusterTypes), Configs: random.IntN(f.configs), Reach: random.IntN(5),
			}, nil)
		}
	}
}

// TestCacheChangesNothingOfChangedData is the same for templates that change the data
// which those after them read: all of the time, for some assignments, or in text that is
// expanded again.
func TestCacheChangesNothingOfChangedData(t *testing.T) {
	const name, team = `name: "{{ .DeploymentTargetName }}"`, `team: "{{ .Labels.team }}"`
	random := rand.New(rand.NewPCG(7, 8))
	for _, change := range []string{
		`{{ $_ := set .ConfigData "SEEN" .Workload }}`,
		`{{ if contains "1" .Workload }}{{ $_ := set .ConfigData "SEEN" .ClusterType }}{{ end }}`,
		`{{ $_ := unset .ConfigData (first (keys .ConfigData | default (list "NONE"))) }}{{ $_ := set .ConfigData "SEEN" "x" }}`,
		`{{ printf "{{ $_ := set .ConfigData %q %q }}" "SEEN" .Workload }}`,
		`{{ if contains "1" .Workload }}{{ printf "{{ $_ := set .ConfigData %q %q }}" "SEEN" .ClusterType }}{{ end }}`,
	} {
		replaced := strings.NewReplacer(name, change+name, team, `team: "{{ .ConfigData.SEEN | default "none" }}"`)
		editAtRandom(t, random, 60, small, replaced)
	}
}

// contentsEach is how many edits are between two of which the contents are compared, and
// not only ids.
const contentsEach = 5

// editAtRandom edits a fleet and compares after each edit. The templates are replaced in
// its files, if that is not nil.
func editAtRandom(t *testing.T, random *rand.Rand, edits int, size fleet.Size, templates *strings.Replacer) {
	t.Helper()
	f, parser, cache := fleet.New(size), model.NewParser(), &output.Cache{}
	for n := range edits {
		edit := f.Edit(random)
		layers := f.Layers()
		if templates != nil {
			layers[0].Files = withTemplates(t, layers[0].Files, templates)
		}
		m, problems := parser.Parse(fleet.Environment, layers...)
		cached, more := output.Render(m, cache, output.Options{})
		full, _ := output.Render(m, nil, output.Options{})
		if problems.Stops() || more.Stops() {
			t.Fatalf("%+v, edit %d (%s): %v %v", size, n, edit, problems, more)
		}
		if cached.ID() != full.ID() {
			t.Fatalf("%+v, edit %d (%s): the cache gives %s, a full render %s", size, n, edit, cached.ID(), full.ID())
		}
		if n%contentsEach == 0 {
			rendered := cache.Rendered()
			cached, _ = output.Render(m, cache, output.Options{}) // nothing has changed
			if cached.ID() != full.ID() || cache.Rendered() != rendered {
				t.Fatalf("%+v, edit %d (%s): again it is %s, and not %s", size, n, edit, cached.ID(), full.ID())
			}
			checkContents(t, cached)
		}
	}
}

// withTemplates returns the files of a base with other texts in the file of the templates.
func withTemplates(t *testing.T, base tree.Tree, texts *strings.Replacer) tree.Tree {
	t.Helper()
	var b tree.Builder
	changed := false
	for path, data := range base.All() {
		text := string(data)
		if strings.Contains(text, "kind: Template") {
			text = texts.Replace(text)
			changed = changed || text != string(data)
		}
		if err := b.Add(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if !changed {
		t.Fatal("the fleet has no templates that could be changed")
	}
	return b.Tree()
}

// checkContents compares the ids of a lazy tree with those of its contents.
func checkContents(t *testing.T, lazy tree.Tree) {
	t.Helper()
	files := map[string][]byte{}
	for path, data := range lazy.All() {
		files[path] = data
	}
	real, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	if real.ID() != lazy.ID() {
		t.Fatalf("the tree says %s, its files are %s", lazy.ID(), real.ID())
	}
	if lazy.Count() != len(files) {
		t.Fatalf("the tree says it has %d files, and has %d", lazy.Count(), len(files))
	}
}
