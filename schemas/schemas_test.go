package schemas_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/xeipuuv/gojsonschema"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/schemas"
)

var update = flag.Bool("update", false, "rewrite all.json and what the cases of testdata want")

func compiled(t *testing.T, kind string) *gojsonschema.Schema {
	t.Helper()
	text, ok := schemas.Schema(kind)
	if !ok {
		t.Fatalf("there is no schema for %s", kind)
	}
	loader := gojsonschema.NewSchemaLoader()
	loader.Draft, loader.AutoDetect, loader.Validate = gojsonschema.Draft7, false, true
	schema, err := loader.Compile(gojsonschema.NewBytesLoader(text))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return schema
}

func TestSchema(t *testing.T) {
	want := []string{
		"Approval", "BaseRepo", "Choice", "ClusterBinding", "ClusterKey", "ClusterList", "ClusterModules", "ClusterType", "Company", "ConfigMap", "ConfigSchema", "Decision", "DeploymentTarget", "Environment", "Ephemeral", "Feed", "Freeze", "GitOpsRepo",
		"Hold", "HoldRelease", "InputManifest", "Lanes", "Pin", "PlanApproval", "PlanRequest", "Promotion", "Release", "SchedulingPolicy", "Skip", "Stack", "StackSettings", "Team", "Template", "TemplateGitReference", "WaveDecision", "Workload",
		"WorkloadRegistration",
	}
	if diff := cmp.Diff(want, schemas.Kinds()); diff != "" {
		t.Errorf("kinds: -want +got:\n%s", diff)
	}
	for _, name := range []string{"ClusterType", "clustertype", "CLUSTERTYPE"} {
		text, _ := schemas.Schema(name)
		if !bytes.Contains(text, []byte(`"$id": "https://fairlead.io/schemas/ClusterType.json"`)) {
			t.Errorf("the schema of %s is %.200s", name, text)
		}
	}
	for _, name := range []string{"", "Cluster", "ClusterType.json", "../schemas"} {
		if _, ok := schemas.Schema(name); ok {
			t.Errorf("there is a schema for %q", name)
		}
	}
}

