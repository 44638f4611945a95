package templates_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	yamlv2 "gopkg.in/yaml.v2"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
	"github.com/fairlead-io/fairlead/templates"
)

var update = flag.Bool("update", false, "rewrite what the cases of testdata want")

// object is what the tests read of a Template.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		Type        string
		ContentType string `yaml:"contentType"`
		Manifests   []string
	}
}

// data is what a case gives a template. It is read with yaml.v2, so that values
// have the types that templates see.
type data struct {
	Template             string                       `yaml:"template"`
	DeploymentTargetName string                       `yaml:"deploymentTargetName"`
	Namespace            string                       `yaml:"namespace"`
	Environment          string                       `yaml:"environment"`
	Workspace            string                       `yaml:"workspace"`
	Workload             string                       `yaml:"workload"`
	Labels               map[string]string            `yaml:"labels"`
	Manifests            map[string]string            `yaml:"manifests"`
	ClusterType          string                       `yaml:"clusterType"`
	ConfigData           map[string]interface{}       `yaml:"configData"`
	DependsOn            []string                     `yaml:"dependsOn"`
	Images               map[string]map[string]string `yaml:"images"`
}

// sample is the data of a deployment target, but for what cases are about.
func sample() data {
	return data{
		DeploymentTargetName: "gull-main",
		Namespace:            "dev-pier-gull-main",
		Environment:          "dev",
		Workspace:            "seabirds",
		Workload:             "gull",
		ClusterType:          "pier",
	}
}

// builtIn reads the built-in templates, by name.
func builtIn(t *testing.T) map[string]object {
	t.Helper()
	objects := map[string]object{}
	for path, text := range templates.Files().All() {
		var o object
		if err := yaml.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		objects[strings.TrimSuffix(path, ".yaml")] = o
	}
	return objects
}

// expand makes the file that the template makes of the data.
func expand(o object, d data) (string, error) {
	var parts []string
	var meter templatefunc.Meter
	meter.Reset(1<<20, nil)
	for _, text := range o.Spec.Manifests {
		t, err := template.New(o.Metadata.Name).Funcs(templatefunc.Map(&meter)).Parse(text)
		if err != nil {
			return "", err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, d); err != nil {
			return "", err
		}
		if out.Len() > 0 {
			parts = append(parts, out.String())
		}
	}
	return strings.Join(parts, "---\n"), nil
}

