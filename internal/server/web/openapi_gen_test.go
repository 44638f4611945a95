package web

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// modulePath begins the import paths of our packages.
const modulePath = "github.com/fairlead-io/fairlead/"

// TestOpenAPI holds openapi.json to the rows, the operations, and the types of answers with their comments.
func TestOpenAPI(t *testing.T) {
	g := generator{t: t, names: map[reflect.Type]string{}, schemas: object{}, packages: map[string]*documented{}}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(g.generate()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", buffer.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if buffer.String() != openAPI {
		t.Error("openapi.json is not what follows from the rows and the types: go test ./internal/server/web -run TestOpenAPI -update")
	}
}

// generator makes the description.
type generator struct {
	t        *testing.T
	names    map[reflect.Type]string // of the schemas
	schemas  object
	packages map[string]*documented
}

// documented are the comments and the constants of a package, by the names of types, and of fields as "Type.Field".
type documented struct {
	comments  map[string]string
	constants map[string][]string // of each type: their literal texts, or "" for those without
	values    map[string]string   // the literal texts of all constants
}

func (g *generator) generate() object {
	paths := object{}
	all := describeAll()
	for _, key := range slices.Sorted(maps.Keys(all)) { // which of two types has the name alone depends on the order
		o := all[key]
		method, path, _ := strings.Cut(key, " ")
		methods, _ := paths[path].(object)
		if methods == nil {
			methods = object{}
			paths[path] = methods
		}
		methods[strings.ToLower(method)] = g.describe(o)
	}
	about := "What the daemon `fairlead serve` knows: the latest report of every environment, of every remote, of the last cycle, and how far commits of the base have got. Times are RFC 3339; " +
		"a time that is missing has not come yet. Commits and trees are Git object ids. With `at`, some pages and answers show the past; the others answer 400. " +
		"With `Accept: text/plain`, a page answers with text: what the command prints that answers the same, or else tables and lines. Everyone who reaches the address may read, unless `web.read` in the settings says otherwise."
	return object{
		"openapi": "3.1.0",
		"info":    object{"title": "Fairlead", "version": "1", "description": about, "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"paths":   paths,
		"components": object{"schemas": g.schemas, "responses": object{"NotAllowed": object{
			"description": "The address does not have this method.", "headers": object{"Allow": object{"description": "The methods that it has.", "schema": object{"type": "string"}}},
			"content": object{"application/json": object{"schema": g.schema(reflect.TypeFor[missingAnswer]())}},
		}}},
	}
}

func (g *generator) describe(o operation) object {
	described := object{"summary": o.summary}
	if o.about != "" {
		described["description"] = o.about
	}
	var parameters []any
	for _, in := range []struct {
		name string
		all  []param
	}{{"path", o.names}, {"query", o.query}, {"header", o.headers}} {
		for _, p := range in.all {
			one := object{"name": p.name, "in": in.name, "description": p.about, "schema": p.schema()}
			if in.name != "query" {
				one["required"] = true
			}
			parameters = append(parameters, one)
		}
	}
	if len(parameters) > 0 {
		described["parameters"] = parameters
	}
	switch {
	case o.form != nil:
		fields := object{}
		for _, p := range o.form {
			fields[p.name] = p.schema()
			fields[p.name].(object)["description"] = p.about
		}
		described["requestBody"] = object{"content": object{"application/x-www-form-urlencoded": object{"schema": object{"type": "object", "properties": fields}}}}
	case o.body != nil:
		described["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": g.inline(reflect.TypeOf(o.body))}}}
	}
	responses := object{"405": object{"$ref": "#/components/responses/NotAllowed"}}
	for _, code := range slices.Sorted(maps.Keys(o.answers)) {
		responses[strconv.Itoa(code)] = g.reply(o, code, o.answers[code])
	}
	described["responses"] = responses
	return described
}

func (p param) schema() object {
	s := object{"type": "string"}
	if p.isNumber {
		s["type"] = "integer"
	}
	if len(p.values) > 0 {
		s["enum"] = p.values
	}
	if p.maxLength > 0 {
		s["maxLength"] = p.maxLength
	}
	return s
}

