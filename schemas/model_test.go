package schemas_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/schemas"
)

// TestModel holds the schemas to the Go types that the objects are read into, in
// both directions.
func TestModel(t *testing.T) {
	kinds := []string{"ConfigMap"} // it has no spec; see its cases
	for version, all := range map[string][]model.KindInfo{model.APIVersion: model.Kinds, model.OwnAPIVersion: model.OwnKinds, claudie.APIVersion: model.ClaudieKinds} {
		for _, k := range all {
			kinds = append(kinds, k.Kind)
			schema := parsed(t, k.Kind)
			if got := at(schema, "properties", "apiVersion", "const"); got != version {
				t.Errorf("%s: apiVersion is %v", k.Kind, got)
			}
			for _, difference := range compare(k.Kind+".spec", at(schema, "properties", "spec"), reflect.TypeOf(k.Spec)) {
				t.Error(difference)
			}
		}
	}
	for name, spec := range map[string]any{"Stack": model.StackSpec{}, "Team": model.TeamSpec{}, "Company": model.CompanySpec{}} {
		kinds = append(kinds, name)
		schema := parsed(t, name)
		if diff := cmp.Diff(model.StackAPIVersions(), versionsOf(schema)); diff != "" {
			t.Errorf("%s: apiVersion: -model +schema:\n%s", name, diff)
		}
		for _, difference := range compare(name+".spec", at(schema, "properties", "spec"), reflect.TypeOf(spec)) {
			t.Error(difference)
		}
	}
	described, _ := at(parsed(t, claudie.InputManifestKind), "properties", "metadata", "properties", "annotations", "properties").(map[string]any)
	if diff := cmp.Diff(slices.Sorted(slices.Values(model.ManifestAnnotations)), slices.Sorted(maps.Keys(described))); diff != "" {
		t.Errorf("annotations of an InputManifest: -model +schema:\n%s", diff)
	}
	slices.Sort(kinds)
	if diff := cmp.Diff(kinds, schemas.Kinds()); diff != "" {
		t.Errorf("-model +schemas:\n%s", diff)
	}
}

// compare says where a schema and a type are not of the same shape.
func compare(path string, v any, t reflect.Type) []string {
	schema, ok := v.(map[string]any)
	if !ok {
		return []string{path + ": the schema does not have it"}
	}
	fields := fieldsOf(t)
	switch {
	case t == reflect.TypeFor[yaml.Node](): // anything, which is looked at later
		return nil
	case t == reflect.TypeFor[time.Duration](), t == reflect.TypeFor[time.Time]():
		return compareTime(path, schema, t)
	case t.Kind() == reflect.Bool:
		return wantType(path, schema, "boolean")
	case t.Kind() == reflect.Int:
		return wantType(path, schema, "integer")
	case t.Kind() == reflect.Pointer:
		return compare(path, v, t.Elem())
	case t.Kind() == reflect.Struct && len(fields) > 0:
		return compareFields(path, schema, fields)
	case t.Kind() == reflect.Map:
		return append(wantType(path, schema, "object"), compare(path+".*", schema["additionalProperties"], t.Elem())...)
	case t.Kind() == reflect.Slice:
		return append(wantType(path, schema, "array"), compare(path+"[]", schema["items"], t.Elem())...)
	default: // a string, or a struct that remembers where a string was
		return wantType(path, schema, "string")
	}
}

// compareTime wants a schema to say how a duration or a time is written.
func compareTime(path string, schema map[string]any, t reflect.Type) []string {
	out := wantType(path, schema, "string")
	pattern, _ := schema["pattern"].(string)
	if t == reflect.TypeFor[time.Time]() && schema["format"] != "date-time" {
		out = append(out, path+": the schema does not want a time")
	}
	if t == reflect.TypeFor[time.Duration]() && !strings.Contains(pattern, "(ns|us|µs|ms|s|m|h|d)") {
		out = append(out, path+": the schema does not want a duration")
	}
	return out
}

func compareFields(path string, schema map[string]any, fields map[string]reflect.StructField) []string {
	out := wantType(path, schema, "object")
	if schema["additionalProperties"] != false {
		out = append(out, path+": the schema lets other fields through")
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name := range properties {
		if _, ok := fields[name]; !ok {
			out = append(out, fmt.Sprintf("%s.%s: the type does not have it", path, name))
		}
	}
	for name, f := range fields {
		if got, want := slices.Contains(required, any(name)), f.Tag.Get("required") == "true"; got != want {
			out = append(out, fmt.Sprintf("%s.%s: required is %v in the schema, %v in the type", path, name, got, want))
		}
		out = append(out, compare(path+"."+name, properties[name], f.Type)...)
	}
	return out
}

// fieldsOf gives the fields of a struct by the names that people write.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	if t.Kind() != reflect.Struct {
		return fields
	}
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" {
			fields[name] = f
		}
	}
	return fields
}

func wantType(path string, schema map[string]any, want string) []string {
	types, ok := schema["type"].([]any)
	if !ok {
		types = []any{schema["type"]}
	}
	if !slices.Contains(types, any(want)) {
		return []string{fmt.Sprintf("%s: the schema wants %v, the type %s", path, schema["type"], want)}
	}
	return nil
}