func TestFiles(t *testing.T) {
	got := map[string]string{}
	for file, o := range builtIn(t) {
		if o.Metadata.Name != file {
			t.Errorf("%s.yaml: the template is named %q", file, o.Metadata.Name)
		}
		if o.APIVersion != "scheduler.kalypso.io/v1alpha1" || o.Kind != "Template" {
			t.Errorf("%s.yaml holds a %s %s", file, o.APIVersion, o.Kind)
		}
		if o.Metadata.Annotations["fairlead.io/expansions"] != "1" {
			t.Errorf("%s.yaml: what is quoted must not be expanded again", file)
		}
		got[file] = strings.TrimSpace(o.Spec.Type + " " + o.Spec.ContentType)
	}
	want := map[string]string{
		"argocd":        "reconciler",
		"flux":          "reconciler",
		"flux-helm":     "reconciler",
		"flux-oci":      "reconciler",
		"rancher-fleet": "reconciler",
		"tofu":          "reconciler",
		"zarf":          "reconciler",
		"default":       "namespace",
		"restricted":    "namespace",
		"configmap":     "config",
		"env":           "config sh",
		"helm-values":   "config",
		"tfvars":        "config tfvars",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCases expands the templates for the data of testdata/*.txtar. What they make
// must be what the case wants, and what an API server takes.
func TestCases(t *testing.T) {
	schemas, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	objects := builtIn(t)
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	seen := map[string]bool{}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := sample()
			if err := yamlv2.UnmarshalStrict(file(archive, "data.yaml"), &d); err != nil {
				t.Fatal(err)
			}
			seen[d.Template] = true
			got := txtar.File{Name: "want"}
			text, err := expand(objects[d.Template], d)
			if got.Data = []byte(text); err != nil {
				got = txtar.File{Name: "want.error", Data: []byte(err.Error() + "\n")}
			}
			if *update {
				rewrite(t, path, archive, got)
			}
			if diff := cmp.Diff(string(file(archive, got.Name)), string(got.Data)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", got.Name, diff)
			}
			if err == nil {
				checkFile(t, schemas, objects[d.Template], text)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if !seen[name] {
			t.Errorf("the template %s has no case", name)
		}
	}
}

func file(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func rewrite(t *testing.T, path string, a *txtar.Archive, want txtar.File) {
	t.Helper()
	a.Files = append(slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want") }), want)
	if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkFile holds a file to what its readers want: Kubernetes for YAML.
func checkFile(t *testing.T, schemas *crdtest.Schemas, o object, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
		t.Errorf("the file does not end in one newline: %q", text)
	}
	if strings.Contains(text, "<no value>") {
		t.Errorf("a value is missing in:\n%s", text)
	}
	if o.Spec.ContentType != "" {
		return
	}
	var wrong []string
	switch o.Metadata.Name {
	case "rancher-fleet":
		wrong = checkFleet([]byte(text))
	case "zarf":
		wrong = checkZarf([]byte(text))
	default:
		wrong = schemas.Check([]byte(text))
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// checkFleet stands in for the definition of Fleet's GitRepo, which is in no Go
// module that can be had.
func checkFleet(text []byte) []string {
	var o struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name        string            `yaml:"name"`
			Namespace   string            `yaml:"namespace"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"metadata"`
		Spec struct {
			Repo             string   `yaml:"repo"`
			Branch           string   `yaml:"branch"`
			Revision         string   `yaml:"revision"`
			Paths            []string `yaml:"paths"`
			ClientSecretName string   `yaml:"clientSecretName"`
			TargetNamespace  string   `yaml:"targetNamespace"`
			PollingInterval  string   `yaml:"pollingInterval"`
			CorrectDrift     struct {
				Enabled bool `yaml:"enabled"`
			} `yaml:"correctDrift"`
		} `yaml:"spec"`
	}
	if err := yamlv2.UnmarshalStrict(text, &o); err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	if o.APIVersion != "fleet.cattle.io/v1alpha1" || o.Kind != "GitRepo" {
		wrong = append(wrong, fmt.Sprintf("%s %s is not Fleet's", o.APIVersion, o.Kind))
	}
	if o.Spec.Repo == "" || o.Spec.TargetNamespace == "" || len(o.Spec.Paths) != 1 {
		wrong = append(wrong, "repo, targetNamespace and one path are wanted")
	}
	return wrong
}

// TestNoConfig: without values there is to be no file, so the text must be "".
func TestNoConfig(t *testing.T) {
	for name, o := range builtIn(t) {
		if o.Spec.Type != "config" {
			continue
		}
		for _, none := range []map[string]interface{}{nil, {}} {
			d := sample()
			d.ConfigData = none
			if text, err := expand(o, d); text != "" || err != nil {
				t.Errorf("%s makes %q (%v) of no values", name, text, err)
			}
		}
	}
}

// TestValuesComeBack reads the values out of what the config templates make. Texts
// of several lines that begin with white space are not among them: yaml.v3, whose
// bytes toYaml gives because Kalypso's does, loses a newline at the beginning, and
// breaks lists with such texts.
func TestValuesComeBack(t *testing.T) {
	odd := []string{
		"plain", "", " ", "a\n", "a\n\n", " a", "a ", "a\n  b\n c", "\ta", "a\r\nb", "true", "null", "~", "0123", "1e3", "# a", "a: b",
		"- a", "'", "\"", "{{ .Namespace }}", "---\na", "caf\u00e9", strings.Repeat("long ", 60),
	}
	objects := builtIn(t)
	for _, text := range odd {
		list := []interface{}{text, map[interface{}]interface{}{"name": text}}
		mapping := map[interface{}]interface{}{"list": list, "number": 3}
		d := sample()

		d.ConfigData = map[string]interface{}{"text": text, "list": list, "mapping": mapping}
		var values map[string]interface{}
		decode(t, platformConfig(t, objects["helm-values"], d)["values.yaml"], &values)
		if diff := cmp.Diff(d.ConfigData, values); diff != "" {
			t.Errorf("helm-values of %q: -want +got:\n%s", text, diff)
		}

		for range 2 { // with a mapping, and without
			got := platformConfig(t, objects["configmap"], d)
			if got["text"] != text {
				t.Errorf("configmap of %q gives %q", text, got["text"])
			}
			delete(d.ConfigData, "mapping")
		}
	}
}

// platformConfig gives the data of the ConfigMap that the template makes.
func platformConfig(t *testing.T, o object, d data) map[string]string {
	t.Helper()
	text, err := expand(o, d)
	if err != nil {
		t.Fatal(err)
	}
	var configMap struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Data map[string]string
	}
	decode(t, text, &configMap)
	return configMap.Data
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yamlv2.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
}

// TestMissingKeys takes the manifests keys away one at a time: what is required
// fails with its name, and nothing fails in another way.
func TestMissingKeys(t *testing.T) {
	complete := map[string]map[string]string{
		"flux":          {"repo": "https://example.com/gull", "branch": "dev", "path": "./main"},
		"flux-oci":      {"url": "oci://example.com/gull", "tag": "v1", "path": "./main"},
		"flux-helm":     {"repo": "https://example.com/charts", "chart": "gull", "version": "1.2.3"},
		"argocd":        {"repo": "https://example.com/gull", "branch": "dev", "path": "./main"},
		"rancher-fleet": {"repo": "https://example.com/gull", "branch": "dev", "path": "./main"},
		"tofu":          {"repo": "https://example.com/gull", "branch": "dev", "module": "./main"},
		"zarf":          {"repo": "https://example.com/gull", "branch": "dev", "path": "./main"},
		"default":       {},
		"restricted":    {},
	}
	for name, o := range builtIn(t) {
		if o.Spec.Type == "config" {
			continue
		}
		d := sample()
		d.Manifests = complete[name]
		if _, err := expand(o, d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for key := range complete[name] {
			d.Manifests = maps.Clone(complete[name])
			delete(d.Manifests, key)
			_, err := expand(o, d)
			if want := "error calling fail: manifests." + key + " is missing"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s without %s: error %v, want %q", name, key, err, want)
			}
		}
	}
}

// TestHostile gives every text that comes from outside the worst there is: the
// objects must stay those that a harmless text makes.
func TestHostile(t *testing.T) {
	for name, o := range builtIn(t) {
		if o.Spec.ContentType != "" {
			continue // shell and HCL are quoted by functions, which have their own tests
		}
		ways := []string{""}
		if name == "tofu" { // it takes the first of these
			ways = []string{"module", "path", "chart"}
		}
		for _, way := range ways {
			checkHostile(t, name, o, way)
		}
	}
}

// checkHostile expands a template with hostile texts; way is the only one of module, path and chart that is given,
// "" for all.
func checkHostile(t *testing.T, name string, o object, way string) {
	given := func(text string) data {
		d := outside(text)
		if name == "rancher-fleet" || name == "zarf" {
			delete(d.Manifests, "semver") // it is refused
		}
		if way != "" {
			delete(d.Manifests, "commit") // it has digits
			maps.DeleteFunc(d.Manifests, func(key, _ string) bool {
				return key != way && slices.Contains([]string{"module", "path", "chart"}, key)
			})
		}
		return d
	}
	harmless, err := expand(o, given("harmless"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, bad := range []string{
		"x\n  injected: true", "x\"\n---\nkind: Secret\n", "': x", "# comment", "{{ .Namespace }}", "x\r  y: z", "x\u0085y: z",
		"x\u2028y: z", "\x00\x1b\x7f", "true", "no", "0x10", "1e3", "2024-01-01", "null", "~", "- a", "*a", "&a b", "!!int 7", "|\n  x", " ",
	} {
		got, err := expand(o, given(bad))
		if err != nil && strings.Contains(err.Error(), "line break that is not a newline") {
			continue
		}
		if err != nil {
			t.Errorf("%s with %q: %v", name, bad, err)
			continue
		}
		if diff := cmp.Diff(shape(t, harmless), shape(t, got)); diff != "" {
			t.Errorf("%s with %q: -harmless +got:\n%s", name, bad, diff)
		}
	}
}

// outside is data with the text wherever people can write one.
func outside(text string) data {
	d := data{
		DeploymentTargetName: text, Namespace: text, Environment: text, Workspace: text, Workload: text, ClusterType: text,
		Manifests:  map[string]string{"repo": "https://" + text, "url": "oci://" + text},
		ConfigData: map[string]interface{}{"A": text, "B": []interface{}{text}, "C": map[interface{}]interface{}{"d": text}},
		DependsOn:  []string{text},
	}
	for _, key := range []string{
		"branch", "tag", "semver", "commit", "digest", "path", "secretRef", "ignore", "chart", "version", "project", "syncWave", "revision", "architecture",
		"module", "workspace", "backend", "credentials", "serviceAccount",
	} {
		d.Manifests[key] = text
	}
	return d
}

// shape gives the structure of the objects of a file: their paths with the types
// of the values.
func shape(t *testing.T, text string) []string {
	t.Helper()
	var paths []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, item := range v {
				walk(path+"."+key, item)
			}
		case []any:
			for i, item := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), item)
			}
		default:
			paths = append(paths, fmt.Sprintf("%s %T", path, v))
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for i := 0; ; i++ {
		var document map[string]any
		if err := decoder.Decode(&document); err != nil {
			if err.Error() == "EOF" {
				break
			}
			t.Fatalf("%v in:\n%s", err, text)
		}
		walk(fmt.Sprint(i), document)
	}
	slices.Sort(paths)
	return paths
}

// TestVersionKeys: a commit wins over a range of tags, that over a tag, and a tag over a branch, and each of them
// is enough, whichever reconciler applies a folder of a Git repository.
func TestVersionKeys(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	all := map[string]string{"branch": "dev", "tag": "v1", "semver": ">=1.2.0", "commit": commit}
	ref := map[string]string{"branch": `branch: "dev"`, "tag": `tag: "v1"`, "semver": `semver: ">=1.2.0"`, "commit": `commit: "` + commit + `"`} // Flux decides
	objects := builtIn(t)
	for name, says := range map[string]map[string]string{
		"flux": ref, "tofu": ref,
		"argocd":        {"branch": `targetRevision: "dev"`, "tag": `targetRevision: "v1"`, "semver": `targetRevision: ">=1.2.0"`, "commit": `targetRevision: "` + commit + `"`},
		"rancher-fleet": {"branch": `branch: "dev"`, "tag": `revision: "v1"`, "commit": `revision: "` + commit + `"`},
		"zarf":          {"branch": `?ref=dev"`, "tag": `?ref=v1"`, "commit": "?ref=" + commit + `"`},
	} {
		for _, key := range []string{"branch", "tag", "semver", "commit"} {
			for _, alone := range []bool{true, false} {
				d := sample()
				d.Manifests = map[string]string{"repo": "https://example.com/gull", "path": "./main"}
				for _, other := range []string{"branch", "tag", "semver", "commit"} {
					if !alone && says[other] != "" || other == key {
						d.Manifests[other] = all[other]
					}
					if other == key {
						break
					}
				}
				got, err := expand(objects[name], d)
				switch want, known := says[key]; {
				case !known && (err == nil || !strings.Contains(err.Error(), "manifests."+key+" is not supported")):
					t.Errorf("%s with %s: error %v", name, key, err)
				case known && (err != nil || !strings.Contains(got, want)):
					t.Errorf("%s with %v: %v, want %s in\n%s", name, d.Manifests, err, want, got)
				}
			}
		}
	}
}

// TestDocumented: docs/reference/templates.md and the comment on top of a template name the
// manifests keys that it reads.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`\.Manifests\.(\w+)`)
	for path, text := range templates.Files().All() {
		name := strings.TrimSuffix(path, ".yaml")
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|.*$").FindString(string(page))
		if row == "" {
			t.Errorf("docs/reference/templates.md has no row for %s", name)
		}
		comment, _, _ := strings.Cut(string(text), "\napiVersion:")
		for _, m := range key.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(comment, m[1]) {
				t.Errorf("%s: the comment on top does not name the key %s", path, m[1])
			}
			if !strings.Contains(row, "`"+m[1]+"`") {
				t.Errorf("docs/reference/templates.md does not name the key %s of %s", m[1], name)
			}
		}
	}
}