func (g *generator) reply(o operation, code int, r reply) object {
	described, content := object{"description": r.about}, object{}
	isRefusal := len(r.of)+len(r.kinds) == 0 && (code == http.StatusAccepted || code >= http.StatusBadRequest)
	if isRefusal && o.isPage {
		r.kinds = []string{"text/html", "text/plain"}
	} else if isRefusal {
		r.of = []any{missingAnswer{}}
	}
	for _, kind := range r.kinds {
		kind, _, _ = strings.Cut(kind, ";")
		content[kind] = object{"schema": object{"type": "string"}}
	}
	switch len(r.of) {
	case 0:
	case 1:
		content["application/json"] = object{"schema": g.schema(reflect.TypeOf(r.of[0]))}
	default:
		var choices []any
		for _, of := range r.of {
			choices = append(choices, g.schema(reflect.TypeOf(of)))
		}
		content["application/json"] = object{"schema": object{"oneOf": choices}}
	}
	if len(content) > 0 {
		described["content"] = content
	}
	return described
}

// inline returns the schema of a body, which is no component: answers do not have it.
func (g *generator) inline(t reflect.Type) object {
	if t.Kind() != reflect.Struct {
		return g.schema(t)
	}
	s := object{"type": "object", "properties": object{}}
	var plain func(t reflect.Type, to object)
	plain = func(t reflect.Type, to object) {
		for f := range t.Fields() {
			name, _, isField := jsonName(f)
			switch {
			case !isField && f.Anonymous:
				plain(f.Type, to)
			case isField && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]()):
				to[name] = object{"description": g.commentOf(t, f.Name)}
			case isField:
				to[name] = g.described(g.schema(f.Type), g.commentOf(t, f.Name))
			}
		}
	}
	plain(t, s["properties"].(object))
	return s
}

// schema returns the schema of a type, as a reference where it is a struct.
func (g *generator) schema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return g.schema(t.Elem())
	case t.Kind() == reflect.Struct && !t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"$ref": "#/components/schemas/" + g.component(t)}
	}
	words := g.words(t)
	switch {
	case len(words) > 1:
		return object{"type": "string", "enum": words}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": g.schema(t.Elem())}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return object{"type": "object"}
		}
		return object{"type": "object", "additionalProperties": g.schema(t.Elem())}
	case reflect.Interface:
		return object{}
	}
	if !t.ConvertibleTo(reflect.TypeFor[int64]()) {
		g.t.Fatalf("%s has no schema", t)
	}
	return object{"type": "integer"}
}

// words returns the values of a type that has constants, as JSON has them.
func (g *generator) words(t reflect.Type) (words []string) {
	if t.PkgPath() == "" || !strings.HasPrefix(t.PkgPath(), modulePath) || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		return nil
	}
	for i, literal := range g.load(t.PkgPath()).constants[t.Name()] {
		value := reflect.New(t).Elem()
		switch _, isText := value.Interface().(encoding.TextMarshaler); {
		case isText && value.CanInt():
			value.SetInt(int64(i))
			text, err := value.Interface().(encoding.TextMarshaler).MarshalText()
			if err != nil {
				return nil
			}
			words = append(words, string(text))
		case !isText && t.Kind() == reflect.String && literal != "":
			words = append(words, literal)
		default:
			return nil
		}
	}
	return words
}

// component returns the name of the schema of a struct, and makes it.
func (g *generator) component(t reflect.Type) string {
	if name, known := g.names[t]; known {
		return name
	}
	name := componentName(t)
	for other, taken := range g.names {
		if taken == name && other != t {
			name = exported(filepath.Base(t.PkgPath())) + name
		}
	}
	g.names[t] = name
	properties, required := object{}, []string{}
	g.addFields(t, properties, &required)
	switch t { // which have a MarshalJSON
	case reflect.TypeFor[status.Environment]():
		properties["problemCount"], properties["tookSeconds"] = object{"type": "integer", "description": "How many problems there are in all."}, object{"type": "number"}
		required = append(required, "problemCount", "tookSeconds")
	case reflect.TypeFor[status.Cycle]():
		properties["tookSeconds"] = object{"type": "number"}
		required = append(required, "tookSeconds")
	case reflect.TypeFor[answer.OneEnvironment]():
		delete(properties, "Report")
		required = slices.DeleteFunc(required, func(name string) bool { return name == "Report" })
		report := g.schemas[g.component(reflect.TypeFor[status.Environment]())].(object)
		maps.Copy(properties, report["properties"].(object))
		required = append(required, report["required"].([]string)...)
	}
	slices.Sort(required)
	required = slices.Compact(required)
	s := object{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	g.schemas[name] = g.described(s, g.commentOf(t, ""))
	return name
}

// addFields adds the fields of a struct, with those of what it embeds.
func (g *generator) addFields(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		name, isOptional, isField := jsonName(f)
		switch {
		case !isField && f.Anonymous:
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			g.addFields(embedded, properties, required)
			continue
		case !isField:
			continue
		}
		properties[name] = g.described(g.schema(f.Type), g.commentOf(t, f.Name))
		if !isOptional {
			*required = append(*required, name)
		}
	}
}

