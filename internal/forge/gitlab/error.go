package gitlab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

func explainError(what string, err error) error {
	var answer *gl.ErrorResponse
	switch {
	case errors.Is(err, gl.ErrNotFound):
		return &problem.Refusal{
			Operation: what, Reason: "404", Kind: forge.ErrNotFound,
			Advice: "see whether the path is right and the token may see it: GitLab says the same of what is not there and of what is private",
		}
	case !errors.As(err, &answer):
		return forge.WrapError(what, err)
	}
	var m message
	if json.Unmarshal(answer.Body, &m) != nil {
		m = message{}
	}
	texts := slices.DeleteFunc([]string{flattenJSON(m.Message), m.Error, m.Description}, func(s string) bool { return s == "" })
	status := answer.Response.StatusCode
	r := forge.NewRefusal(what, status, strings.TrimSuffix(fmt.Sprintf("%d: %s", status, strings.Join(texts, ": ")), ": "))
	switch {
	case status == http.StatusForbidden:
		r.Advice = m.neededScope()
	case status == http.StatusConflict && strings.Contains(r.Reason, "already exists"):
		r.Kind = forge.ErrExists
	case status == http.StatusBadRequest && missingBranch.MatchString(r.Reason):
		r.Kind, r.Advice = forge.ErrNotFound, "it will be looked at again"
	}
	return r
}

var missingBranch = regexp.MustCompile(`\b(source|target)_branch\b.*does not exist`)

type message struct {
	Message     any    `json:"message"` // a text, a list, or errors by field
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Scope       string `json:"scope"`
}

func flattenJSON(v any) string {
	var parts []string
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts = list.Convert(v, flattenJSON)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+" "+flattenJSON(v[name]))
		}
	}
	return strings.Join(parts, ", ")
}

func (m message) neededScope() string {
	if m.Error == "insufficient_scope" {
		return "make a token with the scope " + forge.Quote(cmp.Or(m.Scope, "api"))
	}
	return "see whether the token has the scope api, and at least the role Developer in the project; protected branches may ask for more"
}