// TestAll: all.json is made of the others, so that it works without a network.
func TestAll(t *testing.T) {
	var conditions []any
	for _, version := range append([]string{"scheduler.kalypso.io/v1alpha1", "fairlead.io/v1alpha1"}, versionsOf(parsed(t, "Stack"))...) {
		conditions = append(conditions, map[string]any{
			"if":   when("apiVersion", version),
			"then": map[string]any{"properties": map[string]any{"kind": map[string]any{"enum": kindsOf(t, version)}}},
		})
	}
	definitions := map[string]any{}
	for _, kind := range schemas.Kinds() {
		schema := parsed(t, kind)
		for _, apiVersion := range versionsOf(schema) {
			conditions = append(conditions, map[string]any{
				"if":   when("apiVersion", apiVersion, "kind", at(schema, "properties", "kind", "const").(string)),
				"then": map[string]any{"$ref": "#/definitions/" + kind},
			})
		}
		delete(schema, "$schema")
		delete(schema, "$id")
		definitions[kind] = schema
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(map[string]any{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"$id":         "https://fairlead.io/schemas/all.json",
		"title":       "Control plane",
		"description": "Any object of a control plane, by its kind. Made of the other schemas by the test of this folder (-update).",
		"allOf":       conditions,
		"definitions": definitions,
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("all.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, _ := schemas.Schema("all")
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("go test ./schemas -update makes it anew: -want +got:\n%s", diff)
	}
}

// when is a condition: the keys are there and have these values.
func when(pairs ...string) map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := 0; i < len(pairs); i += 2 {
		properties[pairs[i]] = map[string]any{"const": pairs[i+1]}
		required = append(required, pairs[i])
	}
	return map[string]any{"properties": properties, "required": required}
}

func kindsOf(t *testing.T, apiVersion string) []any {
	t.Helper()
	var kinds []any
	for _, kind := range schemas.Kinds() {
		schema := parsed(t, kind)
		if slices.Contains(versionsOf(schema), apiVersion) {
			kinds = append(kinds, at(schema, "properties", "kind", "const"))
		}
	}
	return kinds
}

// versionsOf returns the apiVersions that a kind has: CloudKnit's have several.
func versionsOf(schema map[string]any) []string {
	if version, ok := at(schema, "properties", "apiVersion", "const").(string); ok {
		return []string{version}
	}
	var versions []string
	all, _ := at(schema, "properties", "apiVersion", "enum").([]any)
	for _, v := range all {
		versions = append(versions, v.(string))
	}
	return versions
}

func parsed(t *testing.T, kind string) map[string]any {
	t.Helper()
	text, _ := schemas.Schema(kind)
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return schema
}

// at follows keys down into a schema; nil if there is nothing.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// TestDescriptions: every field says what it is, or an editor has nothing to show.
func TestDescriptions(t *testing.T) {
	for _, kind := range schemas.Kinds() {
		eachProperty(kind, parsed(t, kind), func(path string, property map[string]any) {
			if description, _ := property["description"].(string); description == "" {
				t.Errorf("%s has no description", path)
			}
		})
	}
}

func eachProperty(path string, schema map[string]any, visit func(string, map[string]any)) {
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		property := p.(map[string]any)
		visit(path+"."+name, property)
		eachProperty(path+"."+name, property, visit)
		if items, ok := property["items"].(map[string]any); ok {
			eachProperty(path+"."+name+"[]", items, visit)
		}
	}
}

// TestCases validates the objects of testdata/*.txtar: good.yaml must pass, and of
// bad.yaml each document must fail as want says, by its kind and by all.json.
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := compiled(t, "all")
	for _, kind := range schemas.Kinds() {
		if !slices.Contains(cases, "testdata/"+kind+".txtar") {
			t.Errorf("%s has no cases", kind)
		}
	}
	for _, path := range cases {
		kind := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(kind, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			schema := compiled(t, kind)
			for i, object := range documents(t, file(archive, "good.yaml")) {
				for _, s := range []*gojsonschema.Schema{schema, all} {
					if wrong := validate(t, s, object); wrong != nil {
						t.Errorf("good document %d: %s", i+1, strings.Join(wrong, "; "))
					}
				}
			}
			var got strings.Builder
			for i, object := range documents(t, file(archive, "bad.yaml")) {
				wrong := validate(t, schema, object)
				fmt.Fprintf(&got, "%d: %s\n", i+1, strings.Join(wrong, "; "))
				if wrong == nil {
					t.Errorf("bad document %d passes", i+1)
				}
				if validate(t, all, object) == nil {
					t.Errorf("bad document %d passes all.json", i+1)
				}
			}
			if *update {
				rewrite(t, path, archive, got.String())
			}
			if diff := cmp.Diff(string(file(archive, "want")), got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func validate(t *testing.T, schema *gojsonschema.Schema, object any) []string {
	t.Helper()
	result, err := schema.Validate(gojsonschema.NewGoLoader(object))
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	for _, e := range result.Errors() {
		wrong = append(wrong, e.String())
	}
	slices.Sort(wrong)
	return wrong
}

func documents(t *testing.T, text []byte) []any {
	t.Helper()
	var out []any
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document any
		if err := decoder.Decode(&document); err != nil {
			if err.Error() == "EOF" {
				return out
			}
			t.Fatal(err)
		}
		out = append(out, document)
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

func rewrite(t *testing.T, path string, a *txtar.Archive, want string) {
	t.Helper()
	for i, f := range a.Files {
		if f.Name == "want" {
			a.Files[i].Data = []byte(want)
		}
	}
	if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOtherKinds: all.json leaves other kinds alone, but not misspelt ones of
// Kalypso's and of ours.
func TestOtherKinds(t *testing.T) {
	all := compiled(t, "all")
	for _, test := range []struct {
		object string
		want   bool
	}{
		{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: gull}, spec: {replicas: 3}}", true},
		{"{apiVersion: v1, kind: Secret, metadata: {name: gull}}", true},
		{"{apiVersion: scheduler.kalypso.io/v1alpha1, kind: ClusterTyp, metadata: {name: gull}}", false},
		{"{apiVersion: fairlead.io/v1alpha1, kind: Frieze, metadata: {name: gull}}", false},
		{"{apiVersion: fairlead.io/v1alpha1, kind: ClusterType, metadata: {name: gull}}", false},
		{"{apiVersion: stable.cloudknit.io/v1, kind: Enviroment, metadata: {name: gull}}", false},
		{"{apiVersion: stable.compuzest.com/v1alpha1, kind: Team, metadata: {name: gull}}", false},
		{"{apiVersion: example.com/v1, kind: ClusterType, metadata: {name: gull}}", true},
	} {
		if wrong := validate(t, all, documents(t, []byte(test.object))[0]); (wrong == nil) != test.want {
			t.Errorf("%s: %v", test.object, wrong)
		}
	}
}
