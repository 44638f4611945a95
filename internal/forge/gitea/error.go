package gitea

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

const (
	// noMessage begins the SDK's error for an answer that is not JSON; the rest is the whole
	// answer.
	noMessage      = "unknown API error"
	alreadyChanged = "already changed"
	outOfDate      = "out of date"
	// notAllowed is in the error for a user or a way to merge; waiting does not help.
	notAllowed = "not allowed"
	scheduled  = "already scheduled"
)

func explainError(what string, answer *sdk.Response, err error) error {
	if err == nil || answer == nil || answer.StatusCode < http.StatusMultipleChoices {
		return forge.WrapError(what, err)
	}
	status, said := answer.StatusCode, err.Error()
	if strings.HasPrefix(said, noMessage) {
		said = http.StatusText(status)
	}
	r := forge.NewRefusal(what, status, fmt.Sprintf("%d: %s", status, said))
	switch {
	case status == http.StatusNotFound:
		r.Advice = "see whether repository and branches have these names and the token's user may see them; " +
			"right after the first push to an empty repository Gitea does not know its branches yet"
	case status == http.StatusUnauthorized:
		r.Advice = "see whether the token has expired or was removed"
	case status == http.StatusForbidden:
		r.Advice = "let the token's user write to the repository; the token needs the scopes write:repository, write:issue and read:user"
		if lacks := requiredScopes.FindStringSubmatch(said); lacks != nil {
			r.Advice = "make a token that has the scope " + lacks[1]
		}
	case status == http.StatusMethodNotAllowed && strings.Contains(strings.ToLower(said), notAllowed):
		r.Advice = "let the token's user merge into the branch: see its protection, and the ways to merge in the repository's settings"
	case status == http.StatusMethodNotAllowed:
		r.Kind = forge.ErrNotReady
		r.Advice = "see on the pull request what is missing; if nothing is, name the token's user in the protection of the branch"
	case status == http.StatusConflict && strings.Contains(strings.ToLower(said), outOfDate):
		r.Kind = forge.ErrMoved
	case status == http.StatusConflict && strings.Contains(strings.ToLower(said), alreadyChanged):
		r.Kind, r.Advice, r.Again = forge.ErrChanged, "it will be looked at again", true
	}
	return r
}

var requiredScopes = regexp.MustCompile(`required=\[([a-z:, ]+)\]`)
