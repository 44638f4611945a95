package values

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Violation is one way in which values violate a schema, or the reason why the schema
// is unusable.
type Violation struct {
	Schema  *model.Schema
	Key     string // of the wrong value; "" if missing or not a single one
	Message string
	Broken  bool // the schema is unusable for all values
	// Unchecked is true if the schema is too much work or the validator failed: the
	// values are unknown.
	Unchecked bool
}

// schemaCache caches schemas by text, and verdicts by text and values.
type schemaCache struct {
	mu       sync.Mutex
	compiled map[string]*compiledSchema
}

type compiledSchema struct {
	once     sync.Once // compiles outside of the cache's lock
	schema   *gojsonschema.Schema
	guard    schemaGuard
	problem  string // why it does not compile
	mu       sync.Mutex
	verdicts map[Digest]verdict
}

type message struct{ key, text string }

const maxVerdicts = 1 << 10

type verdict struct {
	messages  []message
	steps     int
	unchecked bool
}

// ValidateValues checks an assignment's values against every applicable schema: those
// of the control plane by name, then of the target and its workload. steps is the
// uncached work.
func (c *Cache) ValidateValues(v *Values, target *model.Target) (out []Violation, steps int) {
	check := func(s *model.Schema) {
		verdict, broken := c.schemas.validateAgainst(s.Text, v)
		for _, m := range verdict.messages {
			out = append(out, Violation{s, m.key, m.text, broken, verdict.unchecked})
		}
		steps += verdict.steps
	}
	for _, s := range v.Schemas {
		check(s)
	}
	for i := range target.Schemas {
		check(&target.Schemas[i])
	}
	return out, steps
}

func (c *schemaCache) validateAgainst(text string, v *Values) (of verdict, broken bool) {
	c.mu.Lock()
	if c.compiled == nil || len(c.compiled) > 1024 {
		c.compiled = map[string]*compiledSchema{}
	}
	s := c.compiled[text]
	if s == nil {
		s = &compiledSchema{}
		c.compiled[text] = s
	}
	c.mu.Unlock()
	steps := 0
	s.once.Do(func() {
		s.compile(text)
		steps = s.guard.parts * stepsPerPart
	})
	if s.problem != "" {
		return verdict{messages: []message{{text: s.problem}}, steps: steps}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.verdicts[v.Digest]
	if !ok {
		of = s.validateData(v.Data)
		if len(s.verdicts) > maxVerdicts {
			clear(s.verdicts)
		}
		s.verdicts[v.Digest] = verdict{messages: of.messages, unchecked: of.unchecked}
	}
	of.steps += steps
	return of, false
}

func compileSchema(source string) *compiledSchema {
	s := &compiledSchema{}
	s.compile(source)
	return s
}

func (s *compiledSchema) compile(source string) {
	s.verdicts = map[Digest]verdict{}
	var document any
	err := json.Unmarshal([]byte(source), &document)
	if err == nil { // again, with numbers as written
		decoder := json.NewDecoder(strings.NewReader(source))
		decoder.UseNumber()
		err = decoder.Decode(&document)
	}
	if err != nil {
		s.problem = fmt.Sprintf("the schema is not JSON: %v", err)
		return
	}
	s.problem = s.guard.checkSchema(document)
	if s.problem != "" {
		return
	}
	err = panics.RunLibrary("the validator", func() (err error) {
		s.schema, err = gojsonschema.NewSchema(loaderOf(document, source))
		return err
	})
	if err != nil {
		s.problem = fmt.Sprintf("the schema is not a JSON Schema: %s", text.OneLine(err.Error()))
	}
}

// loaderOf removes the root's name, which nothing refers to. The validator refuses one
// that is not a URL.
func loaderOf(document any, text string) gojsonschema.JSONLoader {
	root, _ := document.(map[string]any)
	named := false
	for _, key := range []string{"$id", "id"} {
		if name, ok := root[key].(string); ok {
			if _, err := url.Parse(name); err != nil {
				return gojsonschema.NewStringLoader(text)
			}
			delete(root, key)
			named = true
		}
	}
	if !named {
		return gojsonschema.NewStringLoader(text)
	}
	return gojsonschema.NewGoLoader(document)
}

const (
	maxMessages = 100
	// maxMessage bounds a message in bytes: it may list an enum.
	maxMessage = 400
	// stepsPerPart is the cost of compiling a part.
	stepsPerPart = 4
)

// validateData returns messages of Kalypso's validator without the root's prefix.
func (s *compiledSchema) validateData(data map[string]any) verdict {
	document := make(map[string]any, len(data))
	for key, value := range data {
		document[key] = asJSON(value)
		if text, ok := value.(string); ok {
			document[key] = asNumber(text)
		}
	}
	steps, why := s.guard.costOf(document)
	if why != "" {
		return verdict{[]message{{text: why}}, steps, true}
	}
	var messages []message
	err := panics.RunLibrary("the validator", func() error {
		result, err := s.schema.Validate(gojsonschema.NewGoLoader(document))
		if err != nil {
			return err
		}
		for _, e := range result.Errors() {
			messages = append(messages, message{findKey(e), text.Shorten(strings.TrimPrefix(e.String(), "(root): "), maxMessage)})
		}
		return nil
	})
	if err != nil {
		return verdict{[]message{{text: text.OneLine(err.Error())}}, steps, true}
	}
	slices.SortFunc(messages, func(a, b message) int { return strings.Compare(a.text, b.text) })
	if more := len(messages) - maxMessages; more > 0 {
		messages = append(messages[:maxMessages], message{text: fmt.Sprintf("and %d more", more)})
	}
	return verdict{messages, steps, false}
}

// findKey returns the key of the value in a message; "" if missing.
func findKey(e gojsonschema.ResultError) string {
	path := strings.Split(e.Context().String("\x00"), "\x00") // from the root; keys may have dots
	if len(path) > 1 {
		return path[1]
	}
	property, _ := e.Details()["property"].(string)
	if e.Type() == "required" {
		return ""
	}
	return property
}

// asNumber converts numeric top-level texts as Kalypso does; infinities and NaN stay
// text, since JSON has none (Q20).
func asNumber(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return f
	}
	return text
}

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
