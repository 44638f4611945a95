package docstest

import (
	stdcmp "cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/schemas"
)

var update = flag.Bool("update", false, "rewrite the reference pages that are made from source")

// TestGeneratedPages: reference pages that are made from source are as the source says.
func TestGeneratedPages(t *testing.T) {
	for name, text := range map[string]string{
		"docs/reference/kinds.md": kindsPage(t),
		"docs/reference/api.md":   apiPage(t),
	} {
		checkPage(t, name, text)
	}
}

// checkPage holds a page to the text that is made for it; with -update it is written.
func checkPage(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text, readFile(t, name)); diff != "" {
		t.Errorf("%s is not what the source says (go test ./internal/testkit/docstest -update) (-source +page):\n%s", name, diff)
	}
}

// jsonSchema is what pages tell of a JSON Schema.
type jsonSchema struct {
	Ref         string `json:"$ref"`
	Description string
	Type        any // text, or a list of it
	Const       any
	Enum        []any
	Required    []string
	Properties  map[string]*jsonSchema
	Items       *jsonSchema
	Additional  json.RawMessage `json:"additionalProperties"`
	AnyOf       []*jsonSchema   `json:"anyOf"`
	OneOf       []*jsonSchema   `json:"oneOf"`
}

// typeName says what a value may be, in a word or two.
func (s *jsonSchema) typeName() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case s.Const != nil:
		return fmt.Sprintf("`%v`", s.Const)
	case len(s.Enum) > 0:
		var all []string
		for _, value := range s.Enum {
			if value != nil {
				all = append(all, fmt.Sprintf("`%v`", value))
			}
		}
		return strings.Join(all, ", ")
	case s.Items != nil:
		return "list of " + s.Items.typeName()
	}
	var names []string
	switch kind := s.Type.(type) {
	case string:
		names = []string{kind}
	case []any:
		for _, one := range kind {
			if one != "null" {
				names = append(names, fmt.Sprint(one))
			}
		}
	}
	for _, one := range slices.Concat(s.AnyOf, s.OneOf) {
		if name := one.typeName(); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// writeFields writes a row for each field, and for those below it.
func (s *jsonSchema) writeFields(b *strings.Builder, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		required := ""
		if slices.Contains(s.Required, name) {
			required = "yes"
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s | %s |\n", prefix, name, p.typeName(), required, cell(p.Description))
		p.writeFields(b, prefix+name+".")
		if p.Items != nil {
			p.Items.writeFields(b, prefix+name+"[].")
		}
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const fieldsHead = "\n| field | type | required | |\n|---|---|---|---|\n"

func kindsPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Kinds\n\n" +
		wrap("After reading this page you know every kind of object that a control plane may hold, with all fields. "+
			"It is made from the JSON Schemas that `fairlead schema KIND` prints, which editors use as well.") + "\n\n" +
		wrap("Every object has `apiVersion`, `kind` and `metadata` with a `name`; labels and annotations are text. "+
			"A `namespace` has no effect, except with Claudie's kinds: objects belong to the environment whose branch they are in. "+
			"Fields that are not listed are problems.") + "\n")
	kinds := schemas.Kinds()
	if len(kinds) < 15 {
		t.Fatalf("the kinds are %q", kinds)
	}
	for _, kind := range kinds {
		text, _ := schemas.Schema(kind)
		var s jsonSchema
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		api := s.Properties["apiVersion"]
		if api == nil {
			continue // that of all kinds
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s\n", kind, wrap(s.Description), wrap("Group and version: "+api.typeName()+"."))
		var rows strings.Builder
		if meta := s.Properties["metadata"]; meta != nil && meta.Properties["annotations"] != nil {
			meta.Properties["annotations"].writeFields(&rows, "metadata.annotations.")
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
				continue
			}
			part := jsonSchema{Properties: map[string]*jsonSchema{name: s.Properties[name]}, Required: s.Required}
			part.writeFields(&rows, "")
		}
		if rows.Len() > 0 {
			b.WriteString(fieldsHead + rows.String())
		}
	}
	return b.String()
}

// wrap breaks prose into lines of at most 100 columns.
func wrap(text string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > 100 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}

// apiPage is short: what an address answers, field by field, is in the description that the daemon serves.
func apiPage(t *testing.T) string {
	t.Helper()
	type parameter struct{ Name, In, Description string }
	var api struct {
		Info  struct{ Description string }
		Paths map[string]map[string]struct {
			Summary    string
			Parameters []parameter
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, "internal/server/web/openapi.json")), &api); err != nil {
		t.Fatal(err)
	}
	if len(api.Paths) < 8 {
		t.Fatalf("there are %d paths", len(api.Paths))
	}
	var answers, others strings.Builder
	described := map[string]map[string]int{} // by name: how many addresses have a parameter with a description
	for _, address := range slices.Sorted(maps.Keys(api.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(api.Paths[address])) {
			one, names := api.Paths[address][method], []string{}
			for _, p := range one.Parameters {
				if p.In == "path" {
					continue
				}
				names = append(names, "`"+p.Name+"`")
				if described[p.Name] == nil {
					described[p.Name] = map[string]int{}
				}
				described[p.Name][p.Description]++
			}
			b := &others
			if strings.HasPrefix(address, "/api/") {
				b = &answers
			}
			fmt.Fprintf(b, "| `%s %s` | %s | %s |\n", strings.ToUpper(method), address, cell(one.Summary), strings.Join(names, ", "))
		}
	}
	const head = "\n| address | | parameters |\n|---|---|---|\n"
	var b strings.Builder
	b.WriteString("# HTTP API\n\n" +
		wrap("After reading this page you know the addresses at which the daemon answers. The daemon serves their OpenAPI description, with every field of every answer, at `/api/v1/openapi.json`. "+api.Info.Description) +
		"\n\n" + wrap("An answer has an `ETag`; with `If-None-Match` it is 304 while nothing has changed. 202 means that the past is still rendered: ask again. "+
		"400 names the parameter that cannot be read, 404 what does not exist. Every address answers 405 to a method that it does not have.") +
		"\n\n## Answers\n" + head + answers.String() + "\n## Pages and other addresses\n" + head + others.String() + "\n## Parameters\n\n| name | |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(described)) {
		texts := slices.SortedFunc(maps.Keys(described[name]), func(x, y string) int {
			return stdcmp.Or(described[name][y]-described[name][x], strings.Compare(x, y))
		})
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, cell(texts[0]))
	}
	return b.String()
}
