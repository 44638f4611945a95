package recorder

import "time"

const (
	// behindAfter is how old what is not stored may be before agents are asked to report less often.
	behindAfter = 2 * time.Second
	// slowestPace is how often they are asked to report at the least.
	slowestPace = 5 * time.Minute
)

// FindPace returns how often an agent should report that does so in a time: half as often while the store
// does not keep up.
func (r *Recorder) FindPace(every time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Now().Sub(r.flushed) <= behindAfter {
		return every
	}
	return max(every, min(2*every, slowestPace))
}
