package kustomize

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const hintObjects = "every object needs apiVersion, kind and metadata.name, and values that JSON has"

// check follows a kustomization through everything that it names. Its methods
// return the number of bytes that krusty would read, and report why it must not.
type check struct {
	files    tree.Tree
	factory  *resmap.Factory
	reached  map[string][]byte // what krusty will read, by path
	sizes    map[string]int    // of kustomizations with all that they include, by folder
	open     []string          // the folders that the walk is in
	schemas  bool              // some kustomization sets kyaml's global schema
	problems problem.List
}

func newCheck(files tree.Tree) *check {
	return &check{
		files:   files,
		factory: resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()),
		reached: map[string][]byte{},
		sizes:   map[string]int{},
	}
}

// kustomization is the decoded text of a kustomization file.
type kustomization struct {
	*source
	spec *types.Kustomization
}

// root checks the kustomization that is to be built.
func (c *check) root(top *source) kustomization {
	e := tree.Dir("", c.files)
	if top.dir != "" {
		e, _ = c.files.Lookup(top.dir)
	}
	if c.recognized(e.Tree()) == nil {
		c.problems.Addf(problem.Pos{File: top.dir}, top.subject(), "add a kustomization.yaml", "the folder has no kustomization")
		return kustomization{}
	}
	k, text, ok := c.read(top, e.Tree())
	if !ok {
		return kustomization{}
	}
	size := c.follow(k, text)
	if size > maxInput && !c.problems.Stops() {
		c.refuseFile(k.ref("", ""), k.file, 0, "take parts of it out, or include them fewer times",
			"the input comes to more than %d MiB, when files count as often as they are included and aliases as what they stand for", maxInput>>20)
	}
	return k
}

// include checks a kustomization that another one names.
func (c *check) include(r ref, dir string, folder tree.Tree) int {
	if size, done := c.sizes[dir]; done {
		return size
	}
	if len(c.open) > maxInput/includeCost {
		return enough // it is too much already, whatever follows
	}
	if slices.ContainsFunc(c.open, func(o string) bool { return within(o, dir) }) {
		c.refuse(r, "a kustomization can include folders beside it and below it",
			"%q leads back to a kustomization that includes this one", r.value)
		return 0
	}
	if c.recognized(folder) == nil {
		c.refuse(r, "add a kustomization.yaml to it, or name its files", "folder %q has no kustomization", r.value)
		return 0
	}
	k, text, ok := c.read(&source{dir: dir}, folder)
	if !ok {
		return 0
	}
	c.sizes[dir] = c.follow(k, text)
	return c.sizes[dir]
}

// recognized returns the entries of a folder that kustomize takes for a kustomization.
func (c *check) recognized(folder tree.Tree) []tree.Entry {
	var found []tree.Entry
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if e, ok := folder.Lookup(name); ok && !e.IsDir() {
			found = append(found, e)
		}
	}
	return found
}

// read reads the kustomization of a folder that has one, and completes the
// source.
func (c *check) read(s *source, folder tree.Tree) (k kustomization, size int, ok bool) {
	found := c.recognized(folder)
	s.file = path.Join(s.dir, found[0].Name)
	k = kustomization{s, &types.Kustomization{}}
	if len(found) > 1 {
		c.refuseFile(s.ref("", ""), s.file, 0, "keep one of them", "the folder has both %s and %s", found[0].Name, found[1].Name)
		return k, 0, false
	}
	if _, _, ok := c.lookup(s.ref("kustomization", found[0].Name), s.file); !ok {
		return k, 0, false
	}
	data := found[0].Data
	c.reached[s.file] = data
	docs, size, err := parse(data)
	if err != nil {
		c.refuseFile(s.ref("", ""), s.file, lineOf(err), hintSyntax, "the kustomization cannot be read: %v", err)
		return k, 0, false
	}
	s.docs = docs
	if size > maxInput {
		return k, size, true // do not decode what expands like this
	}
	if err := k.spec.Unmarshal(data); err != nil {
		c.refuseDecode(s, err)
		return k, 0, false
	}
	return k, size, true
}

// refuseDecode reports that a kustomization has other fields or types than it
// should.
func (c *check) refuseDecode(s *source, err error) {
	message := strings.TrimPrefix(oneLine(err.Error()), "invalid Kustomization: json: ")
	if _, field, unknown := strings.Cut(message, "unknown field "); unknown {
		field = strings.Trim(field, `"`)
		c.refuse(s.ref(field, field), cmp.Or(problem.DidYouMean(field, fieldNames()), "remove it, or check its spelling"), "kustomizations have no such field")
		return
	}
	c.refuseFile(s.ref("", ""), s.file, 0, "look the field up in the documentation of kustomize", "the kustomization cannot be read: %s", message)
}

