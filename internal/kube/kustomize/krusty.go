package kustomize

import (
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const mount = "/the-repository"

func buildObjects(root kustomization, files map[string][]byte) ([]Object, error) {
	built, err := runKrusty(root.dir, files)
	if err != nil {
		return nil, err
	}
	origins := findOrigins(root, files, built)
	objects := make([]Object, built.Size())
	for i, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		objects[i] = Object{File: origins[i], YAML: text}
	}
	return objects, nil
}

func runKrusty(dir string, files map[string][]byte) (resmap.ResMap, error) {
	disk := filesys.MakeFsInMemory()
	for name, data := range files {
		if err := disk.WriteFile(path.Join(mount, name), data); err != nil {
			return nil, err
		}
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	options.PluginConfig = types.DisabledPluginConfig()
	return krusty.MakeKustomizer(options).Run(disk, path.Join(mount, dir))
}

// findOrigins finds the file of each object with a second build that has origin annotations. Its
// objects are not used: patches and replacements see the annotations. If the builds differ, the
// file is the kustomization.
func findOrigins(root kustomization, files map[string][]byte, built resmap.ResMap) []string {
	origins := slices.Repeat([]string{root.file}, built.Size())
	traced, err := runKrusty(root.dir, withOrigins(root, files))
	if err != nil || traced.Size() != built.Size() {
		return origins
	}
	for i, r := range traced.Resources() {
		origin, err := r.GetOrigin()
		if err != nil || origin == nil || r.CurId() != built.Resources()[i].CurId() {
			continue
		}
		if from := origin.Path + origin.ConfiguredIn; from != "" {
			origins[i] = path.Join(root.dir, from)
		}
	}
	return origins
}

func withOrigins(root kustomization, files map[string][]byte) map[string][]byte {
	spec := *root.spec
	spec.BuildMetadata = append(slices.Clone(spec.BuildMetadata), types.OriginAnnotations)
	text, err := yaml.Marshal(spec)
	if err != nil {
		return files
	}
	changed := maps.Clone(files)
	changed[root.file] = text
	return changed
}
