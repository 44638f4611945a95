package kustomize

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// surroundings are the files beside the kustomization of a case, which is in
// the folder app.
var surroundings = map[string]string{
	"outside.yaml":                         configMap("outside"),
	"base/kustomization.yaml":              "resources: [a.yaml]\n",
	"base/a.yaml":                          configMap("a"),
	"app/a.yaml":                           configMap("a"),
	"app/dir/a.yaml":                       configMap("a"),
	"app/loop/kustomization.yaml":          "resources: [../again]\n",
	"app/again/kustomization.yaml":         "resources: [a.yaml, ../loop]\n",
	"app/again/a.yaml":                     configMap("again"),
	"app/both/kustomization.yaml":          "resources: []\n",
	"app/both/Kustomization":               "resources: []\n",
	"app/below/kustomization.yaml":         "namePrefix: x-\nresources:\n- https://example.com/below.yaml\n",
	"app/github.com/o/r/kustomization.yml": "resources: []\n",
	"app/git@host/o/r/kustomization.yml":   "resources: []\n",
	"app/plugin.yaml":                      "apiVersion: example.com/v1\nkind: Program\nmetadata: {name: p}\n",
	"app/function.yaml":                    "apiVersion: example.com/v1\nkind: F\nmetadata:\n  name: f\n  annotations:\n    config.kubernetes.io/function: |\n      container: {image: evil}\n",
	"app/helm.yaml":                        "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: h}\nname: chart\nrepo: https://example.com\n",
	"app/transformer.yaml":                 "# patches\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: https://example.com/patch.yaml\n",
	"app/hidden.yaml":                      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p}\n  path: /etc/passwd\n",
	"app/broken.yaml":                      "a: b\nc: [d\n",
	"app/noname.yaml":                      "apiVersion: v1\nkind: ConfigMap\n",
	"app/infinite.yaml":                    configMap("a") + "data: {a: .inf}\n",
	"app/self.yaml":                        configMap("a") + "data: &a\n  b: *a\n",
	"app/laughs.yaml":                      configMap("a") + laughs(30),
	"app/glued.yaml":                       configMap("a") + "---# two\n" + configMap("b"),
	"app/spaced.yaml":                      "--- \u00a0\n{\"a\":&a [*a]}\n",
	"app/utf16.yaml":                       "\xff\xfea\x00:\x00 \x00b\x00",
	"app/empty.json":                       "",
	"app/crd-loop.json":                    `{"A": {"Schema": {"properties": {"kind": {}, "apiVersion": {}, "metadata": {}, "b": {"$ref": "B"}}}}, "B": {"Schema": {"properties": {"a": {"$ref": "A"}}}}}`,
	"app/crd-odd.json":                     `{"A": {"Schema": {"properties": {"b": {"$ref": "x//B"}}}}}`,
	"app/schema-loop.json":                 `{"definitions": {"A": {"$ref": "#/definitions/B"}, "B": {"$ref": "#/definitions/A"}}}`,
	"app/schema-deep.json":                 `{"definitions": {"A": {"properties": {"x": {"$ref": "#/definitions/A/properties/x"}}}}}`,
	"app/big/kustomization.yaml":           "configMapGenerator:\n- name: big\n  files: [data]\n",
	"app/big/data":                         strings.Repeat("x", maxInput/2),
}