// fieldNames returns the fields of a kustomization.
func fieldNames() []string {
	var all []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			all = append(all, name)
		}
	}
	return all
}

// follow checks everything that the kustomization names.
func (c *check) follow(k kustomization, text int) int {
	c.open = append(c.open, k.dir)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	size := text + includeCost
	for _, part := range []func(kustomization) int{
		c.noHelm, c.operands, c.generated, c.patched, c.schemaFiles, c.plugins,
	} {
		size = min(size+part(k), enough)
	}
	return size
}

func (c *check) noHelm(k kustomization) int {
	for _, f := range []struct {
		name string
		used bool
	}{
		{"helmGlobals", k.spec.HelmGlobals != nil},
		{"helmCharts", k.spec.HelmCharts != nil},
		{"helmChartInflationGenerator", k.spec.HelmChartInflationGenerator != nil},
	} {
		if f.used {
			c.refuse(k.ref(f.name, f.name), hintHelm, "kustomize would run helm")
		}
	}
	return 0
}

func (c *check) operands(k kustomization) int {
	size := 0
	for _, name := range k.spec.Resources {
		size = min(size+c.resource(k.ref("resources", name)), enough)
	}
	//lint:ignore SA1019 control planes still have it, and krusty reads it
	for _, name := range k.spec.Bases {
		size = min(size+c.resource(k.ref("bases", name)), enough)
	}
	for _, name := range k.spec.Components {
		r := k.ref("components", name)
		at, e, ok := c.find(r)
		switch {
		case !ok:
		case e.IsDir():
			size = min(size+c.include(r, at, e.Tree()), enough)
		default:
			c.refuse(r, "name the folder of the component", "%q is a file", name)
		}
	}
	return size
}

func (c *check) resource(r ref) int {
	at, e, ok := c.find(r)
	if !ok {
		return 0
	}
	if e.IsDir() {
		return c.include(r, at, e.Tree())
	}
	_, _, ok = c.take(r, at, e)
	if !ok {
		return 0
	}
	size, err := parseData(e.Data)
	if err == nil && size <= maxInput {
		err = c.readable(e.Data)
	}
	if err != nil {
		message, _, _ := strings.Cut(oneLine(err.Error()), " in object {{") // Go's print of the object
		c.refuseFile(r, at, lineOf(err), cmp.Or(hintFor(err), hintObjects), "kustomize cannot read the file: %s", message)
	}
	return size
}

// readable returns an error if krusty cannot read a text as objects, or cannot print them,
// which ends the process in some parts of krusty.
func (c *check) readable(text []byte) error {
	objects, err := c.factory.NewResMapFromBytes(text)
	if err != nil {
		return err
	}
	for _, r := range objects.Resources() {
		if _, err := r.MarshalJSON(); err != nil {
			return fmt.Errorf("%s %s: %w", r.GetKind(), r.GetName(), err)
		}
	}
	return nil
}

func (c *check) generated(k kustomization) int {
	size := 0
	for _, g := range k.spec.ConfigMapGenerator {
		size += c.keyValues(k.source, "configMapGenerator", g.KvPairSources)
	}
	for _, g := range k.spec.SecretGenerator {
		size += c.keyValues(k.source, "secretGenerator", g.KvPairSources)
	}
	return size
}

func (c *check) keyValues(s *source, generator string, from types.KvPairSources) int {
	size := 0
	for _, entry := range from.FileSources {
		r := s.ref(generator+" files", entry)
		name := entry
		if _, file, ok := strings.Cut(entry, "="); ok {
			name = file
		}
		if strings.Contains(name, "=") {
			c.refuse(r, "write key=path", "%q has more than one =", shorten(entry, 80))
			continue
		}
		size += c.raw(r.with(name))
	}
	for _, name := range from.EnvSources {
		size += c.raw(s.ref(generator+" envs", name))
	}
	if from.EnvSource != "" {
		size += c.raw(s.ref(generator+" env", from.EnvSource))
	}
	return size
}

// raw checks a file that krusty does not parse.
func (c *check) raw(r ref) int {
	_, data, _ := c.file(r)
	return len(data)
}

// data checks a file that krusty parses as something else than objects.
func (c *check) data(r ref) (docs []*yaml.Node, size int) {
	at, data, ok := c.file(r)
	if !ok {
		return nil, 0
	}
	docs, size, err := parse(data)
	if err != nil {
		c.refuseFile(r, at, lineOf(err), hintSyntax, "kustomize cannot read the file: %v", err)
	}
	return docs, size
}
