package gate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/schemas"
)

// shape is what a schema and a Go type have in common.
type shape struct {
	Type     string
	Required bool
	Fields   map[string]shape
	Items    *shape
}

// gateSpecs are what is written of each kind of gate.
var gateSpecs = map[string]any{
	"approval": approvalSpec{}, "cost": cost.Limit{}, "dispatch": dispatchSpec{}, "http": httpSpec{}, "merged": struct{}{},
	"rollout": rolloutSpec{}, "soak": time.Duration(0), "status": statusSpec{}, "window": windowSpec{},
}

// TestSchema: what the schema of Promotion says of gates is what they are read into.
func TestSchema(t *testing.T) {
	text, _ := schemas.Schema("Promotion")
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	fields := at(schema, "properties", "spec", "properties", "environments", "items", "properties")
	gates := at(fields, "gates", "items")
	if diff := cmp.Diff(gates, at(fields, "proof", "items")); diff != "" {
		t.Errorf("gates and proof are not the same: -gates +proof:\n%s", diff)
	}
	got := ofSchema(gates, false).Fields
	delete(got, "name")
	want := map[string]shape{}
	var one, alone []any
	for _, name := range slices.Sorted(maps.Keys(gateKinds)) {
		spec, ok := gateSpecs[name]
		if !ok {
			t.Fatalf("gateSpecs lacks %s", name)
		}
		want[name] = ofType(reflect.TypeOf(spec), false)
		one = append(one, map[string]any{"required": []any{name}})
		if _, problems := New(stage(t, "- "+name).Gates[0]); len(problems) == 0 {
			alone = append(alone, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-types +schema:\n%s", diff)
	}
	if diff := cmp.Diff(one, at(gates, "else", "oneOf")); diff != "" {
		t.Errorf("a gate is one of: -registry +schema:\n%s", diff)
	}
	if diff := cmp.Diff(alone, at(gates, "then", "enum")); diff != "" {
		t.Errorf("gates that need nothing: -registry +schema:\n%s", diff)
	}
}

func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func ofSchema(v any, required bool) shape {
	schema, _ := v.(map[string]any)
	s := shape{Required: required}
	switch types := schema["type"].(type) {
	case string:
		s.Type = types
	case []any: // an object, or a short form of it
		if slices.Contains(types, any("object")) {
			s.Type = "object"
		}
	}
	if s.Type == "array" {
		items := ofSchema(schema["items"], false)
		s.Items = &items
	}
	if properties, ok := schema["properties"].(map[string]any); ok && s.Type == "object" {
		s.Fields = map[string]shape{}
		needed, _ := schema["required"].([]any)
		for name, p := range properties {
			s.Fields[name] = ofSchema(p, slices.Contains(needed, any(name)))
		}
	}
	return s
}

func ofType(t reflect.Type, required bool) shape {
	s := shape{Required: required}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration](), t.Kind() == reflect.String:
		s.Type = "string"
	case t.Kind() == reflect.Bool:
		s.Type = "boolean"
	case t.Kind() == reflect.Int:
		s.Type = "integer"
	case t.Kind() == reflect.Slice:
		items := ofType(t.Elem(), false)
		s.Type, s.Items = "array", &items
	case t.Kind() == reflect.Map:
		s.Type = "object"
	case t.Kind() == reflect.Struct:
		s.Type, s.Fields = "object", map[string]shape{}
		for _, f := range reflect.VisibleFields(t) {
			s.Fields[f.Tag.Get("yaml")] = ofType(f.Type, f.Tag.Get("required") != "")
		}
	}
	return s
}