// jsonName returns the name of a field in JSON, whether it may be missing, and false if it is none.
func jsonName(f reflect.StructField) (name string, isOptional, isField bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	isOptional = strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
	switch {
	case name == "-", !f.IsExported() && !f.Anonymous, f.Anonymous && name == "":
		return "", false, false
	case name == "":
		return f.Name, isOptional, true
	}
	return name, isOptional, true
}

// componentName returns the name of a type as a schema: of a part of a list, that of its items.
func componentName(t reflect.Type) string {
	name, of, isPart := strings.Cut(t.Name(), "[")
	if isPart {
		name = of[strings.LastIndex(of, ".")+1:len(of)-1] + name
	}
	return map[string]string{"missingAnswer": "Error", "problemsAnswer": "Blocked", "movedAnswer": "Moved"}[name] + exportedUnless(name, "missingAnswer", "problemsAnswer", "movedAnswer")
}

func exportedUnless(name string, except ...string) string {
	if slices.Contains(except, name) {
		return ""
	}
	return exported(name)
}

func exported(name string) string {
	first := []rune(name)
	first[0] = unicode.ToUpper(first[0])
	return string(first)
}

// described returns a schema with a description.
func (g *generator) described(s object, about string) object {
	if about != "" {
		s["description"] = about
	}
	return s
}

// commentOf returns the comment of a type, or of one of its fields.
func (g *generator) commentOf(t reflect.Type, field string) string {
	if t.PkgPath() == "" || !strings.HasPrefix(t.PkgPath(), modulePath) {
		return ""
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if field != "" {
		name += "." + field
	}
	return g.load(t.PkgPath()).comments[name]
}

// load reads the comments and the constants of a package.
func (g *generator) load(path string) *documented {
	if known := g.packages[path]; known != nil {
		return known
	}
	d := &documented{map[string]string{}, map[string][]string{}, map[string]string{}}
	g.packages[path] = d
	files, err := filepath.Glob(filepath.Join("..", "..", "..", strings.TrimPrefix(path, modulePath), "*.go"))
	if err != nil || len(files) == 0 {
		g.t.Fatalf("%s has no files: %v", path, err)
	}
	slices.Sort(files)
	var declarations []ast.Decl
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			g.t.Fatal(err)
		}
		declarations = append(declarations, parsed.Decls...)
	}
	for range 2 { // the second time, conversions of what is declared later are known
		clear(d.constants)
		for _, declared := range declarations {
			if general, ok := declared.(*ast.GenDecl); ok {
				d.add(general)
			}
		}
	}
	return d
}

func (d *documented) add(general *ast.GenDecl) {
	kind := "" // of the constants, which those without a type have from the one before
	for _, spec := range general.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			d.comments[s.Name.Name] = sentence(s.Name.Name, s.Doc, general.Doc)
			if fields, ok := s.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, name := range f.Names {
						d.comments[s.Name.Name+"."+name.Name] = sentence(name.Name, f.Doc, f.Comment)
					}
				}
			}
		case *ast.ValueSpec:
			if general.Tok == token.CONST {
				kind = d.addConstants(s, kind)
			}
		}
	}
}

// addConstants adds the constants of a line, of the type of the line before if it names none, and returns their type.
func (d *documented) addConstants(s *ast.ValueSpec, kind string) string {
	if of, ok := s.Type.(*ast.Ident); ok {
		kind = of.Name
	} else if s.Type != nil || len(s.Values) > 0 {
		kind = ""
	}
	for i, name := range s.Names {
		of, literal := kind, ""
		if i < len(s.Values) {
			switch v := s.Values[i].(type) {
			case *ast.BasicLit:
				literal, _ = strconv.Unquote(v.Value) // a number has no text
			case *ast.CallExpr: // T(Other), declared before
				converted, isName := v.Args[0].(*ast.Ident)
				if to, ok := v.Fun.(*ast.Ident); ok && isName {
					of, literal = to.Name, d.values[converted.Name]
				}
			}
		}
		d.values[name.Name] = literal
		if of != "" {
			d.constants[of] = append(d.constants[of], literal)
		}
	}
	return kind
}

// sentence returns the first of some comments as one paragraph, with links to Go names as their text.
func sentence(name string, comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if c == nil {
			continue
		}
		var p comment.Parser
		text := strings.Join(strings.Fields(string((&comment.Printer{TextWidth: -1}).Text(p.Parse(c.Text())))), " ")
		if text != "" {
			return strings.ReplaceAll(fmt.Sprint(exported(text)), name+" is ", "")
		}
	}
	return ""
}
