package inside

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"gopkg.in/yaml.v3"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/chart"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// BuildChart returns the objects of a chart. It is not bounded in time or memory.
func BuildChart(s Source, c chart.Chart) Built {
	texts, err := chart.Render(c, chart.Release{Name: s.Name, Namespace: s.Namespace, Values: s.Settings})
	if err != nil {
		return failedBuild(err)
	}
	return splitObjects(texts, s)
}

// BuildManifests returns the objects of a folder, as kustomize-controller builds them.
func BuildManifests(s Source, files tree.Tree) Built {
	if s.Path != "" && files.Sub(s.Path).IsEmpty() {
		return Built{Reason: NotFound, Detail: "folder " + s.Path}
	}
	whole, dir, err := withSettings(s, files)
	if err != nil {
		return failedBuild(err)
	}
	objects, problems := kustomize.Build(whole, dir)
	if problems.Stops() {
		return failedBuild(errors.New(problems.Sorted()[0].Summary))
	}
	var texts [][]byte
	for _, o := range objects {
		texts = append(texts, o.YAML)
	}
	return splitObjects(texts, s)
}

func failedBuild(err error) Built {
	return Built{Reason: Failed, Detail: text.Shorten(text.OneLine(err.Error()), maxDetail)}
}

const maxDetail = 300

// ownFolder is where a kustomization with the settings of Flux's Kustomization is added.
const ownFolder = "fairlead-inside"

// withSettings adds the kustomization that kustomize-controller would generate, and one around it
// with the settings.
func withSettings(s Source, files tree.Tree) (tree.Tree, string, error) {
	added, dir := map[string][]byte{}, s.Path
	if dir == "" && s.Settings != "" { // the one around it is beside it
		dir = "root"
		files = tree.FromEntries([]tree.Entry{tree.Dir(dir, files)})
	}
	if folder := files.Sub(dir); !hasKustomization(folder) {
		generated, err := yaml.Marshal(map[string][]string{"resources": resourcesIn(folder, "")})
		if err != nil {
			return tree.Tree{}, "", err
		}
		added[path.Join(dir, "kustomization.yaml")] = generated
	}
	if s.Settings != "" {
		spec := map[string]any{}
		if err := yaml.Unmarshal([]byte(s.Settings), &spec); err != nil {
			return tree.Tree{}, "", err
		}
		if namespace := spec["targetNamespace"]; namespace != nil {
			spec["namespace"] = namespace
			delete(spec, "targetNamespace")
		}
		spec["resources"] = []string{path.Join("..", dir)}
		outer, err := yaml.Marshal(spec)
		if err != nil {
			return tree.Tree{}, "", err
		}
		added[ownFolder+"/kustomization.yaml"], dir = outer, ownFolder
	}
	if len(added) == 0 {
		return files, dir, nil
	}
	extra, err := tree.FromFiles(added)
	if err != nil {
		return tree.Tree{}, "", err
	}
	whole, err := tree.Union(files, extra)
	return whole, dir, err
}

func hasKustomization(t tree.Tree) bool {
	for _, e := range t.Entries() {
		if !e.IsDir() && kustomize.IsKustomizationFile(e.Name) {
			return true
		}
	}
	return false
}

// resourcesIn returns the manifests below a folder, and the folders with a kustomization.
func resourcesIn(t tree.Tree, prefix string) []string {
	var names []string
	for _, e := range t.Entries() {
		name := prefix + e.Name
		switch ext := path.Ext(e.Name); {
		case e.IsDir() && hasKustomization(e.Tree()):
			names = append(names, name)
		case e.IsDir():
			names = append(names, resourcesIn(e.Tree(), name+"/")...)
		case ext == ".yaml" || ext == ".yml":
			names = append(names, name)
		}
	}
	return names
}

// maxObjects bounds the objects of a source.
const maxObjects = 5000

// splitObjects makes one file for each object, named after it.
func splitObjects(texts [][]byte, s Source) Built {
	files := map[string][]byte{}
	for _, t := range texts {
		objects, err := manifest.Decode(t)
		if err != nil {
			return failedBuild(err)
		}
		for _, o := range objects {
			var value map[string]any
			if err := o.Node.Decode(&value); err != nil || o.Kind == "" {
				return failedBuild(fmt.Errorf("line %d is not an object of Kubernetes", o.Line))
			}
			if hook, isHook := findHook(value); isHook && s.isChart() {
				if strings.HasPrefix(hook, "test") {
					continue
				}
				o.Kind += HookSuffix
				value["kind"] = o.Kind
			}
			encoded, err := kubeyaml.Marshal(value)
			if err != nil {
				return failedBuild(err)
			}
			files[objectPath(o, s.Namespace)] = encoded
		}
		if len(files) > maxObjects {
			return Built{Reason: TooLarge}
		}
	}
	t, err := tree.FromFiles(files)
	if err != nil {
		return failedBuild(err)
	}
	return Built{Objects: t}
}

// objectPath is "StatefulSet.apps/name.yaml", with a folder for a namespace other than the default
// one.
func objectPath(o manifest.Object, namespace string) string {
	group, _, isGrouped := strings.Cut(o.APIVersion, "/")
	kind := o.Kind
	if isGrouped {
		kind += "." + group
	}
	name := safeName(o.Name) + ".yaml"
	if o.Namespace != "" && o.Namespace != namespace {
		name = safeName(o.Namespace) + "/" + name
	}
	return safeName(kind) + "/" + name
}

// safeName keeps names of objects, which are untrusted, from being other paths.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(name, ".") == "" || strings.EqualFold(name, ".git") {
		return "_" + name
	}
	return text.Shorten(name, 250)
}

// HookSuffix ends the kind of a hook, which is not part of a release.
const HookSuffix = " hook"

func findHook(object map[string]any) (hook string, isHook bool) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, isHook := annotations["helm.sh/hook"]
	hook, _ = value.(string)
	return hook, isHook
}
