package forge

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

const (
	maxTries  = 4
	firstWait = 50 * time.Millisecond
)

// retryUpdate retries an idempotent update while the forge fails because of a concurrent one.
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
