package kustomize

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const hintObjects = "every object needs apiVersion, kind and metadata.name, and values that JSON has"

// checker follows everything that a kustomization names. Its methods return the bytes that krusty
// would read, and report what it must not read.
type checker struct {
	files       tree.Tree
	factory     *resmap.Factory
	reached     map[string][]byte
	sizes       map[string]int // of kustomizations with their includes, by folder
	openFolders []string
	setsSchema  bool // a kustomization sets kyaml's global schema
	problems    problem.List
}

type kustomization struct {
	*source
	spec *types.Kustomization
}

func (c *checker) checkRoot(top *source) kustomization {
	e := tree.Dir("", c.files)
	if top.dir != "" {
		e, _ = c.files.Lookup(top.dir)
	}
	if c.kustomizationFiles(e.Tree()) == nil {
		c.problems.Addf(problem.Pos{File: top.dir}, top.subject(), "add a kustomization.yaml", "the folder has no kustomization")
		return kustomization{}
	}
	k, text, ok := c.readKustomization(top, e.Tree())
	if !ok {
		return kustomization{}
	}
	size := c.checkContents(k, text)
	if size > maxInput && !c.problems.Stops() {
		c.refuseFile(k.newRef("", ""), k.file, 0, "take parts of it out, or include them fewer times",
			"the input comes to more than %d MiB, when files count as often as they are included and aliases as what they stand for", maxInput>>20)
	}
	return k
}

func (c *checker) checkIncluded(r nameRef, dir string, folder tree.Tree) int {
	if size, done := c.sizes[dir]; done {
		return size
	}
	if len(c.openFolders) > maxInput/includeCost {
		return sizeCap
	}
	if slices.ContainsFunc(c.openFolders, func(o string) bool { return isWithin(o, dir) }) {
		c.refuseRef(r, "a kustomization can include folders beside it and below it",
			"%q leads back to a kustomization that includes this one", r.value)
		return 0
	}
	if c.kustomizationFiles(folder) == nil {
		c.refuseRef(r, "add a kustomization.yaml to it, or name its files", "folder %q has no kustomization", r.value)
		return 0
	}
	k, text, ok := c.readKustomization(&source{dir: dir}, folder)
	if !ok {
		return 0
	}
	c.sizes[dir] = c.checkContents(k, text)
	return c.sizes[dir]
}

func (c *checker) kustomizationFiles(folder tree.Tree) []tree.Entry {
	var found []tree.Entry
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if e, ok := folder.Lookup(name); ok && !e.IsDir() {
			found = append(found, e)
		}
	}
	return found
}

func (c *checker) readKustomization(s *source, folder tree.Tree) (k kustomization, size int, ok bool) {
	found := c.kustomizationFiles(folder)
	s.file = path.Join(s.dir, found[0].Name)
	k = kustomization{s, &types.Kustomization{}}
	if len(found) > 1 {
		c.refuseFile(s.newRef("", ""), s.file, 0, "keep one of them", "the folder has both %s and %s", found[0].Name, found[1].Name)
		return k, 0, false
	}
	if _, _, ok := c.lookUpPath(s.newRef("kustomization", found[0].Name), s.file); !ok {
		return k, 0, false
	}
	data := found[0].Data
	c.reached[s.file] = data
	docs, size, err := parseDocuments(data)
	if err != nil {
		c.refuseFile(s.newRef("", ""), s.file, errorLine(err), hintSyntax, "the kustomization cannot be read: %v", err)
		return k, 0, false
	}
	s.docs = docs
	if size > maxInput {
		return k, size, true
	}
	if err := k.spec.Unmarshal(data); err != nil {
		c.refuseDecode(s, err)
		return k, 0, false
	}
	return k, size, true
}

func (c *checker) refuseDecode(s *source, err error) {
	message := strings.TrimPrefix(oneLine(err.Error()), "invalid Kustomization: json: ")
	if _, field, unknown := strings.Cut(message, "unknown field "); unknown {
		field = strings.Trim(field, `"`)
		var known []string
		for _, f := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				known = append(known, name)
			}
		}
		c.refuseRef(s.newRef(field, field), cmp.Or(problem.DidYouMean(field, known), "remove it, or check its spelling"), "kustomizations have no such field")
		return
	}
	c.refuseFile(s.newRef("", ""), s.file, 0, "look the field up in the documentation of kustomize", "the kustomization cannot be read: %s", message)
}

