package forge

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

const (
	// maxTries is how often an update is done that meets another one.
	maxTries = 4
	// firstWait is how long there is from the first to the second; twice as long each time.
	firstWait = 50 * time.Millisecond
)

// retryUpdate does an update, and does it again when the forge fails over another client
// that changes the same at this moment. It must be one that may be done twice.
func retryUpdate[T any](ctx context.Context, update func() (T, error)) (T, error) {
	wait := firstWait
	for tries := 1; ; tries++ {
		v, err := update()
		var r *problem.Refusal
		if tries == maxTries || !errors.As(err, &r) || !r.Again {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-time.After(wait):
		}
		wait *= 2
	}
}
