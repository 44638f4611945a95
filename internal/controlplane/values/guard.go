package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/pattern"
)

const (
	// maxSchemaDepth bounds the nesting of a schema, also through references.
	maxSchemaDepth = 100
	// maxSchemaParts bounds the compiled parts: the validator compiles a target again
	// for each reference.
	maxSchemaParts = 1 << 17
	// maxSchemaLevels bounds the validator's stack.
	maxSchemaLevels = 20_000
	// maxListed bounds enums and required keys, which the validator compares pairwise.
	maxListed = 4096
	// listedPerPart is the number of such comparisons in the time of compiling a part.
	listedPerPart = 256
	// maxInstructions bounds all regular expressions of a schema.
	maxInstructions = 10 * pattern.MaxSize
	// maxDigits bounds exponents and lengths of numbers, which the validator writes
	// out.
	maxDigits = 400
)

// schemaGuard examines a schema before the validator, whose work only the schema
// bounds: it follows references without end, panics on unexpected kinds, and compiles
// any expression.
//
// An accepted schema refers only to itself by pointers, is circular only through the
// data, and is small enough to compile.
type schemaGuard struct {
	root     any
	patterns map[string]*pattern.Pattern
	data     map[uintptr]bool // data instead of schemas
	refs     map[string]any
	// instructions are of the patterns; parts are compiled.
	instructions, parts int
}

func (g *schemaGuard) checkSchema(document any) string {
	*g = schemaGuard{root: document, patterns: map[string]*pattern.Pattern{}, data: map[uintptr]bool{}, refs: map[string]any{}}
	for _, check := range []func() string{
		func() string { return g.checkParts(document, 0) },
		func() string { return g.checkNames(document, atRoot) },
		g.checkReferences,
	} {
		if why := check(); why != "" {
			return why
		}
	}
	w := circleWalk{guard: g, state: map[uintptr]int{}}
	if at, found := w.findCircle("", document); found {
		return "the schema refers to itself in a circle at #" + at
	}
	return ""
}

func (g *schemaGuard) checkParts(v any, depth int) string {
	if depth > maxSchemaDepth {
		return fmt.Sprintf("the schema is nested deeper than %d levels", maxSchemaDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if why := g.checkKeyword(key, v[key]); why != "" {
				return why
			}
			if why := g.checkParts(v[key], depth+1); why != "" {
				return why
			}
		}
	case []any:
		for _, item := range v {
			if why := g.checkParts(item, depth+1); why != "" {
				return why
			}
		}
	case json.Number:
		return checkNumber(string(v))
	}
	return ""
}

func (g *schemaGuard) checkKeyword(key string, v any) string {
	switch key {
	case "$ref":
		if ref, ok := v.(string); ok && ref != "#" && !strings.HasPrefix(ref, "#/") {
			return fmt.Sprintf("the schema refers to %q; a schema may only refer to parts of itself (#/…)", ref)
		} else if ok {
			g.refs[ref] = nil
		}
	case "pattern":
		if text, ok := v.(string); ok {
			return g.checkPattern(text)
		}
	case "patternProperties":
		properties, _ := v.(map[string]any)
		for _, text := range slices.Sorted(maps.Keys(properties)) {
			if why := g.checkPattern(text); why != "" {
				return why
			}
		}
	case "enum", "required":
		if list, ok := v.([]any); ok && len(list) > maxListed {
			return fmt.Sprintf("the schema has a list of %d values (%s), and %d is the limit", len(list), key, maxListed)
		}
	}
	return ""
}

// checkPattern refuses too large expressions; the validator reports other mistakes.
func (g *schemaGuard) checkPattern(text string) string {
	if _, known := g.patterns[text]; known {
		return ""
	}
	p, err := pattern.Compile(text)
	if errors.Is(err, pattern.ErrLarge) {
		return "the schema has a pattern that cannot be used: " + err.Error()
	}
	g.patterns[text] = p
	if p != nil {
		g.instructions += p.Size
	}
	if g.instructions > maxInstructions {
		return fmt.Sprintf("the schema has patterns that cannot be used: together they have more than %d instructions", maxInstructions)
	}
	return ""
}

func checkNumber(text string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	n, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if len(mantissa) > maxDigits || exponent != "" && (err != nil || n > maxDigits || n < -maxDigits) {
		return fmt.Sprintf("the schema has a number of more than %d digits", maxDigits)
	}
	return ""
}

type position int

const (
	atRoot position = iota
	inSchema
	inExample // data of a default or example
)

