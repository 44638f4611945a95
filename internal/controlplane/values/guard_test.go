package values

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xeipuuv/gojsonschema"
)

// doubled is a schema of definitions each of which refers to the next one twice, by a
// keyword: 2 to the power of levels steps.
func doubled(levels int, keyword string) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/definitions/a0", "definitions": {`)
	for i := range levels {
		fmt.Fprintf(&b, `"a%d": {"%s": [{"$ref": "#/definitions/a%d"}, {"$ref": "#/definitions/a%d"}]}, `, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d": {}}}`, levels)
	return b.String()
}

// nested is a text in so many brackets.
func nested(n int, open, text, shut string) string {
	return strings.Repeat(open, n) + text + strings.Repeat(shut, n)
}

// references is a chain of definitions.
func references(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/definitions/a0", "definitions": {`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d": {"$ref": "#/definitions/a%d"}, `, i, i+1)
	}
	fmt.Fprintf(&b, `"a%d": {}}}`, n)
	return b.String()
}

// listed is a list of n texts, as JSON.
func listed(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"text-%d",`, i)
	}
	return "[" + strings.TrimSuffix(b.String(), ",") + "]"
}

// patternsOf is n schemas by different patterns, as JSON.
func patternsOf(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%q: {},", fmt.Sprintf(format, i))
	}
	return strings.TrimSuffix(b.String(), ",")
}

// hostileSchemas are refused when they are compiled.
var hostileSchemas = []struct{ schema, want string }{
	{`{"definitions": true}`, "definitions are not an object"},
	{`{"allOf": [{"definitions": false}]}`, "definitions are not an object"},
	{`{"definitions": 1}`, "not a JSON Schema"},
	{`{"$id": "17%0X"}`, "not a JSON Schema"},
	{`{"$id": "#/definitions/x", "$ref": "#/definitions/x"}`, `named "#/definitions/x"`},
	{`{"id": "#/definitions/x", "$ref": "#/definitions/x"}`, `named "#/definitions/x"`},
	{`{"$id": "https://example.com/#/definitions/x", "$ref": "#/definitions/x"}`, `named "https://example.com/#/definitions/x"`},
	{`{"definitions": {"a": {"$id": "b", "$ref": "#/definitions/a"}}}`, `named "b"`},
	{`{"properties": {"default": {"$id": "x", "not": {"$ref": "#/not"}}}}`, `named "x"`},
	{`{"default": {"id": "#/definitions/a"}, "definitions": {"a": {}}, "$ref": "#/definitions/a"}`, `named "#/definitions/a"`},
	{`{"default": {"$id": "x", "$ref": "#"}, "$ref": "#/default"}`, "which is no schema"},
	{`{"default": {"$id": "x", "type": "string"}, "$ref": "#/default"}`, "which is no schema"},
	{`{"enum": [{"$id": "x"}], "not": {"$ref": "#/enum/0"}}`, "which is no schema"},
	{`{"$ref": "#"}`, "circle"},
	{`{"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/%64efinitions/a"}}}`, "circle"},
	{`{"$ref": "#/a~0b", "a~b": {"anyOf": [{"$ref": "#/a~0b"}]}}`, "circle"},
	{`{"if": {"then": {"$ref": "#"}}}`, "circle"},
	{`{"dependencies": {"a": {"$ref": "#"}}}`, "circle"},
	{`{"$ref": "#/%zz"}`, "not a pointer"},
	{`{"minimum": 1e-100000}`, "digits"},
	{`{"minimum": 1` + strings.Repeat("0", 300) + `.` + strings.Repeat("0", 300) + `}`, "digits"},
	{`{"multipleOf": 1e-9999999999999999999999}`, "digits"},
	{`{"pattern": "` + strings.Repeat("(a{1,1000})", 900) + `"}`, "too large"},
	{`{"patternProperties": {"` + strings.Repeat("(a{1,1000})", 900) + `": {}}}`, "too large"},
	{nested(5000, `{"not":`, `{}`, `}`), "nested deeper"},
	{nested(200000, `[`, ``, `]`), "not JSON"},
	{`{"enum": ` + nested(5000, `[`, ``, `]`) + `}`, "nested deeper"},
	{references(30_000), "followed"},
	{`{"enum": ` + listed(4097) + `}`, "4097 values (enum)"},
	{`{"properties": {"A": {"enum": ` + listed(90_000) + `}, "B": {"enum": ` + listed(90_000) + `}}}`, "90000 values (enum)"},
	{`{"required": ` + listed(90_000) + `}`, "90000 values (required)"},
	{`{"allOf": [{"enum": ` + listed(4096) + `}, {"enum": ` + listed(4096) + `}]}`, "parts"},
	{`{"allOf": [` + strings.Repeat(`{},`, 1<<17) + `{}]}`, "parts"},
	{`{"patternProperties": {` + patternsOf(14, "%d"+strings.Repeat("a{1,900}", 3)) + `}}`, "together"},
	{`{"allOf": [` + strings.TrimSuffix(strings.Repeat(`{"$ref": "#/definitions/a"},`, 10), ",") + `]}`, "not a JSON Schema"},
	{`null`, "not a JSON Schema"}, {`[]`, "not a JSON Schema"}, {`1`, "not a JSON Schema"}, {`"a"`, "not a JSON Schema"},
	{`{"$schema": 1}`, "not a JSON Schema"}, {`{"type": {}}`, "not a JSON Schema"}, {`{"items": 1}`, "not a JSON Schema"},
	{`{"$ref": 1}`, "not a JSON Schema"}, {`{"properties": {"a": 1}}`, "not a JSON Schema"}, {`{"enum": {}}`, "not a JSON Schema"},
	{`{"dependencies": {"a": 1}}`, "not a JSON Schema"}, {`{"pattern": "("}`, "not a JSON Schema"}, {`{"required": "a"}`, "not a JSON Schema"},
}