// laughs is YAML that doubles itself so many times.
func laughs(times int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := range times {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return b.String()
}

var refused = []struct {
	name          string
	kustomization string
	want          string
}{
	{"resources: URL", "resources:\n- a.yaml\n- https://example.com/x.yaml",
		`app/kustomization.yaml:3: Kustomization/app: resources: "https://example.com/x.yaml" is not in the repository, it would have to be fetched`},
	{"resources: Git", "resources:\n- git@example.com:o/r.git",
		`app/kustomization.yaml:2: Kustomization/app: resources: "git@example.com:o/r.git" is not in the repository, it would have to be fetched`},
	{"resources: forced Git", "resources:\n- git::example.com/o/r",
		`app/kustomization.yaml:2: Kustomization/app: resources: "git::example.com/o/r" is not in the repository, it would have to be fetched`},
	{"resources: folder that looks like GitHub", "resources: [GitHub.com/o/r]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "GitHub.com/o/r" is not in the repository, it would have to be fetched`},
	{"resources: folder that looks like GitHub, and exists", "resources: [github.com/o/r]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "github.com/o/r" is not in the repository, it would have to be fetched`},
	{"resources: folder that looks like a user's", "resources: [git@host/o/r]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "git@host/o/r" is not in the repository, it would have to be fetched`},
	{"resources: absolute", "resources: [/etc/passwd]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "/etc/passwd" is not a relative path`},
	{"resources: backslash", `resources: ['..\x']`,
		`app/kustomization.yaml:1: Kustomization/app: resources: "..\\x" is not a relative path`},
	{"resources: out of the tree", "resources: [../../x]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "../../x" leaves the repository`},
	{"resources: missing", "resources: [b.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "b.yaml" names no file or folder`},
	{"resources: empty", "resources:\n- a.yaml\n-",
		`app/kustomization.yaml:3: Kustomization/app: resources: an entry is empty`},
	{"resources: file outside", "resources: [../outside.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "../outside.yaml" is a file outside of the kustomization's folder`},
	{"resources: folder without", "resources: [dir]",
		`app/kustomization.yaml:1: Kustomization/app: resources: folder "dir" has no kustomization`},
	{"resources: link to a file", "resources: [link.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "link.yaml" goes through a symbolic link`},
	{"resources: link to a folder", "resources: [linked/a.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "linked/a.yaml" goes through a symbolic link`},
	{"resources: linked kustomization", "resources: [linkedk]",
		`app/linkedk/kustomization.yaml: Kustomization/app/linkedk: kustomization: "kustomization.yaml" goes through a symbolic link`},
	{"resources: submodule", "resources: [module]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "module" goes through a submodule`},
	{"resources: itself", "resources: [.]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "." leads back to a kustomization that includes this one`},
	{"resources: above", "resources: [../app]",
		`app/kustomization.yaml:1: Kustomization/app: resources: "../app" leads back to a kustomization that includes this one`},
	{"resources: in a circle", "resources: [loop]",
		`app/again/kustomization.yaml:1: Kustomization/app/again: resources: "../loop" leads back to a kustomization that includes this one`},
	{"resources: two kustomizations", "resources: [both]",
		`app/both/kustomization.yaml: Kustomization/app/both: the folder has both kustomization.yaml and Kustomization`},
	{"resources: URL below", "resources: [below]",
		`app/below/kustomization.yaml:3: Kustomization/app/below: resources: "https://example.com/below.yaml" is not in the repository, it would have to be fetched`},
	{"resources: broken YAML", "resources: [broken.yaml]",
		`app/broken.yaml:1: Kustomization/app: kustomize cannot read the file: did not find expected ',' or ']'`},
	{"resources: no object", "resources: [noname.yaml]",
		`app/noname.yaml: Kustomization/app: kustomize cannot read the file: missing metadata.name`},
	{"resources: not JSON", "resources: [infinite.yaml]",
		`app/infinite.yaml: Kustomization/app: kustomize cannot read the file: ConfigMap a: json: unsupported value: +Inf`},
	{"resources: alias of itself", "resources: [self.yaml]",
		`app/self.yaml:6: Kustomization/app: kustomize cannot read the file: alias "a" stands for something that contains it`},
	{"resources: billion laughs", "resources: [laughs.yaml]",
		`app/kustomization.yaml: Kustomization/app: the input comes to more than 16 MiB, when files count as often as they are included and aliases as what they stand for`},
	{"resources: odd separator", "resources: [glued.yaml]",
		`app/glued.yaml:5: Kustomization/app: kustomize cannot read the file: nothing but a space may follow --- at the start of a line`},
	{"resources: odd space after the separator", "resources: [spaced.yaml]",
		`app/spaced.yaml:1: Kustomization/app: kustomize cannot read the file: nothing but a space may follow --- at the start of a line`},
	{"resources: UTF-16", "resources: [utf16.yaml]",
		`app/utf16.yaml: Kustomization/app: kustomize cannot read the file: it is not UTF-8`},
	{"bases", "bases: [http://example.com/x]",
		`app/kustomization.yaml:1: Kustomization/app: bases: "http://example.com/x" is not in the repository, it would have to be fetched`},
	{"components: URL", "components: [ssh://git@example.com/x]",
		`app/kustomization.yaml:1: Kustomization/app: components: "ssh://git@example.com/x" is not in the repository, it would have to be fetched`},
	{"components: file", "components: [a.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: components: "a.yaml" is a file`},
	{"crds", "crds: [https://example.com/crd.json]",
		`app/kustomization.yaml:1: Kustomization/app: crds: "https://example.com/crd.json" is not in the repository, it would have to be fetched`},
	{"crds: endless", "crds: [crd-loop.json]",
		`app/kustomization.yaml:1: Kustomization/app: crds: the types of "crd-loop.json" refer to each other without end`},
	{"crds: reference with two spellings", "crds: [crd-odd.json]",
		`app/kustomization.yaml:1: Kustomization/app: crds: type "A" of the file has a reference that is not a plain name, or an alias`},
	{"crds: krusty panics", "crds: [empty.json]",
		`app/kustomization.yaml: Kustomization/app: kustomize panics: runtime error: index out of range [0] with length 0`},
	{"configurations", "configurations: [https://example.com/c.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: configurations: "https://example.com/c.yaml" is not in the repository, it would have to be fetched`},
	{"openapi", "openapi:\n  path: https://example.com/s.json",
		`app/kustomization.yaml:2: Kustomization/app: openapi path: "https://example.com/s.json" is not in the repository, it would have to be fetched`},
	{"openapi: endless", "openapi: {path: schema-loop.json}",
		`app/kustomization.yaml:1: Kustomization/app: openapi path: the definitions of "schema-loop.json" refer to each other without end`},
	{"openapi: endless below", "openapi: {path: schema-deep.json}",
		`app/kustomization.yaml:1: Kustomization/app: openapi path: the schema "schema-deep.json" has a reference that is not to one of its definitions, or an alias`},
	{"patches", "resources: [a.yaml]\npatches:\n- path: https://example.com/p.yaml",
		`app/kustomization.yaml:3: Kustomization/app: patches path: "https://example.com/p.yaml" is not in the repository, it would have to be fetched`},
	{"patches: folder", "patches:\n- path: dir",
		`app/kustomization.yaml:2: Kustomization/app: patches path: "dir" is a folder`},
	{"patches: file outside", "patches:\n- path: ../outside.yaml",
		`app/kustomization.yaml:2: Kustomization/app: patches path: "../outside.yaml" is a file outside of the kustomization's folder`},
	{"patches: inline broken", "patches:\n- patch: '{a: *b}'",
		`app/kustomization.yaml:2: Kustomization/app: patches patch: kustomize cannot read the patch: yaml: unknown anchor 'b' referenced`},
	{"patches: inline alias of itself", "patches:\n- patch: '{a: &a [*a]}'",
		`app/kustomization.yaml:2: Kustomization/app: patches patch: kustomize cannot read the patch: alias "a" stands for something that contains it`},
	{"patches: inline, not JSON", "patches:\n- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: .nan}}'",
		`app/kustomization.yaml:2: Kustomization/app: patches patch: kustomize cannot read the patch: json: unsupported value: NaN`},
	{"patches: copies that double", "resources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '" + doubling(40) + "'",
		`app/kustomization.yaml: Kustomization/app: kustomize cannot build this: Unable to complete the copy, the accumulated size increase of copy is 1662699, exceeding the limit 1048576`},
	{"patchesStrategicMerge", "patchesStrategicMerge: [https://example.com/p.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: patchesStrategicMerge: "https://example.com/p.yaml" is not in the repository, it would have to be fetched`},
	{"patchesStrategicMerge: inline broken", "patchesStrategicMerge:\n- |\n  a: b\n  c: *d",
		`app/kustomization.yaml:2: Kustomization/app: patchesStrategicMerge: the inline YAML cannot be read: yaml: unknown anchor 'd' referenced`},
	{"patchesJson6902", "patchesJson6902:\n- target: {kind: ConfigMap, name: a}\n  path: https://example.com/p.json",
		`app/kustomization.yaml:3: Kustomization/app: patchesJson6902 path: "https://example.com/p.json" is not in the repository, it would have to be fetched`},
	{"replacements", "replacements:\n- path: https://example.com/r.yaml",
		`app/kustomization.yaml:2: Kustomization/app: replacements path: "https://example.com/r.yaml" is not in the repository, it would have to be fetched`},
	{"configMapGenerator files", "configMapGenerator:\n- name: a\n  files: [key=https://example.com/f]",
		`app/kustomization.yaml:3: Kustomization/app: configMapGenerator files: "https://example.com/f" is not in the repository, it would have to be fetched`},
	{"configMapGenerator files: two =", "configMapGenerator:\n- name: a\n  files: [a=b=https://example.com]",
		`app/kustomization.yaml:3: Kustomization/app: configMapGenerator files: "a=b=https://example.com" has more than one =`},
	{"configMapGenerator files: folder", "configMapGenerator:\n- name: a\n  files: [dir]",
		`app/kustomization.yaml:3: Kustomization/app: configMapGenerator files: "dir" is a folder`},
	{"configMapGenerator envs", "configMapGenerator:\n- name: a\n  envs: [https://example.com/e]",
		`app/kustomization.yaml:3: Kustomization/app: configMapGenerator envs: "https://example.com/e" is not in the repository, it would have to be fetched`},
	{"configMapGenerator env", "configMapGenerator:\n- name: a\n  env: https://example.com/e",
		`app/kustomization.yaml:3: Kustomization/app: configMapGenerator env: "https://example.com/e" is not in the repository, it would have to be fetched`},
	{"secretGenerator files", "secretGenerator:\n- name: a\n  files: [/etc/shadow]",
		`app/kustomization.yaml:3: Kustomization/app: secretGenerator files: "/etc/shadow" is not a relative path`},
	{"secretGenerator envs", "secretGenerator:\n- name: a\n  envs: [../../e]",
		`app/kustomization.yaml:3: Kustomization/app: secretGenerator envs: "../../e" leaves the repository`},
	{"secretGenerator env", "secretGenerator:\n- name: a\n  env: link.yaml",
		`app/kustomization.yaml:3: Kustomization/app: secretGenerator env: "link.yaml" goes through a symbolic link`},
	{"helmCharts", "helmCharts:\n- name: c\n  repo: https://example.com",
		`app/kustomization.yaml:1: Kustomization/app: helmCharts: kustomize would run helm`},
	{"helmChartInflationGenerator", "namePrefix: a-\nhelmChartInflationGenerator:\n- chartName: c",
		`app/kustomization.yaml:2: Kustomization/app: helmChartInflationGenerator: kustomize would run helm`},
	{"helmGlobals", "helmGlobals: {chartHome: charts}",
		`app/kustomization.yaml:1: Kustomization/app: helmGlobals: kustomize would run helm`},
	{"generators: URL", "generators: [https://example.com/g.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: generators: "https://example.com/g.yaml" is not in the repository, it would have to be fetched`},
	{"generators: kustomization", "generators: [../base]",
		`app/kustomization.yaml:1: Kustomization/app: generators: "../base" is a folder`},
	{"generators: helm", "generators: [helm.yaml]",
		`app/helm.yaml:2: Kustomization/app: HelmChartInflationGenerator: kustomize would run helm`},
	{"generators: inline files", "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: g}\n  files: [https://example.com/f]",
		`app/kustomization.yaml:2: Kustomization/app: generators ConfigMapGenerator files: "https://example.com/f" is not in the repository, it would have to be fetched`},
	{"generators: inline env", "generators:\n- |\n  apiVersion: builtin\n  kind: SecretGenerator\n  metadata: {name: g}\n  env: /etc/e",
		`app/kustomization.yaml:2: Kustomization/app: generators SecretGenerator env: "/etc/e" is not a relative path`},
	{"transformers: plugin", "transformers: [plugin.yaml]",
		`app/plugin.yaml:2: Kustomization/app: Program: "Program" of "example.com/v1" is a plugin, which is a program that kustomize would run`},
	{"transformers: function", "transformers: [function.yaml]",
		`app/function.yaml:2: Kustomization/app: F: its annotation config.kubernetes.io/function makes kustomize run a program`},
	{"transformers: file with a path", "transformers: [transformer.yaml]",
		`app/transformer.yaml:5: Kustomization/app: PatchTransformer path: "https://example.com/patch.yaml" is not in the repository, it would have to be fetched`},
	{"transformers: path in a List", "transformers: [hidden.yaml]",
		`app/hidden.yaml:7: Kustomization/app: PatchTransformer path: "/etc/passwd" is not a relative path`},
	{"transformers: other case", "Transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: g}\n  PATH: https://example.com/f",
		`app/kustomization.yaml:2: Kustomization/app: transformers PatchTransformer path: "https://example.com/f" is not in the repository, it would have to be fetched`},
	{"transformers: paths", "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchStrategicMergeTransformer\n  metadata: {name: g}\n  paths: [https://example.com/f]",
		`app/kustomization.yaml:2: Kustomization/app: transformers PatchStrategicMergeTransformer paths: "https://example.com/f" is not in the repository, it would have to be fetched`},
	{"transformers: replacements", "transformers:\n- |\n  apiVersion: builtin\n  kind: ReplacementTransformer\n  metadata: {name: g}\n  replacements: [{path: https://example.com/f}]",
		`app/kustomization.yaml:2: Kustomization/app: transformers ReplacementTransformer replacements path: "https://example.com/f" is not in the repository, it would have to be fetched`},
	{"transformers: targetFilePath", "transformers:\n- |\n  apiVersion: builtin\n  kind: ValueAddTransformer\n  metadata: {name: g}\n  targetFilePath: https://example.com/f",
		`app/kustomization.yaml:2: Kustomization/app: transformers ValueAddTransformer targetFilePath: "https://example.com/f" is not in the repository, it would have to be fetched`},
	{"transformers: unlike a plugin's fields", "transformers:\n- '{apiVersion: builtin, kind: PatchTransformer, metadata: {name: g}, path: [a]}'",
		`app/kustomization.yaml:2: Kustomization/app: transformers PatchTransformer: kustomize cannot read it: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field pluginConfig.path of type string`},
	{"transformers: inline plugin", "transformers:\n- '{apiVersion: example.com/v1, kind: P, metadata: {name: g}}'",
		`app/kustomization.yaml:2: Kustomization/app: transformers P: "P" of "example.com/v1" is a plugin, which is a program that kustomize would run`},
	{"transformers: inline twice", "transformers:\n- |\n" + strings.Repeat("  ---\n  apiVersion: builtin\n  kind: LabelTransformer\n  metadata: {name: g}\n", 2),
		`app/kustomization.yaml:2: Kustomization/app: transformers: kustomize cannot read it: may not add resource with an already registered id: LabelTransformer.builtin.[noGrp]/g.[noNs]`},
	{"validators", "validators: [https://example.com/v.yaml]",
		`app/kustomization.yaml:1: Kustomization/app: validators: "https://example.com/v.yaml" is not in the repository, it would have to be fetched`},
	{"unknown field", "namePrefix: a-\nresource: [a.yaml]",
		`app/kustomization.yaml:2: Kustomization/app: resource: kustomizations have no such field`},
	{"wrong type", "resources: a.yaml",
		`app/kustomization.yaml: Kustomization/app: the kustomization cannot be read: cannot unmarshal string into Go struct field Kustomization.resources of type []string`},
	{"broken", "resources: [a.yaml",
		`app/kustomization.yaml:1: Kustomization/app: the kustomization cannot be read: did not find expected ',' or ']'`},
	{"empty", "",
		`app/kustomization.yaml: Kustomization/app: kustomize cannot build this: kustomization.yaml is empty`},
	{"too big", "resources: [big]\nnamePrefix: a-\nconfigMapGenerator:\n- name: b\n  files: [big/data]",
		`app/kustomization.yaml: Kustomization/app: the input comes to more than 16 MiB, when files count as often as they are included and aliases as what they stand for`},
	{"same object twice", "resources: [a.yaml, dir/a.yaml]",
		`app/kustomization.yaml: Kustomization/app: kustomize cannot build this: accumulating resources: accumulation err='merging resources from 'dir/a.yaml': may not add resource with an already registered id: ConfigMap.v1.[noGrp]/a.[noNs]': must build at directory: 'app/dir/a.yaml': file is not directory`},
}

// doubling is a JSON patch that copies an object into itself so many times.
func doubling(times int) string {
	ops := make([]string, times)
	for i := range ops {
		ops[i] = fmt.Sprintf(`{"op": "copy", "from": "/metadata", "path": "/metadata/x%d"}`, i)
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// surrounding has the entries that are the same in every case, by path.
var surrounding = sync.OnceValue(func() map[string]tree.Entry {
	entries := map[string]tree.Entry{
		"app/link.yaml":                  tree.Link("", "a.yaml"),
		"app/linked":                     tree.Link("", "dir"),
		"app/linkedk/kustomization.yaml": tree.Link("", "../again/kustomization.yaml"),
		"app/module":                     {Mode: tree.ModeSubmodule},
	}
	for name, text := range surroundings {
		entries[name] = tree.File("", []byte(text))
	}
	return entries
})

// appWith is the tree of a case.
func appWith(t testing.TB, kustomization string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for name, e := range surrounding() {
		if err := b.AddEntry(name, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Add("app/kustomization.yaml", []byte(kustomization)); err != nil {
		t.Fatal(err)
	}
	return b.Tree()
}

func TestRefused(t *testing.T) {
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			objects, problems := Build(appWith(t, test.kustomization), "app")
			if len(objects) > 0 {
				t.Errorf("%d objects were built", len(objects))
			}
			if diff := cmp.Diff([]string{test.want}, summaries(problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func summaries(problems problem.List) []string {
	var all []string
	for _, p := range problems.Sorted() {
		all = append(all, p.String())
	}
	return all
}

// TestAllAtOnce shows that one build names everything that is wrong.
func TestAllAtOnce(t *testing.T) {
	_, problems := Build(appWith(t, "resources: [/x, below]\nhelmCharts: []\npatches: [{path: nowhere}]\n"), "app")
	want := []string{
		`app/below/kustomization.yaml:3: Kustomization/app/below: resources: "https://example.com/below.yaml" is not in the repository, it would have to be fetched`,
		`app/kustomization.yaml:1: Kustomization/app: resources: "/x" is not a relative path`,
		`app/kustomization.yaml:2: Kustomization/app: helmCharts: kustomize would run helm`,
		`app/kustomization.yaml:3: Kustomization/app: patches path: "nowhere" names no file or folder`,
	}
	if diff := cmp.Diff(want, summaries(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestHints(t *testing.T) {
	for kustomization, want := range map[string]string{
		"resources: [b.yaml]":          `did you mean "a.yaml"?`,
		"resource: [a.yaml]":           `did you mean "resources"?`,
		"resources: [github.com/o/r]":  hintLocal,
		"helmCharts: []":               hintHelm,
		"resources: [a.yaml, a.yaml]":  "`kustomize build app` should say the same",
		"resources: [../outside.yaml]": hintBeside,
	} {
		_, problems := Build(appWith(t, kustomization), "app")
		if len(problems) != 1 || problems[0].Hint != want {
			t.Errorf("%s\ngives %+v\nwant the hint %s", kustomization, problems, want)
		}
	}
}

func TestNoKustomization(t *testing.T) {
	for dir, want := range map[string]string{
		"":           "Kustomization/.: the folder has no kustomization",
		"app/dir":    "app/dir: Kustomization/app/dir: the folder has no kustomization",
		"nowhere":    "nowhere: Kustomization/nowhere: the folder has no kustomization",
		"app/a.yaml": "app/a.yaml: Kustomization/app/a.yaml: the folder has no kustomization",
		"../app/dir": "app/dir: Kustomization/app/dir: the folder has no kustomization",
	} {
		_, problems := Build(appWith(t, ""), dir)
		if diff := cmp.Diff([]string{want}, summaries(problems)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", dir, diff)
		}
	}
}

// TestDoublingBases has 40 kustomizations, each of which includes the next one
// twice.
func TestDoublingBases(t *testing.T) {
	files := map[string]string{"n40/kustomization.yaml": "resources: [a.yaml]\n", "n40/a.yaml": configMap("a")}
	for i := range 40 {
		files[fmt.Sprintf("n%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../a%d, ../b%d]\n", i, i)
		for _, side := range []string{"a", "b"} {
			files[fmt.Sprintf("%s%d/kustomization.yaml", side, i)] = fmt.Sprintf("namePrefix: %s-\nresources: [../n%d]\n", side, i+1)
		}
	}
	_, problems := Build(treeOf(t, files), "n0")
	want := []string{"n0/kustomization.yaml: Kustomization/n0: the input comes to more than 16 MiB, when files count as often as they are included and aliases as what they stand for"}
	if diff := cmp.Diff(want, summaries(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