// checkNames refuses names ($id) of parts, which change the meaning of references; only
// the root may have one. It visits the parts where the validator looks for names.
func (g *schemaGuard) checkNames(v any, at position) string {
	switch v := v.(type) {
	case map[string]any:
		if at == inExample {
			g.data[identityOf(v)] = true
		}
		if _, ok := v["definitions"].(bool); ok {
			return "the schema's definitions are not an object"
		}
		for _, key := range []string{"$id", "id"} {
			id, ok := v[key].(string)
			if ok && (at == inSchema || strings.Contains(strings.TrimSuffix(id, "#"), "#")) {
				return fmt.Sprintf("the schema has a part that is named %q (%s); refer to it by where it is (#/definitions/…)", id, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if why := g.checkNamesOf(key, v[key], at); why != "" {
				return why
			}
		}
	case []any:
		for _, item := range v {
			if why := g.checkNames(item, max(at, inSchema)); why != "" {
				return why
			}
		}
	}
	return ""
}

func (g *schemaGuard) checkNamesOf(key string, v any, at position) string {
	below := max(at, inSchema)
	switch key {
	case "const", "enum":
		g.markData(v)
		return ""
	case "default", "examples":
		below = inExample
	case "properties", "dependencies", "patternProperties":
		schemas, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			if why := g.checkNames(schemas[name], below); why != "" {
				return why
			}
		}
		return ""
	}
	return g.checkNames(v, below)
}

func (g *schemaGuard) markData(v any) {
	switch v := v.(type) {
	case map[string]any:
		g.data[identityOf(v)] = true
		for _, item := range v {
			g.markData(item)
		}
	case []any:
		for _, item := range v {
			g.markData(item)
		}
	}
}

func identityOf(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

func (g *schemaGuard) checkReferences() string {
	parts, _ := g.measurePart(g.root)
	levels := 0
	defer func() { g.parts = parts }()
	for _, ref := range slices.Sorted(maps.Keys(g.refs)) {
		pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
		if err != nil {
			return fmt.Sprintf("the schema refers to %q, which is not a pointer", ref)
		}
		target := g.resolvePointer(pointer)
		if m, ok := target.(map[string]any); ok && g.data[identityOf(m)] {
			return fmt.Sprintf("the schema refers to %q, which is no schema", ref)
		}
		g.refs[ref] = target
		n, depth := g.measurePart(target)
		parts, levels = parts+n, levels+depth
		if parts > maxSchemaParts {
			return fmt.Sprintf("the schema has more than %d parts when its references are followed", maxSchemaParts)
		}
		if levels > maxSchemaLevels {
			return fmt.Sprintf("the schema may be deeper than %d levels when its references are followed", maxSchemaLevels)
		}
	}
	if parts > maxSchemaParts {
		return fmt.Sprintf("the schema has more than %d parts", maxSchemaParts)
	}
	return ""
}

// measurePart returns the number of parts and the depth. Comparing lists and compiling
// patterns count as parts.
func (g *schemaGuard) measurePart(v any) (parts, depth int) {
	add := func(item any) {
		n, levels := g.measurePart(item)
		parts, depth = parts+n, max(depth, levels)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			add(item)
			parts += g.measureKeyword(key, item)
		}
	case []any:
		for _, item := range v {
			add(item)
		}
	}
	return parts + 1, depth + 1
}

func (g *schemaGuard) measureKeyword(key string, v any) int {
	switch v := v.(type) {
	case []any:
		if key == "enum" || key == "required" {
			return len(v) * len(v) / listedPerPart
		}
	case string:
		if p := g.patterns[v]; p != nil && key == "pattern" {
			return p.Size
		}
	case map[string]any:
		n := 0
		for text := range v {
			if p := g.patterns[text]; p != nil && key == "patternProperties" {
				n += p.Size
			}
		}
		return n
	}
	return 0
}

var (
	pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
	pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")
)

func (g *schemaGuard) resolvePointer(pointer string) any {
	v := g.root
	if pointer == "" {
		return v
	}
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[pointerEscapes.Replace(key)]
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

// circleWalk finds circles of parts that apply to the same data, whose check would
// never end.
type circleWalk struct {
	guard *schemaGuard
	state map[uintptr]int // 1 on the way, 2 done, 3 leads to a circle
}

func (w *circleWalk) findCircle(at string, v any) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		if w.leadsToCircle(v) {
			return at, true
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if found, ok := w.findCircle("/"+pointerEscaper.Replace(key), v[key]); ok {
				return at + found, true
			}
		}
	case []any:
		for i, item := range v {
			if found, ok := w.findCircle("/"+strconv.Itoa(i), item); ok {
				return at + found, true
			}
		}
	}
	return "", false
}

func (w *circleWalk) leadsToCircle(v any) bool {
	schema, ok := v.(map[string]any)
	if !ok {
		return false
	}
	id := identityOf(schema)
	switch w.state[id] {
	case 1, 3:
		return true
	case 2:
		return false
	}
	w.state[id] = 1
	for _, same := range w.guard.sameDataSchemas(schema) {
		if w.leadsToCircle(same) {
			w.state[id] = 3
			return true
		}
	}
	w.state[id] = 2
	return false
}

func (g *schemaGuard) sameDataSchemas(schema map[string]any) []any {
	if ref, ok := schema["$ref"].(string); ok { // siblings of $ref are ignored
		return []any{g.refs[ref]}
	}
	var all []any
	for _, key := range []string{"not", "if", "then", "else"} {
		all = append(all, schema[key])
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		all = append(all, list...)
	}
	dependencies, _ := schema["dependencies"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(dependencies)) {
		all = append(all, dependencies[key])
	}
	return all
}
