package gitea

import (
	"context"
	"net/http"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"
)

const (
	// maxTries is how often a request is done that meets another one.
	maxTries = 4
	// firstWait is how long there is from the first to the second; twice as long each time.
	firstWait = 50 * time.Millisecond
	// alreadyChanged is what Gitea says of an issue or a pull request that is being changed
	// by another client at this moment.
	alreadyChanged = "already changed"
)

// retryCall does one request as call does, and does it again when Gitea says that another
// client is changing the same at this moment, or fails over that. It must be a request that
// may be done twice.
func retryCall[T any](ctx context.Context, g *Forge, op string, do func(*sdk.Client) (T, *sdk.Response, error)) (T, *sdk.Response, error) {
	wait := firstWait
	for tries := 1; ; tries++ {
		v, answer, err := callAPI(ctx, g, op, do)
		if tries == maxTries || !isContended(answer, err) {
			return v, answer, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return v, answer, err
		case <-timer.C:
		}
		wait *= 2
	}
}

// isContended reports whether a request has met another one for the same.
func isContended(answer *sdk.Response, err error) bool {
	if err == nil || answer == nil {
		return false
	}
	return answer.StatusCode == http.StatusInternalServerError ||
		answer.StatusCode == http.StatusConflict && strings.Contains(strings.ToLower(err.Error()), alreadyChanged)
}
