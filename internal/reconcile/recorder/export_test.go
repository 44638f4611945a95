package recorder

import "context"

// Maintain looks after the store, as Run does after each interval.
func (r *Recorder) Maintain(ctx context.Context) { r.maintain(ctx) }
