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

// RateLimit is the error while a forge's rate limit is exceeded.
type RateLimit struct {
	Until time.Time
}

// Error names the end of the wait.
func (r *RateLimit) Error() string {
	return "the forge takes no more requests until " + r.Until.UTC().Format(time.RFC3339)
}

// OneLine returns a text as one line of at most so many characters.
func OneLine(answer string, most int) string { return text.Limit(text.OneLine(answer), most) }

// WrapError wraps an error of a request without its URL, which a redirect can choose; nil for nil.
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

// NewRefusal returns the error for an HTTP status, by its common meaning.
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

// Quote returns the beginning of an answer as one line.
func Quote(answer string) string { return OneLine(answer, maxQuote) }

// RenamedError returns the error for a renamed repository, which the forge calls kind.
func RenamedError(kind, repo, now string) *problem.Refusal {
	return &problem.Refusal{Operation: "read " + repo, Reason: "the " + kind + " is now called " + Quote(now), Advice: "write its new name into the settings"}
}