func (c *checker) checkContents(k kustomization, text int) int {
	c.openFolders = append(c.openFolders, k.dir)
	defer func() { c.openFolders = c.openFolders[:len(c.openFolders)-1] }()
	size := text + includeCost
	for _, part := range []func(kustomization) int{
		c.refuseHelm, c.checkResources, c.checkGenerators, c.checkPatches, c.checkSchemaFiles, c.checkPlugins,
	} {
		size = min(size+part(k), sizeCap)
	}
	return size
}

func (c *checker) refuseHelm(k kustomization) int {
	for _, f := range []struct {
		name string
		used bool
	}{
		{"helmGlobals", k.spec.HelmGlobals != nil},
		{"helmCharts", k.spec.HelmCharts != nil},
		{"helmChartInflationGenerator", k.spec.HelmChartInflationGenerator != nil},
	} {
		if f.used {
			c.refuseRef(k.newRef(f.name, f.name), hintHelm, "kustomize would run helm")
		}
	}
	return 0
}

func (c *checker) checkResources(k kustomization) int {
	size := 0
	for _, name := range k.spec.Resources {
		size = min(size+c.checkResource(k.newRef("resources", name)), sizeCap)
	}
	//lint:ignore SA1019 control planes still have it, and krusty reads it
	for _, name := range k.spec.Bases {
		size = min(size+c.checkResource(k.newRef("bases", name)), sizeCap)
	}
	for _, name := range k.spec.Components {
		r := k.newRef("components", name)
		at, e, ok := c.findEntry(r)
		switch {
		case !ok:
		case e.IsDir():
			size = min(size+c.checkIncluded(r, at, e.Tree()), sizeCap)
		default:
			c.refuseRef(r, "name the folder of the component", "%q is a file", name)
		}
	}
	return size
}

func (c *checker) checkResource(r nameRef) int {
	at, e, ok := c.findEntry(r)
	if !ok {
		return 0
	}
	if e.IsDir() {
		return c.checkIncluded(r, at, e.Tree())
	}
	_, _, ok = c.takeFile(r, at, e)
	if !ok {
		return 0
	}
	size, err := measureData(e.Data)
	if err == nil && size <= maxInput {
		err = c.checkReadable(e.Data)
	}
	if err != nil {
		message, _, _ := strings.Cut(oneLine(err.Error()), " in object {{")
		c.refuseFile(r, at, errorLine(err), cmp.Or(syntaxHint(err), hintObjects), "kustomize cannot read the file: %s", message)
	}
	return size
}

// checkReadable also checks that krusty can print the objects; otherwise parts of it end the
// process.
func (c *checker) checkReadable(text []byte) error {
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

func (c *checker) checkGenerators(k kustomization) int {
	size := 0
	for _, g := range k.spec.ConfigMapGenerator {
		size += c.checkKeyValues(k.source, "configMapGenerator", g.KvPairSources)
	}
	for _, g := range k.spec.SecretGenerator {
		size += c.checkKeyValues(k.source, "secretGenerator", g.KvPairSources)
	}
	return size
}

func (c *checker) checkKeyValues(s *source, generator string, from types.KvPairSources) int {
	size := 0
	for _, entry := range from.FileSources {
		r := s.newRef(generator+" files", entry)
		name := entry
		if _, file, ok := strings.Cut(entry, "="); ok {
			name = file
		}
		if strings.Contains(name, "=") {
			c.refuseRef(r, "write key=path", "%q has more than one =", text.Shorten(entry, 80))
			continue
		}
		size += c.checkRawFile(s.newRef(r.field, name))
	}
	for _, name := range from.EnvSources {
		size += c.checkRawFile(s.newRef(generator+" envs", name))
	}
	if from.EnvSource != "" {
		size += c.checkRawFile(s.newRef(generator+" env", from.EnvSource))
	}
	return size
}

func (c *checker) checkRawFile(r nameRef) int {
	_, data, _ := c.readFile(r)
	return len(data)
}

func (c *checker) checkData(r nameRef) (docs []*yaml.Node, size int) {
	at, data, ok := c.readFile(r)
	if !ok {
		return nil, 0
	}
	docs, size, err := parseDocuments(data)
	if err != nil {
		c.refuseFile(r, at, errorLine(err), hintSyntax, "kustomize cannot read the file: %v", err)
	}
	return docs, size
}
