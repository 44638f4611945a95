package values

import (
	"fmt"
	"maps"
	"slices"
)

// maxSchemaSteps bounds the comparison of parts of a schema with parts of values.
const maxSchemaSteps = 1 << 16

// costOf estimates the work of checking values, as if nothing ended early. why explains
// excessive work, or is "".
func (g *schemaGuard) costOf(document map[string]any) (steps int, why string) {
	c := schemaCost{guard: g}
	c.visitSchema(g.root, document, 0, 0)
	switch {
	case c.deep:
		why = fmt.Sprintf("the schema follows itself deeper than %d levels into these values", maxFollowed)
	case c.isSpent():
		why = fmt.Sprintf("checking these values takes more than %d steps", maxSchemaSteps)
	}
	return c.steps, why
}

const (
	// maxFollowed bounds the common depth of schema and values, with references.
	maxFollowed = 1000
	textPerStep = 256
)

// schemaCost counts the validator's work; see validateRecursive of gojsonschema.
type schemaCost struct {
	guard *schemaGuard
	steps int
	deep  bool
}

func (c *schemaCost) isSpent() bool { return c.deep || c.steps > maxSchemaSteps }

func (c *schemaCost) spendSteps(n int) { c.steps = min(c.steps+n, maxSchemaSteps+1) }

// visitSchema counts the work of a schema on data. path is the length of the keys to
// the data, which messages contain.
func (c *schemaCost) visitSchema(v, data any, depth, path int) {
	c.deep = c.deep || depth > maxFollowed
	if c.isSpent() {
		return
	}
	c.spendSteps(1 + path/textPerStep)
	schema, ok := v.(map[string]any)
	if !ok {
		return
	}
	if ref, ok := schema["$ref"].(string); ok {
		c.visitSchema(c.guard.refs[ref], data, depth+1, path)
		return
	}
	for _, same := range c.guard.sameDataSchemas(schema) {
		c.visitSchema(same, data, depth+1, path)
	}
	c.countLiterals(schema, data)
	switch data := data.(type) {
	case string:
		c.countText(schema, data)
	case []any:
		c.visitList(schema, data, depth, path)
	case map[string]any:
		c.visitObject(schema, data, depth, path)
	}
}

func (c *schemaCost) countLiterals(schema map[string]any, data any) {
	_, constant := schema["const"]
	_, enum := schema["enum"]
	if unique, _ := schema["uniqueItems"].(bool); constant || enum || unique {
		c.spendSteps((sizeOf(data) + sizeOf(schema["const"]) + sizeOf(schema["enum"])) / textPerStep * 8)
	}
	if required, ok := schema["required"].([]any); ok {
		c.spendSteps(len(required))
	}
}

func (c *schemaCost) countText(schema map[string]any, data string) {
	c.spendSteps(len(data) / textPerStep)
	if text, ok := schema["pattern"].(string); ok {
		c.countMatch(text, data)
	}
	if format, ok := schema["format"].(string); ok {
		c.spendSteps(len(data) / textPerStep * 8)
		if format == "regex" && c.guard.checkPattern(data) != "" {
			c.spendSteps(maxSchemaSteps + 1)
		}
	}
}

// countMatch includes compilation, which the validator repeats for each key of an
// object.
func (c *schemaCost) countMatch(expression, text string) {
	c.spendSteps(1)
	if p := c.guard.patterns[expression]; p != nil {
		c.spendSteps((p.EstimateWork(len(text), 0) + 64*p.Size) / textPerStep)
	}
}

func (c *schemaCost) visitList(schema map[string]any, data []any, depth, path int) {
	items, tuple := schema["items"].([]any)
	for i, element := range data {
		switch {
		case !tuple:
			c.visitSchema(schema["items"], element, depth+1, path+8)
		case i < len(items):
			c.visitSchema(items[i], element, depth+1, path+8)
		default:
			c.visitSchema(schema["additionalItems"], element, depth+1, path+8)
		}
		if contains, ok := schema["contains"]; ok {
			c.visitSchema(contains, element, depth+1, path+8)
		}
		if c.isSpent() {
			return
		}
	}
}

func (c *schemaCost) visitObject(schema, data map[string]any, depth, path int) {
	properties, _ := schema["properties"].(map[string]any)
	patterns, _ := schema["patternProperties"].(map[string]any)
	c.spendSteps(len(properties) * len(data) / textPerStep)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		below := path + len(key) + 1
		for text, sub := range patterns {
			c.countMatch(text, key)
			c.visitSchema(sub, data[key], depth+1, below)
		}
		if sub, ok := properties[key]; ok {
			c.visitSchema(sub, data[key], depth+1, below)
		} else if sub, ok := schema["additionalProperties"]; ok {
			c.visitSchema(sub, data[key], depth+1, below)
		}
		if names, ok := schema["propertyNames"]; ok {
			c.visitSchema(names, key, depth+1, path)
		}
		if c.isSpent() {
			return
		}
	}
}

func sizeOf(data any) int {
	n := 8
	switch data := data.(type) {
	case string:
		n += len(data)
	case []any:
		for _, element := range data {
			n += sizeOf(element)
		}
	case map[string]any:
		for key, element := range data {
			n += 8 + len(key) + sizeOf(element)
		}
	}
	return n
}
