package github

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

func explainError(what string, err error) error {
	var answer *gh.ErrorResponse
	var refusals graphqlErrors
	switch {
	case errors.As(err, &refusals):
		return explainGraphQL(what, refusals)
	case !errors.As(err, &answer):
		return forge.WrapError(what, err)
	}
	status := answer.Response.StatusCode
	r := forge.NewRefusal(what, status, answerText(answer))
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		r.Kind = forge.ErrNotFound
		r.Advice = "see whether the name is right and the token may see it: GitHub says the same of what is not there and of what is private"
	case status == http.StatusForbidden:
		r.Advice = neededScope(answer.Response.Header)
	case status == http.StatusUnprocessableEntity && hasPhrase(answer, "already exists"):
		r.Kind = forge.ErrExists
	case status == http.StatusUnprocessableEntity && hasPhrase(answer, "no commits between"):
		r.Kind = forge.ErrChanged
	case status == http.StatusUnprocessableEntity && isMissingBranch(answer):
		r.Kind, r.Advice = forge.ErrNotFound, "it will be looked at again"
	}
	return r
}

func neededScope(h http.Header) string {
	has := h.Get("X-OAuth-Scopes")
	if needed := h.Get("X-Accepted-GitHub-Permissions"); needed != "" && has == "" {
		return "give the token or the App the permission " + forge.Quote(needed)
	}
	if needed := h.Get("X-Accepted-OAuth-Scopes"); needed != "" {
		return fmt.Sprintf("give the token one of the scopes %s (it has: %s)", forge.Quote(needed), forge.Quote(cmp.Or(has, "none")))
	}
	return "see what the token may do, and whether the organisation asks for single sign-on or allows only some addresses"
}

func isMissingBranch(e *gh.ErrorResponse) bool {
	return slices.ContainsFunc(e.Errors, func(detail gh.Error) bool {
		return detail.Resource == "PullRequest" && (detail.Field == "head" || detail.Field == "base") && detail.Code == "invalid"
	})
}

// GitHub distinguishes these errors only by their messages.
func hasPhrase(e *gh.ErrorResponse, phrase string) bool {
	return strings.Contains(strings.ToLower(answerText(e)), phrase)
}

func answerText(e *gh.ErrorResponse) string {
	parts := []string{fmt.Sprintf("%d", e.Response.StatusCode)}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	for _, detail := range e.Errors {
		switch {
		case detail.Message != "":
			parts = append(parts, detail.Message)
		case detail.Field != "":
			parts = append(parts, detail.Field+" is "+detail.Code)
		}
	}
	return forge.Quote(strings.Join(parts, ": "))
}