// TestModelAgrees: what the cases call good, the model takes; what they call bad, it
// refuses.
func TestModelAgrees(t *testing.T) {
	for _, kind := range schemas.Kinds() {
		archive, err := txtar.ParseFile("testdata/" + kind + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"good.yaml", "bad.yaml"} {
			for i, text := range strings.Split(string(file(archive, name)), "---\n") {
				problems := problemsOf(kind, text)
				if got, want := len(problems) == 0, name == "good.yaml"; got != want {
					t.Errorf("%s: document %d of %s: the model says %v", kind, i+1, name, problems)
				}
			}
		}
	}
}

// chosen is the policy of the Choices.
const chosen = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: checkout}
spec: {deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {}}}
`

// problemsOf gives the problems that the model has with a file, as it lies there.
func problemsOf(kind, text string) problem.List {
	layer := model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries([]tree.Entry{tree.File("object.yaml", []byte(text))})}
	switch kind {
	case "Workload", "DeploymentTarget":
		layer.Kind, layer.Name = model.Workloads, "birds"
	case model.DecisionKind:
		layer.Kind = model.Decisions
	case model.ChoiceKind:
		layer.Files = tree.FromEntries([]tree.Entry{tree.File("object.yaml", []byte(text)), tree.File("policy.yaml", []byte(chosen))})
	case "Environment", "Freeze", "Promotion", "Template", "WorkloadRegistration":
		layer.Kind, layer.Name = model.Base, "main"
	}
	m, all := model.Parse("dev", layer)
	if kind == claudie.InputManifestKind {
		_, problems := clusters.Resolve(m)
		all = append(all, problems...)
	}
	progress := model.NewParser().Progress("dev", layer)
	all = append(all, progress.Problems...)
	for _, p := range progress.Promotions {
		for _, s := range p.Stages {
			_, _, problems := gate.CompileStage(s)
			all = append(all, problems...)
		}
	}
	return slices.DeleteFunc(all, func(p problem.Problem) bool { return p.Warning || p.Pos.File == "" })
}

// TestCompare: each kind of difference must be seen.
func TestCompare(t *testing.T) {
	type inner struct {
		Key string `yaml:"key" required:"true"`
	}
	type spec struct {
		Repo  string            `yaml:"repo" required:"true"`
		Keys  map[string]string `yaml:"keys"`
		Items []inner           `yaml:"items"`
		On    bool              `yaml:"on"`
		Count int               `yaml:"count"`
		Long  time.Duration     `yaml:"long"`
		When  time.Time         `yaml:"when"`
		Any   yaml.Node         `yaml:"any"`
	}
	text := map[string]any{"type": "string"}
	item := func(required ...any) map[string]any {
		return map[string]any{"type": "object", "required": required, "additionalProperties": false, "properties": map[string]any{"key": text}}
	}
	schema := func(change func(properties, whole map[string]any)) map[string]any {
		properties := map[string]any{
			"repo":  text,
			"keys":  map[string]any{"type": "object", "additionalProperties": text},
			"items": map[string]any{"type": "array", "items": item("key")},
			"on":    map[string]any{"type": "boolean"},
			"count": map[string]any{"type": "integer"},
			"long":  map[string]any{"type": "string", "pattern": "([0-9]+(ns|us|µs|ms|s|m|h|d))+"},
			"when":  map[string]any{"type": "string", "format": "date-time"},
			"any":   map[string]any{},
		}
		whole := map[string]any{"type": "object", "required": []any{"repo"}, "additionalProperties": false, "properties": properties}
		change(properties, whole)
		return whole
	}
	tests := []struct {
		name   string
		change func(properties, whole map[string]any)
		want   []string
	}{
		{"none", func(_, _ map[string]any) {}, nil},
		{"missing", func(p, _ map[string]any) { delete(p, "keys") }, []string{"spec.keys: the schema does not have it"}},
		{"more", func(p, _ map[string]any) { p["kees"] = text }, []string{"spec.kees: the type does not have it"}},
		{"open", func(_, w map[string]any) { delete(w, "additionalProperties") }, []string{"spec: the schema lets other fields through"}},
		{"not required", func(_, w map[string]any) { delete(w, "required") }, []string{"spec.repo: required is false in the schema, true in the type"}},
		{"deep", func(p, _ map[string]any) { p["items"].(map[string]any)["items"] = item() }, []string{"spec.items[].key: required is false in the schema, true in the type"}},
		{"no boolean", func(p, _ map[string]any) { p["on"] = text }, []string{"spec.on: the schema wants string, the type boolean"}},
		{"no number", func(p, _ map[string]any) { p["count"] = text }, []string{"spec.count: the schema wants string, the type integer"}},
		{"any text", func(p, _ map[string]any) { p["long"] = text }, []string{"spec.long: the schema does not want a duration"}},
		{"no time", func(p, _ map[string]any) { p["when"] = text }, []string{"spec.when: the schema does not want a time"}},
		{"another type", func(p, _ map[string]any) { p["repo"] = map[string]any{"type": "number"} }, []string{"spec.repo: the schema wants number, the type string"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, compare("spec", schema(test.change), reflect.TypeFor[spec]())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
