package githubfake

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

//go:embed github.json
var descriptionText []byte

// description is what GitHub says of its API, as far as it is used.
type description struct{ router routers.Router }

var loaded = sync.OnceValues(func() (description, error) {
	// What is last in these paths has slashes.
	text := bytes.ReplaceAll(bytes.ReplaceAll(descriptionText, []byte(`/git/ref/{ref}"`), []byte(`/git/ref/{ref:.+}"`)), []byte(`/git/refs/{ref}"`), []byte(`/git/refs/{ref:.+}"`))
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return description{}, err
	}
	// It calls this a time; what it says in words is that this is a range, as ">=TIME".
	doc.Components.Parameters["created"].Value.Schema.Value.Format = ""
	router, err := gorillamux.NewRouter(doc)
	return description{router}, err
})

// operation is a request as the description sees it.
type operation struct {
	input openapi3filter.RequestValidationInput
}

func (d description) findOperation(req *http.Request) (operation, error) {
	route, params, err := d.router.FindRoute(req)
	if err != nil {
		return operation{}, err
	}
	return operation{openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}}, nil
}

// routeName is "GET /repos/{owner}/{repo}/pulls".
func (o operation) routeName() string {
	return o.input.Route.Method + " " + strings.ReplaceAll(o.input.Route.Path, ":.+", "")
}

// hasStatus reports whether the description has an answer with that status. It does not
// list all failures.
func (o operation) hasStatus(status int) bool {
	return o.input.Route.Operation.Responses.Value(strconv.Itoa(status)) != nil
}

// checkRequest reports what is wrong with a request. Other than the description, it takes
// nothing that is not described.
func (o operation) checkRequest(body []byte, fields map[string]any) error {
	o.input.Request.Body = io.NopCloser(bytes.NewReader(body))
	if err := openapi3filter.ValidateRequest(context.Background(), &o.input); err != nil {
		return err
	}
	for name := range o.input.Request.URL.Query() {
		if o.input.Route.Operation.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("the parameter %q is not described", name)
		}
	}
	return o.checkFields(fields)
}

func (o operation) checkFields(fields map[string]any) error {
	if len(fields) == 0 {
		return nil
	}
	wanted := o.input.Route.Operation.RequestBody
	if wanted == nil {
		return fmt.Errorf("it has a body")
	}
	schema := wanted.Value.Content.Get("application/json").Schema.Value
	described := maps.Clone(schema.Properties)
	if described == nil {
		described = openapi3.Schemas{}
	}
	for _, other := range schema.OneOf {
		maps.Copy(described, other.Value.Properties)
	}
	for name := range fields {
		if described[name] == nil {
			return fmt.Errorf("the field %q is not described", name)
		}
	}
	return nil
}

func (o operation) checkAnswer(a answer) error {
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &o.input, Status: a.status, Header: a.header, Options: o.input.Options,
		Body: io.NopCloser(bytes.NewReader(a.body)),
	})
}

// fillAnswer makes an answer whole: what we know, and something for all else that is
// required.
func (o operation) fillAnswer(status int, known any) (any, error) {
	response := o.input.Route.Operation.Responses.Value(strconv.Itoa(status))
	if response == nil {
		return nil, fmt.Errorf("%s has no answer %d", o.routeName(), status)
	}
	content := response.Value.Content.Get("application/json")
	if content == nil {
		return known, nil
	}
	return fill(content.Schema.Value, known, true)
}

func fill(s *openapi3.Schema, known any, given bool) (any, error) {
	switch known := known.(type) {
	case object:
		return fillObject(s, known)
	case []any:
		all := []any{}
		for _, v := range known {
			filled, err := fill(s.Items.Value, v, true)
			if err != nil {
				return nil, err
			}
			all = append(all, filled)
		}
		return all, nil
	}
	if given {
		return known, nil
	}
	return invent(s)
}

func fillObject(s *openapi3.Schema, known object) (any, error) {
	for _, choice := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		if choice.Value.Type.Is("object") || len(choice.Value.Properties) > 0 {
			return fillObject(choice.Value, known)
		}
	}
	whole := object{}
	for name, v := range known {
		property := s.Properties[name]
		if property == nil {
			return nil, fmt.Errorf("the answer's field %q is not described", name)
		}
		filled, err := fill(property.Value, v, true)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		whole[name] = filled
	}
	for _, name := range s.Required {
		if _, ok := whole[name]; ok {
			continue
		}
		property := s.Properties[name].Value
		if strings.HasSuffix(name, "_at") && property.Type.Is("string") {
			whole[name] = inventText("date-time") // whatever its format
			continue
		}
		filled, err := fill(property, nil, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		whole[name] = filled
	}
	return whole, nil
}

// invent makes the smallest value of a schema.
func invent(s *openapi3.Schema) (any, error) {
	choices := slices.Concat(s.OneOf, s.AnyOf, s.AllOf)
	switch {
	case s.Nullable:
		return nil, nil
	case len(s.Enum) > 0:
		return s.Enum[0], nil
	case len(choices) > 0:
		return invent(choices[0].Value)
	case s.Type.Is("array"):
		return []any{}, nil
	case s.Type.Is("string"):
		return inventText(s.Format), nil
	case s.Type.Is("integer"), s.Type.Is("number"):
		return 1, nil
	case s.Type.Is("boolean"):
		return false, nil
	case s.Type.Is("object"), len(s.Properties) > 0:
		return fillObject(s, nil)
	}
	return nil, fmt.Errorf("cannot make a value of type %v", s.Type)
}

func inventText(format string) string {
	switch format {
	case "uri":
		return "https://github.example/x"
	case "date-time":
		return "2026-01-01T00:00:00Z"
	}
	return "x"
}
