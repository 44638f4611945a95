package argocd

import (
	"compress/gzip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// TestFields holds the fields that are read to those of Argo CD's definition: a new one must be translated,
// or be a problem, before it is read.
func TestFields(t *testing.T) {
	spec := definitionOfSpec(t)
	delete(spec["properties"].(map[string]any), "sourceHydrator") // a problem, whatever it holds
	compareFields(t, "spec", spec, reflect.TypeFor[applicationSpec]())
}

// definitionOfSpec returns the schema of the spec of an Application.
func definitionOfSpec(t *testing.T) map[string]any {
	t.Helper()
	file, err := os.Open("../../testkit/crdtest/testdata/crds/argoproj.io_applications.yaml.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPI struct {
						Properties map[string]map[string]any `yaml:"properties"`
					} `yaml:"openAPIV3Schema"`
				} `yaml:"schema"`
			} `yaml:"versions"`
		} `yaml:"spec"`
	}
	if err := yaml.NewDecoder(unpacked).Decode(&definition); err != nil {
		t.Fatal(err)
	}
	return definition.Spec.Versions[0].Schema.OpenAPI.Properties["spec"]
}

// compareFields holds a type to a schema.
func compareFields(t *testing.T, at string, schema map[string]any, of reflect.Type) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
		if items, ok := schema["items"].(map[string]any); ok {
			schema = items
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	if of == reflect.TypeFor[yaml.Node]() || properties == nil {
		return
	}
	fields := yamldoc.FieldsOf(of)
	for name, inner := range properties {
		field, ok := fields.Find(name)
		if !ok {
			t.Errorf("%s.%s is not read", at, name)
			continue
		}
		compareFields(t, at+"."+name, inner.(map[string]any), field.Type)
	}
	for _, field := range fields {
		if name := yamldoc.KeyOf(field); properties[name] == nil && name != "sourceHydrator" {
			t.Errorf("%s.%s is read, and Argo CD does not have it", at, name)
		}
	}
}

// TestDocumented: the guide says of each field what becomes of it.
func TestDocumented(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/how-to/from-cloudknit.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(guide), "### Applications of Argo CD")
	section, _, _ = strings.Cut(section, "\n## ")
	words := regexp.MustCompile(`[A-Za-z]+`).FindAllString(section, -1)
	// What is evident, or is described as a whole.
	known := []string{"repoURL", "metadata", "name", "value", "forceString", "patch", "target", "group", "version", "kind", "namespace", "labelSelector", "annotationSelector",
		"count", "backoff", "duration", "factor", "maxDuration", "refresh", "syncPolicy", "labels", "annotations"}
	for _, name := range fieldNames(reflect.TypeFor[applicationSpec]()) {
		if !slices.Contains(words, name) && !slices.Contains(known, name) {
			t.Errorf("the guide does not say what becomes of %s", name)
		}
	}
}

// fieldNames returns the names of the fields of a type, and of all in them.
func fieldNames(of reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[yaml.Node]() {
		return nil
	}
	var all []string
	for _, field := range yamldoc.FieldsOf(of) {
		all = append(append(all, yamldoc.KeyOf(field)), fieldNames(field.Type)...)
	}
	return all
}
