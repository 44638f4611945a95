package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"

	"github.com/fairlead-io/fairlead/internal/model"
)

// Violation is one thing that a schema does not like about some values, or why
// the schema itself cannot be used.
type Violation struct {
	Schema  *model.Schema
	Message string // e.g. "REGION is required"
	Broken  bool   // the schema cannot be used, whatever the values are
}

// schemaCache remembers compiled schemas by their text, and verdicts by text and
// values.
type schemaCache struct {
	mu       sync.Mutex
	compiled map[string]*compiledSchema
}

type compiledSchema struct {
	schema   *gojsonschema.Schema
	problem  string // why it could not be compiled
	mu       sync.Mutex
	verdicts map[Digest][]string
}

// Validate checks the values of an assignment of target against every schema that
// applies: those of the control plane by name, then the target's own and its
// workload's.
func (c *Cache) Validate(v *Values, target *model.Target) []Violation {
	var out []Violation
	check := func(s *model.Schema) {
		messages, broken := c.schemas.check(s.Text, v)
		for _, message := range messages {
			out = append(out, Violation{s, message, broken})
		}
	}
	for _, s := range v.Schemas {
		check(s)
	}
	for i := range target.Schemas {
		check(&target.Schemas[i])
	}
	return out
}

func (c *schemaCache) check(text string, v *Values) (messages []string, broken bool) {
	c.mu.Lock()
	if c.compiled == nil || len(c.compiled) > 1024 {
		c.compiled = map[string]*compiledSchema{}
	}
	s := c.compiled[text]
	if s == nil {
		s = compileSchema(text)
		c.compiled[text] = s
	}
	c.mu.Unlock()
	if s.problem != "" {
		return []string{s.problem}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	messages, ok := s.verdicts[v.Digest]
	if !ok {
		messages = s.validate(v.Data)
		if len(s.verdicts) > maxClasses {
			clear(s.verdicts)
		}
		s.verdicts[v.Digest] = messages
	}
	return messages, false
}

func compileSchema(text string) *compiledSchema {
	s := &compiledSchema{verdicts: map[Digest][]string{}}
	var document any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		s.problem = fmt.Sprintf("the schema is not JSON: %v", err)
		return s
	}
	if why := unsafe(document); why != "" {
		s.problem = why
		return s
	}
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(text))
	if err != nil {
		s.problem = fmt.Sprintf("the schema is not a JSON Schema: %s", oneLine(err.Error()))
		return s
	}
	s.schema = schema
	return s
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// validate gives the messages of Kalypso's validator, without the root's prefix.
func (s *compiledSchema) validate(data map[string]any) []string {
	document := make(map[string]any, len(data))
	for key, value := range data {
		document[key] = asJSON(value)
		if text, ok := value.(string); ok {
			document[key] = asNumber(text)
		}
	}
	result, err := s.schema.Validate(gojsonschema.NewGoLoader(document))
	if err != nil {
		return []string{oneLine(err.Error())}
	}
	var messages []string
	for _, e := range result.Errors() {
		messages = append(messages, strings.TrimPrefix(e.String(), "(root): "))
	}
	slices.Sort(messages)
	return messages
}

// asNumber turns a top-level text into the number that Go reads in it, as Kalypso
// does for the check; infinities and NaN stay text, since JSON has none (Q20).
func asNumber(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return f
	}
	return text
}

// asJSON turns what YAML gives into what JSON can hold.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[fmt.Sprint(key)] = asJSON(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = asJSON(value)
		}
		return out
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Sprint(v)
		}
	}
	return v
}

// unsafe says why a schema must not be used: it refers to something outside of
// itself, which the validator would read (Q33), or it refers to itself without
// looking deeper into the data, which would never end.
func unsafe(document any) string {
	if why := outsideRef(document); why != "" {
		return why
	}
	walk := refWalk{root: document, state: map[string]int{}}
	for _, at := range slices.Sorted(maps.Keys(walk.pointers("", document, map[string]any{}))) {
		if walk.circular(at) {
			return "the schema refers to itself in a circle at #" + at
		}
	}
	return ""
}

func outsideRef(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && ref != "#" && !strings.HasPrefix(ref, "#/") {
			return fmt.Sprintf("the schema refers to %q; a schema may only refer to parts of itself (#/…)", ref)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if why := outsideRef(v[key]); why != "" {
				return why
			}
		}
	case []any:
		for _, item := range v {
			if why := outsideRef(item); why != "" {
				return why
			}
		}
	}
	return ""
}

// refWalk looks for circles among the parts of a schema that apply to the same
// piece of data.
type refWalk struct {
	root  any
	state map[string]int // by JSON pointer: 1 on the way, 2 done
}

// pointers lists all objects of the document by JSON pointer.
func (w *refWalk) pointers(at string, v any, out map[string]any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		out[at] = v
		for key, item := range v {
			w.pointers(at+"/"+escapePointer(key), item, out)
		}
	case []any:
		for i, item := range v {
			w.pointers(at+"/"+strconv.Itoa(i), item, out)
		}
	}
	return out
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func unescapePointer(key string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
}

func (w *refWalk) circular(at string) bool {
	switch w.state[at] {
	case 1:
		return true
	case 2:
		return false
	}
	w.state[at] = 1
	defer func() { w.state[at] = 2 }()
	return slices.ContainsFunc(w.samePlace(at), w.circular)
}

// samePlace gives the pointers of the schemas that the one at a pointer applies to
// the same piece of data.
func (w *refWalk) samePlace(at string) []string {
	schema, ok := w.at(at).(map[string]any)
	if !ok {
		return nil
	}
	var out []string
	if ref, ok := schema["$ref"].(string); ok {
		out = append(out, strings.TrimPrefix(ref, "#"))
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if _, ok := schema[key]; ok {
			out = append(out, at+"/"+key)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for i := range list {
			out = append(out, fmt.Sprintf("%s/%s/%d", at, key, i))
		}
	}
	dependencies, _ := schema["dependencies"].(map[string]any)
	for key := range dependencies {
		out = append(out, at+"/dependencies/"+escapePointer(key))
	}
	return out
}

func (w *refWalk) at(pointer string) any {
	v := w.root
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			return v
		}
		switch x := v.(type) {
		case map[string]any:
			v = x[unescapePointer(key)]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}
