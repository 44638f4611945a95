package kustomize

import (
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

const (
	hintHelm   = "render the chart beforehand and commit the result, or let the cluster do it (reconciler flux-helm)"
	hintPlugin = "use the transformers that are part of kustomize (apiVersion: builtin)"
)

// checkPlugins accepts only builtin generators, transformers and validators, as files or inline
// YAML.
func (c *checker) checkPlugins(k kustomization) int {
	size := 0
	for _, f := range []struct {
		name    string
		entries []string
	}{
		{"generators", k.spec.Generators},
		{"transformers", k.spec.Transformers},
		{"validators", k.spec.Validators},
	} {
		for _, entry := range f.entries {
			size += c.checkPlugin(k.newRef(f.name, entry))
		}
	}
	return size
}

func (c *checker) checkPlugin(r nameRef) int {
	if inline, size := c.isInline(r); inline {
		return size + c.checkConfigs(r, r.source, r.field+" ", []byte(r.value), size)
	}
	at, data, ok := c.readFile(r)
	if !ok {
		return 0
	}
	docs, size, err := parseDocuments(data)
	if err != nil {
		c.refuseFile(r, at, errorLine(err), hintSyntax, "kustomize cannot read the file: %v", err)
		return 0
	}
	return size + c.checkConfigs(r, &source{dir: r.dir, file: at, docs: docs}, "", data, size)
}

func (c *checker) checkConfigs(r nameRef, s *source, prefix string, text []byte, size int) int {
	if size > maxInput {
		return 0
	}
	objects, err := c.factory.NewResMapFromBytes(text)
	if err != nil {
		// Inline, krusty would now try the text as a path.
		c.refuseRef(r, hintObjects, "kustomize cannot read it: %s", oneLine(err.Error()))
		return 0
	}
	for _, o := range objects.Resources() {
		size += c.checkConfig(s, prefix, o)
	}
	return size
}

// pluginConfig has every field in which a builtin plugin names a file or holds text to parse.
type pluginConfig struct {
	Path           string                      `json:"path"`
	Paths          []types.PatchStrategicMerge `json:"paths"`
	TargetFilePath string                      `json:"targetFilePath"`
	Replacements   []types.ReplacementField    `json:"replacements"`
	Patch          string                      `json:"patch"`
	Patches        string                      `json:"patches"`
	JSONOp         string                      `json:"jsonOp"`
	types.KvPairSources
}

func (c *checker) checkConfig(s *source, prefix string, o *resource.Resource) int {
	field := prefix + o.GetKind()
	if !c.isBuiltin(s.newRef(field, o.GetKind()), o) {
		return 0
	}
	var config pluginConfig
	text, err := o.AsYAML()
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil {
		c.refuseRef(s.newRef(field, o.GetKind()), "look the field up in the documentation of kustomize", "kustomize cannot read it: %s", oneLine(err.Error()))
		return 0
	}
	size := c.checkKeyValues(s, field, config.KvPairSources)
	for _, inline := range []string{config.Patches, config.JSONOp} {
		size += c.checkPatch(s, field, "", inline)
	}
	size += c.checkPatch(s, field, config.Path, config.Patch)
	for _, p := range config.Paths {
		size += c.checkStrategicPatch(s.newRef(field+" paths", string(p)))
	}
	if config.TargetFilePath != "" {
		_, n := c.checkData(s.newRef(field+" targetFilePath", config.TargetFilePath))
		size += n
	}
	for _, p := range config.Replacements {
		if p.Path != "" {
			_, n := c.checkData(s.newRef(field+" replacements path", p.Path))
			size += n
		}
	}
	return size
}

func (c *checker) isBuiltin(r nameRef, o *resource.Resource) bool {
	for _, key := range []string{"config.kubernetes.io/function", "config.k8s.io/function"} {
		if _, ok := o.GetAnnotations()[key]; ok {
			c.refuseRef(r, hintPlugin, "its annotation %s makes kustomize run a program", key)
			return false
		}
	}
	if gvk := o.GetGvk(); gvk.Group != "" || gvk.Version != konfig.BuiltinPluginApiVersion {
		c.refuseRef(r, hintPlugin, "%q of %q is a plugin, which is a program that kustomize would run", gvk.Kind, o.GetApiVersion())
		return false
	}
	if o.GetKind() == "HelmChartInflationGenerator" {
		c.refuseRef(r, hintHelm, "kustomize would run helm")
		return false
	}
	return true
}