func TestHostileSchemas(t *testing.T) {
	for _, c := range hostileSchemas {
		if got := compileSchema(c.schema).problem; !strings.Contains(got, c.want) {
			t.Errorf("%.80s: %q, want %q", c.schema, got, c.want)
		}
	}
}

// TestSchemaWork has schemas that are fine by themselves and take too long with the values.
func TestSchemaWork(t *testing.T) {
	long := map[string]any{"A": strings.Repeat("a", 1<<20)}
	wide := map[string]any{}
	for i := range 2000 {
		wide[fmt.Sprint("key", i)] = map[any]any{"a": "b"}
	}
	deep, shallow := any("end"), any("end")
	for i := range 2000 {
		deep = map[any]any{"a": deep}
		if i < 100 {
			shallow = deep
		}
	}
	var patterns, properties, unions []string
	for i := range 500 {
		patterns = append(patterns, fmt.Sprintf(`"(a|b)*%d": {}`, i))
		unions = append(unions, fmt.Sprintf(`{"required": ["a%d"]}`, i))
	}
	for i := range 10_000 {
		properties = append(properties, fmt.Sprintf(`"p%d": {}`, i))
	}
	for _, c := range []struct {
		schema string
		data   map[string]any
		want   string
	}{
		{doubled(40, "allOf"), nil, "steps"},
		{doubled(40, "anyOf"), nil, "steps"},
		{doubled(40, "oneOf"), nil, "steps"},
		{`{"additionalProperties": {"$ref": "#/x"}, "x": {"additionalProperties": {"anyOf": [{"$ref": "#/x"}, {"$ref": "#/x"}]}}}`, map[string]any{"a": shallow}, "steps"},
		{`{"properties": {"a": {"$ref": "#"}}}`, map[string]any{"a": deep}, "deeper"},
		{`{"patternProperties": {` + strings.Join(patterns, ",") + `}}`, wide, "steps"},
		{`{"properties": {` + strings.Join(properties, ",") + `}}`, wide, "steps"},
		{`{"additionalProperties": {"allOf": [` + strings.Join(unions, ",") + `]}}`, wide, "steps"},
		{`{"additionalProperties": {"pattern": "(a|b|ab)*c{1,500}$"}}`, long, "steps"},
		{`{"additionalProperties": {"format": "regex"}}`, map[string]any{"A": strings.Repeat("(a{1,1000})", 900)}, "steps"},
	} {
		s := compileSchema(c.schema)
		if s.problem != "" {
			t.Errorf("%.80s: %s", c.schema, s.problem)
			continue
		}
		got := s.validateData(c.data)
		if len(got.messages) != 1 || !strings.Contains(got.messages[0].text, c.want) || got.steps > maxSchemaSteps+1 {
			t.Errorf("%.80s: %d steps, %.300q, want %q", c.schema, got.steps, got.messages, c.want)
		}
	}
}

