package forge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// RateLimit is the error for a request that a forge does not take for a while.
type RateLimit struct {
	Until time.Time
}

// Error names the time when requests are taken again.
func (r *RateLimit) Error() string {
	return "the forge takes no more requests until " + r.Until.UTC().Format(time.RFC3339)
}

// OneLine makes a text one line of at most so many characters.
func OneLine(answer string, most int) string { return text.Limit(text.OneLine(answer), most) }

// WrapError returns an error of a request that had no answer, without the URL, which an
// answer can have chosen; nil for nil.
func WrapError(what string, err error) error {
	var failed *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		err = failed.Err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// NewRefusal returns the error for an answer with a status, by what all forges mean by it.
func NewRefusal(what string, status int, reason string) *problem.Refusal {
	r := &problem.Refusal{Operation: what, Reason: Quote(reason), Again: status == http.StatusInternalServerError}
	switch status {
	case http.StatusNotFound:
		r.Kind = ErrNotFound
	case http.StatusUnauthorized:
		r.Reason = "the token was not accepted: " + r.Reason
		r.Advice = "see whether the token has expired or was revoked"
	case http.StatusForbidden:
		r.Reason = "the token may not do that: " + r.Reason
	}
	return r
}

// Quote returns the beginning of an answer's text as one line.
func Quote(answer string) string { return OneLine(answer, maxQuote) }

// RenamedError returns the error for a repository that the forge now calls otherwise.
// kind is what the forge calls a repository.
func RenamedError(kind, repo, now string) *problem.Refusal {
	return &problem.Refusal{Operation: "read " + repo, Reason: "the " + kind + " is now called " + Quote(now), Advice: "write its new name into the settings"}
}
