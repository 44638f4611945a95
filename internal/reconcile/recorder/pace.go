package recorder

import "time"

const (
	// behindAfter is the age of unstored changes that slows agents down.
	behindAfter = 2 * time.Second
	slowestPace = 5 * time.Minute
)

// FindPace returns the interval for an agent: twice its own while the store lags.
func (r *Recorder) FindPace(every time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Now().Sub(r.flushed) <= behindAfter {
		return every
	}
	return max(every, min(2*every, slowestPace))
}