// TestManyViolations caps what is said of one assignment.
func TestManyViolations(t *testing.T) {
	data := map[string]any{}
	for i := range 1000 {
		data[fmt.Sprintf("key%03d", i)] = "text"
	}
	got := compileSchema(`{"additionalProperties": {"type": "boolean"}}`).validateData(data).messages
	if len(got) != maxMessages+1 || got[maxMessages].text != "and 900 more" {
		t.Errorf("%d messages, the last is %q", len(got), got[len(got)-1])
	}
}

// TestLongMessages: a message does not list a long enum.
func TestLongMessages(t *testing.T) {
	s := compileSchema(`{"properties": {"A": {"enum": ` + listed(4000) + `}}}`)
	got := s.validateData(map[string]any{"A": "b"})
	if len(got.messages) != 1 || got.messages[0].key != "A" || len(got.messages[0].text) > 500 || !strings.HasSuffix(got.messages[0].text, "…") {
		t.Errorf("%q, %+v", s.problem, got)
	}
}

// TestCompilingIsWork counts the work of compiling a schema once, also if it cannot be used, and
// another schema can be compiled meanwhile.
func TestCompilingIsWork(t *testing.T) {
	for _, text := range []string{`{"enum": ` + listed(2000) + `}`, `{"allOf": [{"enum": ` + listed(4096) + `}, {"enum": ` + listed(4096) + `}]}`} {
		c := &schemaCache{}
		first, broken := c.validateAgainst(text, &Values{})
		again, _ := c.validateAgainst(text, &Values{})
		if first.steps < 10_000 || again.steps > 1 || broken != strings.Contains(text, "allOf") {
			t.Errorf("%.20s: %d steps, then %d; %v", text, first.steps, again.steps, broken)
		}
	}
	c := &schemaCache{compiled: map[string]*compiledSchema{"{}": {}}}
	c.compiled["{}"].once.Do(func() { // is being compiled
		if _, broken := c.validateAgainst("true", &Values{}); broken {
			t.Error("true is a schema")
		}
	})
}

// soundSchemas must mean what they mean to the validator alone.
var soundSchemas = []string{
	`{}`, `true`, `false`, `{"type": "object", "required": ["A"], "properties": {"A": {"type": "string", "minLength": 2}}}`,
	`{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.com/s.json", "definitions": {"a": {"type": "integer"}}, "properties": {"A": {"$ref": "#/definitions/a"}}}`,
	`{"$schema": "http://json-schema.org/draft-04/schema#", "id": "https://example.com/s.json", "definitions": {"a": {"type": "integer"}}, "properties": {"A": {"$ref": "#/definitions/a"}}}`,
	`{"$id": "https://example.com/s.json#", "properties": {"A": {"$ref": "#/properties/B"}, "B": {"type": "number"}}}`,
	`{"properties": {"id": {"type": "string"}, "$id": {"type": "string"}, "default": {"type": "integer"}, "$ref": {"type": "string"}}}`,
	`{"default": {"id": "x"}, "properties": {"A": {"default": {"$id": "y"}, "enum": ["a", {"id": "z"}]}}}`,
	`{"properties": {"definitions": true, "A": {"$ref": "#/definitions/a%20b"}}, "definitions": {"a%20b": {}, "a b": {"type": "boolean"}}}`,
	`{"properties": {"A": {"$ref": "#/definitions/a~1b"}}, "definitions": {"a/b": {"enum": ["x", 1]}}}`,
	`{"properties": {"A": {"$ref": "#/definitions/tree"}}, "definitions": {"tree": {"properties": {"a": {"$ref": "#/definitions/tree"}, "b": {"type": "string"}}}}}`,
	`{"allOf": [{"anyOf": [{"required": ["A"]}, {"required": ["B"]}]}, {"not": {"required": ["C"]}}], "if": {"required": ["A"]}, "then": {"maxProperties": 2}, "else": {"minProperties": 1}}`,
	`{"patternProperties": {"^[A-Z]$": {"type": ["string", "integer"]}}, "additionalProperties": false, "propertyNames": {"maxLength": 3}}`,
	`{"properties": {"A": {"items": [{"type": "string"}], "additionalItems": {"type": "integer"}, "contains": {"const": 1}, "uniqueItems": true}}}`,
	`{"dependencies": {"A": ["B"], "B": {"required": ["C"]}}, "properties": {"B": {"multipleOf": 0.5, "exclusiveMaximum": 1e3, "format": "regex"}}}`,
}

var someData = []map[string]any{
	nil, {"A": "a"}, {"A": "ab", "B": "1"}, {"A": "1"}, {"A": "true"}, {"C": "x", "B": "2.25"},
	{"A": []any{"a", 1, 1}}, {"A": map[any]any{"a": map[any]any{"b": 1}}}, {"id": "1", "$id": "b", "default": "c", "definitions": "d"}, {"LONG": "a", "B": "["},
}

// TestSoundSchemas compares with the validator alone.
func TestSoundSchemas(t *testing.T) {
	for _, text := range soundSchemas {
		for i, data := range someData {
			if diff := compareVerdicts(text, data, true); diff != "" {
				t.Errorf("%s with %d: %s", text, i, diff)
			}
		}
	}
}

// compareVerdicts compares what we say with what the validator alone does.
func compareVerdicts(text string, data map[string]any, sound bool) string {
	s := compileSchema(text)
	if s.problem != "" {
		if sound {
			return s.problem
		}
		return ""
	}
	got := s.validateData(data)
	if slices.ContainsFunc(got.messages, func(m message) bool { return isRefusal(m.text) }) {
		return ""
	}
	plain, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(text))
	if err != nil {
		return fmt.Sprintf("the validator does not take it: %v", err)
	}
	s.schema, s.guard = plain, schemaGuard{root: true}
	if want := s.validateData(data); !slices.Equal(got.messages, want.messages) {
		return fmt.Sprintf("%q, and the validator alone says %q", got.messages, want.messages)
	}
	return ""
}

func isRefusal(message string) bool {
	return strings.Contains(message, "takes more than") || strings.Contains(message, "follows itself deeper")
}

// FuzzSchema compiles any text as a schema and checks values against it: nothing may panic,
// overflow the stack or go on for long, and what is not refused means what it means to the
// validator alone.
func FuzzSchema(f *testing.F) {
	for _, c := range hostileSchemas {
		if len(c.schema) < 10_000 {
			f.Add(c.schema)
		}
	}
	for _, text := range soundSchemas {
		f.Add(text)
	}
	f.Add(doubled(40, "allOf"))
	f.Add(doubled(3, "oneOf"))
	f.Fuzz(func(t *testing.T, text string) {
		for _, data := range someData {
			if diff := compareVerdicts(text, data, false); diff != "" {
				t.Error(diff)
			}
		}
	})
}
